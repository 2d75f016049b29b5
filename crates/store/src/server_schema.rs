//! The schema on a server that holds a store, or is to hold one: whose it is. Nothing here is
//! written.

use crate::{Error, ErrorKind, Tx, sql};

fn not_ours(name: &str) -> Error {
    let detail = format!(
        "its schema has a `{name}` that is not punchlist's: use a schema of its own, for example \
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
pub(crate) fn is_there(tx: &mut Tx<'_>) -> Result<(), Error> {
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
pub(crate) fn is_free(tx: &mut Tx<'_>) -> Result<(), Error> {
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
