//! Stores for tests: a SQLite file, SQLite in memory, PostgreSQL in its own schema.
//!
//! A missing PostgreSQL is a failure, never a skip: `cargo xtask test` starts a server, and `cargo
//! xtask with-postgres CMD` does so for a single run.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};

use postgres::{Client, NoTls};
use punchlist_store::{Options, Store, Target};
use tempfile::TempDir;

/// The variable with the URL of the test server.
pub const POSTGRES: &str = "PUNCHLIST_TEST_POSTGRES";

/// The kinds of store there are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    SqliteFile,
    SqliteMemory,
    Postgres,
}

/// A store that is deleted with the test.
#[derive(Debug)]
pub struct TestStore {
    target: Target,
    _folder: Option<TempDir>,
    _schema: Option<Schema>,
}

impl TestStore {
    #[must_use]
    pub fn new(backend: Backend) -> Self {
        match backend {
            Backend::SqliteFile => {
                let folder = tempfile::tempdir().expect("a temporary folder");
                let target = Target::File(folder.path().join("test.db"));
                Self { target, _folder: Some(folder), _schema: None }
            }
            Backend::SqliteMemory => Self { target: Target::Memory, _folder: None, _schema: None },
            Backend::Postgres => {
                let schema = Schema::new();
                let target = Target::Postgres(schema.url.clone());
                Self { target, _folder: None, _schema: Some(schema) }
            }
        }
    }

    /// A store that the caller creates and deletes.
    #[must_use]
    pub const fn at(target: Target) -> Self {
        Self { target, _folder: None, _schema: None }
    }

    #[must_use]
    pub const fn target(&self) -> &Target {
        &self.target
    }

    /// The value of `--db` for it.
    #[must_use]
    pub fn url(&self) -> String {
        match &self.target {
            Target::File(path) => path.display().to_string(),
            Target::Memory => ":memory:".to_owned(),
            Target::Postgres(url) => url.clone(),
        }
    }

    /// The file of a SQLite store.
    #[must_use]
    pub fn file(&self) -> PathBuf {
        match &self.target {
            Target::File(path) => path.clone(),
            other => panic!("{other} is no file"),
        }
    }

    #[must_use]
    pub fn open(&self) -> Store {
        self.open_with(Options::default())
    }

    #[must_use]
    pub fn open_with(&self, options: Options) -> Store {
        Store::open(&self.target, options).expect("the store opens")
    }
}

/// The URL of the test server.
#[must_use]
pub fn postgres_url() -> String {
    std::env::var(POSTGRES).unwrap_or_else(|_| {
        panic!("{POSTGRES} is not set: run `cargo xtask test`, or `cargo xtask with-postgres CMD`")
    })
}

/// A schema on the shared server, dropped with the test.
#[derive(Debug)]
struct Schema {
    name: String,
    url: String,
}

impl Schema {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("test_{}_{number}", std::process::id());
        let base = postgres_url();
        connect(&base)
            .batch_execute(&format!("DROP SCHEMA IF EXISTS {name} CASCADE; CREATE SCHEMA {name}"))
            .expect("a schema for the test");
        let joint = if base.contains('?') { '&' } else { '?' };
        let url = format!("{base}{joint}options=-csearch_path%3D{name}");
        Self { name, url }
    }
}

impl Drop for Schema {
    fn drop(&mut self) {
        // A failed test may have lost the server; that error is not reported here.
        if let Ok(mut client) = Client::connect(&postgres_url(), NoTls) {
            drop(client.batch_execute(&format!("DROP SCHEMA IF EXISTS {} CASCADE", self.name)));
        }
    }
}

fn connect(url: &str) -> Client {
    Client::connect(url, NoTls).expect("the PostgreSQL server of the tests answers")
}

/// Runs each test on every kind of store: `sqlite_file::name`, `sqlite_memory::name`,
/// `postgres::name`. A test is a function that takes a [`Backend`].
#[macro_export]
macro_rules! on_every_store {
    ($($name:ident),+ $(,)?) => {
        mod sqlite_file {
            $(#[test] fn $name() {
                super::$name($crate::Backend::SqliteFile);
            })+
        }
        mod sqlite_memory {
            $(#[test] fn $name() {
                super::$name($crate::Backend::SqliteMemory);
            })+
        }
        mod postgres {
            $(#[test] fn $name() {
                super::$name($crate::Backend::Postgres);
            })+
        }
    };
}

/// Like `on_every_store`, for tests whose store must outlive its `Store`: a file and PostgreSQL.
#[macro_export]
macro_rules! on_every_lasting_store {
    ($($name:ident),+ $(,)?) => {
        mod lasting_sqlite {
            $(#[test] fn $name() {
                super::$name($crate::Backend::SqliteFile);
            })+
        }
        mod lasting_postgres {
            $(#[test] fn $name() {
                super::$name($crate::Backend::Postgres);
            })+
        }
    };
}
