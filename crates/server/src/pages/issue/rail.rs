//! The sidebar of an issue: its sessions, its links, its commits, and further facts.

use maud::{Markup, html};
use punchlist_core::issue::LinkKind;
use punchlist_core::session::SessionState;
use punchlist_ops::operations::issue_show::{LinkView, Output};
use punchlist_ops::views::{ItemView, SessionView};

use crate::pages::change::{self, Cited};
use crate::pages::forms::{self, Field};
use crate::pages::icons::Icon;
use crate::pages::visit::Visit;
use crate::pages::{marks, parts, words};

/// The key of the form that adds a link.
const LINK: &str = "link";

/// How many sessions are shown.
const SESSIONS: usize = 8;

pub(super) fn draw(visit: &Visit, shown: &Output, cited: &Cited<'_>) -> Markup {
    html! {
        aside.rail aria-label="About this issue" {
            (sessions(visit, &shown.sessions))
            (links(visit, shown))
            (change(visit, cited))
            (details(visit, shown))
        }
    }
}

fn sessions(visit: &Visit, all: &[SessionView]) -> Markup {
    let active = all.iter().filter(|one| one.state != SessionState::Ended).count();
    html! {
        details.rail-part id="sessions" {
            (parts::rail_head("sessions-title", "Sessions", &html! {
                @if !all.is_empty() { span.beside { (active) " of " (all.len()) " active" } }
            }))
            @if all.is_empty() { p.hint { "No agent has worked on it." } }
            @for one in all.iter().rev().take(SESSIONS) {
                article.rail-row id={"session-" (one.id)} {
                    p.rail-head {
                        @match one.state {
                            SessionState::Ended => (marks::completed()),
                            SessionState::Paused => (marks::held()),
                            SessionState::Active => (marks::in_progress()),
                        }
                        b { (words::agent_of(one, None).unwrap_or("No agent yet")) }
                        span.hidden { ", " (one.state.name()) }
                        span.when { (words::ago(one.updated_at, visit.now())) }
                    }
                    p.rail-title {
                        a href=(visit.at(&format!("/sessions/{}", words::encoded(&one.id)))) { (one.title) }
                    }
                    @if let Some(host) = &one.host { p.hint { (host) } }
                }
            }
        }
    }
}

fn links(visit: &Visit, shown: &Output) -> Markup {
    let stored = |link: &LinkView| LinkKind::parse(&link.kind).filter(|_| link.direction == "out");
    html! {
        details.rail-part id="links" open[visit.is_open(LINK) || visit.focus() == Some("links-title")] {
            (parts::rail_head("links-title", "Links", &html! {}))
            (visit.notice_at("links-title"))
            @if !visit.is_open(LINK) {
                div.rail-actions { (forms::opener(visit, LINK, "Add link", Some(Icon::Plus), "quiet")) }
            }
            @if shown.links.is_empty() && !visit.is_open(LINK) { p.hint { "No links." } }
            ul.links {
                @for link in &shown.links {
                    li id=(format!("link-{}-{}", link.kind, link.number)) {
                        span.hint { (link.kind.replace('_', " ")) " " }
                        a href=(visit.at(&format!("/issues/{}", link.number))) { "#" (link.number) " " (link.title) }
                        @if let Some(kind) = stored(link) {
                            (forms::row(visit, &format!("unlink-{}-{}", link.kind, link.number), "unlink", &html! {
                                input type="hidden" name="kind" value=(kind.name());
                                input type="hidden" name="to" value=(link.number);
                                button type="submit" class="link" {
                                    "Remove" span.hidden { " the link to #" (link.number) }
                                }
                            }))
                        }
                    }
                }
            }
            @if visit.is_open(LINK) {
                (forms::form(visit, LINK, "link", &html! {
                    div.field {
                        label for="link-kind" { "Kind" }
                        select id="link-kind" name="kind" {
                            @for kind in LinkKind::ALL {
                                option value=(kind.name()) selected[visit.typed(LINK, "kind", "") == kind.name()] {
                                    (kind.name().replace('_', " "))
                                }
                            }
                        }
                    }
                    (forms::field(
                        visit,
                        LINK,
                        &Field { name: "to", label: "Issue", hint: "Its number, for example 12.", ..Field::default() },
                    ))
                    (forms::refusal(visit, LINK))
                    (forms::save_or_cancel(LINK, "Save"))
                }))
                (forms::cancelling(visit, LINK, "links-title"))
            }
        }
    }
}

/// The commits that claims cite.
pub(super) fn cited<'a>(visit: &'a Visit, shown: &Output) -> Cited<'a> {
    let items = shown.criteria.iter().chain(&shown.steps);
    let claims = items.filter_map(|item: &ItemView| item.claim.as_ref());
    let evidence = claims.flat_map(|claim| &claim.evidence);
    let sessions = shown.sessions.iter().rev().take(SESSIONS).map(|one| one.id.clone());
    Cited {
        project: visit.project(),
        key: "issue",
        commits: change::commits(evidence),
        sessions: sessions.collect(),
    }
}

fn change(visit: &Visit, cited: &Cited<'_>) -> Markup {
    html! {
        @if !cited.commits.is_empty() {
            details.rail-part id="change" {
                (parts::rail_head("change-title", "Change", &html! {}))
                div.facts { (cited.facts(visit)) }
                p.below {
                    @for commit in cited.commits.iter().take(12) {
                        span.evidence { (Icon::Commit.draw()) span.mono { (commit.get(..7).unwrap_or_default()) } }
                    }
                }
            }
        }
    }
}

fn details(visit: &Visit, shown: &Output) -> Markup {
    let issue = &shown.issue;
    html! {
        details.rail-part id="details-part" {
            (parts::rail_head("details-title", "Details", &html! {}))
            dl.pairs {
                dt { "Assignee" } dd { (issue.assignee.as_deref().unwrap_or("nobody")) }
                @match (&issue.worker, &issue.assignment) {
                    (Some(by), _) => { dt { "Worked on by" } dd { (visit.name_within(by)) } }
                    (None, Some(to)) if to.starts_with("session:") => {
                        dt { "Worked on by" } dd { "no agent yet" }
                    }
                    (None, Some(to)) => { dt { "Worked on by" } dd { (visit.name_within(to)) } }
                    (None, None) => {}
                }
                dt { "Filed" } dd {
                    (words::until(issue.created_at, visit.now())) " by " (visit.name_within(&issue.created_by))
                }
                dt { "Revision" } dd { (issue.revision) }
            }
        }
    }
}
