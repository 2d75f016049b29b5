//! A worker's proposal for a checklist: the list with the proposed items, and the items to edit.

use maud::{Markup, html};
use punchlist_core::TodoKind;
use punchlist_core::delegation::ProposedItem;
use punchlist_ops::operations::gate_list::ProposalView;
use punchlist_ops::operations::issue_show::{self, IssueShow};
use serde_json::{Value, json};

use super::card::{bar, hidden, primary};
use super::{Item, preview};
use crate::pages::forms::{self, Field, Form};
use crate::pages::visit::Visit;
use crate::pages::{parts, words};

fn items(proposal: &ProposalView) -> &[ProposedItem] {
    proposal
        .delegation
        .proposal
        .as_ref()
        .map(|proposal| proposal.items.as_slice())
        .unwrap_or_default()
}

pub(super) fn title(proposal: &ProposalView) -> Markup {
    let count = |wanted: TodoKind| {
        let of_kind = items(proposal).iter().filter(|item| item.kind == wanted);
        i64::try_from(of_kind.count()).unwrap_or(0)
    };
    let (steps, criteria) = (count(TodoKind::Step), count(TodoKind::Criterion));
    let mut parts = Vec::new();
    if criteria > 0 {
        parts.push(words::count(criteria, "criterion", "criteria"));
    }
    if steps > 0 || parts.is_empty() {
        parts.push(words::count(steps, "step", "steps"));
    }
    html! {
        "Add " (parts.join(" and "))
        @if let Some(title) = &proposal.title { " to “" (title) "”" }
    }
}

/// The items of a kind as lines: those without a phase, then each phase below its heading. The list
/// has the same order.
fn lines(proposal: &ProposalView, kind: TodoKind) -> String {
    let of_kind: Vec<&ProposedItem> =
        items(proposal).iter().filter(|item| item.kind == kind).collect();
    let mut phases = vec![None];
    for item in &of_kind {
        let phase = item.phase.as_ref().map(|phase| phase.as_str());
        if !phases.contains(&phase) {
            phases.push(phase);
        }
    }
    let mut text = String::new();
    for phase in phases {
        if let Some(phase) = phase {
            text.push_str(&format!("# {phase}\n"));
        }
        let here = |item: &&&ProposedItem| item.phase.as_ref().map(|one| one.as_str()) == phase;
        for item in of_kind.iter().filter(here) {
            text.push_str(item.content.as_str());
            text.push('\n');
        }
    }
    text
}

pub(super) fn body(
    visit: &Visit,
    item: &Item,
    proposal: &ProposalView,
    is_first: bool,
    is_open: bool,
) -> Markup {
    let key = format!("answer-{}", item.id());
    let list = format!("list-{}", item.id());
    let (criteria, steps) = (lines(proposal, TodoKind::Criterion), lines(proposal, TodoKind::Step));
    let height = |text: &str| u8::try_from(text.lines().count().clamp(2, 12)).unwrap_or(12);
    // Loaded only if the card is unfolded.
    let shown = proposal.number.filter(|_| is_open).and_then(|number| {
        visit.run_in::<IssueShow>(&item.project, issue_show::Input { number }).ok()
    });
    html! {
        div.gate-body {
            @if let Some(rationale) = &proposal.delegation.rationale { p { (rationale) } }
            @match &shown {
                Some(shown) => (preview::draw(shown, items(proposal))),
                None => p { a href=(visit.here(&[("open", Some(&list))])) data-open="" { "Show it in the list" } },
            }
            (forms::form(visit, &key, "accept_proposal", &html! {
                (hidden(item))
                input type="hidden" name="criteria_before" value=(criteria);
                input type="hidden" name="steps_before" value=(steps);
                (forms::refusal(visit, &key))
                details.change-lines id={"lines-" (item.id())} open[visit.refused_at(&key).is_some()] {
                    summary { "Change the lines" (parts::chevron()) }
                    p.hint { "One item a line; a line that begins with # names a phase." }
                    @if !criteria.is_empty() {
                        (forms::field(visit, &key, &Field {
                            name: "criteria", label: "Criteria", value: &criteria, lines: height(&criteria),
                            ..Field::default()
                        }))
                    }
                    @if !steps.is_empty() {
                        (forms::field(visit, &key, &Field {
                            name: "steps", label: "Steps", value: &steps, lines: height(&steps),
                            ..Field::default()
                        }))
                    }
                }
            }))
        }
        (bar(visit, item, &html! {
            button type="submit" form=(key) class={"button " (primary(is_first))} { "Accept" }
        }, ("Refuse", &html! {}), &html! {
            "Accepting adds the items"
            @if let Some(number) = proposal.number { " to #" (number) }
            "."
        }))
    }
}

/// The input of `proposal_decide` for an acceptance: as proposed, or as edited.
pub(super) fn accepted(form: &Form) -> Value {
    let is_changed = |name: &str| {
        let before = form.text(&format!("{name}_before")).trim().to_owned();
        form.text(name).trim() != before
    };
    let id = form.text("gate");
    if !is_changed("criteria") && !is_changed("steps") {
        return json!({ "delegationId": id, "decision": "accept" });
    }
    let mut items = Vec::new();
    for (name, kind) in [("criteria", "criterion"), ("steps", "step")] {
        let mut phase: Option<String> = None;
        for line in form.text(name).lines().map(str::trim).filter(|line| !line.is_empty()) {
            match line.strip_prefix("# ") {
                Some(name) => phase = Some(name.trim().to_owned()),
                None => items.push(json!({ "content": line, "phase": phase, "kind": kind })),
            }
        }
    }
    json!({ "delegationId": id, "decision": "modify", "items": items })
}
