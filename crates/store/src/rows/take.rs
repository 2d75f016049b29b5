//! Finding the next item to take, and keeping others off it while that is decided.
//!
//! Where many items may be in progress, takers must not queue behind one another: each locks
//! the item it found and skips what others have locked (PostgreSQL). On SQLite there is one
//! writer at a time.

use punchlist_core::{Actor, ListId, Time, TodoId};

use super::word;
use crate::{Dialect, Error, Tx, sql};

/// Unclaimed, not held, not resting.
macro_rules! workable {
    () => {
        "t.claim IS NULL AND t.hold IS NULL AND (t.defer_until IS NULL OR t.defer_until <= $2)"
    };
}

/// What could be this taker's next: what it holds, what is assigned to it, what somebody held
/// who has gone silent, and else the first pending one under which nothing hangs. Each comes from
/// its own index; the pending one is only looked for (and locked) where the others gave nothing.
/// `+ 0` and `|| ''` keep a planner without statistics off the indexes that hold every live lease
/// and everything in progress: a taker's own few items come first, and the rest is a look-up each.
macro_rules! next {
    ($lock:expr) => {
        concat!(
            "WITH mine AS MATERIALIZED ( \
                 SELECT todo_id, 0 AS rank FROM leases WHERE holder = $4 AND lease_until + 0 > $3 \
                 UNION ALL SELECT id, 1 FROM todos WHERE assignee = $5 AND status = 'in_progress' \
                 UNION ALL SELECT todo_id, 2 FROM leases \
                     WHERE lease_until <= $3 AND holder IS NOT NULL), \
             begun AS MATERIALIZED ( \
                 SELECT t.id FROM mine AS m JOIN todos AS t ON t.id = m.todo_id \
                 LEFT JOIN leases AS e ON e.todo_id = t.id \
                 WHERE t.list_id || '' = $1 AND t.status || '' = 'in_progress' \
                 AND (m.rank <> 1 OR e.holder IS NULL OR e.lease_until <= $3) AND ",
            workable!(),
            " ORDER BY m.rank, t.position, t.id LIMIT 1",
            $lock,
            "), pending AS MATERIALIZED ( \
                 SELECT t.id FROM todos AS t WHERE t.list_id = $1 AND t.status = 'pending' AND ",
            workable!(),
            " AND NOT EXISTS (SELECT 1 FROM todos AS c WHERE c.parent_id = t.id) \
                 ORDER BY t.position, t.id LIMIT 1",
            $lock,
            ") SELECT id FROM begun UNION ALL SELECT id FROM pending LIMIT 1"
        )
    };
}

impl Tx<'_> {
    /// The next item of a list for this taker, locked.
    pub fn next_todo(
        &mut self,
        list: ListId,
        taker: &Actor,
        now: Time,
        clock: Time,
    ) -> Result<Option<TodoId>, Error> {
        let list = list.to_string();
        let statement =
            self.dialect().pick(sql!(next!("")), sql!(next!(" FOR UPDATE OF t SKIP LOCKED")));
        let params = [
            (&list).into(),
            now.micros().into(),
            clock.micros().into(),
            (&taker.principal).into(),
            taker.agent.as_str().into(),
        ];
        self.first(statement, &params, |row| word("todo id", &row.text(0)?, TodoId::parse))
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
