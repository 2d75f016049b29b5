//! The contents of an export: the tables, ordered so that each row comes after the rows it refers
//! to; their rows, in an order that is the same on both databases; and the columns by name.
//!
//! Left out are secrets (`tokens`, `sign_ins`), temporary data (`answers`, the leases of `outbox`),
//! data about this store (`facts`, `servers`), its connections (`mcp_entries`) or one machine
//! (`host_records`, `host_processes`), and derived data (`issue_search`, the keys of tasks, and the
//! `row` numbers, which follow from the order of the lines). A test compares this list with the
//! schema, so that every new table or column must be listed as exported or left out.

use crate::sql;
use crate::sql::Sql;

/// A table of an export.
#[derive(Debug)]
pub(super) struct Table {
    pub(super) name: &'static str,
    pub(super) columns: &'static [Column],
    /// Reads every row, in order.
    pub(super) read: &'static Sql,
    /// Reads the rows in parts, on a server.
    pub(super) declare: &'static str,
    pub(super) fetch: &'static Sql,
    pub(super) close: &'static str,
    pub(super) insert: &'static Sql,
    /// Returns a row, if there is one.
    pub(super) any: &'static Sql,
    /// Deletes every row.
    pub(super) clear: &'static Sql,
}

impl Table {
    /// The table with this name in an export, or in a copy, which has more tables.
    pub(super) fn named(name: &str, is_copy: bool) -> Option<&'static Self> {
        let more = if is_copy { KEPT_BY_A_COPY } else { &[] };
        TABLES.iter().chain(more).find(|table| table.name == name)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    pub(super) may_be_null: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Text,
    Int,
    Real,
}

impl Column {
    /// Its name without the quotes that some names need in SQL.
    pub(super) fn key(&self) -> &'static str {
        self.name.trim_matches('"')
    }

    const fn text(name: &'static str) -> Self {
        Self { name, kind: Kind::Text, may_be_null: false }
    }

    const fn int(name: &'static str) -> Self {
        Self { name, kind: Kind::Int, may_be_null: false }
    }

    const fn real(name: &'static str) -> Self {
        Self { name, kind: Kind::Real, may_be_null: false }
    }

    const fn opt_text(name: &'static str) -> Self {
        Self { name, kind: Kind::Text, may_be_null: true }
    }

    const fn opt_int(name: &'static str) -> Self {
        Self { name, kind: Kind::Int, may_be_null: true }
    }
}

/// Defines a table, the order of its rows, and its columns with their numbers. The cursor is named
/// after the table, because a prepared FETCH must always return rows of the same shape.
macro_rules! table {
    (
        $name:literal by $order:literal,
        $n1:literal $kind1:ident $column1:literal $(, $n:literal $kind:ident $column:literal)* $(,)?
    ) => {
        Table {
            name: $name,
            columns: &[Column::$kind1($column1) $(, Column::$kind($column))*],
            read: sql!(
                "SELECT ", $column1, $(", ", $column,)* " FROM ", $name, " ORDER BY ", $order
            ),
            declare: concat!(
                "DECLARE portable_", $name, " NO SCROLL CURSOR FOR SELECT ", $column1,
                $(", ", $column,)* " FROM ", $name, " ORDER BY ", $order
            ),
            fetch: sql!("FETCH 500 FROM portable_", $name),
            close: concat!("CLOSE portable_", $name),
            insert: sql!(
                "INSERT INTO ", $name, " (", $column1, $(", ", $column,)* ") VALUES ($", $n1,
                $(", $", $n,)* ")"
            ),
            any: sql!("SELECT ", $column1, " FROM ", $name, " LIMIT 1"),
            clear: sql!("DELETE FROM ", $name),
        }
    };
}

