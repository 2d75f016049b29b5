//! Finds the next item to take, and locks it while the taker decides.
//!
//! In lists where many items may be in progress, takers must not wait for one another: on
//! PostgreSQL each taker locks the item it found and skips locked ones. SQLite has one writer at a
//! time.
//!
//! On PostgreSQL the search is one statement, because round trips cost takers more than anything
//! else: it finds the list, the item and its lease. A second statement follows only if the taker or
//! a silent holder has started work, or tasks of the list wait for others or are cancelled. The
//! statement reads other rows as of its start. If the locked row has changed since then, another
//! taker was faster, and the search is repeated.

use punchlist_core::{Actor, Lease, List, ListId, Scope, Time, Todo, TodoId};

use super::todos::{self, WIDTH, columns};
use super::{lists, time, word};
use crate::sql::Row;
use crate::{Dialect, Error, Tx, sql};

/// Unclaimed, not on hold (or the hold has ended), not deferred. The end of a hold is text of fixed
/// width.
macro_rules! workable {
    ($hold_until:expr, $now:literal) => {
        concat!(
            "t.claim IS NULL AND (t.hold IS NULL OR ",
            $hold_until,
            " <= ",
            $now,
            ") AND (t.defer_until IS NULL OR t.defer_until <= $2)"
        )
    };
}

/// When a hold ends automatically, in each dialect.
macro_rules! hold_until {
    (sqlite) => {
        "json_extract(t.hold, '$.until')"
    };
    (postgres) => {
        "(t.hold::json ->> 'until') COLLATE \"C\""
    };
}

pub(super) use hold_until;

/// Neither the item nor a task above it comes after an open task that is not dropped. Most lists have no such tasks,
/// which one look-up in a small index shows.
macro_rules! not_waiting {
    ($ids:expr) => {
        concat!(
            "(NOT EXISTS (SELECT 1 FROM todos AS w WHERE w.list_id = $1 AND w.after_ids IS NOT NULL) \
              OR NOT EXISTS ( \
                 WITH RECURSIVE up (parent_id, after_ids) AS ( \
                     SELECT s.parent_id, s.after_ids FROM todos AS s WHERE s.id = t.id \
                     UNION SELECT s.parent_id, s.after_ids FROM up JOIN todos AS s ON s.id = up.parent_id) \
                 SELECT 1 FROM up, ",
            $ids,
            " JOIN todos AS o ON o.id = d.value WHERE up.after_ids IS NOT NULL \
                 AND o.status IN ('backlog', 'pending', 'in_progress') AND ",
            not_dropped!("o"),
            "))"
        )
    };
}

/// No task above the item is cancelled. Most lists have no cancelled tasks in view, which one look-up
/// shows.
macro_rules! not_dropped {
    ($item:literal) => {
        concat!(
            "(NOT EXISTS (SELECT 1 FROM todos AS w WHERE w.list_id = $1 AND w.status = 'cancelled' \
                  AND w.removed_at IS NULL) \
              OR NOT EXISTS ( \
                 WITH RECURSIVE up (parent_id, status, removed_at) AS ( \
                     SELECT s.parent_id, s.status, s.removed_at FROM todos AS s WHERE s.id = ",
            $item,
            ".parent_id \
                     UNION SELECT s.parent_id, s.status, s.removed_at \
                         FROM up JOIN todos AS s ON s.id = up.parent_id) \
                 SELECT 1 FROM up WHERE up.status = 'cancelled' AND up.removed_at IS NULL))"
        )
    };
}

pub(super) use not_dropped;

/// The ids of a task's `after`, in each dialect.
macro_rules! after_ids {
    (sqlite) => {
        "json_each(up.after_ids) AS d"
    };
    (postgres) => {
        "LATERAL json_array_elements_text(up.after_ids::json) AS d (value)"
    };
}

