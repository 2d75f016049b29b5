//! The one authority table: role × list kind × todo kind × action × owns → verdict.
//!
//! `punch authority` prints it, the catalogue derives from it which tool a role sees, and
//! `decide` asks it where ownership is known. The cells:
//! `Any` allowed · `Own` allowed on what one owns · `Claim` becomes a claim · `Wish` becomes a
//! recommendation, on what one owns · `No` denied. The operator may do everything everywhere.
//!
//! The full matrix is a golden file, walked cell by cell.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Actor, ListKind, Role, Scope, Snapshot, Todo, TodoKind};

use Action as A;
use Cell::{Any, Claim, No, Own, Wish};

type Row = (Action, [Cell; 6]);

#[rustfmt::skip]
const TURN: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     No,  No,   Any, No,    Any]),
    (A::Create,   [Any,     No,  No,   Any, No,    No]),
    (A::Start,    [Any,     No,  No,   Any, No,    Any]),
    (A::Complete, [Any,     No,  No,   Any, No,    No]),
    (A::Cancel,   [Any,     No,  No,   Any, No,    No]),
    (A::Note,     [Any,     No,  No,   Any, No,    No]),
    (A::Revise,   [Any,     No,  No,   Any, No,    No]),
    (A::Hold,     [Any,     No,  No,   Any, No,    Any]),
    (A::Unhold,   [Any,     No,  No,   Any, No,    Any]),
    (A::Defer,    [Any,     No,  No,   Any, No,    No]),
    (A::Release,  [Any,     No,  No,   Any, No,    Any]),
];

#[rustfmt::skip]
const PLAN: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     No,  No,   Any, Any,   Any]),
    (A::Create,   [Any,     No,  No,   Any, Own,   No]),
    (A::Start,    [Any,     No,  No,   Any, Own,   No]),
    (A::Complete, [Any,     No,  No,   Any, Own,   No]),
    (A::Cancel,   [Any,     No,  No,   Any, No,    No]),
    (A::Note,     [Any,     No,  No,   Any, Own,   No]),
    (A::Revise,   [Any,     No,  No,   Any, No,    No]),
    (A::Assign,   [Any,     No,  No,   Any, No,    No]),
    (A::Take,     [Any,     No,  No,   Any, Any,   No]),
    (A::Release,  [Any,     No,  No,   Any, Own,   Any]),
    (A::Hold,     [Any,     No,  No,   Any, Own,   Any]),
    (A::Unhold,   [Any,     No,  No,   Any, Own,   Any]),
    (A::Defer,    [Any,     No,  No,   Any, No,    No]),
    (A::Claim,    [Any,     No,  No,   Any, Own,   No]),
    (A::Accept,   [Any,     No,  No,   Any, No,    No]),
    (A::Return,   [Any,     No,  No,   Any, No,    No]),
    (A::Reopen,   [Any,     No,  No,   Any, No,    No]),
    (A::Archive,  [Any,     No,  No,   Any, No,    No]),
    (A::Purge,    [Any,     No,  No,   No,  No,    No]),
];

#[rustfmt::skip]
const SESSION: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     No,  No,   Any, No,    Any]),
    (A::Create,   [Any,     No,  No,   Any, No,    No]),
    (A::Start,    [Any,     No,  No,   Any, No,    Any]),
    (A::Complete, [Any,     No,  No,   Any, No,    No]),
    (A::Cancel,   [Any,     No,  No,   Any, No,    No]),
    (A::Note,     [Any,     No,  No,   Any, No,    No]),
    (A::Replace,  [Any,     No,  No,   Any, No,    No]),
    (A::Revise,   [Any,     No,  No,   Any, No,    No]),
    (A::Take,     [Any,     No,  No,   Any, No,    No]),
    (A::Release,  [Any,     No,  No,   Any, No,    Any]),
    (A::Hold,     [Any,     No,  No,   Any, No,    Any]),
    (A::Unhold,   [Any,     No,  No,   Any, No,    Any]),
    (A::Defer,    [Any,     No,  No,   Any, No,    No]),
];

