//! Runs: a table of many, a block for one, and why one ended.

use punchlist_core::Status;
use punchlist_core::Time;
use punchlist_core::driver::StopReason;
use punchlist_core::host;
use punchlist_core::run::RunState;
use punchlist_ops::operations::run_show::RunItem;
use punchlist_ops::operations::{run_list, run_show};
use punchlist_ops::views::run::RunView;

use super::columns::{aligned, cut, hanging};
use super::marks::Mark;
use super::{ago, did, short, short_among};
use crate::output::{BOLD, DIM, GREEN, YELLOW, clean, line, width};

pub(super) fn listed(output: &run_list::Output, now: Time) -> String {
    if output.runs.is_empty() {
        return "No runs to show. `punch run \"…\"` begins one.\n".to_owned();
    }
    let ids: Vec<String> = output.runs.iter().map(|run| run.id.to_string()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let rows = output.runs.iter().zip(&ids).map(|(run, id)| {
        let cost = run.usage.cost_usd.map(|cost| format!("${cost:.4}")).unwrap_or_default();
        let on = run.number.map(|number| format!("#{number} ")).unwrap_or_default();
        let host = host::of_model(&run.model);
        let about = line(&about(run));
        vec![
            short_among(id, &ids).to_owned(),
            state(run),
            ago(run.updated_at, now),
            host.map_or_else(|| line(&run.agent), |host| host.label().to_owned()),
            cost,
            format!("{on}{about}"),
        ]
    });
    aligned(rows.collect(), width()) + &super::more(output.next_cursor.as_ref())
}

/// What it was asked. A person finds the session of a host by its title, which is its first prompt;
/// the title comes first if the run was asked something else.
fn about(run: &RunView) -> String {
    const TITLE_MAX: usize = 24;
    let title = run.title.as_deref().filter(|_| host::of_model(&run.model).is_some());
    match (title, run.prompt.as_deref()) {
        (Some(title), Some(prompt)) if !prompt.starts_with(title.trim_end_matches('…')) => {
            format!("{}: {prompt}", cut(title, TITLE_MAX))
        }
        (_, Some(prompt)) => prompt.to_owned(),
        (Some(title), None) => title.to_owned(),
        (None, None) => run.model.clone(),
    }
}

/// What it waits for, or why it ended, in a word.
fn state(run: &RunView) -> String {
    match (run.stop_reason, &run.waits_for) {
        (Some(reason), _) => ended(reason).to_owned(),
        (None, Some(wait)) => match &*wait.kind {
            "gate" => "waits for you".to_owned(),
            "delegations" => "waits for an agent".to_owned(),
            "worker" => "waits for a worker".to_owned(),
            kind => line(&format!("waits: {kind}")),
        },
        (None, None) => run.state.name().to_owned(),
    }
}

/// Why a run ended, in a word or two.
pub(crate) fn ended(reason: StopReason) -> &'static str {
    match reason {
        StopReason::Drained => "done",
        StopReason::NoPlan => "answered",
        StopReason::SwitchedOff => "stopped early",
        StopReason::GateOpen => "waits for you",
        StopReason::ContinuationCap | StopReason::IterationCap => "limit reached",
        StopReason::TokenGuard | StopReason::MaxTokens => "out of tokens",
        StopReason::NoProgress => "no progress",
        StopReason::Error => "failed",
        other => other.code(),
    }
}

/// A run that was started; none: its conversation has nothing to answer.
pub(super) fn started(run: Option<&RunView>) -> String {
    let Some(run) = run else { return "There is nothing to answer.\n".to_owned() };
    let (id, agent, model) = (run.id.to_string(), line(&run.agent), line(&run.model));
    did("Started", &format!("run {} of {agent} with {model}; {}", short(&id), stands(run)))
}

/// A run, what it said, and the items of its lists.
pub(super) fn shown(output: &run_show::Output, now: Time) -> String {
    let (run, said) = (&output.run, &output.text);
    let (agent, model) = (line(&run.agent), line(&run.model));
    let mut shown = format!("{BOLD}{agent}{BOLD:#} {DIM}{model}{DIM:#}\n");
    let mut add = |text: &str| shown.push_str(&hanging("  ", "  ", text, width()));
    let (since, by) = (ago(run.created_at, now), line(&run.started_by));
    add(&format!("{}; started {since} by {by}", stands(run)));
    if !said.is_empty() {
        add(&clean(said));
    }
    output.done.iter().chain(&output.left).for_each(|item| add(&item_line(item)));
    add(&used(run));
    add(&format!("run {}", short(&run.id.to_string())));
    shown
}

