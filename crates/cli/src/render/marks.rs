//! The mark before an item: one set for every list.

use anstyle::Style;
use punchlist_core::{Status, plan};
use punchlist_ops::views::issue::ItemStatus;

use crate::output::{BOLD, CYAN, DIM, GREEN, RED, YELLOW};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mark {
    Open,
    Active,
    Done,
    Dropped,
    Held,
    /// Its maker says it is done; its reviewer has not judged it yet.
    Claimed,
}

impl Mark {
    pub(crate) const fn text(self) -> &'static str {
        match self {
            Self::Open => "[ ]",
            Self::Active => "[/]",
            Self::Done => "[x]",
            Self::Dropped => "[-]",
            Self::Held => "[!]",
            Self::Claimed => "[?]",
        }
    }

    pub(crate) const fn style(self) -> Style {
        match self {
            Self::Open => BOLD,
            Self::Active => CYAN,
            Self::Done => GREEN,
            Self::Dropped => DIM,
            Self::Held => RED,
            Self::Claimed => YELLOW,
        }
    }

    /// The mark, unless the item is open and held.
    pub(crate) fn or_held(self, is_held: bool) -> Self {
        if is_held && matches!(self, Self::Open | Self::Active) { Self::Held } else { self }
    }
}

impl Mark {
    /// The mark, unless the item is claimed and not accepted.
    pub(crate) const fn or_claimed(self, is_claimed: bool) -> Self {
        if is_claimed { Self::Claimed } else { self }
    }
}

impl From<Status> for Mark {
    fn from(status: Status) -> Self {
        match status {
            Status::Backlog | Status::Pending => Self::Open,
            Status::InProgress => Self::Active,
            Status::Completed => Self::Done,
            Status::Cancelled => Self::Dropped,
        }
    }
}

impl From<ItemStatus> for Mark {
    fn from(status: ItemStatus) -> Self {
        match status {
            ItemStatus::Pending => Self::Open,
            ItemStatus::InProgress => Self::Active,
            ItemStatus::Completed => Self::Done,
            ItemStatus::Abandoned => Self::Dropped,
        }
    }
}

impl From<plan::State> for Mark {
    fn from(state: plan::State) -> Self {
        match state {
            plan::State::Pending => Self::Open,
            plan::State::Active => Self::Active,
            plan::State::Completed => Self::Done,
            plan::State::Cancelled => Self::Dropped,
            plan::State::Blocked | plan::State::Failed => Self::Held,
        }
    }
}
