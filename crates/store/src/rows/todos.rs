//! Todos: one wide row, written as a whole, read by id or by list.

use std::collections::BTreeMap;

use punchlist_core::deadline::Deadline;
use punchlist_core::todo::{Claim, Priority, SettledBy};
use punchlist_core::{
    AgentPath, Lease, ListId, ListKind, ProjectId, Role, Scope, Status, Tally, Time, Todo, TodoId,
    TodoKind,
};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::places::own_word;
use super::take::not_dropped;
use super::{opt_time, time, word};
use crate::sql::{Row, Sql, Value};
use crate::{Error, Tx, sql};

/// The part of an item that a report needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brief {
    pub title: String,
    /// Who made the current or last claim.
    pub claimed_by: Option<String>,
    pub created_at: Time,
}

/// An item that waits for its reviewer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub id: TodoId,
    pub title: String,
    pub kind: TodoKind,
    pub claim: Claim,
    pub scope: Scope,
}

macro_rules! columns {
    () => {
        "id, list_id, seq, parent_id, kind, title, description, justification, \
         completion_criteria, agent_type, status, priority, position, phase, deadline, \
         origin_agent, external_id, assignee, claim, hold, defer_until, outcome, evidence, \
         settled_by, settled_role, ratified_at, created_at, updated_at, started_at, settled_at, \
         removed_at, related_pillars, wishes, overdue_notified_for, archived_at, after_ids, \
         assigned_by_taking"
    };
}

pub(super) use columns;

/// The number of columns of an item; joined columns come after them.
pub(super) const WIDTH: usize = 37;

/// All columns, and whether one of those that [`add_rare`] reads has a value. Most items have none
/// of them, and reading so many empty columns costs as much as all others together.
macro_rules! columns_and_rare {
    () => {
        concat!(
            columns!(),
            ", CAST(CASE WHEN agent_type IS NULL AND phase IS NULL AND deadline IS NULL \
             AND assignee IS NULL AND claim IS NULL AND hold IS NULL AND defer_until IS NULL \
             AND outcome IS NULL AND settled_by IS NULL AND settled_at IS NULL \
             AND removed_at IS NULL AND related_pillars IS NULL AND wishes IS NULL \
             AND overdue_notified_for IS NULL AND archived_at IS NULL AND after_ids IS NULL \
             AND assigned_by_taking IS NULL THEN 0 ELSE 1 END AS BIGINT)"
        )
    };
}

macro_rules! insert {
    () => {
        concat!(
            "INSERT INTO todos (",
            columns!(),
            ") VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, \
             $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, \
             $33, $34, $35, $36, $37)"
        )
    };
}

/// Like `insert!`, with the key of the item's position. Only trees have keys, because looking up
/// the parent costs time.
macro_rules! insert_nested {
    () => {
        concat!(
            "INSERT INTO todos (",
            columns!(),
            ", tree_key) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, \
             $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, \
             $32, $33, $34, $35, $36, $37, \
             COALESCE((SELECT p.tree_key || '/' FROM todos AS p WHERE p.id = $4), '') \
             || CAST($38 AS TEXT))"
        )
    };
}

