//! A form of an agent: one field for each property, with its type.

use maud::{Markup, html};
use punchlist_core::gate::form::{fields, is_required};
use punchlist_ops::views::GateView;
use serde_json::{Map, Value};

use super::Item;
use super::card::{bar, hidden, plain, primary};
use crate::pages::forms::{self, Form};
use crate::pages::visit::Visit;
use crate::pages::{marks, words};

pub(super) fn body(visit: &Visit, item: &Item, gate: &GateView, is_first: bool) -> Markup {
    let key = format!("answer-{}", item.id());
    let schema = gate.schema.as_ref().unwrap_or(&Value::Null);
    html! {
        div.gate-body {
            @if let Some(about) = schema["description"].as_str() { p { (about) } }
            (forms::form(visit, &key, "form", &html! {
                (hidden(item))
                input type="hidden" name="schema" value=(schema.to_string());
                (faults(visit, &key, schema))
                @for (name, field) in fields(schema).into_iter().flatten() {
                    (one(visit, &key, schema, name, field))
                }
            }))
        }
        (bar(visit, item, &html! {
            button type="submit" form=(key) class={"button " (primary(is_first))} { "Answer" }
        }, ("Refuse", &html! {}), &html! { "The run continues when you answer." }))
    }
}

/// The field name of a property on the page.
fn posted(name: &str) -> String {
    format!("value.{name}")
}

fn one(visit: &Visit, key: &str, schema: &Value, name: &str, field: &Value) -> Markup {
    let id = format!("{key}-{}", posted(name));
    let label = field["title"].as_str().unwrap_or(name);
    let first = field.get("default").map(plain).unwrap_or_default();
    let value = visit.typed(key, &posted(name), &first).to_owned();
    let required = is_required(schema, name);
    let about = field["description"].as_str().unwrap_or_default();
    let fault = fault_of(visit, key, name);
    let choices = field["enum"].as_array();
    let hint = format!("{id}-hint");
    let kind = field["type"].as_str().unwrap_or("string");
    let wrong = format!("{id}-fault");
    let by: Vec<&str> =
        [(!about.is_empty()).then_some(hint.as_str()), fault.is_some().then_some(wrong.as_str())]
            .into_iter()
            .flatten()
            .collect();
    let by = (!by.is_empty()).then(|| by.join(" "));
    let invalid = fault.as_ref().map(|_| "true");
    html! {
        div.field {
            @if kind == "boolean" && choices.is_none() {
                label.check {
                    input id=(id) type="checkbox" name=(posted(name)) value="true"
                        checked[value == "true"] aria-describedby=[&by] aria-invalid=[invalid];
                    span { (label) }
                }
            } @else {
                label for=(id) { (label) @if !required { span.hint { " (optional)" } } }
            }
            @if !about.is_empty() { p.hint id=(hint) { (about) } }
            @if let Some(fault) = &fault { p.fault id=(wrong) { (marks::failed()) span { (fault) } } }
            @if let Some(choices) = choices {
                select id=(id) name=(posted(name)) aria-describedby=[&by] aria-invalid=[invalid] {
                    @if !required || value.is_empty() { option value="" { "Choose" } }
                    @for (n, choice) in choices.iter().enumerate() {
                        @let shown = field["enumNames"][n].as_str().map_or_else(|| plain(choice), str::to_owned);
                        option value=(plain(choice)) selected[plain(choice) == value] { (shown) }
                    }
                }
            } @else if kind != "boolean" {
                @let mode = match kind { "integer" => "numeric", "number" => "decimal", _ => "text" };
                input id=(id) name=(posted(name)) type="text" inputmode=(mode) value=(value)
                    aria-describedby=[&by] aria-invalid=[invalid] autocomplete="off";
            }
        }
    }
}

/// The errors of a refused form: a list that leads to the fields, if they are errors of fields.
fn faults(visit: &Visit, key: &str, schema: &Value) -> Markup {
    let named: Vec<(&String, String, &Value)> = fields(schema)
        .into_iter()
        .flatten()
        .filter_map(|(name, field)| fault_of(visit, key, name).map(|fault| (name, fault, field)))
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
                    @for (name, fault, field) in &named {
                        @let label = field["title"].as_str().unwrap_or(name);
                        li { a href=(format!("#{key}-{}", posted(name))) { (label) } ": " (fault) }
                    }
                }
            }
        }
    }
}

/// The error of this field when the form was refused.
fn fault_of(visit: &Visit, key: &str, name: &str) -> Option<String> {
    let refused = visit.refused_at(key)?;
    let punchlist_ops::Error::Refused(refusal) = &refused.error else { return None };
    let punchlist_core::Refusal::BadResponse { faults } = refusal.as_ref() else { return None };
    let start = format!("`{name}` ");
    let fault = faults.iter().find_map(|fault| fault.strip_prefix(&start));
    fault.map(|fault| format!("This {fault}."))
}

/// The typed answer, converted to the types of the form. A value that cannot be converted stays
/// text, so that the rule of forms explains the error.
pub(super) fn response(form: &Form) -> Value {
    let schema: Value = serde_json::from_str(form.text("schema")).unwrap_or_default();
    let mut response = Map::new();
    for (name, field) in fields(&schema).into_iter().flatten() {
        let typed = form.text(&posted(name));
        if let Some(value) = read(field, typed) {
            response.insert(name.clone(), value);
        }
    }
    Value::Object(response)
}

fn read(field: &Value, typed: &str) -> Option<Value> {
    let choices = field["enum"].as_array().map(Vec::as_slice).unwrap_or_default();
    if let Some(choice) = choices.iter().find(|choice| plain(choice) == typed) {
        return Some(choice.clone());
    }
    match field["type"].as_str() {
        Some("boolean") => Some(Value::Bool(typed == "true")),
        _ if typed.trim().is_empty() => None,
        Some("integer" | "number") => {
            let number: Option<Value> = serde_json::from_str(typed.trim()).ok();
            Some(number.filter(Value::is_number).unwrap_or_else(|| typed.into()))
        }
        _ => Some(typed.into()),
    }
}
