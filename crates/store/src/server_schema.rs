//! The schema on a server that holds a store, or is to hold one: whose it is, and what the role of
//! the connection may do in it. Nothing here is written.

use punchlist_core::text::counted;

use crate::migrate::Found;
use crate::{Error, ErrorKind, Tx, sql};

/// What to do if the role lacks rights.
const AS_OWNER: &str = "run `punch doctor` once as the owner of the schema; \"Roles and grants\" in \
                        docs/postgres.md says what each role needs";

/// The hint for a statement that the role may not run.
pub(crate) fn denied() -> String {
    format!("the role may not do this: {AS_OWNER}")
}

fn not_ours(name: &str) -> Error {
    let detail = format!(
        "its schema has a `{name}` that is not punchlist's: give punchlist a schema of its own, for example \
         CREATE SCHEMA punchlist, and add ?options=-csearch_path%3Dpunchlist to the URL"
    );
    Error::new(ErrorKind::NotOurs, detail)
}

/// The version of the store on a server; zero if there is none.
pub(crate) fn version(tx: &mut Tx<'_>) -> Result<i64, Error> {
    let columns = sql!(
        "SELECT c.relkind::text || coalesce(string_agg(' ' || a.attname || ' ' || \
         format_type(a.atttypid, NULL), ',' ORDER BY a.attnum), '') \
         FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace \
         LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped \
         WHERE n.nspname = current_schema() AND c.relname = 'schema_version' GROUP BY c.relkind"
    );
    // Many programs keep their version in a table of this name.
    match tx.first(columns, &[], |row| row.text(0))?.as_deref() {
        None => return Ok(0),
        Some("r version bigint") => {}
        Some(_) => return Err(not_ours("schema_version")),
    }
    let asked = sql!(
        "SELECT max(version), \
         (SELECT count(*) FROM pg_tables WHERE schemaname = current_schema() \
          AND tablename IN ('projects', 'events')) FROM schema_version"
    );
    match tx.first(asked, &[], |row| Ok((row.opt_int(0)?, row.int(1)?)))? {
        None | Some((None | Some(0), _)) => Ok(0),
        Some((Some(version), 2)) => Ok(version),
        Some(_) => Err(not_ours("schema_version")),
    }
}

/// Fails if tables would be made in no schema. The lock of a migration would then be NULL, as if
/// another process held it.
pub(crate) fn require_schema(tx: &mut Tx<'_>) -> Result<(), Error> {
    let asked = sql!("SELECT current_schema()::text, current_setting('search_path')");
    match tx.first(asked, &[], |row| Ok((row.opt_text(0)?, row.text(1)?)))? {
        Some((None, path)) => {
            let detail = format!(
                "search_path ({path}) names no schema that exists and that this role may use; \
                 CREATE SCHEMA, or GRANT USAGE ON SCHEMA to the role"
            );
            Err(Error::new(ErrorKind::Unreachable, detail))
        }
        _ => Ok(()),
    }
}

/// Fails if another program has tables with the names of ours. There is no store here yet.
pub(crate) fn require_free_names(tx: &mut Tx<'_>) -> Result<(), Error> {
    let asked = sql!(
        "SELECT min(c.relname::text) FROM pg_class AS c \
         JOIN pg_namespace AS n ON n.oid = c.relnamespace WHERE n.nspname = current_schema() \
         AND c.relname IN ('projects', 'lists', 'todos', 'todo_notes', 'events', 'outbox', \
         'answers', 'tokens', 'facts', 'leases', 'issues', 'issue_search', 'conversations', \
         'messages', 'sessions', 'bindings', 'gates', 'issue_updates', 'issue_links', \
         'delegations', 'agents')"
    );
    match tx.first(asked, &[], |row| row.opt_text(0))?.flatten() {
        Some(name) => Err(not_ours(&name)),
        None => Ok(()),
    }
}

