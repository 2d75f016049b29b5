//! Home, a project, and its inbox: what waits for the reader, and what is running.

use std::collections::BTreeSet;

use maud::{Markup, html};
use punchlist_core::host::Host;
use punchlist_ops::Error;
use punchlist_ops::operations::mission_list;
use punchlist_ops::operations::status::{self, Part, Status};
use punchlist_ops::views::home::{
    FailedKind, FailedRow, HeldRow, OffTargetRow, RunningRow, UngovernedRow,
};

use super::frame::{Section, Shown};
use super::gates::{self, Waiting};
use super::mission::figure;
use super::visit::Visit;
use super::{marks, parts, since, words};

/// `/`: all projects.
pub(crate) fn show(visit: &Visit) -> Result<Shown, Error> {
    let projects: Vec<&str> = visit.overview.projects.iter().map(|one| one.name.as_str()).collect();
    let body = page(visit, &projects)?;
    let (title, bar) = ("Home".to_owned(), "Home".to_owned());
    Ok(Shown { title, bar, back: None, section: Section::Home, actions: html! {}, body })
}

/// `/p/PROJECT`: one project.
pub(crate) fn show_project(visit: &Visit) -> Result<Shown, Error> {
    let body = page(visit, &[visit.project()])?;
    let name = visit.project().to_owned();
    let back = Some("/".to_owned());
    Ok(Shown {
        title: name.clone(),
        bar: name,
        back,
        section: Section::Project,
        actions: html! {},
        body,
    })
}

/// `/p/PROJECT/inbox`: only the decisions.
pub(crate) fn show_inbox(visit: &Visit) -> Result<Shown, Error> {
    let waiting = gates::waiting(visit, &[visit.project()])?;
    let body = html! {
        header.page-head {
            h1 id="top" tabindex="-1" { "Inbox" }
            p.sub { (headline(visit, &waiting, &[])) }
        }
        div.narrow { (gates::list(visit, &waiting)) }
    };
    let (title, bar) = ("Inbox".to_owned(), "Inbox".to_owned());
    Ok(Shown {
        title,
        bar,
        back: Some(visit.at("")),
        section: Section::Inbox,
        actions: html! {},
        body,
    })
}

/// Active runs, failures, held items and missions, each with its project.
#[derive(Debug, Default)]
struct Now {
    running: Vec<(String, RunningRow)>,
    failed: Vec<(String, FailedRow)>,
    held: Vec<(String, HeldRow)>,
    off_target: Vec<(String, OffTargetRow)>,
    ungoverned: Vec<(String, UngovernedRow)>,
    missions: Vec<(String, mission_list::Row)>,
}

/// How many projects are looked at.
const PROJECTS_MAX: usize = 50;

/// The projects to look at: those with open decisions first, then the newest.
fn looked_at<'a>(visit: &Visit, projects: &[&'a str]) -> Vec<&'a str> {
    let is_waiting =
        |name: &str| visit.overview.projects.iter().any(|one| one.name == name && one.waiting > 0);
    let mut wanted: Vec<&str> = projects.iter().rev().copied().collect();
    wanted.sort_by_key(|name| !is_waiting(name));
    wanted.truncate(PROJECTS_MAX);
    wanted
}

/// What Home shows of each project's status.
const SHOWN: [Part; 5] =
    [Part::Running, Part::Failed, Part::Held, Part::Ungoverned, Part::Missions];

fn now(visit: &Visit, projects: &[&str]) -> Result<Now, Error> {
    let mut now = Now::default();
    for project in projects {
        let status = visit.run_in::<Status>(project, status::Input::only(&SHOWN))?;
        let of = |row| ((*project).to_owned(), row);
        now.running.extend(status.running.into_iter().map(of));
        now.failed.extend(status.failed.into_iter().map(|row| ((*project).to_owned(), row)));
        now.held.extend(status.held.into_iter().map(|row| ((*project).to_owned(), row)));
        let ungoverned = status.ungoverned.into_iter();
        now.ungoverned.extend(ungoverned.map(|row| ((*project).to_owned(), row)));
        let off_target = status.off_target.into_iter();
        now.off_target.extend(off_target.map(|row| ((*project).to_owned(), row)));
        now.missions.extend(status.missions.into_iter().map(|row| ((*project).to_owned(), row)));
    }
    Ok(now)
}

