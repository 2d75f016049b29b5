//! The coarse check: may this role call this operation at all?
//!
//! It is pure and comes before any transaction. For operations on todos it is read off the
//! core's authority table, so that a tool hidden by authority is also a refused command; the
//! full table is asked again inside, where ownership is known.

use punchlist_core::authority::{Action, Denial, may_ever};
use punchlist_core::{ListKind, Refusal, Role, TodoKind};

use crate::Error;

/// Who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Whoever may ever do one of these to a list of this kind.
    List(ListKind, &'static [Action]),
    /// Whoever may ever do this to a list of any kind.
    Todo(Action),
    /// Exactly these roles.
    Roles(&'static [Role]),
    /// Everybody.
    Everybody,
}

impl Access {
    #[must_use]
    pub fn allows(self, role: Role) -> bool {
        match self {
            Self::List(kind, actions) => actions.iter().any(|action| may_ever(role, kind, *action)),
            Self::Todo(action) => {
                ListKind::ALL.into_iter().any(|kind| may_ever(role, kind, action))
            }
            Self::Roles(roles) => roles.contains(&role),
            Self::Everybody => true,
        }
    }

    /// The judgement this is about, if it is about one.
    #[must_use]
    pub fn judgement(self) -> Option<Action> {
        let action = match self {
            Self::List(_, [action, ..]) => Some(*action),
            Self::Todo(action) => Some(action),
            _ => None,
        };
        action.filter(|action| action.is_judgement())
    }

    /// The check of step 3, with the words of the authority table where it comes from there.
    pub fn check(self, role: Role, operation: &'static str) -> Result<(), Error> {
        if self.allows(role) {
            return Ok(());
        }
        Err(match self {
            Self::List(list, [action, ..]) => {
                let (todo_kind, denial) = (TodoKind::Step, Denial::Role);
                let action = *action;
                Refusal::NotPermitted { role, action, list, todo_kind, denial }.into()
            }
            _ => Error::OperationNotPermitted { operation, role },
        })
    }
}
