//! The connection to a PostgreSQL server: logging in, unexpected servers, and the state after a
//! statement of a batch fails.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::channel;
use std::sync::{Arc, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use postgres::{Client, NoTls};
use punchlist_store::sql::Value;
use punchlist_store::{Error, ErrorKind, Options, Store, Target, Tx, sql};
use punchlist_testkit::stores::postgres_url;
use punchlist_testkit::{Backend, TestStore};

/// A store with a single connection, so that the next job sees whatever a job leaves behind.
fn narrow(place: &TestStore) -> Store {
    place.open_with(Options { connections_max: 1, ..Options::default() })
}

fn refused(url: &str) -> Error {
    Store::open(&Target::Postgres(url.to_owned()), Options::default()).map(|_| ()).unwrap_err()
}

fn with_option(url: &str, option: &str) -> String {
    format!("{url}{}{option}", if url.contains('?') { '&' } else { '?' })
}

/// `cargo xtask` configures its server to ask each of these roles in another way. Without TLS, the
/// third role would send its password in clear text.
#[test]
fn a_password_is_proved_in_every_way_but_never_told_in_the_clear() {
    let place = TestStore::new(Backend::Postgres);
    drop(place.open());
    let mut operator = Client::connect(&postgres_url(), NoTls).unwrap();
    for (role, encryption) in [
        ("punchlist_scram", "scram-sha-256"),
        ("punchlist_md5", "md5"),
        ("punchlist_plain", "scram-sha-256"),
    ] {
        operator
            .batch_execute(&format!(
                "DROP ROLE IF EXISTS {role}; SET password_encryption = '{encryption}'; \
                 CREATE ROLE {role} LOGIN SUPERUSER PASSWORD 'grüße 7'"
            ))
            .unwrap();
        let url = |login: &str| place.url().replacen("punchlist@", login, 1);
        let right = url(&format!("{role}:gr%C3%BC%C3%9Fe%207@"));
        if role == "punchlist_plain" {
            let error = refused(&right);
            assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
            assert!(error.detail.contains("asks for the password in the clear"), "{error:?}");
            operator.batch_execute(&format!("DROP ROLE {role}")).unwrap();
            continue;
        }
        let store = Store::open(&Target::Postgres(right), Options::default()).unwrap();
        let me = sql!("SELECT current_user::text");
        assert_eq!(
            store.read(move |tx| tx.first(me, &[], |row| row.text(0))),
            Ok(Some(role.into()))
        );

        let wrong = refused(&url(&format!("{role}:s3cret@")));
        assert_eq!(wrong.kind, ErrorKind::Unreachable, "{wrong:?}");
        let said = format!("password authentication failed for user \"{role}\"");
        assert!(wrong.detail.contains(&said) && !wrong.detail.contains("s3cret"), "{wrong:?}");

        let none = refused(&url(&format!("{role}@")));
        assert_eq!(none.kind, ErrorKind::Unreachable, "{none:?}");
        assert!(none.detail.contains("it asks for a password: the URL, PGPASSWORD"), "{none:?}");
        drop(store);
        operator.batch_execute(&format!("DROP ROLE {role}")).unwrap();
    }
}

#[test]
fn a_server_without_tls_is_refused_where_tls_is_asked_for() {
    for mode in ["require", "verify-ca", "verify-full"] {
        let error = refused(&with_option(&postgres_url(), &format!("sslmode={mode}")));
        assert_eq!(error.kind, ErrorKind::Unreachable);
        assert!(error.detail.contains("does not offer TLS"), "{error:?}");
    }
}

/// Of several servers, the first one that answers and has the wanted kind is used.
#[test]
fn a_server_that_is_down_or_read_only_is_skipped() {
    let place = TestStore::new(Backend::Postgres);
    let with_a_dead_one = place.url().replacen("127.0.0.1:", "127.0.0.1:1,127.0.0.1:", 1);
    Store::open(&Target::Postgres(with_a_dead_one), Options::default()).unwrap();

    let copy =
        place.url().replacen("options=", "options=-cdefault_transaction_read_only%3Don%20", 1);
    let error = refused(&with_option(&copy, "target_session_attrs=read-write"));
    // Not read-only: it is another server than the URL asks for, and may still become that one.
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
    assert!(error.detail.contains("the server takes no writes"), "{error:?}");
    let error = refused(&with_option(&place.url(), "target_session_attrs=read-only"));
    assert!(error.detail.contains("the server takes writes"), "{error:?}");
    let writable = with_option(&place.url(), "target_session_attrs=read-write");
    Store::open(&Target::Postgres(writable), Options::default()).unwrap();
}

/// With several servers, each error is the one of its server.
#[test]
fn the_errors_of_all_servers_are_reported_and_a_wrong_login_ends_the_search() {
    let closed = |code: &str| {
        let error = message(b'E', format!("SFATAL\0VFATAL\0C{code}\0Mso\0\0").as_bytes());
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listening.local_addr().unwrap().port();
        thread::spawn(move || {
            for mut caller in listening.incoming().flatten() {
                let mut buffer = [0; 4096];
                assert!(caller.read(&mut buffer).unwrap() > 0);
                caller.write_all(&error).unwrap();
            }
        });
        port
    };
    let starting = closed("57P03");
    for code in ["28P01", "28000", "3D000"] {
        let wrong = closed(code);
        let url = |first: u16, second: u16| {
            format!("postgres://ada@127.0.0.1:{first},127.0.0.1:{second}/work?sslmode=disable")
        };
        let said = |error: Error| error.detail.split_once("/work: ").unwrap().1.to_owned();
        let wrong_only = format!("127.0.0.1:{wrong}: FATAL: so");
        let both = format!("127.0.0.1:{starting}: FATAL: so; {wrong_only}");
        assert_eq!(said(refused(&url(starting, wrong))), both);
        assert_eq!(said(refused(&url(wrong, starting))), wrong_only);
        // The URL as it is shown has no port.
        let by_option = format!("postgres://ada@127.0.0.1/work?sslmode=disable&port={wrong}");
        assert_eq!(said(refused(&by_option)), wrong_only);
    }
}

/// Sends the same bytes to every caller and closes the connection, or never sends anything.
fn stranger(words: Option<&'static [u8]>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    thread::spawn(move || {
        let mut silent = Vec::new();
        for mut caller in listener.incoming().flatten() {
            match words {
                Some(words) => caller.write_all(words).unwrap(),
                None => silent.push(caller),
            }
        }
    });
    let limit = if words.is_some() { 20 } else { 1 };
    format!("postgres://ada@127.0.0.1:{port}/work?connect_timeout={limit}&sslmode=disable")
}

