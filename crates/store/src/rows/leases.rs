//! Leases: one row per item that was ever taken (ADR 0009).

use punchlist_core::{Lease, ListId, ProjectId, Time, TodoId};

use super::{time, word};
use crate::sql::Row;
use crate::{Error, Tx, sql};

/// An item that somebody holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leased {
    pub todo_id: TodoId,
    pub title: String,
    pub started_at: Option<Time>,
    pub lease: Lease,
}

impl Tx<'_> {
    /// The leases of a list's items. Free leases are included, because their epochs continue.
    pub fn leases(&mut self, list: ListId) -> Result<Vec<(TodoId, Lease)>, Error> {
        let list = list.to_string();
        self.query(
            sql!(
                "SELECT t.id, e.holder, e.epoch, e.lease_until FROM todos AS t \
                 JOIN leases AS e ON e.todo_id = t.id WHERE t.list_id = $1"
            ),
            &[(&list).into()],
            |row| Ok((word("todo id", row.str(0)?, TodoId::parse)?, read(row, 1)?)),
        )
    }

    /// The items of a project that are held now, in the order in which their leases end. CROSS JOIN
    /// makes SQLite start with the leases, because they are few, and a project may have a million
    /// items.
    pub fn leased(
        &mut self,
        project: ProjectId,
        now: Time,
        limit: i64,
    ) -> Result<Vec<Leased>, Error> {
        let project = project.to_string();
        self.query(
            sql!(
                "SELECT t.id, t.title, t.started_at, e.holder, e.epoch, e.lease_until \
                 FROM leases AS e CROSS JOIN todos AS t CROSS JOIN lists AS l \
                 WHERE t.id = e.todo_id AND l.id = t.list_id AND l.project_id = $1 \
                 AND e.lease_until > $2 AND e.lease_until < $4 AND e.holder IS NOT NULL \
                 ORDER BY e.lease_until LIMIT $3"
            ),
            &[(&project).into(), now.micros().into(), limit.into(), i64::MAX.into()],
            |row| {
                Ok(Leased {
                    todo_id: word("todo id", row.str(0)?, TodoId::parse)?,
                    title: row.text(1)?,
                    started_at: row.opt_int(2)?.map(Time::from_micros),
                    lease: read(row, 3)?,
                })
            },
        )
    }

    pub fn put_lease(&mut self, todo: TodoId, lease: &Lease) -> Result<(), Error> {
        let todo = todo.to_string();
        self.write(
            sql!(
                "INSERT INTO leases (todo_id, holder, epoch, lease_until) \
                 VALUES ($1, $2, $3, $4) ON CONFLICT (todo_id) DO UPDATE \
                 SET holder = excluded.holder, epoch = excluded.epoch, \
                     lease_until = excluded.lease_until"
            ),
            &[
                (&todo).into(),
                lease.holder.as_deref().into(),
                lease.epoch.into(),
                lease.until.micros().into(),
            ],
        )?;
        Ok(())
    }

    /// Extends a lease. Returns false if the epoch is stale.
    pub fn extend_lease(&mut self, todo: TodoId, epoch: i64, until: Time) -> Result<bool, Error> {
        let todo = todo.to_string();
        let changed = self.execute(
            sql!("UPDATE leases SET lease_until = $3 WHERE todo_id = $1 AND epoch = $2"),
            &[(&todo).into(), epoch.into(), until.micros().into()],
        )?;
        Ok(changed == 1)
    }

    /// Removes the holder and keeps the epoch. If another agent can continue the item, the lease counts
    /// as expired, so that the search for expired leases finds it; otherwise it never expires.
    pub fn end_lease(&mut self, todo: TodoId, can_be_continued: bool) -> Result<(), Error> {
        let todo = todo.to_string();
        let end = if can_be_continued { 0 } else { i64::MAX };
        self.write(
            sql!(
                "UPDATE leases SET holder = NULL, lease_until = $2 \
                 WHERE todo_id = $1 AND (holder IS NOT NULL OR lease_until <> $2)"
            ),
            &[(&todo).into(), end.into()],
        )?;
        Ok(())
    }
}

fn read(row: &Row<'_>, first: usize) -> Result<Lease, Error> {
    let (holder, epoch) = (row.opt_text(first)?, row.int(first + 1)?);
    Ok(Lease { holder, epoch, until: time(row, first + 2)? })
}