#[rustfmt::skip]
const ISSUE_STEP: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     No,  No,   Any, No,    Any]),
    (A::Create,   [Any,     No,  No,   Any, No,    No]),
    (A::Start,    [Any,     No,  No,   Any, No,    Any]),
    (A::Complete, [Any,     No,  No,   Any, No,    No]),
    (A::Cancel,   [Any,     No,  No,   Any, No,    No]),
    (A::Note,     [Any,     No,  No,   Any, No,    No]),
    (A::Replace,  [Any,     No,  No,   Any, No,    No]),
    (A::Revise,   [Any,     No,  No,   Any, No,    No]),
    (A::Take,     [Any,     No,  No,   Any, No,    No]),
    (A::Release,  [Any,     No,  No,   Any, No,    Any]),
    (A::Hold,     [Any,     No,  No,   Any, No,    Any]),
    (A::Unhold,   [Any,     No,  No,   Any, No,    Any]),
    (A::Defer,    [Any,     No,  No,   Any, No,    No]),
    (A::Claim,    [Any,     No,  No,   Any, No,    No]),
    (A::Accept,   [Any,     No,  No,   No,  No,    No]),
    (A::Return,   [Any,     No,  No,   No,  No,    No]),
    (A::Reopen,   [Any,     No,  No,   No,  No,    No]),
    (A::Edit,     [Any,     No,  No,   No,  No,    No]),
    (A::Adopt,    [Any,     No,  No,   Any, No,    Any]),
];

#[rustfmt::skip]
const ISSUE_CRITERION: &[Row] = &[
    //             operator lead owner root   worker system
    (A::View,     [Any,     No,  No,   Any,   No,    Any]),
    (A::Create,   [Any,     No,  No,   Any,   No,    No]),
    (A::Complete, [Any,     No,  No,   Claim, No,    No]),
    (A::Cancel,   [Any,     No,  No,   No,    No,    No]),
    (A::Note,     [Any,     No,  No,   Any,   No,    No]),
    (A::Revise,   [Any,     No,  No,   No,    No,    No]),
    (A::Hold,     [Any,     No,  No,   Any,   No,    Any]),
    (A::Unhold,   [Any,     No,  No,   Any,   No,    Any]),
    (A::Defer,    [Any,     No,  No,   No,    No,    No]),
    (A::Claim,    [Any,     No,  No,   Any,   No,    No]),
    (A::Accept,   [Any,     No,  No,   No,    No,    No]),
    (A::Return,   [Any,     No,  No,   No,    No,    No]),
    (A::Reopen,   [Any,     No,  No,   No,    No,    No]),
    (A::Ratify,   [Any,     No,  No,   No,    No,    No]),
    (A::Edit,     [Any,     No,  No,   No,    No,    No]),
    (A::Adopt,    [Any,     No,  No,   Any,   No,    Any]),
];

#[rustfmt::skip]
const PILLAR: &[Row] = &[
    //             operator lead owner root worker system
    (A::View,     [Any,     Own, Own,  No,  No,    Any]),
    (A::Create,   [Any,     Own, Own,  No,  No,    No]),
    (A::Promote,  [Any,     Own, Wish, No,  No,    No]),
    (A::Demote,   [Any,     Own, Wish, No,  No,    Any]),
    (A::Start,    [Any,     Own, Wish, No,  No,    No]),
    (A::Complete, [Any,     Own, No,   No,  No,    No]),
    (A::Cancel,   [Any,     Own, Own,  No,  No,    Any]),
    (A::Note,     [Any,     Own, Own,  No,  No,    No]),
    (A::Revise,   [Any,     Own, Wish, No,  No,    No]),
    (A::Assign,   [Any,     Own, No,   No,  No,    No]),
    (A::Release,  [Any,     Own, No,   No,  No,    Any]),
    (A::Hold,     [Any,     Own, Own,  No,  No,    Any]),
    (A::Unhold,   [Any,     Own, Own,  No,  No,    Any]),
    (A::Defer,    [Any,     Own, Wish, No,  No,    No]),
    (A::Claim,    [Any,     Own, Own,  No,  Own,   Any]),
    (A::Accept,   [Any,     Own, No,   No,  No,    No]),
    (A::Return,   [Any,     Own, No,   No,  No,    No]),
    (A::Sweep,    [Any,     Own, No,   No,  No,    Any]),
];