#[test]
fn a_server_that_is_not_postgres_is_an_error_without_waiting() {
    for (words, said) in [
        (Some(&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..]), "sent a message of 1414811695 bytes"),
        (Some(&b"T\0\0\0\x06\0\0"[..]), "unexpected message from server"),
        (Some(&b""[..]), ""),
        (None, "did not answer in time"),
    ] {
        let error = refused(&stranger(words));
        assert_eq!(error.kind, ErrorKind::Unreachable, "{words:?}: {error:?}");
        assert!(error.detail.contains(said), "{words:?}: {error:?}");
    }
}

/// A server that accepts the login and then sends one byte of a long row at a time, so slowly that
/// it never ends.
#[test]
fn a_server_that_sends_too_slowly_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (done, is_done) = std::sync::mpsc::channel::<()>();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        assert!(socket.read(&mut buffer).unwrap() > 0);
        socket.write_all(b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I").unwrap();
        assert!(socket.read(&mut buffer).unwrap() > 0);
        socket.write_all(b"D\0\x01\0\0").unwrap();
        // Until the test ends or the client disconnects.
        while is_done.recv_timeout(Duration::from_millis(20)).is_err() {
            if socket.write_all(b"x").is_err() {
                return;
            }
        }
    });
    let url = format!("postgres://ada@127.0.0.1:{port}/work?sslmode=disable&statement_timeout=1ms");
    let start = Instant::now();
    let error = refused(&url);
    assert!(error.detail.contains("did not answer in time"), "{error:?}");
    // The statement's time limit, and two seconds for the connection.
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
    done.send(()).ok();
    server.join().unwrap();
}

