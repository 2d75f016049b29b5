# Makes a throwaway PostgreSQL cluster in DIR and runs its server until standard input ends,
# then stops the server and removes DIR. Whoever started us holds the other end of that pipe, so the
# server ends with it however it ends, a `kill -9` included.
#
# A line on standard input restarts the server: `fast` as an administrator would, `immediate` as a
# crash does, after which it recovers from its log.
#
# usage: supervise DIR BIN PORT [PREFIX…]   (PREFIX drops root's rights)

set -u
dir=$1 bin=$2 port=$3
shift 3
log=$dir/log
exec 3<&0 </dev/null
cd "$dir" || exit 1

remove() {
    cd / && rm -rf "$dir"
}

fail() {
    echo "PostgreSQL: $1; the end of its log:" >&2
    tail -n 20 "$log" >&2
    remove
    exit 1
}

# C.UTF-8 sorts by code point as C does, but knows letters beyond ASCII. Not every system has it.
made=no
for locale in C.UTF-8 C; do
    if "$@" "$bin/initdb" -D "$dir/data" -A trust -U punchlist --no-sync -E UTF8 \
        --locale="$locale" >>"$log" 2>&1; then
        made=yes
        break
    fi
done
[ "$made" = yes ] || fail "initdb failed"

# Everybody is let in, except for some roles that tests make: these have to prove a password, each in
# its way.
rules=$(cat "$dir/data/pg_hba.conf")
for rule in punchlist_scram:scram-sha-256 punchlist_md5:md5 punchlist_plain:password \
    punchlist_file:scram-sha-256 punchlist_env:scram-sha-256; do
    echo "host all ${rule%%:*} 127.0.0.1/32 ${rule#*:}"
done >"$dir/data/pg_hba.conf"
echo "$rules" >>"$dir/data/pg_hba.conf"

echo "max_connections = 200" >>"$dir/data/postgresql.conf"

# A caller may change the cluster before it starts: settings, certificates, a copy of another server.
if [ -n "${PUNCHLIST_POSTGRES_SETUP:-}" ]; then
    "$@" sh -euc "$PUNCHLIST_POSTGRES_SETUP" setup "$dir/data" "$bin" "$port" >>"$log" 2>&1 ||
        fail "its setup failed"
fi

# Tests need speed; measurements need commits that cost what they cost.
promise="-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c punchlist.disposable=on"
[ "${PUNCHLIST_POSTGRES_DURABLE:-off}" = off ] || promise=

while :; do
    # A Unix socket only where it is asked for: its path would be too long under a long TMPDIR.
    "$@" "$bin/postgres" -D "$dir/data" -p "$port" \
        -c listen_addresses=127.0.0.1 -c "unix_socket_directories=${PUNCHLIST_POSTGRES_SOCKETS:+$dir}" \
        -c logging_collector=off \
        $promise \
        3<&- >>"$log" 2>&1 &
    server=$!

    # SIGINT is the fast shutdown. It is repeated because a server that is just starting may miss
    # it; SIGQUIT is the immediate one, also for a server that does not end within ten seconds.
    (
        read -r word <&3 || word=end
        [ "$word" = end ] || : >"$dir/again"
        tries=0
        while [ "$word" != immediate ] && [ "$tries" -lt 100 ]; do
            kill -INT "$server" 2>/dev/null || exit 0
            tries=$((tries + 1))
            sleep 0.1
        done
        kill -QUIT "$server" 2>/dev/null
    ) &
    stopper=$!

    wait "$server"
    status=$?
    kill "$stopper" 2>/dev/null
    [ -e "$dir/again" ] || break
    rm "$dir/again"
done
[ "$status" -eq 0 ] || fail "the server ended with status $status"
remove
