//! One card: the question, everything needed to decide, and the buttons.

use maud::{Markup, html};
use punchlist_core::gate::{GateKind, Purpose};
use punchlist_ops::views::GateView;
use serde_json::Value;

use super::{Item, Matter, escalation, form, proposal, review, sign_off};
use crate::pages::forms::{self, Field};
use crate::pages::icons::Icon;
use crate::pages::plain::plain;
use crate::pages::visit::Visit;
use crate::pages::{markdown, words};

/// The unfolded card. The first card on a page has the primary button, unless the reader is editing.
pub(super) fn open(visit: &Visit, item: &Item, is_first: bool) -> Markup {
    let class = if is_first { "gate first" } else { "gate" };
    html! {
        article class=(class) data-key=(item.id()) {
            (head(visit, item))
            (body(visit, item, is_first && !visit.has_open_form(), true))
        }
    }
}

/// The folded card: two lines that unfold.
pub(super) fn folded(visit: &Visit, item: &Item) -> Markup {
    let (kind, icon) = item.kind();
    html! {
        details.gate.folded id={"fold-" (item.id())} data-key=(item.id()) {
            summary {
                span.kind { (icon.draw()) (kind) }
                span.brief {
                    h2.brief-title id=(item.anchor()) tabindex="-1" { (title(item, false)) }
                    span.meta { (about(visit, item)) }
                }
                (Icon::Right.draw())
            }
            (place(item))
            (body(visit, item, false, false))
        }
    }
}

/// Kind, place and asker; then the title.
fn head(visit: &Visit, item: &Item) -> Markup {
    let (kind, icon) = item.kind();
    html! {
        header.gate-head {
            span.kind { (icon.draw()) (kind) }
            span.meta { (about(visit, item)) }
        }
        h2.gate-title id=(item.anchor()) tabindex="-1" { (title(item, true)) }
    }
}

/// "shop #44 · asked by primary 14 min ago".
fn about(visit: &Visit, item: &Item) -> Markup {
    let now = visit.now();
    let own = visit.part("number");
    let place = |number: Option<i64>| {
        let number = number.filter(|number| number.to_string() != own);
        html! {
            @if !visit.is_of_project() { (item.project) " " }
            @if let Some(number) = number { "#" (number) " " }
            @if !visit.is_of_project() || number.is_some() { "· " }
        }
    };
    html! {
        @match &item.matter {
            Matter::Gate(gate) => {
                (place(gate.number.filter(|_| gate.purpose != Some(Purpose::SignOff))))
                @if let (Some(mission), Some(pillar)) = (&gate.mission, &gate.pillar) {
                    (mission) " / " (pillar) " · "
                }
                "asked by " (asker(visit, gate)) " " (words::ago(gate.created_at, now))
            }
            Matter::Review(review) => {
                (place(None)) (review.of) " · claimed by " (visit.name_within(&review.claim.by)) " "
                (words::ago(review.claim.at, now))
            }
            Matter::Proposal(proposal) => {
                (place(proposal.number)) "from " (proposal.delegation.agent) " "
                (words::ago(item.since(), now))
            }
        }
    }
}

/// The place of a folded card, without a link: its summary is a button, and a button cannot contain
/// links.
fn place(item: &Item) -> Markup {
    let to = |below: String| words::address(&item.project, &below);
    match &item.matter {
        Matter::Gate(gate) => html! {
            @if let (Some(Purpose::SignOff), Some(number)) = (gate.purpose, gate.number) {
                p.gate-place { a href=(to(format!("/issues/{number}"))) { "Look at #" (number) } }
            }
        },
        Matter::Review(review) => html! {
            p.gate-place { a href=(to(format!("/todos/{}", review.todo_id))) { "Look at the todo" } }
        },
        Matter::Proposal(_) => html! {},
    }
}

fn title(item: &Item, is_link: bool) -> Markup {
    let issue = |number: i64, title: &str| {
        let words = html! { span.issue-number { "#" (number) } " " (title) };
        let to = words::address(&item.project, &format!("/issues/{number}"));
        html! { @if is_link { a href=(to) { (words) } } @else { (words) } }
    };
    match &item.matter {
        Matter::Gate(gate) => match (gate.kind, gate.purpose, gate.number, &gate.issue_title) {
            (_, Some(Purpose::SignOff), Some(number), Some(title)) => issue(number, title),
            (GateKind::Permission, ..) => html! {
                (gate.agent) " wants to run " code { (plain(&command(gate))) } " in " (item.project)
            },
            _ => html! { (gate.text) },
        },
        Matter::Review(review) => {
            let to = words::address(&item.project, &format!("/todos/{}", review.todo_id));
            html! { @if is_link { a href=(to) { (review.title) } } @else { (review.title) } }
        }
        Matter::Proposal(proposal) => proposal::title(proposal),
    }
}

