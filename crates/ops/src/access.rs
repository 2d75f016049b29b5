//! The coarse check: may this role call this operation at all?
//!
//! It is pure and comes before any transaction. It is read off the core's authority table, so that
//! a tool hidden by authority is also a refused command; the table is asked again inside, where
//! ownership is known.

use punchlist_core::authority::{Action, Denial, Subject, may_ever, may_ever_on};
use punchlist_core::{ListKind, Refusal, Role, TodoKind};

use crate::Error;

/// Which row of the authority table decides who may call an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// One of these, to a list of this kind.
    List(ListKind, &'static [Action]),
    /// This, to a list of any kind.
    Todo(Action),
    /// This, to a thing of this kind.
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

    /// The rows of the table it is read off, in words.
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

    /// The judgement this is about, if it is about one.
    #[must_use]
    pub fn judgement(self) -> Option<Action> {
        let action = match self {
            Self::List(_, [action, ..]) => Some(*action),
            Self::Todo(action) | Self::On(Subject::Todo(..), action) => Some(action),
            Self::List(_, []) | Self::On(..) => None,
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
