//! Marks: the state of something as a small icon. Squares are for the operator, circles for agents.
//!
//! A mark always has a word next to it with the same meaning. The stylesheet sets the colours.

use maud::{Markup, PreEscaped, html};
use punchlist_core::IssueStatus;
use punchlist_core::todo::HoldKind;
use punchlist_ops::views::ItemView;
use punchlist_ops::views::issue::ItemStatus;

/// Who may close it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Only the operator.
    Square,
    /// Agents.
    Round,
}

/// A drawing. Pages have hundreds of marks, so each is one constant text.
macro_rules! svg {
    ($class:literal, $drawing:expr $(,)?) => {
        PreEscaped(
            concat!(
                r#"<svg class="mark "#,
                $class,
                r#"" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">"#,
                $drawing,
                "</svg>",
            )
            .to_owned(),
        )
    };
}

pub(crate) fn pending(shape: Shape) -> Markup {
    match shape {
        Shape::Round => svg!("control", r#"<circle class="o" cx="8" cy="8" r="6.25"/>"#),
        Shape::Square => {
            svg!("control", r#"<rect class="o" x="2" y="2" width="12" height="12" rx="2.5"/>"#)
        }
    }
}

pub(crate) fn proposed() -> Markup {
    svg!("control dashed", r#"<rect class="o" x="2" y="2" width="12" height="12" rx="2.5"/>"#)
}

pub(crate) fn in_progress() -> Markup {
    svg!(
        "accent",
        r#"<circle class="o" cx="8" cy="8" r="6.25"/><path class="f" d="M8 4.25a3.75 3.75 0 0 1 0 7.5z"/>"#,
    )
}

pub(crate) fn claimed(shape: Shape) -> Markup {
    match shape {
        Shape::Round => svg!(
            "violet",
            concat!(
                r#"<circle class="f" cx="8" cy="8" r="7"/>"#,
                r#"<path class="s" d="M6.1 6.3a1.95 1.95 0 1 1 2.75 1.78c-.5.24-.85.6-.85 1.17"/>"#,
                r#"<circle class="i" cx="8" cy="11.4" r=".95"/>"#,
            ),
        ),
        Shape::Square => svg!(
            "violet",
            concat!(
                r#"<rect class="f" x="1.25" y="1.25" width="13.5" height="13.5" rx="3"/>"#,
                r#"<path class="s" d="M6.1 6.3a1.95 1.95 0 1 1 2.75 1.78c-.5.24-.85.6-.85 1.17"/>"#,
                r#"<circle class="i" cx="8" cy="11.4" r=".95"/>"#,
            ),
        ),
    }
}

fn done(shape: Shape) -> Markup {
    match shape {
        Shape::Round => svg!(
            "green",
            r#"<circle class="f" cx="8" cy="8" r="7"/><path class="s" d="m5.1 8.2 2 2 3.8-4.1"/>"#,
        ),
        Shape::Square => svg!(
            "green",
            concat!(
                r#"<rect class="f" x="1.25" y="1.25" width="13.5" height="13.5" rx="3"/>"#,
                r#"<path class="s" d="m5.1 8.2 2 2 3.8-4.1"/>"#,
            ),
        ),
    }
}

pub(crate) fn completed() -> Markup {
    done(Shape::Round)
}

pub(crate) fn accepted() -> Markup {
    done(Shape::Square)
}

pub(crate) fn held() -> Markup {
    svg!(
        "amber",
        r#"<circle class="f" cx="8" cy="8" r="7"/><path class="s" d="M6.4 5.6v4.8M9.6 5.6v4.8"/>"#,
    )
}

pub(crate) fn failed() -> Markup {
    svg!(
        "red",
        concat!(
            r#"<circle class="f" cx="8" cy="8" r="7"/><path class="s" d="M8 4.6v3.9"/>"#,
            r#"<circle class="i" cx="8" cy="11.2" r=".95"/>"#,
        ),
    )
}

pub(crate) fn deferred() -> Markup {
    svg!(
        "control",
        r#"<circle class="o" cx="8" cy="8" r="6.25"/><path class="o" d="M8 4.75V8l2 1.5"/>"#,
    )
}

pub(crate) fn cancelled() -> Markup {
    svg!(
        "control",
        r#"<circle class="o" cx="8" cy="8" r="6.25"/><path class="o" d="M5.25 8h5.5"/>"#
    )
}

pub(crate) fn triaged() -> Markup {
    svg!(
        "control",
        r#"<circle class="o" cx="8" cy="8" r="6.25"/><circle class="f" cx="8" cy="8" r="2"/>"#,
    )
}

pub(crate) fn on_target() -> Markup {
    completed()
}

pub(crate) fn warning() -> Markup {
    svg!(
        "amber",
        concat!(
            r#"<path class="f" d="M7.1 1.9a1.05 1.05 0 0 1 1.8 0l5.9 10.5a1.05 1.05 0 0 1-.9 1.6H2.1a1.05 1.05 "#,
            r#"0 0 1-.9-1.6z"/><path class="s" d="M8 5.8v3.1"/><circle class="i" cx="8" cy="11.4" r=".95"/>"#,
        ),
    )
}

pub(crate) fn off_target() -> Markup {
    svg!(
        "red",
        concat!(
            r#"<path class="f" d="M7.2 1.1a1.15 1.15 0 0 1 1.6 0l6.1 6.1a1.15 1.15 0 0 1 0 1.6l-6.1 6.1a1.15 "#,
            r#"1.15 0 0 1-1.6 0L1.1 8.8a1.15 1.15 0 0 1 0-1.6z"/><path class="s" d="M8 4.7v3.8"/>"#,
            r#"<circle class="i" cx="8" cy="11.1" r=".95"/>"#,
        ),
    )
}

/// The state of something: its mark, its word, and the word's colour.
#[derive(Debug)]
pub(crate) struct State {
    pub(crate) mark: Markup,
    pub(crate) word: String,
    pub(crate) colour: &'static str,
}

impl State {
    pub(crate) fn new(mark: Markup, word: impl Into<String>, colour: &'static str) -> Self {
        Self { mark, word: word.into(), colour }
    }

    /// Something on hold.
    pub(crate) fn held(kind: HoldKind) -> Self {
        match kind {
            HoldKind::Failed => Self::new(failed(), "held: failed", "red"),
            HoldKind::Blocked => Self::new(held(), "held: blocked", "amber"),
            HoldKind::AwaitingApproval => Self::new(held(), "held: awaiting approval", "amber"),
        }
    }

    /// The word in its colour.
    pub(crate) fn shown(&self) -> Markup {
        html! { span class={"word " (self.colour)} { (self.word) } }
    }
}

/// The state of a criterion or a step of an issue.
pub(crate) fn of_item(item: &ItemView, is_criterion: bool, is_deferred: Option<&str>) -> State {
    let shape = if is_criterion { Shape::Square } else { Shape::Round };
    match (&item.hold, is_deferred, item.status) {
        (Some(hold), _, ItemStatus::Pending | ItemStatus::InProgress) => State::held(hold.kind),
        (_, Some(until), ItemStatus::Pending | ItemStatus::InProgress) => {
            State::new(deferred(), format!("deferred until {until}"), "grey")
        }
        (_, _, ItemStatus::Completed) if is_criterion && item.accepted_at.is_some() => {
            State::new(accepted(), "accepted", "green")
        }
        (_, _, ItemStatus::Completed) if is_criterion => {
            State::new(claimed(shape), "claimed", "violet")
        }
        (_, _, ItemStatus::Completed) => State::new(completed(), "completed", "green"),
        (_, _, ItemStatus::Abandoned) => State::new(cancelled(), "abandoned", "grey"),
        _ if item.claim.is_some() => State::new(claimed(shape), "claimed", "violet"),
        _ if is_criterion && item.ratified_at.is_none() => {
            State::new(proposed(), "proposed", "grey")
        }
        (_, _, ItemStatus::InProgress) => State::new(in_progress(), "in progress", "accent"),
        (_, _, ItemStatus::Pending) => State::new(pending(shape), "pending", "grey"),
    }
}

/// The state of an issue.
pub(crate) fn of_issue(status: IssueStatus) -> State {
    let (mark, colour) = match status {
        IssueStatus::Open => (pending(Shape::Round), "grey"),
        IssueStatus::Triaged => (triaged(), "grey"),
        IssueStatus::InProgress => (in_progress(), "accent"),
        IssueStatus::Resolved => (completed(), "green"),
        IssueStatus::Rejected => (cancelled(), "grey"),
    };
    State::new(mark, issue_word(status), colour)
}

/// The status of an issue as a word.
pub(crate) const fn issue_word(status: IssueStatus) -> &'static str {
    match status {
        IssueStatus::Open => "Open",
        IssueStatus::Triaged => "Triaged",
        IssueStatus::InProgress => "In progress",
        IssueStatus::Resolved => "Resolved",
        IssueStatus::Rejected => "Rejected",
    }
}
