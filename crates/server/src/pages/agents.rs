//! The agents of a project: first those that failed or are silent, then the working ones, then the
//! idle ones; and the delegations.

use std::collections::BTreeMap;

use maud::{Markup, html};
use punchlist_core::agent::SILENT_AFTER;
use punchlist_core::delegation::DelegationState;
use punchlist_core::run::RunState;
use punchlist_core::{AgentStatus, Time};
use punchlist_ops::Error;
use punchlist_ops::input::{Cursor, Limit};
use punchlist_ops::operations::agent_list::{self, AgentList};
use punchlist_ops::operations::delegation_list::{self, DelegationList};
use punchlist_ops::operations::run_list::{self, RunList};
use punchlist_ops::operations::status::{self, Part, Status};
use punchlist_ops::views::DelegationView;
use punchlist_ops::views::agent::{AgentView, LeasedView};
use punchlist_ops::views::home::{FailedKind, FailedRow, UngovernedRow};
use punchlist_ops::views::run::RunView;

use super::asking::maybe;
use super::forms::{Done, Form, unknown};
use super::frame::{self, Head, Section, Shown};
use super::marks::{self, Shape, State};
use super::visit::Visit;
use super::{home, parts, words};

/// How many of each kind are shown.
pub(crate) const SHOWN: usize = 100;
const ASKED: i64 = 100;

/// Everything that is known about one agent.
#[derive(Debug, Default)]
struct Known<'a> {
    agent: Option<&'a AgentView>,
    runs: Vec<&'a RunView>,
    leases: Vec<&'a LeasedView>,
    failed: Option<&'a FailedRow>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Group {
    Trouble,
    Busy,
    Idle,
}

impl Known<'_> {
    fn is_silent(&self, now: Time) -> bool {
        let seconds = i64::try_from(SILENT_AFTER.as_seconds()).unwrap_or(i64::MAX);
        self.agent.is_some_and(|agent| {
            agent.status == AgentStatus::Busy && agent.heartbeat_at.plus_seconds(seconds) < now
        })
    }

    fn group(&self, now: Time) -> Group {
        let is_failed = self.agent.is_some_and(|agent| agent.status == AgentStatus::Failed);
        let is_at_work = !self.runs.is_empty() || !self.leases.is_empty();
        match self.agent.map(|agent| agent.status) {
            _ if is_failed || self.is_silent(now) => Group::Trouble,
            _ if self.failed.is_some() && !is_at_work => Group::Trouble,
            _ if is_at_work => Group::Busy,
            Some(AgentStatus::Busy | AgentStatus::Blocked) => Group::Busy,
            _ => Group::Idle,
        }
    }

    /// Does every run of it wait?
    fn is_waiting(&self) -> bool {
        !self.runs.is_empty() && self.runs.iter().all(|run| !run.is_at_work())
    }

    fn state(&self, now: Time) -> State {
        match (self.group(now), self.agent.map(|agent| agent.status)) {
            (Group::Trouble, Some(AgentStatus::Busy)) if self.is_silent(now) => {
                State::new(marks::warning(), "stale", "amber")
            }
            (Group::Trouble, _) => State::new(marks::failed(), "failed", "red"),
            (Group::Busy, Some(AgentStatus::Blocked)) => {
                State::new(marks::held(), "blocked", "amber")
            }
            (Group::Busy, _) if self.is_waiting() => State::new(marks::held(), "waiting", "amber"),
            (Group::Busy, _) => State::new(marks::in_progress(), "busy", "accent"),
            (Group::Idle, Some(AgentStatus::Complete)) => {
                State::new(marks::completed(), "through", "green")
            }
            (Group::Idle, _) => State::new(marks::pending(Shape::Round), "idle", "grey"),
        }
    }

    fn since(&self) -> Option<Time> {
        let runs = self.runs.iter().map(|run| run.created_at);
        let leases = self.leases.iter().filter_map(|lease| lease.started_at);
        runs.chain(leases).min()
    }

    fn heartbeat(&self) -> Option<Time> {
        let runs = self.runs.iter().map(|run| run.updated_at);
        let failed = self.failed.map(|failed| failed.at);
        self.agent.map(|agent| agent.heartbeat_at).into_iter().chain(runs).chain(failed).max()
    }
}

fn runs(visit: &Visit, state: RunState) -> Result<Vec<RunView>, Error> {
    let input = run_list::Input {
        state: Some(state),
        session: maybe(None),
        limit: Limit::of(ASKED),
        cursor: Cursor::FIRST,
    };
    Ok(visit.run::<RunList>(input)?.runs)
}

fn delegations(visit: &Visit, state: DelegationState) -> Result<Vec<DelegationView>, Error> {
    let input = delegation_list::Input {
        state: Some(state),
        kind: maybe(None),
        todo_id: maybe(None),
        limit: Limit::of(ASKED),
        cursor: Cursor::FIRST,
    };
    Ok(visit.run::<DelegationList>(input)?.delegations)
}

pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let listed = visit.run::<AgentList>(agent_list::Input::MOST)?;
    let mut open = runs(visit, RunState::Running)?;
    open.extend(runs(visit, RunState::Waiting)?);
    let status = visit.run::<Status>(status::Input::only(&[Part::Failed, Part::Ungoverned]))?;
    let failed = status.failed;
    let mut handed = delegations(visit, DelegationState::Running)?;
    handed.extend(delegations(visit, DelegationState::Queued)?);
    let mut known: BTreeMap<&str, Known<'_>> = BTreeMap::new();
    for agent in listed.agents.iter().filter(|agent| agent.status != AgentStatus::Archived) {
        known.entry(&agent.agent).or_default().agent = Some(agent);
    }
    for run in &open {
        known.entry(&run.agent).or_default().runs.push(run);
    }
    for lease in &listed.leases {
        known.entry(words::name(&lease.holder)).or_default().leases.push(lease);
    }
    for row in &failed {
        known.entry(&row.agent).or_default().failed.get_or_insert(row);
    }
    let now = visit.now();
    let of = |group: Group| -> Vec<(&str, &Known<'_>)> {
        known
            .iter()
            .filter(|(_, one)| one.group(now) == group)
            .map(|(name, one)| (*name, one))
            .collect()
    };
    let (trouble, busy, idle) = (of(Group::Trouble), of(Group::Busy), of(Group::Idle));
    let waiting = busy.iter().filter(|(_, one)| one.is_waiting()).count();
    let counts =
        Counts { trouble: trouble.len(), busy: busy.len() - waiting, waiting, idle: idle.len() };
    let crumbs = [(visit.project().to_owned(), visit.at(""))];
    let body = html! {
        (frame::head(&Head {
            crumbs: &crumbs,
            title: html! { "Agents" },
            sub: html! { p { (headline(&counts)) } },
            actions: None,
        }))
        div.main-col {
            @if known.is_empty() && handed.is_empty() && status.ungoverned.is_empty() {
                (parts::empty(
                    "No agents yet",
                    "An agent appears when it takes work, or when you run one.",
                    "punch run \"What is open here?\"",
                ))
            }
            (table(visit, "trouble", "Failed or silent", &trouble))
            (without_hooks(visit, &status.ungoverned))
            (table(visit, "busy", if waiting > 0 { "Busy or waiting" } else { "Busy" }, &busy))
            (resting(visit, &idle))
            (delegated(visit, &handed))
        }
    };
    let (title, bar) = ("Agents".to_owned(), "Agents".to_owned());
    Ok(Shown {
        title,
        bar,
        back: Some(visit.at("")),
        section: Section::Agents,
        actions: html! {},
        body,
    })
}

/// How many agents are in which state.
struct Counts {
    trouble: usize,
    busy: usize,
    waiting: usize,
    idle: usize,
}

