//! The first page: what waits, what runs, what is open, what failed, and what to do next.

use punchlist_core::Time;
use punchlist_core::gate::{GateKind, Purpose};
use punchlist_core::host::Host;
use punchlist_core::run::RunState;
use punchlist_ops::operations::mission_list;
use punchlist_ops::operations::plan_list::PlanRow;
use punchlist_ops::operations::status::Output;
use punchlist_ops::views::IssueView;
use punchlist_ops::views::home::{FailedKind, FailedRow, RunningRow, UngovernedRow, WaitingRow};

use super::columns::{aligned, cut, hanging};
use super::times::{elapsed, relative};
use super::{issues, short, short_among};
use crate::output::{BOLD, DIM, line, width};
use crate::settings;

pub(super) fn render(output: &Output, now: Time) -> String {
    let mut shown = heading(output, now);
    section(&mut shown, "Waiting for you", &waiting(output, now));
    section(&mut shown, "Running", &running(&output.running, now));
    section(&mut shown, "Not governed", &ungoverned(&output.ungoverned, now));
    section(&mut shown, "Open issues", &open_issues(&output.issues, output.more_issues, now));
    section(&mut shown, "Plans", &plans(&output.plans));
    section(&mut shown, "Missions", &missions(&output.missions, now));
    section(&mut shown, "Failed", &failed(&output.failed, now));
    if is_quiet(output) {
        shown.push_str("\nNothing is open here.\n");
    }
    shown.push_str(&next(output, now));
    shown
}

fn heading(output: &Output, now: Time) -> String {
    let last = match output.last_event_at {
        Some(time) => format!("; last change {}", relative(time, now)),
        // A narrowed token does not see the events of others.
        None if !output.lists.is_empty() => String::new(),
        None => "; nothing has happened yet".to_owned(),
    };
    let (project, actor) = (line(&output.project), line(&output.actor));
    let role = output.role.name();
    let carried = match actor.split_once(':') {
        Some((proved, _)) if proved != role => format!(" as {role}"),
        _ => String::new(),
    };
    let rest = format!("  you are {actor}{carried}{last}");
    if unicode_width::UnicodeWidthStr::width(format!("{project}{rest}").as_str()) <= width() {
        return format!("{BOLD}{project}{BOLD:#}{DIM}{rest}{DIM:#}\n");
    }
    let rest = hanging("  ", "  ", rest.trim_start(), width());
    format!("{BOLD}{}{BOLD:#}\n{DIM}{}{DIM:#}\n", cut(&project, width()), rest.trim_end())
}

fn section(shown: &mut String, name: &str, lines: &str) {
    if !lines.is_empty() {
        shown.push_str(&format!("\n{BOLD}{name}{BOLD:#}\n{lines}"));
    }
}

fn is_quiet(output: &Output) -> bool {
    output.waiting.is_empty()
        && output.reviews.is_empty()
        && output.running.is_empty()
        && output.ungoverned.is_empty()
        && output.issues.is_empty()
        && output.plans.is_empty()
        && output.missions.is_empty()
        && output.failed.is_empty()
}

/// Waiting questions, each with its short id and the command to answer it.
fn waiting(output: &Output, now: Time) -> String {
    let ids: Vec<&str> = output.waiting.iter().map(|row| row.id.as_str()).collect();
    let mut shown = String::new();
    for row in &output.waiting {
        let id = short_among(&row.id, &ids);
        let about = row.number.map(|number| format!(" on #{number}")).unwrap_or_default();
        let said = format!(
            "{}{about}: {} ({}, {})",
            kind(row),
            line(&row.text),
            line(&row.asked_by),
            relative(row.created_at, now)
        );
        shown.push_str(&entry(id, &said, &format!("punch inbox answer {id}")));
    }
    let ids: Vec<&str> = output.reviews.iter().map(|row| row.todo_id.as_str()).collect();
    for row in &output.reviews {
        let id = short_among(&row.todo_id, &ids);
        let (by, at) = (line(&row.claim.by), relative(row.claim.at, now));
        let said =
            format!("Review: {} ({}), claimed by {by} {at}", line(&row.title), line(&row.of));
        shown.push_str(&entry(id, &said, &format!("punch inbox answer {id}")));
    }
    shown
}

/// An entry: its id, its text, and the command to run on the next line.
fn entry(id: &str, said: &str, command: &str) -> String {
    let lead = format!("  {id}  ");
    let text = hanging(&lead, &format!("  {BOLD}{id}{BOLD:#}  "), said, width());
    let indent = " ".repeat(lead.len());
    format!("{text}{indent}{DIM}{command}{DIM:#}\n")
}

const fn kind(row: &WaitingRow) -> &'static str {
    match (row.kind, row.purpose) {
        (_, Some(Purpose::SignOff)) => "Sign-off",
        (GateKind::Checkpoint, _) => "Pause",
        (GateKind::Ask, _) => "Question",
        (GateKind::Form, _) => "Form",
        (GateKind::Permission, _) => "Permission",
        (GateKind::Escalation, _) => "Overdue",
    }
}

