//! The driver's messages: short, factual, and always with a way out.

use std::fmt::Write as _;

use super::{Counters, StopReason, Work};
use crate::plan::dropped;
use crate::select;
use crate::text::counted;
use crate::{ListKind, Role, Snapshot, Status, Time, Todo};

/// The longest title that is quoted whole, in characters.
const QUOTED_MAX: usize = 200;

/// How many items of a list are shown.
const SHOWN_MAX: usize = 30;

/// After this many changing calls without using the list, a reminder is added, at most twice
/// (F-15).
const UNTOUCHED_MAX: u32 = 12;
const NUDGES_MAX: u32 = 2;

/// The seed's section on planning, for an agent that has the tools (T-23, T-24).
#[must_use]
pub fn planning_section(tools: &[impl AsRef<str>]) -> Option<&'static str> {
    tools.iter().any(|tool| tool.as_ref() == "create_todo").then_some(PLANNING)
}

const PLANNING: &str = "## Task Planning & Execution

For complex requests that involve multiple distinct steps, use the task planning system:

1. **Plan first**: Break the objective into individual tasks and call `create_todo` with the full list.
2. **Execute sequentially**: After creating the plan, use `list_todo` to see remaining items. Pick the \
next pending item, execute it (directly or via delegation), then call `complete_todo` with the outcome.
3. **Drain before responding**: You MUST NOT produce a final response to the user until all TODO items \
are completed or cancelled. After completing each item, check `list_todo` for remaining work.
4. **Skip planning for simple tasks**: If the user's request can be handled in 1-2 tool calls, respond \
directly without creating a plan.

When to use planning:
- Multi-step research or analysis
- Tasks requiring multiple tool calls across different domains
- Requests that explicitly ask for several things

When NOT to use planning:
- Simple factual questions
- Single tool calls (web search, screenshot, etc.)
- Casual conversation";

/// What an agent's tools let it do with an item it cannot finish.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ways {
    pub hold: bool,
    pub ask: bool,
}

/// The continuation: the seed's sentence (S-15, S-16), or a template with `{count}` and `{title}`
/// (D-16), and a second sentence that names the ways out.
#[must_use]
pub fn continuation(work: &Work, template: Option<&str>, ways: Ways) -> String {
    let text = match (&work.next, template) {
        (Some(next), Some(template)) => template
            .replace("{count}", &work.actionable.to_string())
            .replace("{title}", &quoted(&next.title)),
        (Some(next), None) => format!(
            "You have {} incomplete tasks remaining. Please continue working on the next \
             high-priority task: '{}'. Continue until all todos are completed.",
            work.actionable,
            quoted(&next.title)
        ),
        (None, _) => "Please check your todo list and continue working on any remaining \
                      incomplete tasks."
            .to_owned(),
    };
    let way_out = match (ways.hold, ways.ask) {
        (true, true) => {
            "If one cannot go on, put it on hold with a reason; if you need the person, use `ask`."
        }
        (true, false) => "If one cannot go on, put it on hold with a reason.",
        (false, true) => "If you need the person to go on, use `ask`.",
        (false, false) => "If one is not to be done, cancel it and say why.",
    };
    format!("{text} {way_out}")
}

/// For a model that ended its turn while a new message arrived.
pub const UNHEARD: &str =
    "Something was said while you answered. Take it into account, and answer that as well.";

/// The current lists, shown before the next model call (T-31, T-38). `None` if there is nothing to
/// show (P-5). Closed items are shown too, so that they are not done again (P-7).
#[must_use]
pub fn context(lists: &[Snapshot], counters: &Counters, now: Time) -> Option<String> {
    let mut text = String::new();
    let mut open = 0;
    for list in lists {
        let dropped = dropped(list);
        let mut items = select::ordered(list);
        items.retain(|todo| !dropped.contains(&todo.id));
        if items.is_empty() && list.tally.total() == 0 {
            continue;
        }
        let closed = list.tally.completed + list.tally.cancelled + dropped.len() as u64;
        let total = list.tally.total();
        let _ = writeln!(text, "{} ({closed} of {total} closed):", named(list.list.kind()));
        let next = select::next(list, now).map(|todo| todo.id);
        let shown: Vec<&&Todo> = items.iter().filter(|todo| !todo.status.is_settled()).collect();
        for todo in shown.iter().take(SHOWN_MAX) {
            let _ = writeln!(text, "- {}", line(todo, next == Some(todo.id), now));
        }
        if shown.len() > SHOWN_MAX {
            let _ = writeln!(text, "- … and {} more", shown.len() - SHOWN_MAX);
        }
        let done: Vec<&&Todo> = items.iter().filter(|todo| todo.status.is_settled()).collect();
        for todo in done.iter().rev().take(5).rev() {
            let _ = writeln!(text, "- {}", line(todo, false, now));
        }
        open += shown.iter().filter(|todo| todo.is_actionable(now)).count();
    }
    if text.is_empty() {
        return None;
    }
    let nudges = counters.untouched / UNTOUCHED_MAX;
    let is_time = nudges > 0 && counters.untouched.is_multiple_of(UNTOUCHED_MAX);
    if open > 0 && is_time && nudges <= NUDGES_MAX {
        let _ = writeln!(text, "{open} open; if you finished one, mark it now.");
    }
    Some(text.trim_end().to_owned())
}