/// The next item for this taker: one it holds, one assigned to it, one whose lease has ended (unless
/// somebody assigned it to another agent), otherwise the first pending leaf. Each candidate
/// comes from its own index, in reading order for a tree. The pending one is searched for (and
/// locked) only if the others found nothing.
///
/// `+ 0` and `|| ''` stop a planner without statistics from using the indexes on all live leases
/// and all items in progress: the taker's own few items come first, and each of the rest is one
/// look-up.
macro_rules! next {
    ($dialect:ident, $lock:expr) => {
        concat!(
            "WITH mine AS MATERIALIZED ( \
                 SELECT todo_id, 0 AS rank FROM leases WHERE holder = $4 AND lease_until + 0 > $3 \
                 UNION ALL SELECT id, 1 FROM todos WHERE assignee = $5 AND status = 'in_progress' \
                 UNION ALL SELECT todo_id, 2 FROM leases WHERE lease_until <= $3), \
             begun AS MATERIALIZED ( \
                 SELECT t.id FROM mine AS m JOIN todos AS t ON t.id = m.todo_id \
                 LEFT JOIN leases AS e ON e.todo_id = t.id \
                 WHERE t.list_id || '' = $1 AND t.status || '' = 'in_progress' \
                 AND (m.rank <> 1 OR e.holder IS NULL OR e.lease_until <= $3) \
                 AND (m.rank <> 2 OR t.assigned_by_taking IS NOT NULL \
                      OR t.assignee IS NULL AND e.holder IS NOT NULL) AND ",
            workable!(hold_until!($dialect), "$6"),
            " AND (m.rank = 0 OR ",
            not_waiting!(after_ids!($dialect)),
            ") AND ",
            not_dropped!("t"),
            " AND NOT EXISTS (SELECT 1 FROM todos AS c WHERE c.parent_id = t.id \
                 AND c.removed_at IS NULL AND c.status IN ('backlog', 'pending', 'in_progress')) \
                 ORDER BY m.rank, length(t.tree_key) - length(replace(t.tree_key, '/', '')) DESC, \
                 t.tree_key, t.position, t.id LIMIT 1",
            $lock,
            "), pending AS MATERIALIZED ( \
                 SELECT t.id FROM todos AS t WHERE t.list_id = $1 AND t.status = 'pending' AND ",
            workable!(hold_until!($dialect), "$6"),
            " AND ",
            not_waiting!(after_ids!($dialect)),
            " AND ",
            not_dropped!("t"),
            " AND NOT EXISTS (SELECT 1 FROM todos AS c WHERE c.parent_id = t.id AND c.removed_at IS NULL) \
                 ORDER BY t.tree_key, t.position, t.id LIMIT 1",
            $lock,
            ") SELECT id FROM begun UNION ALL SELECT id FROM pending LIMIT 1"
        )
    };
}

/// The database's clock, inside a statement.
macro_rules! clock {
    () => {
        "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
    };
}

/// Has this taker started work, has a lease in this list expired, do tasks of it wait for others, or
/// is one of them cancelled?
///
/// The estimated cost must not depend on the number of leases. A server keeps the plan of a prepared
/// statement only while it costs no more than a new one did on average; while takers add leases, it
/// would plan almost half of the executions again, which takes longer than the search itself. The
/// planner expects every second row to pass an `EXISTS`, so finding the first costs the same always.
macro_rules! begun {
    () => {
        concat!(
            "EXISTS (SELECT 1 FROM leases WHERE holder = $3) \
             OR EXISTS (SELECT 1 FROM todos WHERE assignee = $4 AND status = 'in_progress') \
             OR EXISTS (SELECT 1 FROM leases AS x WHERE x.lease_until <= (SELECT ",
            clock!(),
            ") AND EXISTS (SELECT 1 FROM todos AS y WHERE y.id = x.todo_id \
                 AND y.list_id || '' = l.list AND y.status || '' = 'in_progress' OFFSET 0) OFFSET 0) \
             OR EXISTS (SELECT 1 FROM todos AS w WHERE w.list_id = l.list AND w.after_ids IS NOT NULL) \
             OR EXISTS (SELECT 1 FROM todos AS w WHERE w.list_id = l.list \
                 AND w.status = 'cancelled' AND w.removed_at IS NULL)"
        )
    };
}