fn page(visit: &Visit, projects: &[&str]) -> Result<Markup, Error> {
    if visit.overview.projects.is_empty() {
        return Ok(html! {
            header.page-head { h1 id="top" tabindex="-1" { "Nothing is waiting" } }
            (parts::empty(
                "No projects yet",
                "A project begins with its first issue, plan or mission.",
                "punch issue new \"Checkout fails\"",
            ))
        });
    }
    let waiting = gates::waiting(visit, projects)?;
    let looked_at = looked_at(visit, projects);
    let now = now(visit, &looked_at)?;
    let count = waiting.total();
    let since = since::draw(visit, &looked_at)?;
    let size = |n: usize| words::grouped(i64::try_from(n).unwrap_or(0));
    Ok(html! {
        header.page-head {
            h1 id="top" tabindex="-1" { (title(count)) }
            p.sub { (headline(visit, &waiting, &now.running)) }
        }
        div.columns {
            div.main-col { (gates::list(visit, &waiting)) }
            aside.rail aria-label="Now" {
                (running(visit, &now))
                (attention(visit, &now))
                (since)
                @if looked_at.len() < projects.len() {
                    p.hint id="looked-at" {
                        "This column covers " (size(looked_at.len())) " of " (size(projects.len()))
                        " projects: those with open decisions, then the newest."
                    }
                }
                @if visit.is_of_project() { (missions(&now)) }
            }
        }
    })
}

fn title(count: i64) -> String {
    match count {
        0 => "Nothing is waiting".to_owned(),
        1 => "1 decision is waiting".to_owned(),
        many => format!("{} decisions are waiting", words::grouped(many)),
    }
}

/// Does it wait for an answer of the reader?
fn is_asking(run: &RunningRow) -> bool {
    run.waits_for.as_deref() == Some("gate")
}

/// Who executes a run: a host, or an agent of ours.
fn of_row(run: &RunningRow) -> &str {
    words::worker(&run.agent, run.host.as_deref().and_then(Host::parse))
}

/// How many agents work, and how many only wait for the reader. An agent may have several runs; one
/// that works in any of them is not paused.
fn agents(running: &[(String, RunningRow)]) -> (i64, i64) {
    let of = |test: &dyn Fn(&RunningRow) -> bool| -> BTreeSet<(&str, &str)> {
        let fitting = running.iter().filter(|(_, run)| test(run));
        fitting.map(|(project, run)| (project.as_str(), of_row(run))).collect()
    };
    let (working, asking) = (of(&|run| run.waits_for.is_none()), of(&is_asking));
    let size = |n: usize| i64::try_from(n).unwrap_or(0);
    (size(working.len()), size(asking.difference(&working).count()))
}

/// "Oldest first. 3 agents are working, 2 are paused until you answer."
fn headline(visit: &Visit, waiting: &Waiting, running: &[(String, RunningRow)]) -> Markup {
    let (working, asking) = agents(running);
    let verb = |n: i64| if n == 1 { "is" } else { "are" };
    html! {
        @if waiting.total() > 1 { "Oldest first. " }
        @if waiting.total() == 0 && visit.is_of_project() { "No decision waits in " (visit.project()) ". " }
        @match (working, asking) {
            (0, 0) => {},
            (0, asking) => {
                (words::count(asking, "agent", "agents")) " " (verb(asking)) " paused until you answer."
            },
            (working, 0) => { (words::count(working, "agent", "agents")) " " (verb(working)) " working." },
            (working, asking) => {
                (words::count(working, "agent", "agents")) " " (verb(working)) " working, "
                (asking) " " (verb(asking)) " paused until you answer."
            },
        }
    }
}

fn running(visit: &Visit, now: &Now) -> Markup {
    let rows = &now.running;
    html! {
        details.rail-part id="running" {
            (parts::rail_head("running-title", "Running now", &html! {
                span.beside { (words::count(i64::try_from(rows.len()).unwrap_or(0), "run", "runs")) }
            }))
            @if rows.is_empty() { p.hint { "No agent is working." } }
            @for (project, run) in rows {
                article.rail-row id={"run-" (run.id)} {
                    p.rail-head {
                        @if run.waits_for.is_some() { (marks::held()) } @else { (marks::in_progress()) }
                        b { (of_row(run)) }
                        span.when { (words::since(run.created_at, visit.now())) }
                    }
                    p.rail-title {
                        a href=(words::address(project, &format!("/runs/{}", run.id))) {
                            @match run.item.as_ref().or(run.title.as_ref()) {
                                Some(item) => (item),
                                None => "Working",
                            }
                        }
                    }
                    p.hint {
                        (project)
                        @if let Some(number) = run.number { " #" (number) }
                        @if let Some(steps) = run.progress.as_ref().filter(|steps| steps.steps > 0) {
                            " · " (steps.steps_closed) " of " (words::count(steps.steps, "step", "steps"))
                        }
                        @if let Some(wait) = &run.waits_for { " · " (words::waits(wait)) }
                        @if let Some(cost) = run.cost_usd { " · " (words::dollars(cost)) }
                    }
                }
            }
        }
    }
}

