//! Finding the next item to take, and keeping others off it while that is decided.
//!
//! Where many items may be in progress, takers must not queue behind one another: each locks
//! the item it found and skips what others have locked (PostgreSQL). On SQLite there is one
//! writer at a time.

use punchlist_core::{AgentPath, ListId, Time, TodoId};

use super::word;
use crate::sql::Row;
use crate::{Dialect, Error, Tx, sql};

/// Open, unclaimed, not held, not resting, and nothing hangs under it that should come first.
macro_rules! workable {
    () => {
        "t.claim IS NULL AND t.hold IS NULL AND (t.defer_until IS NULL OR t.defer_until <= $2) \
         AND NOT EXISTS (SELECT 1 FROM todos AS c WHERE c.parent_id = t.id)"
    };
}

macro_rules! pending {
    ($lock:expr) => {
        concat!(
            "SELECT t.id FROM todos AS t WHERE t.list_id = $1 AND t.status = 'pending' AND ",
            workable!(),
            " ORDER BY t.position, t.created_at, t.id LIMIT 1",
            $lock
        )
    };
}

macro_rules! orphaned {
    ($lock:expr) => {
        concat!(
            "SELECT t.id FROM todos AS t LEFT JOIN leases AS e ON e.todo_id = t.id \
             WHERE t.list_id = $1 AND t.status = 'in_progress' AND ",
            workable!(),
            " AND ((e.holder IS NOT NULL AND e.lease_until <= $3) \
                   OR (e.holder IS NULL AND t.assignee = $4)) \
             ORDER BY t.position, t.created_at, t.id LIMIT 1",
            $lock
        )
    };
}

fn id(row: &Row<'_>) -> Result<TodoId, Error> {
    word("todo id", &row.text(0)?, TodoId::parse)
}

impl Tx<'_> {
    /// An item of the list that this principal holds already.
    pub fn held_todo(
        &mut self,
        list: ListId,
        principal: &str,
        clock: Time,
    ) -> Result<Option<TodoId>, Error> {
        let list = list.to_string();
        self.first(
            sql!(
                "SELECT t.id FROM leases AS e JOIN todos AS t ON t.id = e.todo_id \
                 WHERE e.holder = $2 AND e.lease_until > $3 AND t.list_id = $1 \
                 AND t.status = 'in_progress' ORDER BY t.position, t.id LIMIT 1"
            ),
            &[(&list).into(), principal.into(), clock.micros().into()],
            id,
        )
    }

    /// The first item nobody works on, locked: one whose holder has gone silent or that is
    /// assigned to this agent, else the first pending one.
    pub fn free_todo(
        &mut self,
        list: ListId,
        agent: &AgentPath,
        now: Time,
        clock: Time,
    ) -> Result<Option<TodoId>, Error> {
        let list = list.to_string();
        let (now, clock) = (now.micros(), clock.micros());
        let statement = self
            .dialect()
            .pick(sql!(orphaned!("")), sql!(orphaned!(" FOR UPDATE OF t SKIP LOCKED")));
        let params = [(&list).into(), now.into(), clock.into(), agent.as_str().into()];
        if let Some(found) = self.first(statement, &params, id)? {
            return Ok(Some(found));
        }
        let statement =
            self.dialect().pick(sql!(pending!("")), sql!(pending!(" FOR UPDATE OF t SKIP LOCKED")));
        self.first(statement, &[(&list).into(), now.into()], id)
    }

    /// Locks one item; who else wants it waits until this transaction has ended.
    pub fn lock_todo(&mut self, todo: TodoId) -> Result<(), Error> {
        if self.dialect() == Dialect::Postgres {
            let todo = todo.to_string();
            let statement = sql!("SELECT id FROM todos WHERE id = $1 FOR UPDATE");
            self.first(statement, &[(&todo).into()], |_| Ok(()))?;
        }
        Ok(())
    }
}
