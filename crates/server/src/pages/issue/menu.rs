//! The menu of a row: accept, reopen, move, hold, defer, note, drop; and the small forms it unfolds.
//!
//! In a long list only the menu that was asked for is drawn.

use maud::{Markup, html};
use punchlist_core::todo::HoldKind;
use punchlist_ops::views::ItemView;
use punchlist_ops::views::issue::ItemStatus;

use super::checklist::{self, Near};
use crate::pages::forms::{self, Field};
use crate::pages::icons::Icon;
use crate::pages::visit::Visit;

/// The key of a row's menu.
pub(super) fn key(item: &ItemView) -> String {
    format!("menu-{}", item.id)
}

/// In a long list, the page with the menu of this row.
pub(super) fn link(visit: &Visit, item: &ItemView) -> Markup {
    let key = key(item);
    let to = format!("{}#{key}", visit.here(&[("open", Some(&key))]));
    html! {
        a.row-menu.dots href=(to) data-open="" {
            (Icon::Dots.draw()) span.hidden { "More for “" (item.content) "”" }
        }
    }
}

pub(super) fn draw(visit: &Visit, item: &ItemView, is_criterion: bool, near: Near<'_>) -> Markup {
    let is_open = matches!(item.status, ItemStatus::Pending | ItemStatus::InProgress);
    let (before, after, behind) = near;
    let to = |name: &str| {
        let key = format!("{name}-{}", item.id);
        format!("{}#{key}", visit.here(&[("open", Some(&key))]))
    };
    let now = |label: &str, action: String| {
        html! {
            button.menu-item type="submit" name="do" value=(action) { (label) }
        }
    };
    let id = |item: Option<&ItemView>| item.map_or_else(String::new, |one| one.id.clone());
    let behind = behind.map_or("-", |one| one.id.as_str());
    let is_deferred = item.defer_until.is_some_and(|until| until > visit.now());
    let is_dropped = item.status == ItemStatus::Abandoned;
    let is_settled = item.accepted_at.is_some() || (!is_open && (!is_criterion || is_dropped));
    let entries = html! {
        @if is_criterion && is_open && item.claim.is_none() { a href=(to("accept")) { "Accept…" } }
        @if is_settled { (now("Reopen", format!("reopen {}", item.id))) }
        @if let Some(before) = before.filter(|_| is_open) {
            (now("Move up", format!("move {} {} {}", item.id, before.id, id(after))))
        }
        @if after.is_some() && is_open {
            (now("Move down", format!("move {} {behind} {}", item.id, id(after))))
        }
        @if is_open {
            @if !is_criterion && item.status == ItemStatus::Pending {
                (now("Start", format!("start {}", item.id)))
            }
            @if item.hold.is_some() { (now("Lift the hold", format!("unhold {}", item.id))) }
            @else { a href=(to("hold")) { "Hold…" } }
            @if is_deferred { (now("No longer deferred", format!("undefer {}", item.id))) }
            @else { a href=(to("defer")) { "Defer…" } }
        }
        a href=(to("note")) { "Note…" }
        @if is_open || (is_criterion && !is_dropped) { a href=(to("drop")) { "Drop…" } }
    };
    html! {
        details.menu.row-menu id=(key(item)) open[visit.is_open(&key(item))] {
            summary.dots { (Icon::Dots.draw()) span.hidden { "More for “" (item.content) "”" } }
            (forms::of_buttons(visit, &checklist::key("more", item), "menu-list", &entries))
        }
    }
}

/// The form that is unfolded for a row.
pub(super) fn opened(visit: &Visit, item: &ItemView, is_criterion: bool) -> Markup {
    let key = |name: &str| format!("{name}-{}", item.id);
    let anchor = format!("item-{}", item.id);
    let unfold = |name: &str, fields: &Markup, label: &str| {
        html! {
            @if visit.is_open(&key(name)) {
                (forms::form(visit, &key(name), name, &html! {
                    input type="hidden" name="id" value=(item.id);
                    input type="hidden" name="text_of" value=(item.content);
                    @if is_criterion { input type="hidden" name="kind_of" value="criterion"; }
                    (fields)
                    (forms::refusal(visit, &key(name)))
                    (forms::save_or_cancel(&key(name), label))
                }))
                (forms::cancelling(visit, &key(name), &anchor))
            }
        }
    };
    let text = |form: &str, name: &str, label: &str, hint: &str, lines: u8| {
        forms::field(visit, &key(form), &Field { name, label, hint, lines, ..Field::default() })
    };
    let chosen = visit.typed(&key("hold"), "kind", HoldKind::Blocked.name());
    html! {
        (unfold("accept", &html! {
            p { "Nobody has claimed it. Accepting it says that you have seen that it holds." }
        }, "Accept"))
        (unfold("return", &text("return", "reason", "What is missing?", "", 2), "Return"))
        (unfold("hold", &html! {
            div.field {
                label for=(key("hold-kind")) { "Kind" }
                select id=(key("hold-kind")) name="kind" {
                    @for kind in HoldKind::ALL {
                        option value=(kind.name()) selected[kind.name() == chosen] { (kind.name().replace('_', " ")) }
                    }
                }
            }
            (text("hold", "reason", "Reason", "", 2))
        }, "Hold"))
        (unfold("defer", &text("defer", "until", "Defer until", "For example 2026-12-14.", 0), "Defer"))
        (unfold("note", &text("note", "text", "Note", "", 2), "Save"))
        (unfold("drop", &text("drop", "reason", "Why?", "", 2), "Drop"))
    }
}
