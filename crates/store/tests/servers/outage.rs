//! Servers that restart while others write, and servers that stop answering and come back.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use punchlist_store::{ErrorKind, Store};
use punchlist_testkit::server::{OwnServer, Restart};

use super::{open, refused, write, written};

const WRITERS: usize = 6;

/// Writes until `stop` is set; returns the names that were confirmed, and those with an unknown outcome.
fn keep_writing(
    store: &Store,
    writer: usize,
    stop: &AtomicBool,
    done: &AtomicUsize,
) -> (Vec<String>, Vec<String>) {
    let (mut kept, mut unsure) = (Vec::new(), Vec::new());
    for n in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("w{writer} n{n:06}");
        match write(store, &name) {
            Ok(()) => {
                kept.push(name);
                done.fetch_add(1, Ordering::Relaxed);
            }
            Err(error) => {
                assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
                unsure.push(name);
            }
        }
    }
    (kept, unsure)
}

#[test]
fn confirmed_writes_survive_restarts_under_load_and_writers_continue() {
    let mut server = OwnServer::start();
    let store = Arc::new(open(&server.url()).unwrap());
    let (stop, done) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (store, stop, done) = (Arc::clone(&store), Arc::clone(&stop), Arc::clone(&done));
            thread::spawn(move || keep_writing(&store, writer, &stop, &done))
        })
        .collect();
    let progress = |more: usize| {
        let (from, deadline) =
            (done.load(Ordering::Relaxed), Instant::now() + Duration::from_secs(30));
        while done.load(Ordering::Relaxed) < from + more {
            assert!(Instant::now() < deadline, "no writer makes progress");
            thread::yield_now();
        }
    };
    progress(50);
    for restart in [Restart::Fast, Restart::Immediate] {
        server.restart(restart);
        progress(50);
    }
    stop.store(true, Ordering::Relaxed);
    let found: BTreeSet<String> = {
        let (mut kept, mut unsure) = (BTreeSet::new(), BTreeSet::new());
        for writer in writers {
            let (its_kept, its_unsure) = writer.join().unwrap();
            kept.extend(its_kept);
            unsure.extend(its_unsure);
        }
        let found: BTreeSet<String> = written(&store).unwrap().into_iter().collect();
        let lost: Vec<_> = kept.difference(&found).collect();
        assert!(lost.is_empty(), "confirmed, and lost: {lost:?}");
        let strange = found.iter().filter(|name| !kept.contains(*name) && !unsure.contains(*name));
        assert_eq!(strange.count(), 0);
        found
    };
    assert!(found.len() >= 150);
}

/// A stopped server keeps its connections open and does not answer.
#[test]
fn a_silent_server_times_out_and_is_used_again_when_it_answers() {
    let mut server = OwnServer::start();
    let url = format!("{}?statement_timeout=3s&connect_timeout=5", server.url());
    let store = open(&url).unwrap();
    write(&store, "before").unwrap();

    server.freeze();
    let start = Instant::now();
    for error in
        [write(&store, "meanwhile").unwrap_err(), written(&store).unwrap_err(), refused(&url)]
    {
        assert_eq!(error.kind, ErrorKind::Unreachable, "{error:?}");
        assert!(error.detail.contains("did not answer in time"), "{error:?}");
    }
    // Each waits for the statement's time limit and two more seconds, or five for a connection.
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());

    server.thaw();
    write(&store, "after").unwrap();
    let found = written(&store).unwrap();
    assert!(found.contains(&"before".to_owned()) && found.contains(&"after".to_owned()));
}
