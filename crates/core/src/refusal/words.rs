//! Parts of the table in `rows` that are longer than a row should be.

use std::fmt::Display;

use crate::authority::{Action, Denial, who_may};
use crate::gate::GateState;
use crate::issue::{Part, Void};
use crate::plan::PurgedPlan;
use crate::project::{MergeCounts, NewNumber};
use crate::text::counted;
use crate::transition::Move;
use crate::{ListKind, Role, RunId, Time, TodoId, TodoKind};

/// How an issue leads to another: `issue #3 is closed as a duplicate of #2, and #2 of #1`.
pub(super) fn circle(number: i64, of: i64, via: &[i64]) -> String {
    let ends = via.iter().chain([&number]).collect::<Vec<_>>();
    let onward = ends.windows(2).map(|pair| format!(", and #{} of #{}", pair[0], pair[1]));
    let onward: String = onward.collect();
    let first = via.first().unwrap_or(&number);
    format!("issue #{of} is closed as a duplicate of #{first}{onward}")
}

/// The caller's text, cut, so that a message does not repeat a whole page.
pub(super) fn short(text: &str) -> String {
    match text.char_indices().nth(80) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The short form of an id, which people can read and type.
pub(super) fn end(id: &impl Display) -> String {
    crate::naming::short(&id.to_string()).to_owned()
}

/// The word of the operation for a move: an item that goes back to pending is released.
pub(super) const fn verb(action: Move) -> &'static str {
    match action {
        Move::Yield => "release",
        other => other.name(),
    }
}

/// The issue is not as it was when the sign-off was asked for.
pub(super) fn changed(number: i64, changed: &[Part], revision: i64) -> String {
    match names(changed.iter().map(|part| part.name()), ", ") {
        parts if parts.is_empty() => {
            format!("issue #{number} is at revision {revision}, which is not the one you saw")
        }
        parts => format!(
            "issue #{number} has changed since the sign-off was asked for: {parts} (it is at \
             revision {revision})"
        ),
    }
}

/// The issue has another revision than the caller expected. Its checklist is shown where it is edited.
pub(super) fn newer(
    number: i64,
    (expected, revision): (i64, i64),
    checklist: Option<&str>,
) -> String {
    let now = format!("issue #{number} is at revision {revision}, not {expected}");
    checklist.map_or_else(|| now.clone(), |text| format!("{now}; it now reads:\n{text}"))
}

/// The question was answered before.
pub(super) fn answered(id: &str, state: GateState, answer: Option<(&str, Time)>) -> String {
    let state = match state {
        GateState::Refused => "refused",
        GateState::Superseded => "asked again",
        GateState::Resumed | GateState::Open => "answered",
    };
    match answer {
        Some((by, at)) => format!("question {id} was {state} by {by} at {at}"),
        None => format!("question {id} was {state} already"),
    }
}

/// The caller's id, cut.
pub(super) fn cut(id: &str) -> String {
    id.chars().take(60).collect()
}

/// The call names a lease that is not the caller's current one.
pub(super) fn stale(epoch: i64, current: i64, holder: Option<&str>, is_own: bool) -> String {
    match holder {
        Some(_) if is_own => format!("you hold it by lease {current}, not {epoch}"),
        Some(holder) => format!(
            "lease {epoch} is not your current one (the newest is {current}, held by {holder})"
        ),
        None if current == 0 => format!("there is no lease {epoch}: nobody has taken it yet"),
        None => format!("nobody holds it now (you named lease {epoch}, the newest was {current})"),
    }
}

/// Two processes may use one name, so a newer lease of the caller may belong to the other one.
pub(super) fn after_stale(current: i64, is_held: bool, is_own: bool) -> String {
    match (is_held, is_own) {
        (true, true) => {
            format!("give epoch {current}; if another process took it in your name, stop")
        }
        (true, false) => "stop working on it: somebody else holds it now".to_owned(),
        (false, _) => "take it first; the answer says its epoch".to_owned(),
    }
}

/// What to do while an agent works in a chat. `run`: its run, if the caller wanted to continue there.
pub(super) fn when_at_work(run: Option<RunId>) -> String {
    match run {
        Some(run) => {
            format!(
                "continue that run with `punch run --resume {}`, or wait until it ends",
                end(&run)
            )
        }
        None => "write when it is done, or cancel its delegation first".to_owned(),
    }
}

/// There is no such todo here.
pub(super) fn no_todo(id: &str, list: Option<ListKind>) -> String {
    match list {
        Some(list) => format!("no todo `{id}` in this {list} list"),
        None => format!("there is no todo `{id}` in this project"),
    }
}

/// It was completed or cancelled before.
pub(super) fn settled(title: &str, status: &impl Display, at: Option<Time>) -> String {
    match at {
        Some(at) => format!("`{title}` is already {status} since {}", at.to_the_second()),
        None => format!("`{title}` is already {status}"),
    }
}

pub(super) fn names<'a>(words: impl Iterator<Item = &'a str>, between: &str) -> String {
    words.collect::<Vec<_>>().join(between)
}

pub(super) fn quoted(texts: impl IntoIterator<Item = impl Display>, between: &str) -> String {
    texts.into_iter().map(|text| format!("`{text}`")).collect::<Vec<_>>().join(between)
}

/// The names that there are; `none` if there are none.
pub(super) fn there_are(known: &[String], none: &str) -> String {
    if known.is_empty() { none.to_owned() } else { format!("there are: {}", known.join(", ")) }
}