fn line(todo: &Todo, next: bool, now: Time) -> String {
    let mark = match todo.status {
        Status::Completed => "[x]",
        Status::Cancelled => "[-]",
        Status::InProgress => "[/]",
        Status::Backlog | Status::Pending => "[ ]",
    };
    let mut text = format!("{mark} {} (id {})", quoted(&todo.title), todo.id);
    if let Some(hold) = &todo.hold {
        let _ = write!(text, " — {}: {}", hold.kind.name(), quoted(&hold.reason));
    } else if todo.claim.is_some() && !todo.status.is_settled() {
        text.push_str(" — waits for its reviewer");
    } else if todo.status.is_active() && todo.defer_until.is_some_and(|until| until > now) {
        text.push_str(" — deferred");
    }
    if next {
        text.push_str(" <-- next");
    }
    text
}

const fn named(kind: ListKind) -> &'static str {
    match kind {
        ListKind::Turn => "Your plan for this turn",
        ListKind::Plan => "The plan",
        ListKind::Session => "Your todo list",
        ListKind::Issue => "The checklist of the issue",
        ListKind::Pillar => "The todos of the pillar",
    }
}

/// The system prompt: what the agent is.
#[must_use]
pub fn system(
    agent: &str,
    role: Role,
    instructions: Option<&str>,
    tools: &[impl AsRef<str>],
) -> String {
    let own = match role {
        Role::Lead => {
            "You lead a mission: you choose what is worked on, hand it to the owner of its pillar \
             with `delegate` (async, with its todoId), review what comes back, and complete it or \
             return it. Only you complete."
        }
        Role::Owner => {
            "You own a pillar of a mission: you plan its todos, do the work you are handed, and \
             report. You never complete a todo yourself; the lead does."
        }
        Role::Worker => {
            "You do one piece of work for another agent, which sees only your last message: end \
             with the result."
        }
        Role::Root | Role::Operator | Role::System => {
            "You answer the person. What you plan is kept in lists that outlive this session."
        }
    };
    let mut text = format!("You are {agent}. {own}");
    if let Some(instructions) = instructions {
        let _ = write!(text, "\n\n{}", instructions.trim());
    }
    if let Some(section) = planning_section(tools) {
        let _ = write!(text, "\n\n{section}");
    }
    text
}

/// The system prompt between two items of a plan that is completed by reports (F-7).
#[must_use]
pub fn between(agent: &str) -> String {
    format!(
        "You are {agent}. Hand the next item of your plan on with `delegate`, naming its todoId; its \
         report completes it. If it cannot go on, hold it with a reason."
    )
}

/// The message at the end if something is left (T-32, S-20), or if the agent cancelled many items
/// (P-9).
#[must_use]
pub fn incomplete(lists: &[Snapshot], reason: StopReason, budget: (u32, u32)) -> Option<String> {
    let mut text = String::new();
    for list in lists {
        let dropped = dropped(list);
        let is_left = |todo: &&Todo| todo.status.is_active() && !dropped.contains(&todo.id);
        for todo in select::ordered(list).into_iter().filter(is_left) {
            let why = match (&todo.hold, &todo.claim) {
                (Some(hold), _) => format!(" ({}: {})", hold.kind.name(), quoted(&hold.reason)),
                (None, Some(_)) => " (waits for its reviewer)".to_owned(),
                (None, None) => String::new(),
            };
            let _ = writeln!(text, "- {}{why}", quoted(&todo.title));
        }
    }
    if text.is_empty() {
        return None;
    }
    let (continuations, max) = budget;
    let reason = match reason {
        StopReason::ContinuationCap => {
            let limit = counted(max, "continuation", "continuations");
            format!("the limit of {limit} was reached ({continuations} made)")
        }
        reason => reason.words().to_owned(),
    };
    Some(format!("Stopped: {reason}. Not done:\n{}", text.trim_end()))
}

/// The text in one line, cut between characters (F-13).
fn quoted(text: &str) -> String {
    let mut words = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((cut, _)) = words.char_indices().nth(QUOTED_MAX) {
        words.truncate(cut);
        words.push('…');
    }
    words
}