/// The same within a single message of the TLS handshake, which is read as a whole.
#[test]
fn a_server_that_begins_tls_too_slowly_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (done, is_done) = channel::<()>();
    let server = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        let mut buffer = [0; 4096];
        assert!(socket.read(&mut buffer).unwrap() > 0);
        // TLS is offered. Then the head of a record of 16,000 bytes.
        socket.write_all(b"S\x16\x03\x03\x3e\x80").unwrap();
        while is_done.recv_timeout(Duration::from_millis(20)).is_err() {
            if socket.write_all(b"x").is_err() {
                return;
            }
        }
    });
    let url = format!("postgres://ada@127.0.0.1:{port}/work?sslmode=require&connect_timeout=1");
    let start = Instant::now();
    let error = refused(&url);
    assert!(error.detail.contains("did not answer in time"), "{error:?}");
    // The whole record would take five minutes.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
    done.send(()).ok();
    server.join().unwrap();
}

/// The limit holds for one response. What was sent before on the same connection does not count.
#[test]
fn an_answer_that_is_too_long_is_an_error_and_the_store_stays_usable() {
    let place = TestStore::new(Backend::Postgres);
    let limited = Options { connections_max: 1, answer_bytes_max: 1 << 20, ..Options::default() };
    let store = place.open_with(limited);
    let rows = |count: i64| {
        let wide = sql!("SELECT repeat('x', 1000) FROM generate_series(1, $1::bigint)");
        store.read(move |tx| tx.query(wide, &[count.into()], |row| row.text(0)))
    };
    for _ in 0..3 {
        assert_eq!(rows(900).unwrap().len(), 900);
    }
    let error = rows(5_000).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
    assert!(error.detail.contains("answer is longer than 1048576 bytes"), "{error:?}");
    assert_eq!(rows(900).unwrap().len(), 900);
}

/// Twelve jobs at once, on a pool of three: the others wait for a connection.
#[test]
fn a_store_opens_no_more_connections_than_pool_size() {
    const JOBS: usize = 12;
    let place = TestStore::new(Backend::Postgres);
    let name = format!("pool_{}", std::process::id());
    let url = with_option(&place.url(), &format!("application_name={name}&pool_size=3"));
    let store = Arc::new(Store::open(&Target::Postgres(url), Options::default()).unwrap());
    let (entered, has_entered) = channel();
    let gate = Arc::new(RwLock::new(()));
    let closed = gate.write().unwrap();
    let jobs: Vec<_> = (0..JOBS)
        .map(|_| {
            let (store, entered, gate) = (Arc::clone(&store), entered.clone(), Arc::clone(&gate));
            thread::spawn(move || {
                store.read(move |tx| {
                    let me = sql!("SELECT pg_backend_pid()::bigint");
                    let process = tx.first(me, &[], |row| row.int(0))?;
                    entered.send(()).ok();
                    drop(gate.read());
                    Ok::<_, Error>(process.unwrap_or_default())
                })
            })
        })
        .collect();
    for _ in 0..3 {
        has_entered.recv().unwrap();
    }
    let mut operator = Client::connect(&postgres_url(), NoTls).unwrap();
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1";
    let mut count = || operator.query_one(count, &[&name]).unwrap().get::<_, i64>(0);
    assert_eq!(count(), 3);
    drop(closed);
    let used: BTreeSet<i64> = jobs.into_iter().map(|job| job.join().unwrap().unwrap()).collect();
    assert_eq!((used.len(), count()), (3, 3));
}

/// Passwords are found where libpq finds them: by host, port, database and user.
#[cfg(unix)]
#[test]
fn a_password_is_read_from_the_default_file_if_only_its_owner_may_read_it() {
    use std::os::unix::fs::PermissionsExt;
    let place = TestStore::new(Backend::Postgres);
    drop(place.open());
    let mut operator = Client::connect(&postgres_url(), NoTls).unwrap();
    let role = "punchlist_file";
    let make = "DROP ROLE IF EXISTS punchlist_file; \
                CREATE ROLE punchlist_file LOGIN SUPERUSER PASSWORD 'in a file'";
    operator.batch_execute(make).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pgpass");
    let lines = format!("db:*:*:*:wrong\n127.0.0.1:*:postgres:{role}:in a file\n");
    std::fs::write(&file, lines).unwrap();
    let url = place.url().replacen("punchlist@", &format!("{role}@"), 1);
    let url = with_option(&url, &format!("passfile={}", file.display()));
    let opened = [0o600, 0o644].map(|mode| {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        Store::open(&Target::Postgres(url.clone()), Options::default()).map(|_| ())
    });
    operator.batch_execute("DROP ROLE punchlist_file").unwrap();
    let [private, shared] = opened;
    assert_eq!(private, Ok(()));
    let error = shared.unwrap_err();
    assert!(error.detail.contains("others may read it; chmod 600"), "{error:?}");
}

