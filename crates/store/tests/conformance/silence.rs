//! A PostgreSQL server that stops answering, and a pool whose connections are all in use: every
//! request ends within its own limit.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::ControlFlow;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use postgres::config::Host;
use punchlist_store::care::portable::write_out;
use punchlist_store::{Error, ErrorKind, Options, Store, Target, sql};
use punchlist_testkit::stores::postgres_url;
use punchlist_testkit::{Backend, TestStore};

/// The limit of a statement in these tests, with the two seconds that the client waits longer.
const LIMIT: Duration = Duration::from_secs(3);
/// A busy machine may need this much longer.
const SLACK: Duration = Duration::from_secs(20);

/// Which requests get no answer: those of the connections up to this one, from the first that
/// contains the word.
#[derive(Clone, Copy)]
struct Hush {
    word: &'static str,
    last: usize,
}

/// A proxy in front of the test server that can be made to drop the traffic of some connections.
struct Proxy {
    port: u16,
    hush: Arc<Mutex<Option<Hush>>>,
}

impl Proxy {
    fn start() -> Self {
        let server: postgres::Config = postgres_url().parse().unwrap();
        let [Host::Tcp(host), ..] = server.get_hosts() else { panic!("the server has an address") };
        let server = (host.clone(), server.get_ports()[0]);
        let listening = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listening.local_addr().unwrap().port();
        let hush = Arc::new(Mutex::new(None));
        let told = Arc::clone(&hush);
        thread::spawn(move || {
            for (number, caller) in listening.incoming().flatten().enumerate() {
                let server = TcpStream::connect(&server).unwrap();
                let is_silent = Arc::new(Mutex::new(false));
                let (back, forth) = (pair(&server, &caller), pair(&caller, &server));
                let (told, silent) = (Arc::clone(&told), Arc::clone(&is_silent));
                thread::spawn(move || {
                    pass(forth, |bytes| {
                        let hush: Option<Hush> = *told.lock().unwrap();
                        let text = String::from_utf8_lossy(bytes);
                        let is_meant = |hush: Hush| number <= hush.last && text.contains(hush.word);
                        *silent.lock().unwrap() |= hush.is_some_and(is_meant);
                        !*silent.lock().unwrap()
                    });
                });
                thread::spawn(move || pass(back, |_| !*is_silent.lock().unwrap()));
            }
        });
        Self { port, hush }
    }

    fn hush(&self, word: &'static str, last: usize) {
        *self.hush.lock().unwrap() = Some(Hush { word, last });
    }

    /// The URL of a store behind it.
    fn url(&self, place: &TestStore, options: &str) -> String {
        let server: postgres::Config = postgres_url().parse().unwrap();
        let port = server.get_ports()[0];
        let url = place.url().replacen(&format!(":{port}"), &format!(":{}", self.port), 1);
        assert_ne!(url, place.url());
        format!("{url}&sslmode=disable&{options}")
    }
}

fn pair(from: &TcpStream, to: &TcpStream) -> (TcpStream, TcpStream) {
    (from.try_clone().unwrap(), to.try_clone().unwrap())
}

/// Copies what is read if `is_passed` says so, until one side closes.
fn pass((mut from, mut to): (TcpStream, TcpStream), mut is_passed: impl FnMut(&[u8]) -> bool) {
    let mut buffer = [0; 65_536];
    while let Ok(count @ 1..) = from.read(&mut buffer) {
        if is_passed(&buffer[..count]) && to.write_all(&buffer[..count]).is_err() {
            break;
        }
    }
    to.shutdown(Shutdown::Both).ok();
}

fn open(url: &str) -> Store {
    Store::open(&Target::Postgres(url.to_owned()), Options::default()).unwrap()
}

/// Runs a job on its own thread, because a missing limit would block the test for hours.
fn in_time<T: Send + 'static>(
    what: &str,
    limit: Duration,
    job: impl FnOnce() -> T + Send + 'static,
) -> T {
    let (done, is_done) = channel();
    thread::spawn(move || done.send(job()).ok());
    match is_done.recv_timeout(limit) {
        Ok(answer) => answer,
        Err(RecvTimeoutError::Timeout) => panic!("{what}: no answer after {limit:?}"),
        Err(RecvTimeoutError::Disconnected) => panic!("{what}: the job panicked"),
    }
}

fn one(store: &Store) -> Result<Option<i64>, Error> {
    store.read(|tx| tx.first(sql!("SELECT count(*) FROM projects"), &[], |row| row.int(0)))
}

/// Holds this many connections at once, so that the pool keeps them.
fn fill_the_pool(store: &Arc<Store>, count: usize) {
    let together = Arc::new(Barrier::new(count));
    let jobs: Vec<_> = (0..count)
        .map(|_| {
            let (store, together) = (Arc::clone(store), Arc::clone(&together));
            thread::spawn(move || {
                store.read(move |tx| {
                    tx.first(sql!("SELECT 1::bigint"), &[], |row| row.int(0))?;
                    together.wait();
                    Ok::<_, Error>(())
                })
            })
        })
        .collect();
    for job in jobs {
        job.join().unwrap().unwrap();
    }
}