impl Tx<'_> {
    /// Inserts a row. In a list that nests, it also gets its key; its parent must exist.
    pub fn insert_todo(&mut self, todo: &Todo, nests: bool) -> Result<(), Error> {
        if !nests {
            return self.write_todo(sql!(insert!()), todo, &[]);
        }
        let key = own_word(todo);
        self.write_todo(sql!(insert_nested!()), todo, &[(&key).into()])
    }

    /// Updates a row, except for the columns that never change (id, list, creation).
    pub fn update_todo(&mut self, todo: &Todo) -> Result<(), Error> {
        self.write_todo(
            in_log_order!(
                self,
                "todos",
                "UPDATE todos SET parent_id = $4, kind = $5, title = $6, description = $7, \
                 justification = $8, completion_criteria = $9, agent_type = $10, status = $11, \
                 priority = $12, position = $13, phase = $14, deadline = $15, origin_agent = $16, \
                 external_id = $17, assignee = $18, claim = $19, hold = $20, defer_until = $21, \
                 outcome = $22, evidence = $23, settled_by = $24, settled_role = $25, \
                 ratified_at = $26, updated_at = $28, started_at = $29, settled_at = $30, \
                 removed_at = $31, related_pillars = $32, wishes = $33, overdue_notified_for = $34, \
                 archived_at = $35, after_ids = $36, assigned_by_taking = $37 WHERE id = $1 AND list_id = $2 \
                 AND seq IS NOT DISTINCT FROM $3 AND created_at = $27"
            ),
            todo,
            &[],
        )
    }

    /// Writes only the status and the assignee of an item. Taking work changes only these, and the
    /// wide row has many indexes and checks.
    pub fn move_todo(&mut self, todo: &Todo) -> Result<(), Error> {
        let id = todo.id.to_string();
        // A status change may also have ended the hold.
        let hold = todo.hold.as_ref().map(serde_json::to_string).transpose()?;
        self.write(
            in_log_order!(
                self,
                "todos",
                "UPDATE todos SET status = $2, assignee = $3, started_at = $4, updated_at = $5, \
                 hold = $6, assigned_by_taking = $7 WHERE id = $1"
            ),
            &[
                (&id).into(),
                todo.status.name().into(),
                todo.assignee.as_ref().map(AgentPath::as_str).into(),
                todo.started_at.map(Time::micros).into(),
                todo.updated_at.micros().into(),
                hold.as_deref().into(),
                taken(todo),
            ],
        )
    }

    fn write_todo(
        &mut self,
        statement: &crate::sql::Sql,
        todo: &Todo,
        more: &[Value<'_>],
    ) -> Result<(), Error> {
        let id = todo.id.to_string();
        let list = todo.list_id.to_string();
        let parent = todo.parent_id.map(|id| id.to_string());
        let deadline = todo.deadline.map(|deadline| deadline.to_string());
        let claim = todo.claim.as_ref().map(serde_json::to_string).transpose()?;
        let hold = todo.hold.as_ref().map(serde_json::to_string).transpose()?;
        let evidence = serde_json::to_string(&todo.evidence)?;
        let related = unless_empty(&todo.related_pillars)?;
        let wishes = unless_empty(&todo.wishes)?;
        let after = unless_empty(&todo.after)?;
        let notified = todo.overdue_notified_for.map(|deadline| deadline.to_string());
        let micros = |time: Option<Time>| Value::from(time.map(Time::micros));
        let values: [Value<'_>; WIDTH] = [
            (&id).into(),
            (&list).into(),
            todo.seq.into(),
            parent.as_deref().into(),
            todo.kind.name().into(),
            (&todo.title).into(),
            (&todo.description).into(),
            (&todo.justification).into(),
            (&todo.completion_criteria).into(),
            todo.agent_type.as_deref().into(),
            todo.status.name().into(),
            todo.priority.name().into(),
            todo.position.into(),
            todo.phase.as_deref().into(),
            deadline.as_deref().into(),
            todo.origin_agent.as_str().into(),
            todo.external_id.as_deref().into(),
            todo.assignee.as_ref().map(AgentPath::as_str).into(),
            claim.as_deref().into(),
            hold.as_deref().into(),
            micros(todo.defer_until),
            todo.outcome.as_deref().into(),
            (&evidence).into(),
            todo.settled_by.as_ref().map(|by| by.principal.as_str()).into(),
            todo.settled_by.as_ref().map(|by| by.role.name()).into(),
            micros(todo.ratified_at),
            micros(Some(todo.created_at)),
            micros(Some(todo.updated_at)),
            micros(todo.started_at),
            micros(todo.settled_at),
            micros(todo.removed_at),
            related.as_deref().into(),
            wishes.as_deref().into(),
            notified.as_deref().into(),
            micros(todo.archived_at),
            after.as_deref().into(),
            taken(todo),
        ];
        match more {
            [] => self.write(statement, &values),
            more => self.write(statement, &[&values, more].concat()),
        }
    }

    /// One item of a list; an item of another list is not found.
    pub fn todo(&mut self, list: ListId, id: TodoId) -> Result<Option<Todo>, Error> {
        let (list, id) = (list.to_string(), id.to_string());
        self.first(
            sql!("SELECT ", columns!(), " FROM todos WHERE id = $1 AND list_id = $2"),
            &[(&id).into(), (&list).into()],
            read,
        )
    }

    /// The items of a project that wait for their reviewer, with the scopes of their lists, longest
    /// wait first. The cross join makes SQLite start with the few waiting items, and not with every
    /// list.
    pub fn claimed(&mut self, project: ProjectId, limit: i64) -> Result<Vec<Claimed>, Error> {
        let project = project.to_string();
        self.query(
            sql!(
                "SELECT t.id, t.title, t.kind, t.claim, l.kind, l.scope_outer, l.scope_inner \
                 FROM todos AS t CROSS JOIN lists AS l WHERE l.id = t.list_id AND l.project_id = $1 \
                 AND l.archived_at IS NULL AND t.claim IS NOT NULL AND t.kind <> 'criterion' \
                 AND (t.status = 'pending' OR t.status = 'in_progress') \
                 ORDER BY t.updated_at, t.id LIMIT $2"
            ),
            &[(&project).into(), limit.into()],
            |row| {
                let kind = word("list kind", row.str(4)?, ListKind::parse)?;
                Ok(Claimed {
                    id: word("todo id", row.str(0)?, TodoId::parse)?,
                    title: row.text(1)?,
                    kind: word("todo kind", row.str(2)?, TodoKind::parse)?,
                    claim: serde_json::from_str(row.str(3)?)?,
                    scope: Scope::from_keys(kind, row.text(5)?, row.text(6)?),
                })
            },
        )
    }

    /// An item of any list, in brief.
    pub fn brief(&mut self, id: TodoId) -> Result<Option<Brief>, Error> {
        let id = id.to_string();
        self.first(
            sql!("SELECT title, claim, created_at FROM todos WHERE id = $1"),
            &[(&id).into()],
            |row| {
                let claim = row.opt_text(1)?.map(|text| serde_json::from_str::<Claim>(&text));
                let claimed_by = claim.transpose()?.map(|claim| claim.by);
                Ok(Brief { title: row.text(0)?, claimed_by, created_at: time(row, 2)? })
            },
        )
    }

    /// One item of a list, and its lease if it was ever taken, in one query.
    pub fn todo_and_lease(
        &mut self,
        list: ListId,
        id: TodoId,
    ) -> Result<Option<(Todo, Option<Lease>)>, Error> {
        let (list, id) = (list.to_string(), id.to_string());
        self.first(
            sql!(
                "SELECT ",
                columns!(),
                ", e.epoch, e.holder, e.lease_until FROM todos LEFT JOIN leases AS e \
                 ON e.todo_id = todos.id WHERE id = $1 AND list_id = $2"
            ),
            &[(&id).into(), (&list).into()],
            |row| {
                let lease = match row.opt_int(WIDTH)? {
                    Some(epoch) => Some(Lease {
                        holder: row.opt_text(WIDTH + 1)?,
                        epoch,
                        until: time(row, WIDTH + 2)?,
                    }),
                    None => None,
                };
                Ok((read(row)?, lease))
            },
        )
    }

    /// All items of a list, in position order (T-15).
    pub fn todos(&mut self, list: ListId) -> Result<Vec<Todo>, Error> {
        let list = list.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM todos WHERE list_id = $1 ORDER BY position, created_at, id"
            ),
            &[(&list).into()],
            read,
        )
    }

    /// The items by id, for callers that sort them anyway. Sorting in SQL, or collecting them
    /// first, would copy every wide row.
    pub(super) fn todos_by_id(&mut self, list: ListId) -> Result<BTreeMap<TodoId, Todo>, Error> {
        self.by_id(list, sql!("SELECT ", columns_and_rare!(), " FROM todos WHERE list_id = $1"))
    }

    /// Like `todos_by_id`, only the visible items.
    pub(super) fn todos_in_view(&mut self, list: ListId) -> Result<BTreeMap<TodoId, Todo>, Error> {
        let in_view = sql!(
            "SELECT ",
            columns_and_rare!(),
            " FROM todos WHERE list_id = $1 AND removed_at IS NULL"
        );
        self.by_id(list, in_view)
    }

    fn by_id(&mut self, list: ListId, statement: &Sql) -> Result<BTreeMap<TodoId, Todo>, Error> {
        let list = list.to_string();
        let mut todos = BTreeMap::new();
        self.query(statement, &[(&list).into()], |row| {
            let mut todo = read_usual(row)?;
            if row.int(WIDTH)? == 1 {
                add_rare(&mut todo, row)?;
            }
            todos.insert(todo.id, todo);
            Ok(())
        })?;
        Ok(todos)
    }

    /// The items of a list in one status, in position order.
    pub fn todos_in(&mut self, list: ListId, status: Status) -> Result<Vec<Todo>, Error> {
        let list = list.to_string();
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM todos WHERE list_id = $1 AND status = $2 ORDER BY position, created_at, id"
            ),
            &[(&list).into(), status.name().into()],
            read,
        )
    }

    /// The open items below an item: its children, and those below children that are completed. What
    /// is below a cancelled item does not count.
    pub fn open_below(&mut self, list: ListId, parent: TodoId) -> Result<Vec<Todo>, Error> {
        let (list, parent) = (list.to_string(), parent.to_string());
        self.query(
            sql!(
                "WITH RECURSIVE below (item, state) AS ( \
                     SELECT id, status FROM todos WHERE parent_id = $2 AND list_id = $1 \
                         AND removed_at IS NULL AND status <> 'cancelled' \
                     UNION SELECT c.id, c.status FROM below JOIN todos AS c ON c.parent_id = item \
                         WHERE state = 'completed' AND c.removed_at IS NULL \
                         AND c.status <> 'cancelled') \
                 SELECT ",
                columns!(),
                " FROM below JOIN todos ON id = item WHERE state <> 'completed' \
                 ORDER BY position, created_at, id LIMIT 100"
            ),
            &[(&list).into(), (&parent).into()],
            read,
        )
    }

    /// The open, unclaimed tasks of a project's plans that are assigned to an agent, by id, so that
    /// all callers lock them in the same order.
    pub fn unclaimed_tasks_of(
        &mut self,
        project: ProjectId,
        agent: &AgentPath,
    ) -> Result<Vec<(TodoId, Scope)>, Error> {
        let (project, kind) = (project.to_string(), ListKind::Plan);
        self.query(
            sql!(
                "SELECT t.id, l.scope_outer, l.scope_inner \
                 FROM todos AS t JOIN lists AS l ON l.id = t.list_id WHERE t.assignee = $1 \
                 AND t.status IN ('backlog', 'pending', 'in_progress') AND t.claim IS NULL \
                 AND t.removed_at IS NULL AND l.project_id = $2 AND l.kind = $3 \
                 AND l.archived_at IS NULL ORDER BY t.id"
            ),
            &[agent.as_str().into(), (&project).into(), kind.name().into()],
            |row| {
                let id = word("todo id", row.str(0)?, TodoId::parse)?;
                Ok((id, Scope::from_keys(kind, row.text(1)?, row.text(2)?)))
            },
        )
    }

    /// The counts by status of the tasks of a plan that have no subtasks (`plan::Tree::tally`).
    pub fn tally_of_leaves(&mut self, list: ListId) -> Result<Tally, Error> {
        let list = list.to_string();
        let counts = self.query(
            sql!(
                "SELECT t.status, count(*) FROM (SELECT CASE \
                 WHEN t.status IN ('completed', 'cancelled') OR ",
                not_dropped!("t"),
                " THEN t.status ELSE 'cancelled' END AS status FROM todos AS t \
                 WHERE t.list_id = $1 AND t.removed_at IS NULL AND NOT EXISTS (SELECT 1 \
                 FROM todos AS c WHERE c.parent_id = t.id AND c.removed_at IS NULL)) AS t \
                 GROUP BY t.status"
            ),
            &[(&list).into()],
            |row| Ok((word("status", row.str(0)?, Status::parse)?, row.int(1)?)),
        )?;
        let mut tally = Tally::default();
        for (status, count) in counts {
            *tally.of(status) = count.unsigned_abs();
        }
        Ok(tally)
    }

    /// The counts by status and the highest position of a list, from the index alone.
    pub fn tally(&mut self, list: ListId) -> Result<(Tally, Option<i64>), Error> {
        let list = list.to_string();
        let counts = self.query(
            sql!(
                "SELECT status, count(*), max(position) FROM todos WHERE list_id = $1 \
                 GROUP BY status"
            ),
            &[(&list).into()],
            |row| {
                let status = word("status", row.str(0)?, Status::parse)?;
                Ok((status, row.int(1)?, row.opt_int(2)?))
            },
        )?;
        let (mut tally, mut last) = (Tally::default(), None);
        for (status, count, position) in counts {
            *tally.of(status) = count.unsigned_abs();
            last = last.max(position);
        }
        Ok((tally, last))
    }
}

