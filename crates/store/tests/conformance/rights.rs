//! PostgreSQL schemas that hold the tables of other programs: they are reported, by the store and by
//! its examination.

use postgres::{Client, NoTls};
use punchlist_store::care::{Check, Report, examine};
use punchlist_store::{Error, ErrorKind, Options, Store, Target, sql};
use punchlist_testkit::stores::postgres_url;
use punchlist_testkit::{Backend, TestStore};

fn schema(place: &TestStore) -> String {
    place.url().split_once("search_path%3D").unwrap().1.to_owned()
}

fn refused(url: &str) -> Error {
    Store::open(&Target::Postgres(url.to_owned()), Options::default()).map(|_| ()).unwrap_err()
}

fn look(url: &str) -> Report {
    examine(&Target::Postgres(url.to_owned()), Options::default())
}

fn failed(url: &str) -> Check {
    let report = look(url);
    assert!(!report.ok, "{report:?}");
    report.checks.into_iter().find(|check| !check.ok).unwrap()
}

/// The schema of a store, with other tables in it.
fn with_tables(tables: &str) -> TestStore {
    let place = TestStore::new(Backend::Postgres);
    let mut operator = Client::connect(&postgres_url(), NoTls).unwrap();
    operator.batch_execute(&format!("SET search_path = {}; {tables}", schema(&place))).unwrap();
    place
}

/// Many programs have a `schema_version`, and some have projects.
#[test]
fn the_tables_of_another_program_are_recognised_and_left_alone() {
    for (name, tables) in [
        ("schema_version", "CREATE TABLE schema_version (version int)"),
        ("schema_version", "CREATE TABLE schema_version (version varchar(50) PRIMARY KEY)"),
        ("schema_version", "CREATE TABLE schema_version (id bigint)"),
        ("schema_version", "CREATE TABLE schema_version (version bigint, dirty boolean)"),
        ("schema_version", "CREATE TABLE schema_version AS SELECT 3::bigint AS version"),
        ("schema_version", "CREATE TABLE schema_version AS SELECT 20240101::bigint AS version"),
        ("schema_version", "CREATE VIEW schema_version AS SELECT 3::bigint AS version"),
        ("projects", "CREATE TABLE projects (id int)"),
        ("issues", "CREATE VIEW issues AS SELECT 1"),
    ] {
        let place = with_tables(tables);
        let error = refused(&place.url());
        assert_eq!(error.kind, ErrorKind::NotOurs, "{tables}: {error:?}");
        let said =
            format!("its schema has a `{name}` that is not punchlist's: use a schema of its own");
        assert!(error.detail.starts_with(&said), "{tables}: {error:?}");
        let found = failed(&place.url());
        assert_eq!(found.name, "present", "{tables}: {found:?}");
        assert!(found.detail.contains(&error.detail), "{tables}: {found:?}");
        let mut operator = Client::connect(&postgres_url(), NoTls).unwrap();
        let count = "SELECT count(*) FROM pg_class WHERE relkind IN ('r', 'v') \
                     AND relnamespace = $1::text::regnamespace";
        let count: i64 = operator.query_one(count, &[&schema(&place)]).unwrap().get(0);
        assert_eq!(count, 1, "{tables}");
    }
    // The name of a smaller table of ours: the migration fails and is undone.
    let place = with_tables("CREATE TABLE readings (id int)");
    let error = refused(&place.url());
    assert_eq!(error.kind, ErrorKind::NotOurs, "{error:?}");
}

/// What else is in the schema does not matter.
#[test]
fn tables_with_other_names_may_share_the_schema() {
    let place = with_tables("CREATE TABLE invoices (id int); CREATE TABLE schema_versions (v int)");
    assert!(look(&place.url()).ok);
    let store = place.open();
    let count = sql!("SELECT count(*) FROM invoices");
    assert_eq!(store.read(move |tx| tx.first(count, &[], |row| row.int(0))), Ok(Some(0)));
    assert!(look(&place.url()).ok);
}
