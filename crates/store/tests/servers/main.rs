//! Stores on realistic servers: with TLS, behind a pooler, with a standby, and servers that restart
//! or stop answering. Each test has its own servers, which `cargo xtask test` can install.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod doctor;
mod failover;
mod outage;
mod pooler;
mod tls;
mod versions;

use punchlist_store::{Error, Options, Store, Target, sql};

fn open(url: &str) -> Result<Store, Error> {
    Store::open(&Target::Postgres(url.to_owned()), Options::default())
}

fn refused(url: &str) -> Error {
    open(url).map(|_| ()).unwrap_err()
}

/// Writes one fact and returns after its commit.
fn write(store: &Store, name: &str) -> Result<(), Error> {
    let name = name.to_owned();
    store.write(move |tx| {
        let put = sql!("INSERT INTO facts (name, value) VALUES ($1, 'kept')");
        tx.write(put, &[(&name).into()])
    })
}

/// The names of all facts that were written by [`write`].
fn written(store: &Store) -> Result<Vec<String>, Error> {
    let all = sql!("SELECT name FROM facts WHERE value = 'kept' ORDER BY name");
    store.read(move |tx| tx.query(all, &[], |row| row.text(0)))
}

/// Queries one text.
fn ask(store: &Store, sql: &'static sql::Sql) -> Result<Option<String>, Error> {
    store.read(move |tx| tx.first(sql, &[], |row| row.text(0)))
}