/// The common case in one statement that starts from the names of project and scope: the first
/// pending item, locked, with its row, its lease and the clock. If the case is not common (see
/// `begun!`) it finds no item, and [`next!`] decides. That is checked first, so that nothing is locked
/// needlessly.
///
/// A server prepares every part of a plan, and every column of each part, on every execution. So
/// there are few parts, and the wide row is read last, by its physical address (ctid). If the row
/// has changed in between, its address no longer matches and it is missing. `OFFSET 0` stops the
/// planner from merging a part into others.
macro_rules! look {
    () => {
        concat!(
            "SELECT ",
            columns!(),
            ", epoch, holder, lease_until, begun, list, project, list_kind, scope_outer, \
             scope_inner, opened_at, away_at, purged_seq, found, ",
            clock!(),
            " FROM (SELECT l.id AS list, l.project_id AS project, l.kind AS list_kind, \
                 l.scope_outer, l.scope_inner, l.created_at AS opened_at, \
                 l.archived_at AS away_at, l.last_seq AS purged_seq \
                 FROM projects AS p JOIN lists AS l ON l.project_id = p.id WHERE p.name = $1 \
                 AND l.kind = $5 AND l.scope_outer = $6 AND l.scope_inner = $7 \
                 AND l.archived_at IS NULL) AS l \
             CROSS JOIN LATERAL (SELECT CASE WHEN ",
            begun!(),
            " THEN CAST(1 AS BIGINT) ELSE 0 END AS begun OFFSET 0) AS b \
             LEFT JOIN LATERAL ( \
                 SELECT t.id AS found, t.ctid AS version FROM todos AS t \
                 WHERE t.list_id = l.list AND t.status = 'pending' AND b.begun = 0 AND ",
            workable!(hold_until!(postgres), "$8"),
            " AND NOT EXISTS (SELECT 1 FROM todos AS c WHERE c.parent_id = t.id AND c.removed_at IS NULL) \
                 ORDER BY t.tree_key, t.position, t.id LIMIT 1 FOR UPDATE OF t SKIP LOCKED) AS t ON TRUE \
             LEFT JOIN LATERAL (SELECT epoch, holder, lease_until FROM leases \
                 WHERE todo_id = t.found OFFSET 0) AS e ON TRUE \
             LEFT JOIN todos AS o ON o.ctid = t.version"
        )
    };
}

/// The result of a search for the next item.
#[derive(Debug)]
pub enum Look {
    /// There is no such list, or it has no item to take.
    Nothing,
    /// The row changed during the search.
    Again,
    /// An item, locked; the caller must read it.
    Found(List, TodoId),
    /// An item, locked, with its row and its lease.
    Whole(List, Box<Todo>, Option<Lease>),
}

