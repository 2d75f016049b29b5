//! Home, a project, and its inbox: what waits for the reader, and what is running.

use maud::{Markup, html};
use punchlist_ops::Error;
use punchlist_ops::operations::mission_list;
use punchlist_ops::operations::status::{self, Status};
use punchlist_ops::views::home::{FailedRow, HeldRow, OffTargetRow, RunningRow, UngovernedRow};

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
            p.sub { (headline(visit, &waiting, 0)) }
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

/// How many projects are searched for runs. Few projects of a store are active at once.
const PROJECTS_MAX: usize = 20;

fn now(visit: &Visit, projects: &[&str]) -> Result<Now, Error> {
    let mut now = Now::default();
    for project in projects.iter().rev().take(PROJECTS_MAX) {
        let status = visit.run_in::<Status>(project, status::Input {})?;
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
    let now = now(visit, projects)?;
    let count = waiting.total();
    let recent: Vec<&str> = projects.iter().rev().take(PROJECTS_MAX).copied().collect();
    let since = since::draw(visit, &recent)?;
    Ok(html! {
        header.page-head {
            h1 id="top" tabindex="-1" { (title(count)) }
            p.sub { (headline(visit, &waiting, now.running.len())) }
        }
        div.columns {
            div.main-col { (gates::list(visit, &waiting)) }
            aside.rail aria-label="Now" {
                (running(visit, &now))
                (attention(visit, &now))
                (since)
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

/// "Oldest first. 3 agents are working."
fn headline(visit: &Visit, waiting: &Waiting, running: usize) -> Markup {
    let working = i64::try_from(running).unwrap_or(0);
    html! {
        @if waiting.total() > 1 { "Oldest first. " }
        @if waiting.total() == 0 && visit.is_of_project() { "No decision waits in " (visit.project()) ". " }
        @match working {
            0 => {},
            1 => "1 agent is working.",
            many => { (many) " agents are working." },
        }
    }
}

fn running(visit: &Visit, now: &Now) -> Markup {
    let rows = &now.running;
    html! {
        details.rail-part id="running" {
            (parts::rail_head("running-title", "Running now", &html! {
                span.beside { (words::count(i64::try_from(rows.len()).unwrap_or(0), "agent", "agents")) }
            }))
            @if rows.is_empty() { p.hint { "No agent is working." } }
            @for (project, run) in rows {
                article.rail-row id=(format!("run-{}", run.id)) {
                    p.rail-head {
                        @if run.waits_for.is_some() { (marks::held()) } @else { (marks::in_progress()) }
                        b { (run.agent) }
                        span.when { (words::since(run.created_at, visit.now())) }
                    }
                    p.rail-title {
                        a href=(words::address(project, &format!("/runs/{}", run.id))) {
                            @match &run.item {
                                Some(item) => (item),
                                None => "Working",
                            }
                        }
                    }
                    p.hint {
                        (project)
                        @if let Some(number) = run.number { " #" (number) }
                        @if let Some(wait) = &run.waits_for { " · waits: " (wait) }
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
                    article.rail-row id=(format!("failed-{}", row.id)) {
                        p.rail-head {
                            (marks::failed()) span.red { "Failed" }
                            span.when { (words::ago(row.at, visit.now())) }
                        }
                        p.rail-title { (row.agent) }
                        p.hint { (project) " · " (row.error) }
                    }
                }
            }
        }
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
        article.rail-row id=(format!("held-{}", row.todo_id)) {
            p.rail-head {
                (state.mark)
                span class=(state.colour) {
                    (word.trim_end_matches('.')) " for " (words::since(row.hold.at, visit.now()))
                }
            }
            p.rail-title { a href=(words::address(project, &to)) { (row.title) } }
            p.hint { (row.hold.reason) }
        }
    }
}

/// A session that punchlist cannot continue or stop.
pub(crate) fn ungoverned(visit: &Visit, project: &str, row: &UngovernedRow) -> Markup {
    let to = format!("/sessions/{}", words::encoded(&row.session_id));
    html! {
        article.rail-row id=(format!("ungoverned-{}", row.session_id)) {
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
                (figure(row.kind, row.unit.as_deref(), row.current.get())) " · "
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
                article.rail-row id=(format!("mission-{}", row.slug)) {
                    p.rail-title { a href=(words::address(project, &to(&row.slug))) { (row.name) } }
                    p.hint { (row.status.name()) }
                }
            }
        }
    }
}
