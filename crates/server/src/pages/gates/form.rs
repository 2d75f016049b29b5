//! A form of an agent: one field for each property, with its type.

use maud::{Markup, html};
use punchlist_core::gate::form::{self, Field, FieldKind};
use punchlist_ops::views::GateView;
use serde_json::{Map, Value};

use super::card::{bar, hidden, primary, then};
use super::{Item, plain};
use crate::pages::forms::{self, Form};
use crate::pages::visit::Visit;
use crate::pages::{marks, words};

pub(super) fn body(visit: &Visit, item: &Item, gate: &GateView, is_first: bool) -> Markup {
    let key = format!("answer-{}", item.id());
    let asked = gate.schema.clone().unwrap_or_default();
    let fields = asked.fields();
    html! {
        div.gate-body {
            @if let Some(about) = asked.description() { p { (about) } }
            (forms::form(visit, &key, "form", &html! {
                (hidden(item))
                input type="hidden" name="schema" value=(asked.0.to_string());
                (faults(visit, &key, &fields))
                @for field in &fields { (one(visit, &key, field)) }
            }))
        }
        (bar(visit, item, &html! {
            button type="submit" form=(key) class={"button " (primary(is_first))} { "Answer" }
        }, ("Refuse", &html! {}), &then(gate)))
    }
}

/// The field name of a property on the page.
fn posted(field: &Field<'_>) -> String {
    format!("value.{}", field.name)
}

fn label<'a>(field: &Field<'a>) -> &'a str {
    field.title.unwrap_or(field.name)
}

fn one(visit: &Visit, key: &str, field: &Field<'_>) -> Markup {
    let name = posted(field);
    let id = format!("{key}-{name}");
    let first = field.default.map(plain).unwrap_or_default();
    let value = visit.typed(key, &name, &first).to_owned();
    let about = field.description.unwrap_or_default();
    let fault = fault_of(visit, key, field);
    let is_choice = !field.choices.is_empty();
    let hint = format!("{id}-hint");
    let wrong = format!("{id}-fault");
    let by: Vec<&str> =
        [(!about.is_empty()).then_some(hint.as_str()), fault.is_some().then_some(wrong.as_str())]
            .into_iter()
            .flatten()
            .collect();
    let by = (!by.is_empty()).then(|| by.join(" "));
    let invalid = fault.as_ref().map(|_| "true");
    let mode = match field.kind {
        FieldKind::Text(_) => Some("text"),
        FieldKind::Integer(_) => Some("numeric"),
        FieldKind::Number(_) => Some("decimal"),
        // A switch is not typed.
        FieldKind::Boolean => None,
    };
    html! {
        div.field {
            @if mode.is_none() && !is_choice {
                label.check {
                    input id=(id) type="checkbox" name=(name) value="true"
                        checked[value == "true"] aria-describedby=[&by] aria-invalid=[invalid];
                    span { (label(field)) }
                }
            } @else {
                label for=(id) {
                    (label(field)) @if !field.is_required { span.hint { " (optional)" } }
                }
            }
            @if !about.is_empty() { p.hint id=(hint) { (about) } }
            @if let Some(fault) = &fault { p.fault id=(wrong) { (marks::failed()) span { (fault) } } }
            @if is_choice {
                select id=(id) name=(name) aria-describedby=[&by] aria-invalid=[invalid] {
                    @if !field.is_required || value.is_empty() { option value="" { "Choose" } }
                    @for choice in &field.choices {
                        @let typed = plain(choice.value);
                        option value=(typed) selected[typed == value] {
                            (choice.title.unwrap_or(&typed))
                        }
                    }
                }
            } @else if let Some(mode) = mode {
                input id=(id) name=(name) type="text" inputmode=(mode) value=(value)
                    aria-describedby=[&by] aria-invalid=[invalid] autocomplete="off";
            }
        }
    }
}

/// The errors of a refused form: a list that leads to the fields, if they are errors of fields.
fn faults(visit: &Visit, key: &str, fields: &[Field<'_>]) -> Markup {
    let named: Vec<(&Field<'_>, String)> = fields
        .iter()
        .filter_map(|field| fault_of(visit, key, field).map(|fault| (field, fault)))
        .collect();
    if named.is_empty() {
        return forms::refusal(visit, key);
    }
    let count = i64::try_from(named.len()).unwrap_or(0);
    html! {
        div.notice.red id={(key) "-faults"} role="alert" {
            (marks::off_target())
            div {
                p { (words::count(count, "answer does", "answers do")) " not fit:" }
                ul {
                    @for (field, fault) in &named {
                        li { a href=(format!("#{key}-{}", posted(field))) { (label(field)) } ": " (fault) }
                    }
                }
            }
        }
    }
}

/// The error of this field when the form was refused.
fn fault_of(visit: &Visit, key: &str, field: &Field<'_>) -> Option<String> {
    let refused = visit.refused_at(key)?;
    let punchlist_ops::Error::Refused(refusal) = &refused.error else { return None };
    let punchlist_core::Refusal::BadResponse { faults } = refusal.as_ref() else { return None };
    let start = format!("`{}` ", field.name);
    let fault = faults.iter().find_map(|fault| fault.strip_prefix(&start));
    fault.map(|fault| format!("This {fault}."))
}

/// The answer that was typed into the fields of the form.
pub(super) fn response(form: &Form) -> Value {
    let asked: form::Form = serde_json::from_str(form.text("schema")).unwrap_or_default();
    let mut response = Map::new();
    for field in asked.fields() {
        let read = field.read(form.text(&posted(&field)));
        // A browser posts nothing for a switch that is off; a list of choices is not a switch.
        let is_switch = matches!(field.kind, FieldKind::Boolean) && field.choices.is_empty();
        let off = || is_switch.then_some(Value::Bool(false));
        if let Some(value) = read.or_else(off) {
            response.insert(field.name.to_owned(), value);
        }
    }
    Value::Object(response)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// K-38
    #[test]
    fn a_switch_that_is_off_is_false_and_nothing_chosen_is_no_answer() {
        let schema = json!({ "type": "object", "properties": {
            "on": { "type": "boolean" }, "off": { "type": "boolean" },
            "open": { "type": "boolean", "enum": [true, false] },
            "chosen": { "type": "boolean", "enum": [true, false] }, "port": { "type": "integer" },
        } });
        let schema = schema.to_string();
        let typed = [
            ("schema", schema.as_str()),
            ("value.on", "true"),
            ("value.open", ""),
            ("value.chosen", "false"),
            ("value.port", " 80 "),
        ];
        let form = Form(typed.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec());
        assert_eq!(
            response(&form),
            json!({ "on": true, "off": false, "chosen": false, "port": 80 })
        );
    }
}