/// Running runs: agent, item, duration and cost.
fn running(runs: &[RunningRow], now: Time) -> String {
    let ids: Vec<&str> = runs.iter().map(|row| row.id.as_str()).collect();
    let rows = runs.iter().map(|run| {
        let cost = run.cost_usd.map(|cost| format!("${cost:.4}")).unwrap_or_default();
        let on = run.number.map(|number| format!("#{number} ")).unwrap_or_default();
        let item = run.item.as_deref().or(run.title.as_deref()).map(line).unwrap_or_default();
        let host = run.host.as_deref().and_then(Host::parse);
        let waits = match (run.state, run.waits_for.as_deref()) {
            (RunState::Waiting, Some("gate")) => "waits for you ",
            (RunState::Waiting, Some("delegations")) => "waits for another agent ",
            (RunState::Waiting, Some("pause")) => "paused ",
            (RunState::Waiting, _) => "waits ",
            (_, Some("worker")) => "waits for a worker ",
            _ => "",
        };
        vec![
            format!("  {}", short_among(&run.id, &ids)),
            host.map_or_else(|| line(&run.agent), |host| host.label().to_owned()),
            elapsed(run.created_at, now),
            cost,
            format!("{waits}{on}{item}"),
        ]
    });
    aligned(rows.collect(), width())
}

/// Sessions whose hooks do not fire, with the command that says why.
fn ungoverned(rows: &[UngovernedRow], now: Time) -> String {
    let ids: Vec<&str> = rows.iter().map(|row| row.session_id.as_str()).collect();
    let one = |row: &UngovernedRow| {
        let (title, at) = (line(&row.title), relative(row.created_at, now));
        let on = row.number.map(|number| format!(" on #{number}")).unwrap_or_default();
        let said =
            format!("{title}{on}, started {at}: its hooks do not fire, so it may stop early");
        entry(short_among(&row.session_id, &ids), &said, "punch doctor")
    };
    rows.iter().map(one).collect()
}

fn open_issues(issues: &[IssueView], more: bool, now: Time) -> String {
    let rows = issues.iter().map(|issue| {
        let progress = Some(issues::progress(issue)).filter(|progress| !progress.is_empty());
        let deferred = issues::deferral(issue, now);
        let facts: Vec<String> = progress.into_iter().chain(deferred).collect();
        let room = width().saturating_sub(format!("  #{}  ", issue.number).len());
        let title = line(&issue.title);
        let said = match facts.join(", ") {
            facts if facts.is_empty() => title,
            // The facts are shown, whatever the title.
            facts => {
                let room = room.saturating_sub(unicode_width::UnicodeWidthStr::width(&*facts) + 4);
                format!("{}  ({facts})", cut(&title, room.max(8)))
            }
        };
        vec![format!("  #{}", issue.number), said]
    });
    let mut shown = aligned(rows.collect(), width());
    if more {
        shown.push_str(&format!("  {DIM}… more: punch issue list{DIM:#}\n"));
    }
    shown
}

fn plans(plans: &[PlanRow]) -> String {
    let rows = plans.iter().map(|plan| {
        let total = plan.open + plan.completed;
        let said = format!("{} of {total} done", plan.completed);
        vec![format!("  {}", line(&plan.plan_file)), said, format!("on {}", line(&plan.branch))]
    });
    aligned(rows.collect(), width())
}

fn missions(missions: &[mission_list::Row], now: Time) -> String {
    let rows = missions.iter().map(|mission| {
        let counts = &mission.counts;
        let next = mission.next_cycle_at.map(|next| format!("next cycle {}", relative(next, now)));
        vec![
            format!("  {}", line(&mission.slug)),
            mission.status.name().to_owned(),
            format!("{}/{} active", counts.active, counts.active_limit),
            format!("{}/{} in backlog", counts.backlog, counts.backlog_limit),
            next.unwrap_or_default(),
        ]
    });
    aligned(rows.collect(), width())
}

fn failed(rows: &[FailedRow], now: Time) -> String {
    let mut shown = String::new();
    for row in rows {
        let id = short(&row.id);
        let (agent, at) = (line(&row.agent), relative(row.at, now));
        let said = format!("{agent}, {at}: {}", line(&row.error));
        let command = match row.kind {
            FailedKind::Run => format!("punch runs show {id}"),
            FailedKind::Delegation => format!("punch delegation show {id}"),
        };
        shown.push_str(&entry(id, &said, &command));
    }
    shown
}

/// Has the agent that `punch run` starts a model here?
fn can_run() -> bool {
    let agents = settings::read().map(|settings| settings.config.agents);
    agents.is_ok_and(|agents| agents.get("primary").is_some_and(|agent| agent.model.is_some()))
}

/// Three commands worth knowing now.
fn next(output: &Output, now: Time) -> String {
    let mut commands: Vec<String> = Vec::new();
    if !output.waiting.is_empty() || !output.reviews.is_empty() {
        commands.push("punch inbox".to_owned());
    }
    if let Some(issue) = output.issues.iter().find(|issue| !issues::is_deferred(issue, now)) {
        commands.push(format!("punch issue show {}", issue.number));
        if can_run() {
            commands.push(format!("punch run \"Go on\" --issue {} --until-done", issue.number));
        }
    }
    match output.plans.len() {
        0 => {}
        1 => commands.push("punch plan tree".to_owned()),
        _ => commands.push("punch plan list".to_owned()),
    }
    if !output.missions.is_empty() {
        commands.push("punch mission status".to_owned());
    }
    for command in ["punch issue new \"…\"", "punch log", "punch demo", "punch help"] {
        commands.push(command.to_owned());
    }
    commands.truncate(3);
    let lines: String = commands.iter().map(|command| format!("  {command}\n")).collect();
    format!("\n{BOLD}Try next{BOLD:#}\n{lines}")
}