#[rustfmt::skip]
pub(super) static TABLES: &[Table] = &[
    table!("projects" by "id",
        1 text "id", 2 text "name", 3 int "created_at", 4 int "last_issue",
        5 opt_text "merged_into"),
    table!("missions" by "id",
        1 text "id", 2 text "project_id", 3 text "slug", 4 text "name", 5 text "description",
        6 text "status", 7 text "\"jsonConfig\"", 8 text "conversation_id", 9 opt_int "last_cycle_at",
        10 opt_int "next_cycle_at", 11 int "created_at", 12 int "updated_at"),
    table!("pillars" by "id",
        1 text "id", 2 text "mission_id", 3 text "slug", 4 text "name", 5 text "description",
        6 text "status", 7 int "position", 8 text "conversation_id",
        9 text "todos_conversation_id"),
    table!("strategies" by "id",
        1 text "id", 2 text "pillar_id", 3 int "position", 4 text "description", 5 text "status"),
    table!("metrics" by "id",
        1 text "id", 2 text "pillar_id", 3 int "position", 4 text "slug", 5 text "name",
        6 text "type", 7 opt_text "unit", 8 opt_text "target", 9 opt_text "collect",
        10 opt_text "cron", 11 opt_int "archived_at", 12 opt_int "next_collect_at",
        13 int "failures", 14 opt_text "last_error", 15 opt_int "last_error_at"),
    table!("readings" by "row",
        1 text "metric_id", 2 real "value", 3 int "at", 4 text "source"),
    table!("lists" by "id",
        1 text "id", 2 text "project_id", 3 text "kind", 4 text "scope_outer",
        5 text "scope_inner", 6 int "created_at", 7 opt_int "archived_at", 8 opt_int "last_seq",
        9 opt_text "pillar_id"),
    table!("todos" by "id",
        1 text "id", 2 text "list_id", 3 opt_int "seq", 4 opt_text "parent_id", 5 text "kind",
        6 text "title", 7 text "description", 8 text "justification", 9 text "completion_criteria",
        10 opt_text "agent_type", 11 text "status", 12 text "priority", 13 int "position",
        14 opt_text "phase", 15 opt_text "deadline", 16 text "origin_agent",
        17 opt_text "external_id", 18 opt_text "assignee", 19 opt_text "claim", 20 opt_text "hold",
        21 opt_int "defer_until", 22 opt_text "outcome", 23 text "evidence",
        24 opt_text "settled_by", 25 opt_text "settled_role", 26 opt_int "ratified_at",
        27 int "created_at", 28 int "updated_at", 29 opt_int "started_at", 30 opt_int "settled_at",
        31 opt_int "removed_at", 32 opt_text "related_pillars", 33 opt_text "wishes",
        34 opt_text "overdue_notified_for", 35 opt_int "archived_at",
        36 opt_text "after_ids", 37 opt_int "assigned_by_taking"),
    table!("todo_notes" by "todo_id, n",
        1 text "todo_id", 2 int "n", 3 text "author", 4 text "text", 5 int "created_at"),
    table!("leases" by "todo_id",
        1 text "todo_id", 2 opt_text "holder", 3 int "epoch", 4 int "lease_until"),
    table!("issues" by "id",
        1 text "id", 2 text "project_id", 3 int "number", 4 text "title", 5 text "body",
        6 text "status", 7 opt_text "assignment", 8 int "revision", 9 text "created_by",
        10 int "created_at", 11 int "updated_at", 12 opt_int "defer_until", 13 opt_text "judged",
        14 opt_text "labels", 15 opt_text "priority", 16 opt_text "assignee",
        17 opt_text "status_reason"),
    table!("issue_updates" by "row",
        1 text "id", 2 text "issue_id", 3 text "kind", 4 text "author", 5 text "text",
        6 int "created_at"),
    table!("issue_links" by "id",
        1 text "id", 2 text "project_id", 3 text "from_issue", 4 text "to_issue", 5 text "kind",
        6 text "created_by", 7 int "created_at"),
    table!("conversations" by "id",
        1 text "id", 2 text "project_id", 3 text "channel", 4 text "title", 5 int "created_at",
        6 opt_text "mission_id", 7 opt_text "mission_slug", 8 opt_text "pillar_id",
        9 opt_text "pillar_slug"),
    table!("messages" by "row",
        1 text "id", 2 text "conversation_id", 3 text "role", 4 text "kind", 5 text "author",
        6 text "text", 7 int "created_at", 8 opt_text "run_id", 9 opt_text "part", 10 opt_text "reach"),
    table!("sessions" by "row",
        1 text "id", 2 text "project_id", 3 text "title", 4 text "state", 5 opt_text "bound_issue",
        6 text "conversation_id", 7 opt_text "host", 8 opt_text "external_id",
        9 opt_text "directory", 10 text "started_by", 11 int "created_at", 12 int "updated_at",
        13 opt_int "ended_at", 14 opt_text "paused_by", 15 opt_text "reach"),
    table!("bindings" by "issue_id, session_id, bound_at",
        1 text "session_id", 2 text "issue_id", 3 int "bound_at", 4 opt_int "unbound_at"),
    table!("gates" by "row",
        1 text "id", 2 text "project_id", 3 text "kind", 4 opt_text "purpose", 5 text "state",
        6 opt_text "session_id", 7 opt_text "issue_id", 8 text "text", 9 text "details",
        10 text "asked_by", 11 text "agent", 12 int "created_at", 13 opt_int "revision",
        14 opt_text "response", 15 opt_text "answered_by", 16 opt_int "answered_at",
        17 opt_int "collected_at", 18 opt_text "todo_id", 19 opt_text "run_id",
        20 opt_text "closes_as", 21 opt_text "reach"),
    table!("delegations" by "id",
        1 text "id", 2 text "project_id", 3 text "type", 4 text "mission", 5 opt_text "rationale",
        6 text "mode", 7 text "state", 8 text "review", 9 opt_text "todo_id",
        10 opt_text "session_id", 11 opt_text "issue_id", 12 text "delegated_by",
        13 text "parent_agent", 14 text "agent", 15 int "attempts", 16 opt_text "result",
        17 opt_text "error", 18 opt_text "proposal", 19 opt_text "decision", 20 int "created_at",
        21 int "updated_at", 22 opt_int "finished_at", 23 opt_text "holder", 24 int "epoch",
        25 opt_int "lease_until", 26 opt_text "conversation_id", 27 opt_text "run_id",
        28 opt_text "reach"),
    table!("runs" by "id",
        1 text "id", 2 text "project_id", 3 text "conversation_id", 4 opt_text "session_id",
        5 opt_text "delegation_id", 6 text "state", 7 text "data", 8 int "epoch"),
    table!("agents" by "id",
        1 text "id", 2 text "project_id", 3 text "path", 4 opt_text "type", 5 text "status",
        6 opt_text "note", 7 int "heartbeat_at", 8 int "created_at", 9 int "updated_at"),
    table!("outbox" by "id",
        1 text "id", 2 text "kind", 3 text "payload", 4 int "created_at", 5 int "due_at",
        6 int "attempts", 7 opt_int "done_at", 8 opt_text "last_error"),
    table!("events" by "seq",
        1 int "seq", 2 int "v", 3 text "type", 4 text "project_id", 5 text "aggregate",
        6 text "actor", 7 opt_text "acting_as", 8 text "cause", 9 int "at", 10 text "data",
        11 opt_text "proof", 12 opt_int "recorded_at"),
];

