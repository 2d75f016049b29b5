//! Items of any list on pages: their state, their steps in a sidebar, their deadlines.

use jiff::tz::TimeZone;
use maud::{Markup, html};
use punchlist_core::deadline::Deadline;
use punchlist_core::todo::HoldKind;
use punchlist_core::{Status, Time};
use punchlist_ops::operations::run_show::RunItem;
use punchlist_ops::views::todo::HoldView;

use super::marks::{self, Shape, State};
use super::visit::Visit;
use super::{parts, words};

/// How many steps a sidebar shows by default.
const STEPS_MAX: usize = 40;

/// The facts that determine the state of an item.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Facts<'a> {
    pub(crate) status: Status,
    pub(crate) hold: Option<&'a HoldView>,
    pub(crate) is_claimed: bool,
    pub(crate) defer_until: Option<Time>,
}

/// The state of an item. Something that blocks it takes precedence over its status.
pub(crate) fn state(facts: Facts<'_>, now: Time) -> State {
    let deferred = facts.defer_until.filter(|until| *until > now);
    match (facts.status, facts.hold, deferred) {
        (Status::Completed, ..) => State::new(marks::completed(), "completed", "green"),
        (Status::Cancelled, ..) => State::new(marks::cancelled(), "cancelled", "grey"),
        _ if facts.is_claimed => State::new(marks::claimed(Shape::Round), "claimed", "violet"),
        (_, Some(hold), _) => State::held(hold.kind),
        (_, None, Some(until)) => {
            let word = format!("deferred until {}", words::date(until, now));
            State::new(marks::deferred(), word, "grey")
        }
        (Status::InProgress, ..) => State::new(marks::in_progress(), "in progress", "accent"),
        (Status::Pending, ..) => State::new(marks::pending(Shape::Round), "pending", "grey"),
        (Status::Backlog, ..) => State::new(marks::pending(Shape::Round), "backlog", "grey"),
    }
}

/// A step in the sidebar of a conversation.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) state: State,
    pub(crate) is_current: bool,
    pub(crate) is_closed: bool,
    pub(crate) is_dropped: bool,
}

impl Step {
    /// An item of a run's lists. The first word of the reason is the kind of its hold.
    pub(crate) fn of_run(item: &RunItem) -> Self {
        let kind = item.hold.as_deref().and_then(|hold| hold.split(':').next());
        let state = match kind.and_then(HoldKind::parse).filter(|_| !item.status.is_settled()) {
            Some(kind) => State::held(kind),
            None => {
                let (status, is_claimed) = (item.status, item.claimed);
                let facts = Facts { status, hold: None, is_claimed, defer_until: None };
                state(facts, Time::from_micros(0))
            }
        };
        Self {
            id: item.id.clone(),
            title: item.title.clone(),
            state,
            is_current: item.status == Status::InProgress && !item.claimed && kind.is_none(),
            is_closed: item.status.is_settled(),
            is_dropped: item.status == Status::Cancelled,
        }
    }
}

/// The steps of a run or a session, in a sidebar.
pub(crate) fn steps(visit: &Visit, steps: &[Step]) -> Markup {
    let closed = steps.iter().filter(|step| step.is_closed).count();
    // A long list starts slightly before the current step.
    let at = steps.iter().position(|step| step.is_current).unwrap_or(0);
    let first = match steps.len() > STEPS_MAX {
        true => at.saturating_sub(STEPS_MAX / 2).min(steps.len() - STEPS_MAX),
        false => 0,
    };
    html! {
        details.rail-part id="steps" {
            (parts::rail_head("steps-title", "Steps", &html! {
                @if !steps.is_empty() { span.beside { (closed) " of " (steps.len()) " closed" } }
            }))
            @if steps.is_empty() { p.hint { "No list yet." } }
            @if first > 0 {
                p.hint { (words::count(i64::try_from(first).unwrap_or(0), "step", "steps")) " before these." }
            }
            ul.steps {
                @for step in steps.iter().skip(first).take(STEPS_MAX) {
                    li id={"step-" (step.id)} class=(if step.is_current { "step current" } else { "step" }) {
                        (step.state.mark)
                        span class=(if step.is_dropped { "dropped" } else { "" }) {
                            a href=(visit.at(&format!("/todos/{}", words::encoded(&step.id)))) { (step.title) }
                        }
                        @if step.is_current || step.is_closed || step.state.word == "pending" {
                            span.hidden { ", " (step.state.word) }
                        } @else { " " (step.state.shown()) }
                    }
                }
            }
            @let left = steps.len().saturating_sub(first + STEPS_MAX);
            @if left > 0 { p.hint { (words::count(i64::try_from(left).unwrap_or(0), "more step", "more steps")) "." } }
        }
    }
}

/// Days until a deadline, by the calendar; negative if it has passed.
pub(crate) fn days_left(deadline: Option<Deadline>, now: Time) -> Option<i64> {
    const DAY: i64 = 86_400_000_000;
    let at = match deadline? {
        Deadline::At(at) => at.micros(),
        Deadline::Date(date) => date.to_zoned(TimeZone::UTC).ok()?.timestamp().as_microsecond(),
    };
    Some(at.div_euclid(DAY) - now.micros().div_euclid(DAY))
}

/// When an item is due, relative to now: "due in 3 days", "overdue by 2 days".
pub(crate) fn due(days_left: i64, is_overdue: bool) -> Markup {
    html! {
        @match days_left {
            late if late < 0 => span.red { "overdue by " (words::count(-late, "day", "days")) },
            _ if is_overdue => span.red { "overdue" },
            0 => span.amber { "due today" },
            1 => span { "due tomorrow" },
            days => span { "due in " (words::count(days, "day", "days")) },
        }
    }
}