/// Only migrations may take hours.
#[test]
fn statements_without_parameters_have_the_usual_time_limit() {
    type Job = fn(&Store) -> Result<(), Error>;
    let jobs: [(&'static str, Job); 3] = [
        ("LISTEN", |store| store.watch().map(|_| ())),
        ("LOCK TABLE projects", |store| store.write(|tx| tx.lock_projects())),
        ("DECLARE", |store| {
            let go_on = &mut |_| ControlFlow::Continue(());
            store.view(|tx| write_out(tx, &mut std::io::sink(), go_on)).map(|_| ())
        }),
    ];
    for (word, job) in jobs {
        let (place, proxy) = (TestStore::new(Backend::Postgres), Proxy::start());
        let store = open(&proxy.url(&place, "statement_timeout=1s"));
        proxy.hush(word, usize::MAX);
        let error = in_time(word, LIMIT + SLACK, move || job(&store)).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Unreachable, "{word}: {error:?}");
        assert!(error.detail.contains("did not answer in time"), "{word}: {error:?}");
    }
}

/// After one request has timed out, the other connections of the pool are not tried one by one,
/// neither by it nor by the next request.
#[test]
fn a_silent_server_costs_one_request_one_time_limit() {
    const CONNECTIONS: usize = 8;
    type Job = fn(&Store) -> Result<(), Error>;
    let jobs: [(&str, Job); 4] = [
        ("read", |store| one(store).map(|_| ())),
        ("write", |store| {
            let put = sql!("INSERT INTO facts (name, value) VALUES ('x', 'y')");
            store.write(move |tx| tx.write(put, &[]))
        }),
        ("view", |store| store.view(|_| Ok(()))),
        ("write once", |store| store.write_once(|_| Ok(()))),
    ];
    for (name, job) in jobs {
        let (place, proxy) = (TestStore::new(Backend::Postgres), Proxy::start());
        let store = Arc::new(open(&proxy.url(&place, "statement_timeout=1s")));
        fill_the_pool(&store, CONNECTIONS);
        proxy.hush("", CONNECTIONS - 1);
        let start = Instant::now();
        let error = job(&store).unwrap_err();
        assert!(error.detail.contains("did not answer in time"), "{name}: {error:?}");
        job(&store).unwrap();
        assert!(start.elapsed() < 3 * LIMIT, "{name}: {:?}", start.elapsed());
    }
}

#[test]
fn a_caller_does_not_wait_forever_for_a_connection_of_the_pool() {
    let place = TestStore::new(Backend::Postgres);
    let url = format!("{}&pool_size=2&statement_timeout=1s&connect_timeout=1", place.url());
    let store = Arc::new(open(&url));
    let (entered, has_entered) = channel();
    let gate = Arc::new(Mutex::new(()));
    let closed = gate.lock().unwrap();
    let holders: Vec<_> = (0..2)
        .map(|_| {
            let (store, entered, gate) = (Arc::clone(&store), entered.clone(), Arc::clone(&gate));
            thread::spawn(move || {
                store.read(move |_| {
                    entered.send(()).unwrap();
                    drop(gate.lock());
                    Ok::<_, Error>(())
                })
            })
        })
        .collect();
    for _ in 0..2 {
        has_entered.recv().unwrap();
    }
    let waiting = Arc::clone(&store);
    let error = in_time("a third caller", SLACK, move || one(&waiting)).unwrap_err();
    assert_eq!(error.kind, ErrorKind::Busy, "{error:?}");
    assert_eq!(
        error.detail,
        "all 2 connections to the server have been in use for 1 s; if this happens often, add \
         ?pool_size= with a larger number to the URL"
    );
    drop(closed);
    for holder in holders {
        holder.join().unwrap().unwrap();
    }
    assert_eq!(one(&store), Ok(Some(0)));
}

/// The queue of a Unix socket is full while its server does not accept connections.
#[cfg(unix)]
#[test]
fn connecting_to_a_full_unix_socket_ends_at_connect_timeout() {
    use socket2::{Domain, SockAddr, Socket, Type};
    let folder = tempfile::tempdir().unwrap();
    let address = SockAddr::unix(folder.path().join(".s.PGSQL.5432")).unwrap();
    let stream = || Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    let listening = stream();
    listening.bind(&address).unwrap();
    listening.listen(0).unwrap();
    let first = stream();
    first.connect(&address).unwrap();
    let url = format!("postgres:///work?host={}&connect_timeout=1", folder.path().display());
    let error = in_time("connecting", SLACK, move || {
        Store::open(&Target::Postgres(url), Options::default()).map(|_| ())
    });
    let error = error.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
    assert!(error.detail.contains("the server cannot be reached"), "{error:?}");
}