fn headline(counts: &Counts) -> String {
    let agents = |n: usize| words::count(i64::try_from(n).unwrap_or(0), "agent", "agents");
    let mut words = Vec::new();
    if counts.trouble > 0 {
        words.push(format!("{} failed or silent", agents(counts.trouble)));
    }
    let others = [(counts.busy, "busy"), (counts.waiting, "waiting"), (counts.idle, "idle")];
    words.extend(others.iter().filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")));
    if words.is_empty() { String::new() } else { format!("{}.", words.join(", ")) }
}

/// Sessions of hosts whose hooks do not fire.
fn without_hooks(visit: &Visit, rows: &[UngovernedRow]) -> Markup {
    html! {
        @if !rows.is_empty() {
            section aria-labelledby="ungoverned-title" {
                (parts::section_head("ungoverned-title", "Not governed", &html! {
                    span.beside { (rows.len()) }
                }, &html! {}))
                div.card.padded { @for row in rows { (home::ungoverned(visit, visit.project(), row)) } }
            }
        }
    }
}

fn table(visit: &Visit, id: &str, name: &str, rows: &[(&str, &Known<'_>)]) -> Markup {
    html! {
        @if !rows.is_empty() {
            section aria-labelledby={(id) "-title"} {
                (parts::section_head(&format!("{id}-title"), name, &html! { span.beside { (rows.len()) } }, &html! {}))
                table.card.agents {
                    thead { tr {
                        th scope="col" { "Agent" } th scope="col" { "Works on" } th scope="col" { "Since" }
                        th scope="col" { "Lease until" } th scope="col" { "Heartbeat" } th.figures scope="col" {
                            "Cost"
                        }
                    } }
                    tbody data-rows="end" { @for (agent, one) in rows.iter().take(SHOWN) { (row(visit, agent, one)) } }
                }
                @if rows.len() > SHOWN { p.hint { "The first " (SHOWN) " are shown." } }
            }
        }
    }
}

fn row(visit: &Visit, agent: &str, one: &Known<'_>) -> Markup {
    let now = visit.now();
    let state = one.state(now);
    let cost: f64 = one.runs.iter().filter_map(|run| run.usage.cost_usd).sum();
    let has_cost = one.runs.iter().any(|run| run.usage.cost_usd.is_some());
    html! {
        tr id={"agent-" (agent)} data-item="" {
            th scope="row" {
                span.agent-name { (state.mark) " " b { (agent) } " " (state.shown()) }
                @if let Some(kind) = one.agent.and_then(|agent| agent.kind.as_deref()) { span.hint { (kind) } }
            }
            td data-label="Works on" { (works_on(visit, one)) }
            td data-label="Since" { @if let Some(at) = one.since() { (words::since(at, now)) } @else { "–" } }
            td data-label="Lease until" {
                @if let Some(lease) = one.leases.first() { (words::clock(lease.lease_until)) } @else { "–" }
            }
            td data-label="Heartbeat" { @if let Some(at) = one.heartbeat() { (words::ago(at, now)) } @else { "–" } }
            td.figures data-label="Cost" { @if has_cost { (words::dollars(cost)) } @else { "–" } }
        }
    }
}

fn works_on(visit: &Visit, one: &Known<'_>) -> Markup {
    html! {
        @for lease in one.leases.iter().take(3) {
            p { a href=(visit.at(&format!("/todos/{}", lease.todo_id))) { (lease.title) } }
        }
        @for run in one.runs.iter().take(3) {
            p {
                a href=(visit.at(&format!("/runs/{}", run.id))) {
                    @match run.prompt.as_deref().or(run.title.as_deref()).map(str::trim).filter(|s| !s.is_empty()) {
                        Some(said) => (short(said)),
                        None => "Run",
                    }
                }
                @if let Some(number) = run.number { " " span.hint { "#" (number) } }
            }
            @if let Some(wait) = &run.waits_for { p { span.amber { (words::waits(&wait.kind)) } } }
        }
        @if one.leases.len() + one.runs.len() > 6 { p.hint { "and more" } }
        @if let Some(note) = one.agent.and_then(|agent| agent.note.as_deref()) { p.hint { (note) } }
        @if let Some(failed) = one.failed {
            p.red {
                (failed.error) " "
                @if failed.kind == FailedKind::Run {
                    a href=(visit.at(&format!("/runs/{}", words::encoded(&failed.id)))) { "Look at the run" }
                }
            }
        }
        @if one.leases.is_empty() && one.runs.is_empty()
            && one.failed.is_none() && one.agent.is_none_or(|agent| agent.note.is_none()) {
            "–"
        }
    }
}

fn short(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(100) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line.to_owned(),
    }
}

fn resting(visit: &Visit, rows: &[(&str, &Known<'_>)]) -> Markup {
    html! {
        @if !rows.is_empty() {
            section aria-labelledby="idle-title" {
                (parts::section_head("idle-title", "Idle", &html! { span.beside { (rows.len()) } }, &html! {}))
                ul.criteria.card {
                    @for (agent, one) in rows.iter().take(SHOWN) {
                        @let state = one.state(visit.now());
                        li.row id={"agent-" (agent)} {
                            (state.mark)
                            div {
                                p.content { (agent) }
                                p.below {
                                    @if let Some(kind) = one.agent.and_then(|agent| agent.kind.as_deref()) {
                                        span { (kind) }
                                    }
                                    @if let Some(at) = one.heartbeat() {
                                        span { "heard " (words::ago(at, visit.now())) }
                                    }
                                }
                            }
                            (state.shown())
                        }
                    }
                }
                @if rows.len() > SHOWN { p.hint { "The first " (SHOWN) " are shown." } }
            }
        }
    }
}

/// Delegations that are not finished.
fn delegated(visit: &Visit, all: &[DelegationView]) -> Markup {
    html! {
        @if !all.is_empty() {
            section aria-labelledby="delegations-title" {
                (parts::section_head(
                    "delegations-title",
                    "Delegations",
                    &html! { span.beside { (all.len()) } },
                    &html! {},
                ))
                ul.criteria.card {
                    @for one in all.iter().take(SHOWN) {
                        li.row id={"delegation-" (one.id)} {
                            @if one.state == DelegationState::Running { (marks::in_progress()) } @else {
                                (marks::pending(Shape::Round))
                            }
                            div {
                                p.content {
                                    @match &one.todo_id {
                                        Some(todo) => a href=(visit.at(&format!("/todos/{todo}"))) {
                                            (short(&one.mission))
                                        }
                                        ,
                                        None => (short(&one.mission)),
                                    }
                                }
                                p.below {
                                    span { (visit.name(&one.delegated_by)) " to " (one.agent) }
                                    span { (words::ago(one.created_at, visit.now())) }
                                    @if one.attempts > 1 { span { "attempt " (one.attempts) } }
                                }
                            }
                            @if one.state == DelegationState::Running { span.word.accent { "running" } } @else {
                                span.word.grey { "queued" }
                            }
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn act(_: &Visit, form: &Form) -> Result<Done, Error> {
    Err(unknown(form))
}