pub(super) fn read(row: &Row<'_>) -> Result<Todo, Error> {
    let mut todo = read_usual(row)?;
    add_rare(&mut todo, row)?;
    Ok(todo)
}

/// An item without the columns that are usually empty.
fn read_usual(row: &Row<'_>) -> Result<Todo, Error> {
    let evidence = match row.str(22)? {
        "[]" => Vec::new(),
        some => serde_json::from_str(some)?,
    };
    Ok(Todo {
        id: word("todo id", row.str(0)?, TodoId::parse)?,
        list_id: word("list id", row.str(1)?, ListId::parse)?,
        seq: row.opt_int(2)?,
        parent_id: row.opt_str(3)?.map(|id| word("todo id", id, TodoId::parse)).transpose()?,
        kind: word("todo kind", row.str(4)?, TodoKind::parse)?,
        title: row.text(5)?,
        description: row.text(6)?,
        justification: row.text(7)?,
        completion_criteria: row.text(8)?,
        agent_type: None,
        status: word("status", row.str(10)?, Status::parse)?,
        priority: word("priority", row.str(11)?, Priority::parse)?,
        position: row.int(12)?,
        phase: None,
        deadline: None,
        origin_agent: word("agent path", row.str(15)?, AgentPath::parse)?,
        external_id: row.opt_text(16)?,
        assignee: None,
        assigned_by_taking: false,
        claim: None,
        hold: None,
        defer_until: None,
        outcome: None,
        evidence,
        settled_by: None,
        ratified_at: opt_time(row, 25)?,
        created_at: time(row, 26)?,
        updated_at: time(row, 27)?,
        started_at: opt_time(row, 28)?,
        settled_at: None,
        removed_at: None,
        related_pillars: Vec::new(),
        wishes: Vec::new(),
        overdue_notified_for: None,
        archived_at: None,
        after: Vec::new(),
    })
}