fn attention(visit: &Visit, now: &Now) -> Markup {
    let count = now.failed.len() + now.held.len() + now.off_target.len() + now.ungoverned.len();
    html! {
        @if count > 0 {
            details.rail-part id="attention" {
                (parts::rail_head("attention-title", "Needs attention", &html! {
                    span.beside { (count) }
                }))
                @for (project, row) in &now.held { (held(visit, project, row)) }
                @for (project, row) in &now.ungoverned { (ungoverned(visit, project, row)) }
                @for (project, row) in &now.off_target { (off_target(visit, project, row)) }
                @for (project, row) in &now.failed {
                    article.rail-row id={"failed-" (row.id)} {
                        p.rail-head {
                            (marks::failed()) span.red { "Failed" }
                            span.when { (words::ago(row.at, visit.now())) }
                        }
                        p.rail-title { a href=(words::address(project, &failed_at(row))) { (row.agent) } }
                        p.hint { (project) " · " (row.error) }
                    }
                }
            }
        }
    }
}

/// Where a failure is explained.
fn failed_at(row: &FailedRow) -> String {
    match row.kind {
        FailedKind::Run => format!("/runs/{}", words::encoded(&row.id)),
        FailedKind::Delegation => format!("/agents#delegation-{}", row.id),
    }
}

fn held(visit: &Visit, project: &str, row: &HeldRow) -> Markup {
    let state = marks::State::held(row.hold.kind);
    let to = match row.number {
        Some(number) => format!("/issues/{number}#item-{}", row.todo_id),
        None => format!("/todos/{}", row.todo_id),
    };
    let word = words::sentence(state.word.trim_start_matches("held: "));
    html! {
        article.rail-row id={"held-" (row.todo_id)} {
            p.rail-head {
                (state.mark)
                span class=(state.colour) {
                    (word.trim_end_matches('.')) " for " (words::since(row.hold.at, visit.now()))
                }
            }
            p.rail-title { a href=(words::address(project, &to)) { (row.title) } }
            p.hint {
                (project) @if let Some(number) = row.number { " #" (number) } " · " (row.hold.reason)
            }
        }
    }
}

/// A session that punchlist cannot continue or stop.
pub(crate) fn ungoverned(visit: &Visit, project: &str, row: &UngovernedRow) -> Markup {
    let to = format!("/sessions/{}", words::encoded(&row.session_id));
    html! {
        article.rail-row id={"ungoverned-" (row.session_id)} {
            p.rail-head {
                (marks::warning()) span.amber { "Not governed" }
                span.when { (words::since(row.created_at, visit.now())) }
            }
            p.rail-title { a href=(words::address(project, &to)) { (row.title) } }
            p.hint {
                "The hooks of " (row.host.as_deref().unwrap_or("its host")) " do not fire, so it may stop early. "
                code { "punch doctor" } " says why."
            }
        }
    }
}

fn off_target(visit: &Visit, project: &str, row: &OffTargetRow) -> Markup {
    let to = format!("/missions/{}#pillar-{}", words::encoded(&row.mission), row.pillar);
    html! {
        article.rail-row id=(format!("off-{}-{}-{}", row.mission, row.pillar, row.metric)) {
            p.rail-head {
                (marks::off_target()) span.red { "Off target" }
                span.when { (words::ago(row.at, visit.now())) }
            }
            p.rail-title { a href=(words::address(project, &to)) { (row.name) } }
            p.hint {
                (figure(row.kind, row.unit.as_deref(), row.current.get()))
                @if let Some(target) = &row.target {
                    ", target " (target.operator.sign()) " "
                    (figure(row.kind, row.unit.as_deref(), target.value.get()))
                }
                " · "
                (row.mission_name) " / " (row.pillar_name)
            }
        }
    }
}

fn missions(now: &Now) -> Markup {
    let to = |slug: &str| format!("/missions/{}", words::encoded(slug));
    html! {
        details.rail-part id="missions" {
            (parts::rail_head("missions-title", "Missions", &html! {}))
            @if now.missions.is_empty() { p.hint { "No missions." } }
            @for (project, row) in &now.missions {
                article.rail-row id={"mission-" (row.slug)} {
                    p.rail-title { a href=(words::address(project, &to(&row.slug))) { (row.name) } }
                    p.hint { (row.status.name()) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn agents_are_counted_once_however_many_runs_they_have() {
        let run = |agent: &str, waits_for: Option<&str>| {
            let state = if waits_for.is_some() { "waiting" } else { "running" };
            let row = json!({ "id": "R", "agent": agent, "state": state, "waitsFor": waits_for,
                "number": null, "item": null, "costUsd": null,
                "createdAt": "2026-11-15T08:00:00Z" });
            ("demo".to_owned(), serde_json::from_value(row).unwrap())
        };
        let builder = || [run("builder", None), run("builder", Some("gate")), run("builder", None)];
        assert_eq!(agents(&builder()), (1, 0));
        let paused = [run("tester", Some("gate")), run("tester", Some("gate"))];
        assert_eq!(agents(&paused), (0, 1));
        let all: Vec<_> = builder().into_iter().chain(paused).collect();
        assert_eq!(agents(&all), (1, 1));
        assert_eq!(agents(&[run("lead", Some("delegations"))]), (0, 0));
    }
}
