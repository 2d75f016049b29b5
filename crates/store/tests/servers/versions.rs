//! Every version of PostgreSQL that is installed: a store is made, written, read, watched, copied
//! into, and found to be sound after a restart.

use std::ops::ControlFlow;
use std::time::Duration;

use punchlist_store::care::{examine, portable};
use punchlist_store::{Options, Store, Target, sql};
use punchlist_testkit::server::{OwnServer, Restart, Setup};
use punchlist_testkit::{Backend, TestStore};

use super::{ask, open, write, written};

#[test]
fn every_installed_version_serves_a_store() {
    let versions = OwnServer::versions();
    assert!(!versions.is_empty(), "no version of PostgreSQL is installed");
    for programs in versions {
        let mut server = OwnServer::of_version(&programs, Setup::default());
        let store = open(&server.url()).unwrap();
        let version = ask(&store, sql!("SELECT current_setting('server_version')")).unwrap();
        let version = version.unwrap();
        // Debian's folders are named by the major version.
        let is_named = programs
            .components()
            .any(|part| part.as_os_str().to_str().is_some_and(|name| version.starts_with(name)));
        assert!(
            is_named || !programs.starts_with("/usr/lib/postgresql"),
            "{version}: {programs:?}"
        );

        let mut watch = store.watch().unwrap();
        write(&store, "before the restart").unwrap();
        let append = sql!("INSERT INTO projects (id, name, created_at) VALUES ('p', 'watched', 1)");
        store.write_once(move |tx| tx.execute(append, &[])).unwrap();
        assert_eq!(watch.wait(Duration::from_secs(10)), Ok(true), "{version}");
        drop(watch);
        server.restart(Restart::Immediate);
        write(&store, "after the restart").unwrap();
        let both = ["after the restart", "before the restart"];
        assert_eq!(written(&store).unwrap(), both, "{version}");
        let report = examine(&Target::Postgres(server.url()), Options::default());
        assert!(report.ok, "{version}: {report:?}");

        // The same store in a file, and back on another server of this version.
        let file = TestStore::new(Backend::SqliteFile);
        let there = copied(&store, file.target());
        let other = OwnServer::of_version(&programs, Setup::default());
        let back = copied(&there, &Target::Postgres(other.url()));
        assert_eq!(ask(&back, sql!("SELECT name FROM projects")), Ok(Some("watched".to_owned())));
    }
}

/// Copies a store to an empty target and opens the copy.
fn copied(from: &Store, to: &Target) -> Store {
    let into = Options { is_copied_into: true, ..Options::default() };
    let into = Store::open(to, into).unwrap();
    portable::copy(from, &into, &mut |_| ControlFlow::Continue(())).unwrap();
    drop(into);
    Store::open(to, Options::default()).unwrap()
}