/// Tables that an export leaves out and a copy includes, because a copy is the same store for the
/// same people on the same machines. Without the records of hosts, the sessions that they govern
/// would be reported as ungoverned. Two of the facts are about the database itself and are not copied.
#[rustfmt::skip]
pub(super) static KEPT_BY_A_COPY: &[Table] = &[
    Table {
        name: "facts",
        columns: &[Column::text("name"), Column::text("value")],
        read: sql!("SELECT name, value FROM facts WHERE name NOT IN ('copy', 'event_base') ORDER BY name"),
        declare: "DECLARE portable_facts NO SCROLL CURSOR FOR SELECT name, value FROM facts \
                  WHERE name NOT IN ('copy', 'event_base') ORDER BY name",
        fetch: sql!("FETCH 500 FROM portable_facts"),
        close: "CLOSE portable_facts",
        insert: sql!("INSERT INTO facts (name, value) VALUES ($1, $2)"),
        any: sql!("SELECT name FROM facts WHERE name NOT IN ('event_base', 'identity_to_come') LIMIT 1"),
        clear: sql!("DELETE FROM facts WHERE name <> 'copy'"),
    },
    Table {
        name: "places",
        columns: &[Column::text("id"), Column::text("place")],
        read: sql!("SELECT id, place FROM projects WHERE place IS NOT NULL ORDER BY id"),
        declare: "DECLARE portable_places NO SCROLL CURSOR FOR SELECT id, place FROM projects \
                  WHERE place IS NOT NULL ORDER BY id",
        fetch: sql!("FETCH 500 FROM portable_places"),
        close: "CLOSE portable_places",
        insert: sql!("UPDATE projects SET place = $2 WHERE id = $1"),
        any: sql!("SELECT id FROM projects WHERE place IS NOT NULL LIMIT 1"),
        clear: sql!("UPDATE projects SET place = NULL"),
    },
    table!("answers" by "principal, key",
        1 text "principal", 2 text "key", 3 text "request", 4 text "answer", 5 int "created_at"),
    table!("tokens" by "id",
        1 text "id", 2 text "digest", 3 text "role", 4 opt_text "agent", 5 opt_text "project",
        6 opt_text "mission", 7 opt_text "pillar", 8 opt_int "issue_number", 9 opt_text "plan_file",
        10 text "created_by", 11 int "created_at", 12 opt_int "expires_at",
        13 opt_int "revoked_at", 14 opt_text "session", 15 opt_int "used_at"),
    table!("host_records" by "session_id",
        1 text "session_id", 2 text "host", 3 opt_text "version", 4 text "event", 5 int "at",
        6 opt_text "stop_key", 7 opt_int "stop_at", 8 int "stop_doubled", 9 opt_int "doubled_at",
        10 opt_int "told_at"),
    table!("host_processes" by "process, session_id",
        1 text "process", 2 text "session_id", 3 int "at"),
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::{Error, Options, Store, Target};

    /// Tables and columns that are not exported.
    const LEFT_OUT: [&str; 18] = [
        // Valid only for one machine and one checkout.
        "projects.place",
        "host_processes",
        "host_records",
        "answers",
        "facts",
        "issue_search",
        "mcp_entries",
        "servers",
        "sign_ins",
        "tokens",
        "gates.row",
        "issue_updates.row",
        "issues.row",
        "messages.row",
        "readings.row",
        "sessions.row",
        "todos.tree_key",
        "outbox.epoch, outbox.lease_until",
    ];

    fn is_left_out(name: &str) -> bool {
        LEFT_OUT.iter().flat_map(|names| names.split(", ")).any(|left_out| left_out == name)
    }

    /// P-18: every table and every column is exported, or left out on purpose.
    #[test]
    fn an_export_holds_every_table_and_every_column_of_the_schema() {
        let store = Store::open(&Target::Memory, Options::default()).unwrap();
        let schema = store
            .read(|tx| {
                let columns = sql!(
                    "SELECT m.name, c.name, c.type, c.\"notnull\" + c.pk FROM sqlite_master AS m \
                     JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table' \
                     AND m.name NOT LIKE 'sqlite%' AND m.name NOT LIKE 'issue_search_%' \
                     ORDER BY m.name, c.cid"
                );
                tx.query(columns, &[], |row| {
                    let kind = match row.text(2)?.as_str() {
                        "TEXT" => Kind::Text,
                        "DOUBLE PRECISION" => Kind::Real,
                        _ => Kind::Int,
                    };
                    let column = (row.text(1)?, kind, row.int(3)? == 0);
                    Ok::<_, Error>((row.text(0)?, column))
                })
            })
            .unwrap();
        let mut expected: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for (table, column) in schema {
            let full = format!("{table}.{}", column.0);
            if !is_left_out(&table) && !is_left_out(&full) {
                expected.entry(table).or_default().push(column);
            }
        }
        let mut ours: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for table in TABLES {
            let columns = table.columns.iter();
            let columns = columns.map(|c| (c.key().to_owned(), c.kind, c.may_be_null)).collect();
            assert_eq!(ours.insert(table.name.to_owned(), columns), None);
        }
        for columns in expected.values_mut().chain(ours.values_mut()) {
            columns.sort_by(|a, b| a.0.cmp(&b.0));
        }
        assert_eq!(ours, expected);
    }

    #[test]
    fn columns_are_numbered_from_one_without_a_gap() {
        for table in TABLES {
            let places: Vec<String> = (1..=table.columns.len()).map(|n| format!("${n}")).collect();
            let end = format!(" VALUES ({})", places.join(", "));
            assert!(table.insert.postgres.ends_with(&end), "{}", table.insert.postgres);
        }
    }
}