/// What someone wants to do to a todo or a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    View,
    Create,
    Promote,
    Demote,
    Start,
    Complete,
    Cancel,
    Note,
    Replace,
    Revise,
    Assign,
    Take,
    Release,
    Hold,
    Unhold,
    Defer,
    Claim,
    Accept,
    Return,
    Reopen,
    /// Confirm a criterion.
    Ratify,
    /// Rewrite the list by hand, as markdown.
    Edit,
    /// Take in what a worker proposed.
    Adopt,
    /// What a cycle does to what is late, stale or long settled.
    Sweep,
    /// Put the whole list away.
    Archive,
    /// Delete what was put away.
    Purge,
}

impl Action {
    pub const ALL: [Self; 26] = [
        Self::View,
        Self::Create,
        Self::Promote,
        Self::Demote,
        Self::Start,
        Self::Complete,
        Self::Cancel,
        Self::Note,
        Self::Replace,
        Self::Revise,
        Self::Assign,
        Self::Take,
        Self::Release,
        Self::Hold,
        Self::Unhold,
        Self::Defer,
        Self::Claim,
        Self::Accept,
        Self::Return,
        Self::Reopen,
        Self::Ratify,
        Self::Edit,
        Self::Adopt,
        Self::Sweep,
        Self::Archive,
        Self::Purge,
    ];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::View => "view",
            Self::Create => "create",
            Self::Promote => "promote",
            Self::Demote => "demote",
            Self::Start => "start",
            Self::Complete => "complete",
            Self::Cancel => "cancel",
            Self::Note => "note",
            Self::Replace => "replace",
            Self::Revise => "revise",
            Self::Assign => "assign",
            Self::Take => "take",
            Self::Release => "release",
            Self::Hold => "hold",
            Self::Unhold => "unhold",
            Self::Defer => "defer",
            Self::Claim => "claim",
            Self::Accept => "accept",
            Self::Return => "return",
            Self::Reopen => "reopen",
            Self::Ratify => "ratify",
            Self::Edit => "edit",
            Self::Adopt => "adopt",
            Self::Sweep => "sweep",
            Self::Archive => "archive",
            Self::Purge => "purge",
        }
    }

    /// Judging somebody's work: a denied try at this leaves a line in the log.
    #[must_use]
    pub const fn is_judgement(self) -> bool {
        matches!(self, Self::Complete | Self::Accept | Self::Return | Self::Reopen | Self::Ratify)
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// One cell of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cell {
    Any,
    Own,
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
    /// Nothing changes, but the wish is kept for whoever may.
    Recommend,
    Deny(Denial),
}

/// Why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Denial {
    /// This role never may.
    Role,
    /// This role may, but not on what belongs to another.
    NotYours,
    /// There is no such act on this kind of list.
    NoSuchAct,
}

/// The rows for one kind of item.
#[must_use]
pub const fn rows(list: ListKind, todo: TodoKind) -> &'static [Row] {
    match (list, todo) {
        (ListKind::Turn, _) => TURN,
        (ListKind::Plan, _) => PLAN,
        (ListKind::Session, _) => SESSION,
        (ListKind::Issue, TodoKind::Step) => ISSUE_STEP,
        (ListKind::Issue, TodoKind::Criterion) => ISSUE_CRITERION,
        (ListKind::Pillar, _) => PILLAR,
    }
}

fn cells(list: ListKind, todo: TodoKind, action: Action) -> Option<&'static [Cell; 6]> {
    rows(list, todo).iter().find(|(of, _)| *of == action).map(|(_, cells)| cells)
}

/// The table itself.
#[must_use]
pub fn authority(
    role: Role,
    list: ListKind,
    todo: TodoKind,
    action: Action,
    owns: bool,
) -> Verdict {
    let Some(cells) = cells(list, todo, action) else {
        return Verdict::Deny(Denial::NoSuchAct);
    };
    match (cells[role as usize], owns) {
        (Cell::Any, _) | (Cell::Own, true) => Verdict::Allow,
        (Cell::Claim, _) => Verdict::Claim,
        (Cell::Wish, true) => Verdict::Recommend,
        (Cell::Own | Cell::Wish, false) => Verdict::Deny(Denial::NotYours),
        (Cell::No, _) => Verdict::Deny(Denial::Role),
    }
}

