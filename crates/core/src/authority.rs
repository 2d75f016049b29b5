//! The one authority table: role × subject × action × owns → verdict.
//!
//! Every question "may this role do that?" is answered here and nowhere else: `decide` uses it once
//! ownership is known, the catalogue derives from it who may call an operation, and `punch
//! authority` prints it. The cells: `Any` allowed · `Own` allowed on the actor's own things ·
//! `Grant` allowed if the operator granted it · `Claim` becomes a claim · `Wish` becomes a
//! recommendation, on the actor's own things · `No` denied.
//!
//! A golden file holds the whole table, and a test compares every cell.

mod action;
mod ownership;
mod subject;
mod table;

pub use action::Action;
pub use ownership::{
    owns, owns_agent, owns_conversation, owns_delegation, owns_mission, owns_pillar, owns_run,
    reaches_run,
};
pub use subject::Subject;
pub use table::rows_of;

use serde::{Deserialize, Serialize};

use crate::{Actor, ListKind, Role, TodoKind};

/// One row: an act, and a cell for each role in the order of [`Role::ALL`].
pub type Row = (Action, [Cell; 6]);

/// One cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Any,
    Own,
    Grant,
    Claim,
    Wish,
    No,
}

impl Cell {
    /// How the cell reads in the printed table.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Any => "yes",
            Self::Own => "own",
            Self::Grant => "granted",
            Self::Claim => "claim",
            Self::Wish => "wish",
            Self::No => "-",
        }
    }
}

/// The answer for one actor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Allow,
    /// The act becomes a claim that someone with authority accepts or returns.
    Claim,
    /// Nothing changes, but the request is kept as a recommendation for a role that may do it.
    Recommend,
    Deny(Denial),
}

/// Why it is denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denial {
    /// This role may never do it.
    Role,
    /// This role may do it, but only to its own things.
    NotYours,
    /// There is no such act on this kind of list.
    NoSuchAct,
}

fn cells(subject: Subject, action: Action) -> Option<&'static [Cell; 6]> {
    rows_of(subject).iter().find(|(of, _)| *of == action).map(|(_, cells)| cells)
}

/// Looks up the table. `owns`: the actor owns the thing it acts on, or was granted the act.
#[must_use]
pub fn judge(role: Role, subject: Subject, action: Action, owns: bool) -> Verdict {
    let Some(cells) = cells(subject, action) else {
        return Verdict::Deny(Denial::NoSuchAct);
    };
    match (cells[role as usize], owns) {
        (Cell::Any, _) | (Cell::Own | Cell::Grant, true) => Verdict::Allow,
        (Cell::Claim, _) => Verdict::Claim,
        (Cell::Wish, true) => Verdict::Recommend,
        (Cell::Own | Cell::Grant | Cell::Wish, false) => Verdict::Deny(Denial::NotYours),
        (Cell::No, _) => Verdict::Deny(Denial::Role),
    }
}

/// Looks up the table for an item of a list.
#[must_use]
pub fn authority(
    role: Role,
    list: ListKind,
    todo: TodoKind,
    action: Action,
    owns: bool,
) -> Verdict {
    judge(role, Subject::Todo(list, todo), action, owns)
}

/// May this actor do this? `owns` is called only if the cell depends on it.
pub fn may(actor: &Actor, subject: Subject, action: Action, owns: impl FnOnce() -> bool) -> bool {
    match cells(subject, action).map(|cells| cells[actor.role as usize]) {
        Some(Cell::Any) => true,
        Some(Cell::Own | Cell::Grant) => owns(),
        Some(Cell::Claim | Cell::Wish | Cell::No) | None => false,
    }
}

/// May this role do this to any thing of this kind, regardless of its owner?
#[must_use]
pub fn may_any(role: Role, subject: Subject, action: Action) -> bool {
    judge(role, subject, action, false) == Verdict::Allow
}

/// Could this role ever do this to a thing of this kind? Used for the coarse check before a
/// transaction, and to decide which tools a role sees.
#[must_use]
pub fn may_ever_on(role: Role, subject: Subject, action: Action) -> bool {
    cells(subject, action).is_some_and(|cells| cells[role as usize] != Cell::No)
}

/// Like [`may_ever_on`], for a kind of list and any kind of item.
#[must_use]
pub fn may_ever(role: Role, list: ListKind, action: Action) -> bool {
    TodoKind::ALL.into_iter().any(|todo| may_ever_on(role, Subject::Todo(list, todo), action))
}

/// The roles that may do this to any item or to their own, for messages.
#[must_use]
pub fn who_may(list: ListKind, todo: TodoKind, action: Action) -> Vec<Role> {
    let Some(cells) = cells(Subject::Todo(list, todo), action) else {
        return Vec::new();
    };
    Role::ALL
        .into_iter()
        .filter(|role| matches!(cells[*role as usize], Cell::Any | Cell::Own))
        .collect()
}

