//! The coarse access check: may this role call this operation at all?
//!
//! It is pure and runs before any transaction. It reads the core's authority table, so a tool that
//! is hidden from a role is also refused when that role calls it. The table is consulted again
//! inside the transaction, where ownership is known.

use punchlist_core::authority::{Action, Denial, Subject, may_ever, may_ever_on, who_may};
use punchlist_core::{ListKind, Refusal, Role, TodoKind};

use crate::Error;

/// Which row of the authority table decides who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Any of these actions on a list of this kind.
    List(ListKind, &'static [Action]),
    /// This action on a list of any kind.
    Todo(Action),
    /// This action on a subject of this kind.
    On(Subject, Action),
}

impl Access {
    #[must_use]
    pub fn allows(self, role: Role) -> bool {
        match self {
            Self::List(kind, actions) => actions.iter().any(|action| may_ever(role, kind, *action)),
            Self::Todo(action) => {
                ListKind::ALL.into_iter().any(|kind| may_ever(role, kind, action))
            }
            Self::On(subject, action) => may_ever_on(role, subject, action),
        }
    }

    /// The rows of the authority table that this reads, as text.
    #[must_use]
    pub fn words(self) -> String {
        let names = |actions: &[Action]| {
            actions.iter().map(|action| action.name()).collect::<Vec<_>>().join(" or ")
        };
        match self {
            Self::List(kind, actions) => format!("{kind} list: {}", names(actions)),
            Self::Todo(action) => format!("any list: {action}"),
            Self::On(subject, action) => format!("{subject}: {action}"),
        }
    }

    /// The judgement that this operation makes, if its action is a judgement.
    #[must_use]
    pub fn judgement(self) -> Option<Action> {
        let action = match self {
            Self::List(_, [action, ..]) => Some(*action),
            Self::Todo(action) | Self::On(Subject::Todo(..), action) => Some(action),
            Self::List(_, []) | Self::On(..) => None,
        };
        action.filter(|action| action.is_judgement())
    }

    /// The coarse check (step 3). Denials about a list name its kind and the action.
    pub fn check(self, role: Role, operation: &'static str) -> Result<(), Error> {
        if self.allows(role) {
            return Ok(());
        }
        Err(match self {
            Self::List(list, [action, ..]) => {
                let (action, denial) = (*action, Denial::Role);
                // Some acts are for criteria alone.
                let todo_kind = match who_may(list, TodoKind::Step, action).is_empty() {
                    true => TodoKind::Criterion,
                    false => TodoKind::Step,
                };
                Refusal::NotPermitted { role, action, list, todo_kind, denial }.into()
            }
            _ => Error::OperationNotPermitted { operation, role },
        })
    }
}