fn fact(tx: &mut Tx<'_>, name: &str) -> Result<(), Error> {
    tx.write(sql!("INSERT INTO facts (name, value) VALUES ($1, 'x')"), &[name.into()])
}

fn facts(store: &Store) -> Vec<String> {
    let all = sql!("SELECT name FROM facts WHERE value = 'x' ORDER BY name");
    store.read(move |tx| tx.query(all, &[], |row| row.text(0))).unwrap()
}

/// Nobody waits for the failing write; its error is returned by the commit, and the connection
/// stays usable.
#[test]
fn a_deferred_write_that_fails_undoes_only_its_job() {
    let place = TestStore::new(Backend::Postgres);
    let store = narrow(&place);
    store.write(|tx| fact(tx, "first")).unwrap();
    let broken = store.write(|tx| {
        fact(tx, "second")?;
        tx.write(sql!("INSERT INTO facts (name, value) VALUES ('third', $1)"), &[Value::Null])?;
        fact(tx, "fourth")
    });
    let error = broken.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Backend);
    assert!(error.detail.contains("null value in column \"value\""), "{error:?}");
    assert_eq!(facts(&store), ["first"]);
    store.write(|tx| fact(tx, "fifth")).unwrap();
    assert_eq!(facts(&store), ["fifth", "first"]);
}

/// A job that ignores an error still gets an error at commit: nothing was kept.
#[test]
fn an_ignored_failure_does_not_commit() {
    let place = TestStore::new(Backend::Postgres);
    let store = narrow(&place);
    let passed_over = store.write(|tx| {
        fact(tx, "first")?;
        tx.first(sql!("SELECT 1 / $1"), &[0.into()], |row| row.int(0)).ok();
        Ok::<_, Error>(())
    });
    let error = passed_over.unwrap_err();
    assert!(error.detail.contains("the transaction was undone"), "{error:?}");
    assert_eq!(facts(&store), Vec::<String>::new());
}

/// A statement that the server could not parse is not prepared there, so it is sent again.
#[test]
fn a_statement_that_failed_to_parse_is_sent_again() {
    let place = TestStore::new(Backend::Postgres);
    let store = narrow(&place);
    let later = sql!("SELECT n FROM later");
    let ask = || store.read(move |tx| tx.first(later, &[], |row| row.int(0)));
    assert!(ask().unwrap_err().detail.contains("relation \"later\" does not exist"));
    assert!(ask().is_err());
    store.write(|tx| tx.execute(sql!("CREATE TABLE later AS SELECT 7::bigint AS n"), &[])).unwrap();
    assert_eq!(ask(), Ok(Some(7)));
}

/// Far more statements than are sent at once, each with a text longer than one read.
#[test]
fn a_long_job_keeps_its_order() {
    let place = TestStore::new(Backend::Postgres);
    let store = narrow(&place);
    let text = "é".repeat(20_000);
    let written = text.clone();
    store
        .write(move |tx| {
            for n in 0..900 {
                let name = format!("n{n:03}");
                let put = sql!(
                    "INSERT INTO facts (name, value) VALUES ($1, $2) \
                     ON CONFLICT (name) DO UPDATE SET value = excluded.value"
                );
                tx.write(put, &[(&name).into(), "before".into()])?;
                tx.write(put, &[(&name).into(), (&written).into()])?;
            }
            Ok::<_, Error>(())
        })
        .unwrap();
    let all = sql!("SELECT name, value FROM facts WHERE name LIKE 'n___' ORDER BY name");
    let found = store.read(move |tx| tx.query(all, &[], |row| Ok((row.text(0)?, row.text(1)?))));
    let expected: Vec<_> = (0..900).map(|n| (format!("n{n:03}"), text.clone())).collect();
    assert!(found.unwrap() == expected);
}