/// May an actor that proved one role act under another? The operator may take any role, root also
/// worker; all others keep their own.
#[must_use]
pub const fn may_carry(proved: Role, wanted: Role) -> bool {
    proved as usize == wanted as usize
        || matches!((proved, wanted), (Role::Operator, _) | (Role::Root, Role::Worker))
}

#[cfg(test)]
mod tests {
    use super::*;

    use Action as A;

    const KINDS: [(ListKind, TodoKind); 6] = [
        (ListKind::Turn, TodoKind::Step),
        (ListKind::Plan, TodoKind::Step),
        (ListKind::Session, TodoKind::Step),
        (ListKind::Issue, TodoKind::Step),
        (ListKind::Issue, TodoKind::Criterion),
        (ListKind::Pillar, TodoKind::Step),
    ];

    /// Reads every cell through the function, not the constants. T-21, M-40, M-43, K-32, K-47.
    #[test]
    fn the_matrix_is_as_the_golden_file_says() {
        let mut matrix = String::new();
        let word = |own: Verdict, other: Verdict| match (own, other) {
            (Verdict::Allow, Verdict::Allow) => "yes",
            (Verdict::Allow, Verdict::Deny(Denial::NotYours)) => "own",
            (Verdict::Claim, Verdict::Claim) => "claim",
            (Verdict::Recommend, Verdict::Deny(Denial::NotYours)) => "wish",
            (Verdict::Deny(Denial::Role), Verdict::Deny(Denial::Role)) => "-",
            pair => panic!("no cell gives {pair:?}"),
        };
        for subject in Subject::ALL {
            for action in Action::ALL {
                if rows_of(subject).iter().all(|(of, _)| *of != action) {
                    let verdict = judge(Role::Operator, subject, action, true);
                    assert_eq!(verdict, Verdict::Deny(Denial::NoSuchAct));
                    continue;
                }
                matrix.push_str(&format!("{subject}, {action}:"));
                for role in Role::ALL {
                    let own = judge(role, subject, action, true);
                    let cell = word(own, judge(role, subject, action, false));
                    matrix.push_str(&format!(" {role} {cell}"));
                }
                matrix.push('\n');
            }
        }
        insta::assert_snapshot!("authority", matrix);
    }

    #[test]
    fn no_act_has_two_rows_on_one_subject() {
        for subject in Subject::ALL {
            let mut seen: Vec<Action> = rows_of(subject).iter().map(|(act, _)| *act).collect();
            let count = seen.len();
            seen.sort();
            seen.dedup();
            assert_eq!(seen.len(), count, "{subject}");
        }
    }

    /// Except acts of a process (for a run or a collector), and roles given by a file.
    #[test]
    fn the_operator_may_do_everything_that_is_a_persons_to_do() {
        let by_process = |subject, action| {
            matches!(
                (subject, action),
                (Subject::Run, A::Execute)
                    | (Subject::Metric, A::Fail)
                    | (Subject::Permission, A::Ask)
                    | (Subject::Configuration, _)
            )
        };
        for subject in Subject::ALL {
            for (action, _) in rows_of(subject) {
                for owns in [true, false] {
                    let allowed = judge(Role::Operator, subject, *action, owns) == Verdict::Allow;
                    assert_eq!(allowed, !by_process(subject, *action), "{subject} {action}");
                }
            }
        }
    }

    /// P-21: no role below the reviewer may judge, by any action.
    #[test]
    fn no_worker_judges_and_no_maker_judges_its_own_claim() {
        for (list, todo) in KINDS {
            for action in [Action::Accept, Action::Return, Action::Reopen] {
                for role in [Role::Worker, Role::Owner, Role::System] {
                    assert!(
                        matches!(authority(role, list, todo, action, true), Verdict::Deny(_)),
                        "{list} {role} {action}"
                    );
                }
            }
        }
        let root = authority(Role::Root, ListKind::Issue, TodoKind::Criterion, A::Accept, true);
        assert_eq!(root, Verdict::Deny(Denial::Role));
    }

    /// No agent of any role answers a gate, makes a token, or sets the rules of a store.
    #[test]
    fn what_the_operator_alone_may_do() {
        for (subject, action) in [
            (Subject::Gate, A::Answer),
            (Subject::Permission, A::Revoke),
            (Subject::Token, A::Create),
            (Subject::Token, A::Revoke),
            (Subject::Store, A::Govern),
            (Subject::Store, A::Restore),
            (Subject::Issue, A::Reopen),
            (Subject::Session, A::TakeOver),
        ] {
            for role in Role::ALL {
                let ever = may_ever_on(role, subject, action);
                assert_eq!(ever, role == Role::Operator, "{subject} {action} {role}");
            }
        }
    }

    #[test]
    fn a_worker_never_sees_a_turn_list() {
        // T-21
        for action in Action::ALL {
            assert!(!may_ever(Role::Worker, ListKind::Turn, action), "{action}");
        }
        assert!(may_ever(Role::Root, ListKind::Turn, Action::Create));
    }
}
