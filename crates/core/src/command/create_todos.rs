//! Create items, all or none (T-12), if the list has room.

use serde::{Deserialize, Serialize};

use super::draft::Draft;
use crate::authority::{Action, Verdict, authority};
use crate::capacity::Tier;
use crate::deadline::Deadline;
use crate::event::TodoCreated;
use crate::plan::LEVELS_MAX;
use crate::text::{Body, Content, Title, normalised, or_empty};
use crate::todo::Priority;
use crate::{AgentPath, Refusal, Refused, Status, Todo, TodoId, TodoKind, Warning};

/// Put new items into the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CreateTodos {
    pub items: Vec<NewTodo>,
}

/// One new item; absent fields take the list's defaults.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NewTodo {
    /// A title, or the longer content of an issue's item, depending on the operation.
    pub title: Content,
    pub kind: TodoKind,
    pub description: Option<Body>,
    pub justification: Option<Body>,
    pub completion_criteria: Option<Body>,
    pub agent_type: Option<Title>,
    /// The wanted status; only pending and backlog are accepted.
    pub status: Status,
    pub priority: Priority,
    /// Zero is first; `None` puts it last, or last among its siblings if it has a parent.
    pub position: Option<i64>,
    pub phase: Option<Title>,
    pub deadline: Option<Deadline>,
    pub parent_id: Option<TodoId>,
    pub external_id: Option<String>,
    /// The store-wide number, if the list's policy gives one.
    pub seq: Option<i64>,
    /// Other pillars it concerns.
    pub related_pillars: Vec<String>,
    /// The agent that proposed it, if that is not the caller.
    pub origin_agent: Option<AgentPath>,
}

impl NewTodo {
    /// A pending step with nothing but a title.
    #[must_use]
    pub fn titled(title: impl Into<Content>) -> Self {
        Self {
            title: title.into(),
            kind: TodoKind::Step,
            description: None,
            justification: None,
            completion_criteria: None,
            agent_type: None,
            status: Status::Pending,
            priority: Priority::Medium,
            position: None,
            phase: None,
            deadline: None,
            parent_id: None,
            external_id: None,
            seq: None,
            related_pillars: Vec::new(),
            origin_agent: None,
        }
    }
}

impl CreateTodos {
    pub(super) fn decide(&self, draft: &mut Draft<'_>) -> Result<(), Refused> {
        for item in &self.items {
            draft.leave_on_list(item.kind, item.parent_id)?;
            let todo = draft.new_todo(item)?;
            draft.emit(TodoCreated { todo: Box::new(todo) });
        }
        Ok(())
    }
}

impl Draft<'_> {
    /// A row for a new item, placed in the right tier and after the last position.
    pub(super) fn new_todo(&mut self, item: &NewTodo) -> Result<Todo, Refused> {
        self.check_parent(item.parent_id)?;
        self.check_unique(item.title.as_str())?;
        self.new_row(item)
    }

    /// Only builds the row, for a command that has checked parents and texts itself.
    pub(super) fn new_row(&mut self, item: &NewTodo) -> Result<Todo, Refused> {
        let status = self.place(item.status)?;
        Ok(self.row(item, status))
    }

    /// Builds the row without checking limits.
    pub(super) fn row(&mut self, item: &NewTodo, status: Status) -> Todo {
        let position = item.position.unwrap_or_else(|| self.last_place(item.parent_id));
        // A criterion is ratified at once if its author may ratify it.
        let list = self.state.list.kind();
        let ratified = item.kind == TodoKind::Criterion
            && authority(self.actor.role, list, item.kind, Action::Ratify, true) == Verdict::Allow;
        Todo {
            id: TodoId::from(self.ids.ulid()),
            list_id: self.state.list.id,
            seq: item.seq,
            parent_id: item.parent_id,
            kind: item.kind,
            title: item.title.as_str().to_owned(),
            description: or_empty(item.description.clone()),
            justification: or_empty(item.justification.clone()),
            completion_criteria: or_empty(item.completion_criteria.clone()),
            agent_type: item.agent_type.clone().map(Title::into_string),
            status,
            priority: item.priority,
            position,
            phase: item.phase.clone().map(Title::into_string),
            deadline: item.deadline,
            origin_agent: item.origin_agent.as_ref().unwrap_or(&self.actor.agent).clone(),
            external_id: item.external_id.clone(),
            assignee: None,
            assigned_by_taking: false,
            claim: None,
            hold: None,
            defer_until: None,
            outcome: None,
            evidence: Vec::new(),
            settled_by: None,
            ratified_at: ratified.then_some(self.now),
            created_at: self.now,
            updated_at: self.now,
            started_at: None,
            settled_at: None,
            removed_at: None,
            related_pillars: item.related_pillars.clone(),
            wishes: Vec::new(),
            overdue_notified_for: None,
            after: Vec::new(),
            archived_at: None,
        }
    }

    /// The last position, or the last among its siblings if it has a parent.
    fn last_place(&self, parent: Option<TodoId>) -> i64 {
        let last = match parent {
            None => self.state.last_position,
            Some(_) => {
                let siblings = self.state.todos.values().filter(|todo| todo.parent_id == parent);
                siblings.map(|todo| todo.position).max()
            }
        };
        last.map_or(0, |position| position.saturating_add(1))
    }

    fn check_parent(&self, parent: Option<TodoId>) -> Result<(), Refused> {
        match parent {
            Some(todo_id) if !self.policy().nests => Err(Refusal::BadParent { todo_id }.into()),
            Some(todo_id) => {
                self.open(todo_id)?;
                self.not_dropped(todo_id)?;
                // The same limit as in a plan file. The ancestors of a loaded item are loaded, too.
                if self.level(todo_id) >= LEVELS_MAX {
                    return Err(Refusal::PlanTooDeep { limit: LEVELS_MAX }.into());
                }
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The level of an item, up to `LEVELS_MAX`; an item without a parent has level 1.
    fn level(&self, of: TodoId) -> usize {
        let parent = |id: &TodoId| self.state.todo(*id)?.parent_id;
        std::iter::successors(Some(of), parent).take(LEVELS_MAX).count()
    }

    pub(super) fn check_unique(&mut self, title: &str) -> Result<(), Refused> {
        if !self.policy().unique_texts {
            return Ok(());
        }
        let wanted = normalised(title);
        let mut saying = self.texts.saying(&self.state, &wanted);
        if saying.any(|todo| !todo.status.is_settled()) {
            return Err(Refusal::DuplicateText { text: wanted }.into());
        }
        Ok(())
    }

    fn place(&mut self, wanted: Status) -> Result<Status, Refused> {
        let wanted = if wanted == Status::Backlog && self.policy().has_backlog {
            Status::Backlog
        } else {
            Status::Pending
        };
        let Some(limits) = self.state.limits else {
            return Ok(wanted);
        };
        Ok(match limits.place(wanted, &self.state.tally)? {
            Tier::Granted(status) => status,
            Tier::OverLimit => {
                let active = self.state.tally.active() + 1;
                self.decision
                    .warnings
                    .push(Warning::OverActiveLimit { limit: limits.active, active });
                wanted
            }
            Tier::Spilled => {
                self.decision.warnings.push(Warning::SpilledToBacklog { limit: limits.active });
                Status::Backlog
            }
        })
    }
}