/// Who asked. Permission is asked for by the engine, for the agent that wants to call a tool.
pub(super) fn asker(visit: &Visit, gate: &GateView) -> String {
    match gate.kind {
        GateKind::Permission => gate.agent.clone(),
        _ => visit.name_within(&gate.asked_by),
    }
}

/// What an answer leads to: the run that asked continues, or the agent gets the answer when it asks
/// again.
pub(super) fn then(gate: &GateView) -> Markup {
    html! {
        @if gate.run_id.is_some() { "The run continues when you answer." }
        @else { (gate.agent) " gets your answer." }
    }
}

/// What a refused question is asked for.
pub(super) const WHY: &str = "Why?";

/// The question of the field for a refusal: work can lack something, a question cannot.
fn why(item: &Item) -> &'static str {
    match &item.matter {
        Matter::Gate(gate) if gate.purpose != Some(Purpose::SignOff) => WHY,
        _ => "What is missing?",
    }
}

/// The command that needs permission, on one line.
fn command(gate: &GateView) -> String {
    let tool = gate.tool.as_deref().unwrap_or(&gate.text);
    let program = gate.definition.as_ref().and_then(|what| what.get("command"));
    match program {
        Some(Value::String(line)) => line.clone(),
        Some(Value::Array(words)) => {
            let words: Vec<&str> = words.iter().filter_map(Value::as_str).collect();
            words.join(" ")
        }
        _ => tool.to_owned(),
    }
}

fn body(visit: &Visit, item: &Item, is_first: bool, is_open: bool) -> Markup {
    let gate = match &item.matter {
        Matter::Review(todo) => return review::body(visit, item, todo, is_first, is_open),
        Matter::Proposal(asked) => return proposal::body(visit, item, asked, is_first, is_open),
        Matter::Gate(gate) => gate,
    };
    match (gate.kind, gate.purpose) {
        (_, Some(Purpose::SignOff)) => sign_off::body(visit, item, gate, is_first, is_open),
        (GateKind::Checkpoint, _) => pause(visit, item, gate, is_first),
        (GateKind::Ask, _) => question(visit, item, gate, is_first),
        (GateKind::Form, _) => form::body(visit, item, gate, is_first),
        (GateKind::Permission, _) => permission(visit, item, gate, is_first),
        (GateKind::Escalation, _) => escalation::body(visit, item, gate, is_first, is_open),
    }
}

/// The hidden fields of every form of a card.
pub(super) fn hidden(item: &Item) -> Markup {
    html! {
        input type="hidden" name="gate" value=(item.id());
        input type="hidden" name="project" value=(item.project);
        input type="hidden" name="since" value=(item.since().micros());
    }
}

/// The class of the accepting button.
pub(super) const fn primary(is_first: bool) -> &'static str {
    if is_first { "primary" } else { "" }
}

/// The bar with the buttons to accept and refuse, and a text about the effect of accepting.
pub(super) fn bar(
    visit: &Visit,
    item: &Item,
    yes: &Markup,
    no: (&str, &Markup),
    then: &Markup,
) -> Markup {
    let key = format!("refuse-{}", item.id());
    let (label, more) = no;
    html! {
        footer.bar {
            @if visit.is_open(&key) {
                (forms::form(visit, &key, if label == "Return" { "return" } else { "refuse" }, &html! {
                    (hidden(item))
                    input type="hidden" name="asked" value=(why(item));
                    (forms::refusal(visit, &key))
                    (forms::field(visit, &key, &Field {
                        name: "reason", label: why(item), lines: 3,
                        ..Field::default()
                    }))
                    (more)
                    (forms::save_or_cancel(&key, label))
                }))
                (forms::cancelling(visit, &key, &item.anchor()))
            } @else {
                (yes)
                (forms::opener(visit, &key, label, None, ""))
                p.then { (then) }
            }
        }
    }
}

/// A quote of an agent.
pub(super) fn said(visit: &Visit, by: &str, text: &str) -> Markup {
    html! { div.said { b { (visit.name(by)) ":" } " " (markdown::render(text)) } }
}