/// The columns that are usually empty; `columns_and_rare!` names the same.
fn add_rare(todo: &mut Todo, row: &Row<'_>) -> Result<(), Error> {
    let deadline =
        |column| row.opt_str(column)?.map(|day| word("deadline", day, Deadline::parse)).transpose();
    todo.agent_type = row.opt_text(9)?;
    todo.phase = row.opt_text(13)?;
    todo.deadline = deadline(14)?;
    todo.assignee =
        row.opt_str(17)?.map(|path| word("agent path", path, AgentPath::parse)).transpose()?;
    todo.claim = row.opt_str(18)?.map(serde_json::from_str).transpose()?;
    todo.hold = row.opt_str(19)?.map(serde_json::from_str).transpose()?;
    todo.defer_until = opt_time(row, 20)?;
    todo.outcome = row.opt_text(21)?;
    if let Some(principal) = row.opt_text(23)? {
        let role = word("role", row.opt_str(24)?.unwrap_or_default(), Role::parse)?;
        todo.settled_by = Some(SettledBy { principal, role });
    }
    todo.settled_at = opt_time(row, 29)?;
    todo.removed_at = opt_time(row, 30)?;
    todo.related_pillars = or_empty(row.opt_str(31)?)?;
    todo.wishes = or_empty(row.opt_str(32)?)?;
    todo.overdue_notified_for = deadline(33)?;
    todo.archived_at = opt_time(row, 34)?;
    todo.after = or_empty(row.opt_str(35)?)?;
    todo.assigned_by_taking = row.opt_int(36)?.is_some();
    Ok(())
}

/// Whether its assignment was made by taking: 1 or NULL.
fn taken(todo: &Todo) -> Value<'static> {
    todo.assigned_by_taking.then_some(1_i64).into()
}

/// A list as JSON; `None` for an empty one, which is the usual case.
fn unless_empty<T: Serialize>(items: &[T]) -> Result<Option<String>, Error> {
    Ok(if items.is_empty() { None } else { Some(serde_json::to_string(items)?) })
}

fn or_empty<T: DeserializeOwned>(text: Option<&str>) -> Result<Vec<T>, Error> {
    Ok(text.map(serde_json::from_str).transpose()?.unwrap_or_default())
}