/// Could this role ever do this? The coarse check before any transaction, and tool visibility.
#[must_use]
pub fn may_ever(role: Role, list: ListKind, action: Action) -> bool {
    TodoKind::ALL
        .into_iter()
        .filter_map(|todo| cells(list, todo, action))
        .any(|cells| cells[role as usize] != Cell::No)
}

/// The roles that may do this outright, for messages.
#[must_use]
pub fn who_may(list: ListKind, todo: TodoKind, action: Action) -> Vec<Role> {
    let Some(cells) = cells(list, todo, action) else {
        return Vec::new();
    };
    Role::ALL
        .into_iter()
        .filter(|role| matches!(cells[*role as usize], Cell::Any | Cell::Own))
        .collect()
}

/// Does this actor own the list, or the item where one is named?
#[must_use]
pub fn owns(actor: &Actor, snapshot: &Snapshot, todo: Option<&Todo>) -> bool {
    let assigned = |todo: Option<&Todo>| {
        let parent = |todo: &&Todo| todo.parent_id.and_then(|parent| snapshot.todo(parent));
        // A circle can only come from outside; whoever goes up in one has seen all of it by then.
        let mut above = std::iter::successors(todo, parent).take(snapshot.todos.len() + 1);
        above.any(|todo| todo.assignee.as_ref() == Some(&actor.agent))
    };
    match (&snapshot.list.scope, actor.role) {
        (_, Role::Operator | Role::System) => true,
        (Scope::Turn { .. } | Scope::Session { .. } | Scope::Issue { .. }, role) => {
            role == Role::Root
        }
        (Scope::Plan { .. }, role) => role == Role::Root || assigned(todo),
        (Scope::Pillar { mission, pillar }, Role::Lead | Role::Owner) => {
            owns_pillar(actor, mission, pillar)
        }
        (Scope::Pillar { .. }, _) => assigned(todo),
    }
}

/// Does this actor lead the mission, or own the pillar of it? Whoever was tied to nothing leads,
/// or owns, all that its token reaches.
#[must_use]
pub fn owns_pillar(actor: &Actor, mission: &str, pillar: &str) -> bool {
    let tied = |own: &Option<String>, to: &str| own.as_deref().is_none_or(|own| own == to);
    match actor.role {
        Role::Operator | Role::System => true,
        Role::Lead => tied(&actor.mission, mission),
        Role::Owner => tied(&actor.mission, mission) && tied(&actor.pillar, pillar),
        Role::Root | Role::Worker => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KINDS: [(ListKind, TodoKind); 6] = [
        (ListKind::Turn, TodoKind::Step),
        (ListKind::Plan, TodoKind::Step),
        (ListKind::Session, TodoKind::Step),
        (ListKind::Issue, TodoKind::Step),
        (ListKind::Issue, TodoKind::Criterion),
        (ListKind::Pillar, TodoKind::Step),
    ];

    /// Every cell, through the function and not the constants. T-21, M-40, M-43, K-32, K-47.
    #[test]
    fn the_matrix_is_as_the_golden_file_says() {
        let mut matrix = String::new();
        for (list, todo) in KINDS {
            for action in Action::ALL {
                for role in Role::ALL {
                    let own = authority(role, list, todo, action, true);
                    let other = authority(role, list, todo, action, false);
                    matrix.push_str(&format!(
                        "{list}/{} {action} {role}: own {own:?}, other {other:?}\n",
                        todo.name()
                    ));
                }
            }
        }
        insta::assert_snapshot!("authority", matrix);
    }

    #[test]
    fn the_operator_may_do_everything_that_exists() {
        for (list, todo) in KINDS {
            for (action, _) in rows(list, todo) {
                for owns in [true, false] {
                    let verdict = authority(Role::Operator, list, todo, *action, owns);
                    assert_eq!(verdict, Verdict::Allow, "{list} {action}");
                }
            }
        }
    }

    /// P-21: nobody below the judge may judge, however it asks.
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

    #[test]
    fn a_worker_never_sees_a_turn_list() {
        // T-21
        for action in Action::ALL {
            assert!(!may_ever(Role::Worker, ListKind::Turn, action), "{action}");
        }
        assert!(may_ever(Role::Root, ListKind::Turn, Action::Create));
    }
}
