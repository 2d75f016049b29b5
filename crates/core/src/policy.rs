//! The five list kinds, as data. Each kind is a policy of the same mechanism; there is no second
//! mechanism.
//!
//! | kind      | in progress          | backlog | completes from | outcome  | next by                | addressed by |
//! |-----------|----------------------|---------|----------------|----------|------------------------|--------------|
//! | `turn`    | at most one          | no      | pending too    | required | position               | id           |
//! | `plan`    | many                 | no      | pending too    | optional | tree, pre-order        | id           |
//! | `session` | at most one          | no      | pending too    | optional | priority, position     | its own id   |
//! | `issue`   | exactly one step     | no      | pending too    | optional | phase, position        | its text     |
//! | `pillar`  | many, in capacity    | yes     | in progress    | required | the lead; oldest first | id           |

use crate::ListKind;

/// How many items of a list may be in progress.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wip {
    /// Any number.
    Many,
    /// A second start is refused.
    AtMostOne,
    /// Others go back to pending, and the first pending step is started when none is in progress.
    ExactlyOneStep,
}

/// Which open item comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    Position,
    PreOrder,
    PriorityThenPosition,
    PhaseThenPosition,
    Oldest,
}

/// How a caller names an item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Address {
    Id,
    ExternalId,
    Text,
}

/// How a kind of list behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    pub wip: Wip,
    pub selector: Selector,
    pub address: Address,
    /// Has a second tier that does not count as active.
    pub has_backlog: bool,
    /// An item may be completed without having been started; both times are stamped.
    pub completes_from_pending: bool,
    /// A completion or cancellation needs an outcome.
    pub outcome_required: bool,
    /// The operator may reopen a settled item.
    pub reopens: bool,
    /// Two open items may not have the same text.
    pub unique_texts: bool,
    /// Items may have children.
    pub nests: bool,
    /// An assigned item is in progress.
    pub assigning_starts: bool,
    /// Items carry a store-wide number beside their id.
    pub numbered: bool,
    /// Items in progress come before all other ready ones. If false, only the selector decides, and
    /// a more important item may come before a started one (D-20).
    pub prefers_in_progress: bool,
    /// How many items stay in view. Beyond that, the oldest settled ones leave the view; their rows
    /// stay (S-24).
    pub in_view_max: Option<usize>,
    /// How many items may be open at once; also the most that one call may add.
    pub open_max: Option<u64>,
}

/// The most open items of an issue's or a session's list.
pub const OPEN_MAX: u64 = 2_000;

const TURN: Policy = Policy {
    wip: Wip::AtMostOne,
    selector: Selector::Position,
    address: Address::Id,
    has_backlog: false,
    completes_from_pending: true,
    outcome_required: true,
    reopens: false,
    unique_texts: false,
    nests: false,
    assigning_starts: false,
    numbered: false,
    prefers_in_progress: true,
    in_view_max: None,
    open_max: None,
};

const PLAN: Policy = Policy {
    wip: Wip::Many,
    selector: Selector::PreOrder,
    outcome_required: false,
    reopens: true,
    nests: true,
    assigning_starts: true,
    numbered: true,
    ..TURN
};

const SESSION: Policy = Policy {
    selector: Selector::PriorityThenPosition,
    address: Address::ExternalId,
    outcome_required: false,
    prefers_in_progress: false,
    in_view_max: Some(1000),
    open_max: Some(OPEN_MAX),
    ..TURN
};

const ISSUE: Policy = Policy {
    wip: Wip::ExactlyOneStep,
    selector: Selector::PhaseThenPosition,
    address: Address::Text,
    outcome_required: false,
    reopens: true,
    unique_texts: true,
    open_max: Some(OPEN_MAX),
    ..TURN
};

const PILLAR: Policy = Policy {
    wip: Wip::Many,
    selector: Selector::Oldest,
    has_backlog: true,
    completes_from_pending: false,
    ..TURN
};

/// The policy of a kind.
#[must_use]
pub const fn policy(kind: ListKind) -> &'static Policy {
    match kind {
        ListKind::Turn => &TURN,
        ListKind::Plan => &PLAN,
        ListKind::Session => &SESSION,
        ListKind::Issue => &ISSUE,
        ListKind::Pillar => &PILLAR,
    }
}
