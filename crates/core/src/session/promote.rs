//! Make an issue from a session, with the open items of its list as steps.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::{Session, going, keeper};
use crate::authority::Action;
use crate::command::{HoldTodo, NewTodo, StartTodo};
use crate::select::ordered;
use crate::text::{Body, Content, normalised};
use crate::todo::Hold;
use crate::{By, Command, Decide, Issue, Refusal, Refused, Snapshot, Status, Todo, TodoKind};

/// File an issue and bind the session to it. Refused if the session works on an issue already:
/// other findings are another issue, or a child issue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromoteSession;

impl Decide for PromoteSession {
    type On<'a> = (&'a Session, Option<&'a Issue>);
    type Out = ();

    /// Checks whether it is allowed. Other commands decide the filing and the binding. `issue`: the
    /// one the session is bound to.
    fn decide(
        &self,
        (session, issue): Self::On<'_>,
        By { actor, .. }: By<'_>,
    ) -> Result<Self::Out, Refused> {
        keeper(actor, Action::Promote)?;
        going(session)?;
        match issue {
            Some(issue) => Err(Refusal::AlreadyBound { number: issue.number }.into()),
            None => Ok(()),
        }
    }
}

/// An open item of a session's list, as a step of an issue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    pub item: NewTodo,
    pub is_begun: bool,
    /// Why it is held. An item that only waits for another item of the list needs no hold: it comes
    /// after that item.
    pub hold: Option<Hold>,
}

impl Step {
    /// The command that gives the new step the item's state: held, or started.
    #[must_use]
    pub fn command(&self, checklist: &Snapshot) -> Option<Command> {
        let text = normalised(self.item.title.as_str());
        let is_it = |todo: &&Todo| {
            todo.kind == TodoKind::Step
                && !todo.status.is_settled()
                && normalised(&todo.title) == text
        };
        let todo_id = checklist.todos.values().find(is_it)?.id;
        let held = self.hold.as_ref().and_then(|hold| {
            let (kind, reason) = (hold.kind, Body::new(&hold.reason).ok()?);
            Some(HoldTodo { todo_id, kind, reason, until: None }.into())
        });
        let begun = || StartTodo { todo_id, reason: None }.into();
        held.or_else(|| self.is_begun.then(begun))
    }
}

/// The open items in the order of the list, because a checklist is worked from the top. Texts that
/// the checklist has already as steps, and repeated texts, are left out. An item with the text of a
/// criterion can be neither a second item of that text nor left out, so it is refused.
pub fn steps(list: &Snapshot, checklist: &Snapshot) -> Result<Vec<Step>, Refusal> {
    let is_open = |todo: &&Todo| !todo.status.is_settled();
    let said = checklist.todos.values().filter(is_open);
    let criteria = said.clone().filter(|todo| todo.kind == TodoKind::Criterion);
    let criteria: BTreeSet<String> = criteria.map(|todo| normalised(&todo.title)).collect();
    let both = ordered(list).into_iter().filter(is_open).map(|todo| normalised(&todo.title));
    if let Some(text) = both.into_iter().find(|text| criteria.contains(text)) {
        return Err(Refusal::DuplicateText { text });
    }
    let mut said: BTreeSet<String> = said.map(|todo| normalised(&todo.title)).collect();
    let open = ordered(list).into_iter().filter(is_open);
    let new = open.filter(|todo| said.insert(normalised(&todo.title)));
    let step = |todo: &Todo| {
        let mut item = NewTodo::titled(Content::new(&todo.title).ok()?);
        item.priority = todo.priority;
        item.origin_agent = Some(todo.origin_agent.clone());
        Some(Step {
            item,
            is_begun: todo.status == Status::InProgress,
            hold: todo.hold.as_deref().filter(|hold| hold.conflicts_with.is_none()).cloned(),
        })
    };
    Ok(new.filter_map(step).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::tests::decided;
    use crate::issue::tests::issue;
    use crate::session::tests::session;
    use crate::{Actor, AgentPath, Role, Time};

    #[test]
    fn a_session_without_an_issue_is_promoted_by_its_keeper() {
        let ended = Session { ended_at: Some(Time::from_micros(3)), ..session(5) };
        let bound = issue(7);
        for (role, session, issue, code) in [
            (Role::Operator, session(5), None, None),
            (Role::Root, session(5), None, None),
            (Role::Root, session(5), Some(&bound), Some("already_bound")),
            (Role::Operator, session(5), Some(&bound), Some("already_bound")),
            (Role::Root, ended, None, Some("session_ended")),
            (Role::Worker, session(5), None, Some("not_permitted")),
        ] {
            let actor = Actor::new(role, AgentPath::primary());
            let decided = decided(&PromoteSession, (&session, issue), &actor);
            assert_eq!(decided.err().map(|refused| refused.refusal.code()), code, "{role}");
        }
    }
}