fn pause(visit: &Visit, item: &Item, gate: &GateView, is_first: bool) -> Markup {
    let key = format!("answer-{}", item.id());
    let yes = forms::row(
        visit,
        &key,
        "resume",
        &html! {
            (hidden(item)) (forms::refusal(visit, &key)) (forms::submit("Resume", primary(is_first)))
        },
    );
    let then = html! { (visit.name(&gate.asked_by)) " continues when you resume it." };
    bar(visit, item, &yes, ("Refuse", &html! {}), &then)
}

fn question(visit: &Visit, item: &Item, gate: &GateView, is_first: bool) -> Markup {
    let key = format!("answer-{}", item.id());
    let options = gate.options.as_deref().unwrap_or_default();
    let own = if options.is_empty() { "Answer" } else { "Another answer" };
    html! {
        (forms::form(visit, &key, "answer", &html! {
            (hidden(item))
            @if !options.is_empty() {
                fieldset.options {
                    legend.hidden { "Answer" }
                    @for (n, option) in options.iter().enumerate() {
                        @let value = Value::from(option.as_str()).to_string();
                        label.option {
                            input type="radio" name="option" value=(value)
                                checked[visit.typed(&key, "option", "") == value];
                            span { (option) }
                            span.hidden { " " (n + 1) }
                        }
                    }
                }
            }
            (forms::field(visit, &key, &Field {
                name: "text", label: own, lines: u8::from(options.is_empty()) * 3,
                ..Field::default()
            }))
            (forms::refusal(visit, &key))
        }))
        (bar(visit, item, &html! {
            button type="submit" form=(key) class={"button " (primary(is_first))} { "Answer" }
        }, ("Refuse", &html! {}), &then(gate)))
    }
}

fn permission(visit: &Visit, item: &Item, gate: &GateView, is_first: bool) -> Markup {
    let key = format!("answer-{}", item.id());
    let always = format!("always-{}", item.id());
    let shown = |value: &Value| serde_json::to_string_pretty(value).unwrap_or_default();
    let tool = gate.tool.as_deref().unwrap_or(&gate.text);
    let covers = html! {
        "this allows " (gate.agent) " every call of " code { (plain(tool)) } " in " (item.project)
        ", without asking, until the definition of the tool changes."
    };
    html! {
        div.gate-body {
            dl.facts-list {
                dt { "Tool" } dd { code { (plain(tool)) } }
                @if let Some(input) = &gate.input {
                    dt { "Input" } dd { pre { (plain(&shown(input))) } }
                }
                @if let Some(definition) = &gate.definition {
                    dt { "Runs" } dd { pre { (plain(&shown(definition))) } }
                }
                @if let Some(folder) = folder(gate.definition.as_ref(), gate.input.as_ref()) {
                    dt { "Folder" } dd { code { (plain(folder)) } }
                }
                @if !gate.text.is_empty() && gate.text != tool { dt { "Why" } dd { (plain(&gate.text)) } }
            }
            @if visit.is_open(&always) {
                (forms::form(visit, &always, "allow_always", &html! {
                    (hidden(item))
                    (forms::refusal(visit, &always))
                    p { "If you allow it always, " (covers) " You can revoke it." }
                    (forms::save_or_cancel(&always, "Allow always"))
                }))
                (forms::cancelling(visit, &always, &item.anchor()))
            }
        }
        (bar(visit, item, &html! {
            (forms::row(visit, &key, "allow_once", &html! {
                (hidden(item)) (forms::refusal(visit, &key))
                (forms::submit("Allow once", primary(is_first && !visit.is_open(&always))))
            }))
            @if !visit.is_open(&always) { (forms::opener(visit, &always, "Allow always", None, "")) }
        }, ("Refuse", &html! {}), &html! { "If you allow it always, " (covers) }))
    }
}

/// The folder in which a tool runs: from its definition in punchlist.toml, or named by its input.
fn folder<'a>(definition: Option<&'a Value>, input: Option<&'a Value>) -> Option<&'a str> {
    let named = |value: Option<&'a Value>, name: &str| value?.get(name)?.as_str();
    named(definition, "directory").or_else(|| named(input, "cwd"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_folder_of_a_tool_is_in_its_definition_or_its_input() {
        let (definition, input) = (json!({ "directory": "api" }), json!({ "cwd": "web" }));
        assert_eq!(folder(Some(&definition), Some(&input)), Some("api"));
        assert_eq!(folder(Some(&json!({})), Some(&input)), Some("web"));
        assert_eq!(folder(None, None), None);
    }
}
