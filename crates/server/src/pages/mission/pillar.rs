//! One pillar: its charts, its active todos, and its backlog, which is folded.

use maud::{Markup, html};
use punchlist_core::Status;
use punchlist_core::metric::MetricStatus;
use punchlist_ops::operations::mission_status::{Output, PillarStanding};
use punchlist_ops::views::MissionTodoView;

use super::metric::{self, Measured, rank};
use crate::pages::items::{self, Facts};
use crate::pages::visit::Visit;
use crate::pages::{forms, missions, parts, words};

/// How many active todos and how many of the backlog are shown.
const ACTIVE: usize = 8;
const BACKLOG: usize = 50;

/// The worst verdict of a pillar.
pub(super) fn worst(pillar: &PillarStanding) -> MetricStatus {
    let all = pillar.metrics.iter().map(|metric| metric.status);
    all.min_by_key(|status| rank(*status)).unwrap_or(MetricStatus::Unknown)
}

pub(super) fn draw(
    visit: &Visit,
    shown: &Output,
    pillar: &PillarStanding,
    metrics: &[Measured],
) -> Markup {
    let of = |wanted: fn(Status) -> bool| -> Vec<&MissionTodoView> {
        let own = shown.open.iter().filter(|todo| todo.pillar_slug == pillar.slug);
        own.filter(|todo| wanted(todo.status)).collect()
    };
    let mut active = of(|status| matches!(status, Status::Pending | Status::InProgress));
    active.sort_by_key(|todo| (todo.status != Status::InProgress, todo.created_at));
    let backlog = of(|status| status == Status::Backlog);
    let key = format!("pillar-{}", pillar.slug);
    let is_whole = visit.is_open(&key);
    let shown_active = if is_whole { active.len() } else { ACTIVE.min(active.len()) };
    let state = missions::standing(pillar.status);
    html! {
        section.pillar id=(key) aria-labelledby={(key) "-title"} {
            header.section-head {
                h2.pillar-title id={(key) "-title"} tabindex="-1" { (pillar.name) }
                span.beside {
                    (words::grouped(pillar.counts.active)) " active, "
                    (words::grouped(pillar.counts.backlog)) " in backlog"
                }
                @if state.word != "Active" { span.beside { (state.mark) " " (state.shown()) } }
            }
            (visit.notice_at(&format!("{key}-title")))
            @if !metrics.is_empty() {
                div.metrics { @for one in metrics { (metric::draw(visit, &shown.mission.slug, one)) } }
            }
            @if active.is_empty() && backlog.is_empty() {
                p.hint { "No todos. The owner of the pillar plans them, or you add one:" }
                p.command { code { (format!("punch mission add {} {} \"…\"", shown.mission.slug, pillar.slug)) } }
            }
            @if !active.is_empty() {
                ul.criteria.card { @for todo in active.iter().take(shown_active) { (row(visit, todo)) } }
            }
            @if shown_active < active.len() {
                (forms::opener(
                    visit,
                    &key,
                    &format!("Show {} more active", active.len() - shown_active),
                    None,
                    "quiet",
                ))
            }
            @if !backlog.is_empty() {
                details.backlog id={(key) "-backlog"} {
                    summary {
                        (parts::chevron()) "Show "
                        (words::grouped(i64::try_from(backlog.len()).unwrap_or(0))) " in backlog"
                    }
                    ul.criteria.card { @for todo in backlog.iter().take(BACKLOG) { (row(visit, todo)) } }
                    @if backlog.len() > BACKLOG { p.hint { "The oldest " (BACKLOG) " are shown." } }
                }
            }
        }
    }
}

fn row(visit: &Visit, todo: &MissionTodoView) -> Markup {
    let now = visit.now();
    let facts = Facts {
        status: todo.status,
        hold: todo.hold.as_ref(),
        is_claimed: todo.claim.is_some(),
        defer_until: todo.defer_until,
    };
    let state = items::state(facts, now);
    html! {
        li.row id={"todo-" (todo.id)} data-item="" {
            (state.mark)
            div {
                p.content { a href=(visit.at(&format!("/todos/{}", words::encoded(&todo.id)))) { (todo.title) } }
                p.below {
                    @if let Some(hold) = &todo.hold { span { (hold.reason) } }
                    @if let Some(agent) = &todo.assigned_agent {
                        span {
                            (agent)
                            @if let Some(at) = todo.started_at.filter(|_| todo.status == Status::InProgress) {
                                ", for " (words::since(at, now))
                            }
                        }
                    }
                    @if let Some(days) = items::days_left(todo.deadline, now) { (items::due(days, todo.overdue)) }
                }
            }
            (state.shown())
        }
    }
}