pub(super) fn not_permitted(
    role: Role,
    action: Action,
    list: ListKind,
    todo_kind: TodoKind,
    denial: Denial,
) -> String {
    match denial {
        Denial::NoSuchAct if list == ListKind::Issue => {
            format!("`{action}` is not available on a checklist")
        }
        Denial::NoSuchAct => format!("`{action}` is not available on {list} lists"),
        Denial::NotYours => format!(
            "the role {role} may {action} only its own items, and it does not own this item"
        ),
        // The checklist tool never mentions issues (K-60).
        Denial::Role if todo_kind == TodoKind::Criterion => {
            format!("the role {role} may not {action} a criterion")
        }
        Denial::Role if list == ListKind::Issue => {
            format!("the role {role} may not {action} items of a checklist")
        }
        Denial::Role => format!("the role {role} may not {action} on a {list} list"),
    }
}

/// Who could do it instead.
pub(super) fn who_else(
    action: Action,
    list: ListKind,
    todo_kind: TodoKind,
    denial: Denial,
) -> String {
    let may = who_may(list, todo_kind, action);
    match denial {
        Denial::NoSuchAct => "nobody can do this on this kind of list".into(),
        Denial::NotYours if list == ListKind::Plan => {
            "ask the agent it is assigned to, or the root agent".into()
        }
        Denial::NotYours => "ask its owner or the lead".into(),
        Denial::Role if todo_kind == TodoKind::Criterion => {
            "criteria belong to the operator: claim one with done, or ask".into()
        }
        Denial::Role
            if matches!(list, ListKind::Turn | ListKind::Issue) && may.contains(&Role::Root) =>
        {
            "workers report back to the agent that delegated; it keeps the list".into()
        }
        Denial::Role => format!("this is for: {}", names(may.iter().map(|r| r.name()), ", ")),
    }
}

/// What an agent that may not close an issue does next, by the state of its newest sign-off.
pub(super) const fn how_to_close(asked: Option<GateState>, void: Option<Void>) -> &'static str {
    match asked {
        Some(GateState::Open) => "the operator has not answered your sign-off yet",
        Some(GateState::Refused) => {
            "the sign-off was refused: rework it, then ask again with checkpoint"
        }
        Some(GateState::Resumed) => match void {
            Some(Void::OtherEnd) => {
                "the sign-off is for the other end: ask again with checkpoint, with this end"
            }
            Some(Void::OtherSession) => {
                "the sign-off is for the session that asked, bound and running: close it there, or \
                 ask again with checkpoint"
            }
            Some(Void::Changed) | None => {
                "it has changed since the sign-off: ask again with checkpoint"
            }
        },
        _ => "ask for sign-off with checkpoint, purpose sign_off; the operator decides",
    }
}

pub(super) fn plan_changed(new: &[String], missing: &[String]) -> String {
    let some = |what: &str, tasks: &[String]| {
        if tasks.is_empty() {
            return String::new();
        }
        let shown = quoted(tasks.iter().take(3).map(|task| short(task)), ", ");
        let more = if tasks.len() > 3 { ", …" } else { "" };
        format!("; {what} there: {shown}{more}")
    };
    let (new, missing) = (some("new", new), some("missing", missing));
    format!("the file has changed since it was imported{new}{missing}")
}

pub(super) fn would_remove(plans: &[PurgedPlan], tasks: u64) -> String {
    let named: Vec<String> = plans.iter().take(10).map(ToString::to_string).collect();
    let more = match plans.len().saturating_sub(10) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    let (tasks, named) = (counted(tasks, "task", "tasks"), named.join("; "));
    let plans = counted(plans.len(), "plan", "plans");
    format!("this would permanently remove {tasks} of {plans}: {named}{more}")
}

/// `task-3`, `#3`, `3`, a ULID: texts of a model that assumes items have ids.
pub(super) fn looks_like_an_id(text: &str) -> bool {
    let numbered = text.rsplit(['-', '#', ' ', '_']).next().unwrap_or_default();
    let is_number = !numbered.is_empty() && numbered.bytes().all(|byte| byte.is_ascii_digit());
    (is_number && text.split_whitespace().count() <= 2 && text.len() < 16)
        || TodoId::parse(text).is_some()
}

/// The first ten, and how many more there are.
pub(super) fn some(of: &[impl Display], between: &str) -> String {
    let named: Vec<String> = of.iter().take(10).map(ToString::to_string).collect();
    match of.len().saturating_sub(10) {
        0 => named.join(between),
        more => format!("{}{between}and {more} more", named.join(between)),
    }
}

pub(super) fn would_merge(
    from: &str,
    into: &str,
    issues: &[NewNumber],
    counts: &MergeCounts,
) -> String {
    let mut moved = vec![counted(issues.len() as u64, "issue", "issues")];
    if let (Some(first), Some(last)) = (issues.first(), issues.last()) {
        let numbers = match issues.len() {
            1 => format!("#{} becomes #{}", first.from, first.to),
            _ => format!("#{} becomes #{}, #{} #{}", first.from, first.to, last.from, last.to),
        };
        moved[0] = format!("{} ({numbers})", moved[0]);
    }
    moved.extend(counts.words());
    let tokens = match counts.tokens {
        0 => String::new(),
        1 => format!("; 1 token that reaches only `{from}` would reach nothing"),
        n => format!("; {n} tokens that reach only `{from}` would reach nothing"),
    };
    format!("this would move from `{from}` into `{into}`: {}{tokens}", moved.join(", "))
}