/// A recorded step.
pub(super) fn stepped(state: RunState) -> String {
    format!("The run is {}.\n", state.name())
}

/// A run that was asked to end.
pub(super) fn stopped(run: &RunView) -> String {
    let id = run.id.to_string();
    let id = short(&id);
    match run.ended_at.is_some() {
        true => format!("{GREEN}Stopped{GREEN:#} run {id}.\n"),
        false => format!("{YELLOW}Asked{YELLOW:#} run {id} to end; it will in a moment.\n"),
    }
}

/// The state of a run, in words.
pub(crate) fn stands(run: &RunView) -> String {
    if let Some(reason) = run.stop_reason {
        let detail = run.stop_detail.as_deref().map(|detail| format!(" ({})", line(detail)));
        return format!("ended: {}{}", reason.words(), detail.unwrap_or_default());
    }
    match run.waits_for.as_ref().map(|wait| &*wait.kind) {
        Some("gate") => "waits for an answer (`punch inbox`)".to_owned(),
        Some("delegations") => "waits for delegated work".to_owned(),
        Some("pause") => "paused (`punch session resume` continues it)".to_owned(),
        // Only a worker takes delegated work.
        Some("worker") if run.delegation_id.is_some() => {
            "waits for a worker (`punch worker`)".to_owned()
        }
        Some("worker") => {
            let id = run.id.to_string();
            format!("waits for a worker (`punch worker`, or `punch run --resume {}`)", short(&id))
        }
        Some(kind) => line(kind),
        None => run.state.name().to_owned(),
    }
}

/// An item of a run's lists in one line.
pub(crate) fn item_line(item: &RunItem) -> String {
    let is_claimed = item.claimed && !item.status.is_settled();
    let mark = Mark::from(item.status).or_claimed(is_claimed).or_held(item.hold.is_some()).text();
    let why = match (&item.hold, &item.outcome) {
        (Some(hold), _) => format!(" ({})", line(hold)),
        (None, _) if item.claimed => " (claimed)".to_owned(),
        (None, Some(outcome)) if item.status == Status::Cancelled => {
            format!(" (cancelled: {})", line(outcome))
        }
        _ => String::new(),
    };
    format!("{mark} {}{why}", line(&item.title))
}

/// The calls and tokens of a run, and their cost if the model has a price.
pub(crate) fn used(run: &RunView) -> String {
    let count = |n: u32, one: &str| match n {
        1 => format!("1 {one}"),
        n => format!("{} {one}s", grouped(u64::from(n))),
    };
    let usage = &run.usage;
    let cost = usage.cost_usd.map(|cost| format!(", ${cost:.4}"));
    format!(
        "{}, {}, {} tokens in, {} out{}",
        count(run.iterations, "model call"),
        count(run.continuations, "continuation"),
        grouped(usage.input_tokens),
        grouped(usage.output_tokens),
        cost.unwrap_or_default(),
    )
}

/// `1234567` as `1,234,567`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_run_that_no_process_executes_says_who_can() {
        let run = |delegation: Option<&str>| -> RunView {
            let zero = "01JCQ0000000000000000000AB";
            let at = "2026-11-15T08:00:00.000000Z";
            let run = json!({
                "id": zero, "agent": "builder", "role": "worker", "model": "scripted:a.toml",
                "state": "running", "conversationId": zero, "turnId": "t", "drives": true,
                "delegationId": delegation, "waitsFor": { "kind": "worker" }, "iterations": 0,
                "continuations": 0, "startedBy": "a", "createdAt": at, "updatedAt": at,
                "usage": { "inputTokens": 0, "cachedTokens": 0, "outputTokens": 0 },
            });
            serde_json::from_value(run).unwrap()
        };
        let (own, handed) = (run(None), run(Some("01JCQ0000000000000000000AC")));
        assert_eq!([state(&own), state(&handed)], ["waits for a worker"; 2]);
        let or_here = "waits for a worker (`punch worker`, or `punch run --resume 00AB`)";
        assert_eq!(stands(&own), or_here);
        assert_eq!(stands(&handed), "waits for a worker (`punch worker`)");
    }

    #[test]
    fn thousands_are_grouped() {
        let shown = [0, 7, 999, 1000, 123_456, 1_234_567].map(grouped);
        assert_eq!(shown, ["0", "7", "999", "1,000", "123,456", "1,234,567"]);
    }
}
