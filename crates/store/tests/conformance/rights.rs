//! PostgreSQL roles that may not do everything, and schemas that hold the tables of other programs:
//! both are reported, by the store and by its examination.

use postgres::{Client, NoTls};
use punchlist_store::care::{Check, Report, examine};
use punchlist_store::migrate::MIGRATIONS;
use punchlist_store::{Error, ErrorKind, Options, Store, Target, sql};
use punchlist_testkit::stores::postgres_url;
use punchlist_testkit::{Backend, TestStore};

/// A role that may log in and read this schema's names, dropped with the test.
struct Role {
    name: String,
    operator: Client,
}

impl Role {
    fn new(name: &str, place: &TestStore) -> Self {
        // Roles belong to the whole server, which other test runs may use.
        let name = format!("{name}_{}", std::process::id());
        let mut operator = Client::connect(&postgres_url(), NoTls).unwrap();
        let schema = schema(place);
        operator
            .batch_execute(&format!(
                "DROP ROLE IF EXISTS {name}; CREATE ROLE {name} LOGIN; \
                 GRANT USAGE ON SCHEMA {schema} TO {name}"
            ))
            .unwrap();
        Self { name, operator }
    }

    fn url(&self, place: &TestStore) -> String {
        place.url().replacen("punchlist@", &format!("{}@", self.name), 1)
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        let name = &self.name;
        let gone = format!("DROP OWNED BY {name}; DROP ROLE {name}");
        self.operator.batch_execute(&gone).ok();
    }
}

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

#[test]
fn an_error_about_missing_rights_says_who_has_them() {
    let place = TestStore::new(Backend::Postgres);
    let role = Role::new("punchlist_no_rights", &place);
    // The first command of a role that may not make tables.
    for error in [refused(&role.url(&place)), {
        drop(place.open());
        refused(&role.url(&place))
    }] {
        assert_eq!(error.kind, ErrorKind::Backend, "{error:?}");
        assert!(error.detail.contains("permission denied"), "{error:?}");
        let hint = "\nHINT: the role may not do this: run `punch doctor` once as the owner of the \
                    schema; \"Roles and grants\" in docs/postgres.md says what each role needs";
        assert!(error.detail.ends_with(hint), "{error:?}");
    }
}

#[test]
fn an_examination_reports_a_role_that_may_not_make_or_migrate_the_store() {
    let place = TestStore::new(Backend::Postgres);
    let mut role = Role::new("punchlist_no_tables", &place);
    let url = role.url(&place);
    let (name, schema_name) = (&role.name, schema(&place));
    let why = format!("{name} may not make or change tables in the schema {schema_name}");
    let found = failed(&url);
    assert_eq!(found.name, "present");
    assert_eq!(found.detail, format!("there is no store here yet, and {why}"));
    assert!(found.hint.unwrap().contains("as the owner of the schema"));
    assert!(look(&place.url()).ok);

    let older = &MIGRATIONS[..MIGRATIONS.len() - 1];
    drop(place.open_with(Options { migrations: older, ..Options::default() }));
    let rights =
        format!("GRANT SELECT ON ALL TABLES IN SCHEMA {} TO {}", schema(&place), role.name);
    role.operator.batch_execute(&rights).unwrap();
    let version = older.last().unwrap().version;
    let found = failed(&url);
    assert_eq!((found.name, found.detail), ("schema", format!("version {version}; {why}")));
    assert!(look(&place.url()).ok);
}

#[test]
fn an_examination_reports_a_search_path_without_a_schema() {
    let place = TestStore::new(Backend::Postgres);
    let found = failed(&place.url().replacen("%3Dtest", "%3Dno_test", 1));
    assert_eq!(found.name, "present");
    assert!(found.detail.contains("names no schema that exists"), "{found:?}");
}

#[test]
fn an_examination_reports_transactions_that_are_read_only_by_default() {
    let place = TestStore::new(Backend::Postgres);
    let url =
        place.url().replacen("options=", "options=-cdefault_transaction_read_only%3Don%20", 1);
    for (name, begins) in [("present", "there is no store here yet, and "), ("schema", "version ")]
    {
        let found = failed(&url);
        assert_eq!(found.name, name);
        assert!(found.detail.starts_with(begins), "{found:?}");
        let why = "punchlist may not write here (default_transaction_read_only is on)";
        assert!(found.detail.ends_with(why), "{found:?}");
        drop(place.open());
        assert!(look(&place.url()).ok);
    }
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
        let said = format!(
            "its schema has a `{name}` that is not punchlist's: give punchlist a schema of its own"
        );
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