/// Reading a column as another type is an error, not a wrong value.
#[test]
fn a_value_is_read_as_its_own_type_only() {
    let place = TestStore::new(Backend::Postgres);
    let store = narrow(&place);
    let row =
        sql!("SELECT 7::bigint, 'seven'::text, 0.5::float8, NULL::bigint, 7::int, 7::numeric");
    let found = store.read(move |tx| {
        tx.first(row, &[], |row| {
            Ok((
                (row.int(0)?, row.text(1)?, row.real(2)?, row.opt_int(3)?),
                (0..7).map(|n| row.int(n).is_ok()).collect::<Vec<_>>(),
                (0..7).map(|n| row.text(n).is_ok()).collect::<Vec<_>>(),
            ))
        })
    });
    let whole = (7, "seven".to_owned(), 0.5, None);
    let ints = [true, false, false, false, false, false, false].to_vec();
    let texts = [false, true, false, false, false, false, false].to_vec();
    assert_eq!(found, Ok(Some((whole, ints, texts))));
}

/// A message of the server.
fn message(kind: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap().to_be_bytes();
    [&[kind][..], &length, body].concat()
}

/// A FATAL error in a session ends only the connection; at login it says what is wrong with it.
#[test]
fn a_connection_that_the_server_ends_can_be_retried_and_a_refused_login_stays_as_it_is() {
    let error = |code: &str| message(b'E', format!("SFATAL\0VFATAL\0C{code}\0Mso\0\0").as_bytes());
    let ready = [message(b'R', &0_u32.to_be_bytes()), message(b'Z', b"I")].concat();
    for (at_login, code, kind) in [
        (false, "XX000", ErrorKind::Unreachable),
        (false, "57P05", ErrorKind::Unreachable),
        (false, "53300", ErrorKind::Busy),
        (true, "08P01", ErrorKind::Unreachable),
        (true, "28P01", ErrorKind::Unreachable),
        (true, "3D000", ErrorKind::Unreachable),
        (true, "42501", ErrorKind::Backend),
    ] {
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listening.local_addr().unwrap().port();
        let (error, ready) = (error(code), ready.clone());
        let server = thread::spawn(move || {
            let mut buffer = [0; 4096];
            let (mut socket, _) = listening.accept().unwrap();
            assert!(socket.read(&mut buffer).unwrap() > 0);
            if !at_login {
                socket.write_all(&ready).unwrap();
                assert!(socket.read(&mut buffer).unwrap() > 0);
            }
            socket.write_all(&error).unwrap();
        });
        let said = refused(&format!("postgres://ada@127.0.0.1:{port}/work?sslmode=disable"));
        assert_eq!(said.kind, kind, "{code} at login {at_login}: {said:?}");
        assert!(said.detail.ends_with("FATAL: so"), "{said:?}");
        server.join().unwrap();
    }
}

/// A server, or a pooler in front of it, that repeats the password: at login, and later.
#[test]
fn a_password_that_a_server_repeats_is_masked() {
    fn error(text: &str) -> Vec<u8> {
        message(b'E', format!("SFATAL\0C28P01\0M{text}\0D{text}\0\0").as_bytes())
    }
    let listening = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listening.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        // At login, just after it was sent.
        let (mut socket, _) = listening.accept().unwrap();
        assert!(socket.read(&mut buffer).unwrap() > 0);
        socket.write_all(&message(b'R', b"\0\0\0\x05salt")).unwrap();
        assert!(socket.read(&mut buffer).unwrap() > 0);
        socket.write_all(&error("no `s3cret word` here")).unwrap();
        drop(socket);
        // Later, in the answer to a statement.
        let (mut socket, _) = listening.accept().unwrap();
        assert!(socket.read(&mut buffer).unwrap() > 0);
        let ready = [message(b'R', &0_u32.to_be_bytes()), message(b'Z', b"I")].concat();
        socket.write_all(&ready).unwrap();
        assert!(socket.read(&mut buffer).unwrap() > 0);
        socket.write_all(&[error("s3cret word"), message(b'Z', b"I")].concat()).unwrap();
    });
    let url = format!("postgres://ada:s3cret%20word@127.0.0.1:{port}/work?sslmode=disable");
    for _ in 0..2 {
        let said = refused(&url);
        assert!(!said.detail.contains("s3cret"), "{said:?}");
        assert!(said.detail.contains("[password]"), "{said:?}");
    }
    server.join().unwrap();
}