impl Tx<'_> {
    /// Finds the next item of a list for this taker, and locks it.
    pub fn look_for_next(
        &mut self,
        project: &str,
        scope: &Scope,
        taker: &Actor,
        now: Time,
    ) -> Result<Look, Error> {
        if self.dialect() == Dialect::Sqlite {
            let Some(list) = self.list_in(project, scope)? else { return Ok(Look::Nothing) };
            return self.begun(list, taker, now);
        }
        let (outer, inner) = scope.keys();
        let shown = now.to_string();
        let params = [
            project.into(),
            now.micros().into(),
            (&taker.principal).into(),
            taker.agent.as_str().into(),
            scope.kind().name().into(),
            outer.into(),
            inner.into(),
            (&shown).into(),
        ];
        match self.first_with_clock(sql!(look!()), &params, WIDTH + 13, seen)? {
            None => Ok(Look::Nothing),
            Some(Seen::Look(look)) => Ok(look),
            Some(Seen::Begun(list)) => self.begun(list, taker, now),
        }
    }

    /// The item this taker continues with, otherwise a pending one, by the slower query.
    fn begun(&mut self, list: List, taker: &Actor, now: Time) -> Result<Look, Error> {
        let clock = self.clock()?;
        let found = self.next_todo(list.id, taker, now, clock)?;
        Ok(found.map_or(Look::Nothing, |id| Look::Found(list, id)))
    }

    /// The next item of a list for this taker, locked.
    fn next_todo(
        &mut self,
        list: ListId,
        taker: &Actor,
        now: Time,
        clock: Time,
    ) -> Result<Option<TodoId>, Error> {
        let (list, shown) = (list.to_string(), now.to_string());
        let statement = self
            .dialect()
            .pick(sql!(next!(sqlite, "")), sql!(next!(postgres, " FOR UPDATE OF t SKIP LOCKED")));
        let params = [
            (&list).into(),
            now.micros().into(),
            clock.micros().into(),
            (&taker.principal).into(),
            taker.agent.as_str().into(),
            (&shown).into(),
        ];
        self.first(statement, &params, |row| word("todo id", row.str(0)?, TodoId::parse))
    }

    /// Locks one item; other transactions wait for it until this one ends.
    pub fn lock_todo(&mut self, todo: TodoId) -> Result<(), Error> {
        if self.dialect() == Dialect::Postgres {
            let todo = todo.to_string();
            let statement = sql!("SELECT id FROM todos WHERE id = $1 FOR UPDATE");
            self.first(statement, &[(&todo).into()], |_| Ok(()))?;
        }
        Ok(())
    }
}

/// The result of the one statement.
enum Seen {
    /// Another item may come before the first pending one.
    Begun(List),
    Look(Look),
}

fn seen(row: &Row<'_>) -> Result<Seen, Error> {
    let list = lists::read(row, WIDTH + 4)?;
    if row.int(WIDTH + 3)? == 1 {
        return Ok(Seen::Begun(list));
    }
    if row.opt_text(WIDTH + 12)?.is_none() {
        return Ok(Seen::Look(Look::Nothing));
    }
    if row.opt_text(0)?.is_none() {
        return Ok(Seen::Look(Look::Again));
    }
    let lease = match row.opt_int(WIDTH)? {
        Some(epoch) => {
            Some(Lease { holder: row.opt_text(WIDTH + 1)?, epoch, until: time(row, WIDTH + 2)? })
        }
        None => None,
    };
    Ok(Seen::Look(Look::Whole(list, Box::new(todos::read(row)?), lease)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::Value;
    use crate::{Options, Store, Target};

    /// Pending items come from the index in tree order. Only started items are sorted, and no table
    /// is scanned.
    #[test]
    fn the_next_item_is_found_through_an_index() {
        let store = Store::open(&Target::Memory, Options::default()).unwrap();
        let values = [
            Value::Text("a"),
            Value::Int(1),
            Value::Int(1),
            Value::Text("b"),
            Value::Text("c"),
            Value::Text("d"),
        ];
        let statement = sql!("EXPLAIN QUERY PLAN ", next!(sqlite, ""));
        let steps = store.read(move |tx| tx.query(statement, &values, |row| row.text(3))).unwrap();
        let pending = steps.iter().position(|step| step == "MATERIALIZE pending").unwrap();
        let look = "SEARCH t USING INDEX todos_by_list (list_id=? AND status=?)";
        assert_eq!(steps[pending + 1], look, "{steps:?}");
        let sorts = steps[pending..].iter().filter(|step| step.contains("TEMP B-TREE")).count();
        let scans = steps.iter().filter(|step| step.starts_with("SCAN t")).count();
        assert_eq!((sorts, scans), (0, 0), "{steps:?}");
    }
}