/// Why the next use of a store in this state would fail, and what to do about it.
pub(crate) fn obstacle(tx: &mut Tx<'_>, found: Found) -> Result<Option<(String, String)>, Error> {
    let asked = sql!(
        "SELECT pg_is_in_recovery()::text, current_setting('default_transaction_read_only'), \
         has_schema_privilege(current_schema(), 'CREATE')::text, \
         coalesce((SELECT pg_has_role(c.relowner, 'USAGE') FROM pg_class AS c \
          JOIN pg_namespace AS n ON n.oid = c.relnamespace \
          WHERE n.nspname = current_schema() AND c.relname = 'schema_version'), true)::text, \
         quote_ident(current_user), quote_ident(current_schema())"
    );
    let told: Option<Vec<String>> =
        tx.first(asked, &[], |row| (0..6).map(|n| row.text(n)).collect())?;
    let Some([is_standby, is_read_only, may_make, is_owner, role, schema]) = told.as_deref() else {
        return Ok(None);
    };
    let changes_tables = matches!(found, Found::Fresh | Found::Older(_));
    let lacking = if found == Found::Current { lacking(tx)? } else { None };
    Ok(if is_standby == "true" {
        let why = "the server is a standby, which takes no writes".to_owned();
        changes_tables.then(|| (why, "name its primary server with --db".to_owned()))
    } else if is_read_only == "on" {
        let why = format!("{role} may not write here (default_transaction_read_only is on)");
        let hint = "turn default_transaction_read_only off for the role, the database and the URL";
        Some((why, hint.to_owned()))
    } else if changes_tables && (may_make != "true" || is_owner != "true") {
        let why = format!("{role} may not make or change tables in the schema {schema}");
        Some((why, AS_OWNER.to_owned()))
    } else {
        lacking.map(|lacking| {
            let hint =
                "grant them: \"Roles and grants\" in docs/postgres.md says what each role needs";
            (format!("{role} lacks {lacking}"), hint.to_owned())
        })
    })
}

/// The rights that the role lacks on the tables and sequences of a store: `DELETE on leases and 2 more
/// tables`. Other programs may have some in the schema, too, so only those of our own owner count.
fn lacking(tx: &mut Tx<'_>) -> Result<Option<String>, Error> {
    let tables = sql!(
        "SELECT string_agg(DISTINCT p.name, ', ' ORDER BY p.name), min(c.relname::text), \
         count(DISTINCT c.oid) FROM pg_class AS c \
         JOIN pg_class AS v ON v.relnamespace = c.relnamespace AND v.relowner = c.relowner \
         AND v.relname = 'schema_version' \
         CROSS JOIN (VALUES ('SELECT'), ('INSERT'), ('UPDATE'), ('DELETE')) AS p (name) \
         WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) \
         AND c.relkind IN ('r', 'p') AND NOT has_table_privilege(c.oid, p.name) \
         AND (p.name = 'SELECT' OR c.oid <> v.oid)"
    );
    // Either right is enough to number a new row.
    let sequences = sql!(
        "SELECT 'USAGE', min(c.relname::text), count(*) FROM pg_class AS c \
         JOIN pg_class AS v ON v.relnamespace = c.relnamespace AND v.relowner = c.relowner \
         AND v.relname = 'schema_version' \
         WHERE c.relnamespace = to_regnamespace(quote_ident(current_schema())) \
         AND CASE c.relkind WHEN 'S' THEN NOT has_sequence_privilege(c.oid, 'USAGE, UPDATE') \
         ELSE false END"
    );
    let mut lacking = Vec::new();
    for (asked, one, more) in [
        (tables, "table", ("more table", "more tables")),
        (sequences, "sequence", ("more sequence", "more sequences")),
    ] {
        let found =
            tx.first(asked, &[], |row| Ok((row.opt_text(0)?, row.opt_text(1)?, row.int(2)?)))?;
        match found {
            Some((Some(rights), Some(first), 1)) => {
                lacking.push(format!("{rights} on the {one} {first}"));
            }
            Some((Some(rights), Some(first), count)) => {
                let more = counted(count - 1, more.0, more.1);
                lacking.push(format!("{rights} on {first} and {more}"));
            }
            _ => {}
        }
    }
    Ok((!lacking.is_empty()).then(|| lacking.join(", ")))
}
