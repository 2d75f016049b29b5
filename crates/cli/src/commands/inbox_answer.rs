//! Answering a gate at a terminal: the question is shown, and what is missing is asked for.
//!
//! Nothing is stored before the last line is given. An empty line or the end of the input instead
//! of a decision leaves the gate open.

use punchlist_core::gate::form::{Field, Form};
use punchlist_core::gate::{GateDecision, GateKind, GateState, Purpose};
use punchlist_core::mission::answer;
use punchlist_core::text::{Content, counted};
use punchlist_ops::operations::gate_answer;
use punchlist_ops::views::issue::ItemStatus;
use punchlist_ops::views::{GateView, ItemView};
use serde_json::{Map, Value, json};

use super::inbox::{Inbox, Meant, NOTHING, answer_to, content};
use super::prompt;
use crate::failure::Failure;
use crate::output;
use crate::render::gates::{asked_for, card, options, words};

/// An answer, or `None` if the person leaves it open.
type Given = Result<Option<Answer>, Failure>;

type Answer = gate_answer::Input;

/// Asks which gate, if none is named, and how to answer it.
pub(super) fn ask(inbox: &Inbox<'_>, named: Option<&str>) -> Result<(), Failure> {
    if let Some(named) = named
        && let Some(Meant::Review(todo)) = inbox.meant(Some(named))?
    {
        return review(inbox, todo);
    }
    let Some(gate) = which(inbox, named)? else { return Ok(()) };
    let gate = match gate {
        Named::Gate(gate) if gate.state == GateState::Open => gate,
        // The operation refuses it, as unknown or as answered, so nothing is asked first.
        Named::Gate(gate) => return inbox.give(answer_to(gate.id, GateDecision::Resume)),
        Named::Unknown(id) => return inbox.give(answer_to(id, GateDecision::Resume)),
    };
    if gate.purpose == Some(Purpose::SignOff) {
        output::print(&inbox.background(&gate))?;
    }
    output::print(&format!("{}\n", card(&gate, inbox.envelope.now)))?;
    let answer = match gate.kind {
        GateKind::Form => fill_in(&gate)?,
        GateKind::Ask => reply(&gate)?,
        GateKind::Escalation => advise(&gate)?,
        GateKind::Permission => permit(&gate)?,
        GateKind::Checkpoint => judge(&gate)?,
    };
    match answer {
        None => Ok(output::print("It stays open.\n")?),
        Some(answer) => inbox.give_typed(answer),
    }
}

/// An item that waits for its reviewer: accept it, or return it with what is missing.
fn review(inbox: &Inbox<'_>, todo: String) -> Result<(), Failure> {
    match prompt::yes("Accept it as done? [y/n, empty leaves it open] ")? {
        None => Ok(output::print("It stays open.\n")?),
        Some(true) => inbox.judge(todo, GateDecision::Resume, None),
        Some(false) => match prompt::ask("What is missing? ")?.filter(|said| !said.is_empty()) {
            None => Ok(output::print("It stays open.\n")?),
            Some(said) => inbox.judge(todo, GateDecision::Refuse, Some(&said)),
        },
    }
}

/// What the person named.
enum Named {
    Gate(Box<GateView>),
    /// An id that no gate has.
    Unknown(String),
}

fn yes(gate: &GateView, response: Value) -> Answer {
    let answer = answer_to(gate.id.clone(), GateDecision::Resume);
    Answer { response: Some(response), ..answer }
}

fn no(gate: &GateView) -> Answer {
    answer_to(gate.id.clone(), GateDecision::Refuse)
}

fn which(inbox: &Inbox<'_>, named: Option<&str>) -> Result<Option<Named>, Failure> {
    if let Some(named) = named {
        let id = match inbox.meant(Some(named))? {
            Some(Meant::Gate(id) | Meant::Review(id)) => id,
            None => return Ok(None),
        };
        let found = inbox.gates(None)?.into_iter().find(|gate| gate.id == id);
        let found = found.map(|gate| Named::Gate(Box::new(gate)));
        return Ok(Some(found.unwrap_or(Named::Unknown(id))));
    }
    let mut gates = inbox.gates(Some(GateState::Open))?;
    match gates.len() {
        0 => {
            output::print(NOTHING)?;
            Ok(None)
        }
        1 => Ok(gates.pop().map(|gate| Named::Gate(Box::new(gate)))),
        many => {
            for (n, gate) in gates.iter().enumerate() {
                output::print(&format!("{}. {}", n + 1, card(gate, inbox.envelope.now)))?;
            }
            let chosen = prompt::ask(&format!("Which one? [1-{many}] "))?;
            let chosen = chosen.and_then(|said| said.parse::<usize>().ok());
            let chosen = chosen.and_then(|n| n.checked_sub(1)).filter(|n| *n < many);
            if chosen.is_none() {
                output::print("They stay open.\n")?;
            }
            Ok(chosen.map(|n| Named::Gate(Box::new(gates.swap_remove(n)))))
        }
    }
}

/// A checkpoint and similar gates: yes or no, and a comment.
fn judge(gate: &GateView) -> Given {
    let is_sign_off = gate.purpose == Some(Purpose::SignOff);
    let question = if is_sign_off { "Sign it off?" } else { "Let it continue?" };
    let said = prompt::yes(&format!("{question} [y/n, empty leaves it open] "))?;
    let Some(said) = said else { return Ok(None) };
    let decision = if said { GateDecision::Resume } else { GateDecision::Refuse };
    let mut answer = answer_to(gate.id.clone(), decision);
    if said && is_sign_off {
        // The yes covers what is shown here, not later changes.
        answer.expected_revision = gate.revision;
        match unclaimed(gate) {
            0 => {}
            count => {
                let what = counted(count, "criterion is", "criteria are");
                let question = format!("{what} not claimed. Accept anyway? [y/n] ");
                match prompt::yes(&question)? {
                    Some(true) => answer.accept_unclaimed = Some(true),
                    _ => return Ok(None),
                }
            }
        }
    }
    if !said && is_sign_off {
        match reopened(gate)? {
            None => return Ok(None),
            Some(texts) if texts.is_empty() => {}
            Some(texts) => answer.reopen = Some(texts),
        }
    }
    word_to_it(answer)
}

/// The number of unclaimed criteria.
fn unclaimed(gate: &GateView) -> usize {
    let open = |item: &&ItemView| {
        item.claim.is_none() && matches!(item.status, ItemStatus::Pending | ItemStatus::InProgress)
    };
    gate.criteria.iter().filter(open).count()
}

/// Which criteria to reopen; `None` means all claimed ones.
fn reopened(gate: &GateView) -> Result<Option<Vec<Content>>, Failure> {
    let claimed: Vec<&ItemView> =
        gate.criteria.iter().filter(|item| item.claim.is_some()).collect();
    if claimed.len() < 2 {
        return Ok(Some(Vec::new()));
    }
    for (n, item) in claimed.iter().enumerate() {
        output::print(&format!("  {}. {}\n", n + 1, output::line(&item.content)))?;
    }
    loop {
        let question = "Which are not met? [numbers, empty means all] ";
        let Some(said) = prompt::ask(question)? else { return Ok(None) };
        let numbers = said.split(|c: char| !c.is_ascii_digit()).filter(|word| !word.is_empty());
        let chosen: Option<Vec<&ItemView>> = numbers
            .map(|word| word.parse::<usize>().ok()?.checked_sub(1))
            .map(|n| claimed.get(n?).copied())
            .collect();
        match chosen {
            Some(chosen) => {
                let texts = chosen.into_iter().map(|item| content(&item.content));
                return texts.collect::<Result<_, _>>().map(Some);
            }
            None => output::print(&format!("Give numbers from 1 to {}.\n", claimed.len()))?,
        }
    }
}

fn word_to_it(mut answer: Answer) -> Given {
    let Some(said) = prompt::ask("What to say? [empty says nothing] ")? else { return Ok(None) };
    if !said.is_empty() {
        answer.response = Some(said.into());
    }
    Ok(Some(answer))
}

/// A question: one of its options by number, or a text.
fn reply(gate: &GateView) -> Given {
    let options = options(gate);
    let how = match options.len() {
        0 => "Your answer?".to_owned(),
        many => format!("Your answer? [1-{many}, or your own words]"),
    };
    let question = format!("{how} [- refuses, empty leaves it open] ");
    let Some(said) = prompt::ask(&question)? else { return Ok(None) };
    let by_number = said.parse::<usize>().ok().and_then(|n| n.checked_sub(1));
    let is_option = options.contains(&said);
    let chosen = by_number.filter(|_| !is_option).and_then(|n| options.get(n));
    Ok(match (said.as_str(), chosen) {
        ("", _) => None,
        ("-", _) => return word_to_it(no(gate)),
        (_, Some(option)) => Some(yes(gate, option.as_str().into())),
        (said, None) => Some(yes(gate, said.into())),
    })
}

/// An overdue item: a new date, or its end.
fn advise(gate: &GateView) -> Given {
    let question =
        "Extend or cancel? [extend to YYYY-MM-DD, cancel, - leaves the todo, empty asks later] ";
    loop {
        let Some(said) = prompt::ask(question)? else { return Ok(None) };
        // A date alone means to extend to it.
        let extended = format!("extend to {said}");
        let read =
            [said.as_str(), &extended].into_iter().find(|text| answer::parse(text).is_some());
        match (said.as_str(), read) {
            ("", _) => return Ok(None),
            ("-", _) => return word_to_it(no(gate)),
            (_, Some(read)) => return Ok(Some(yes(gate, read.into()))),
            (_, None) => output::print(&format!("Answer with {}.\n", answer::SPELLING))?,
        }
    }
}

/// A tool: once, always or not.
fn permit(gate: &GateView) -> Given {
    let question = "May it? [once, always, no, empty leaves it open] ";
    loop {
        let Some(said) = prompt::ask(question)? else { return Ok(None) };
        let allow = match said.to_lowercase().as_str() {
            "" => return Ok(None),
            "n" | "no" | "deny" | "-" => return word_to_it(no(gate)),
            "o" | "once" | "y" | "yes" => "once",
            "a" | "always" => "always",
            _ => {
                output::print("Answer with once, always or no.\n")?;
                continue;
            }
        };
        return Ok(Some(yes(gate, json!({ "allow": allow }))));
    }
}

/// A form, field by field.
fn fill_in(gate: &GateView) -> Given {
    let said = prompt::yes("Fill it in? [y/n, empty leaves it open] ")?;
    match said {
        None => return Ok(None),
        Some(false) => return word_to_it(no(gate)),
        Some(true) => {}
    }
    let mut response = Map::new();
    for field in gate.schema.iter().flat_map(Form::fields) {
        match one_field(&field)? {
            Filled::Left => return Ok(None),
            Filled::Blank => {}
            Filled::With(value) => drop(response.insert(field.name.to_owned(), value)),
        }
    }
    let response = Value::Object(response);
    output::print(&format!("  {}\n", words(&response)))?;
    let sent = prompt::yes_unless_no("Send it? [Y/n] ")?;
    Ok(sent.then(|| yes(gate, response)))
}

/// What became of a field.
enum Filled {
    With(Value),
    /// An optional field without an answer.
    Blank,
    /// The input ended.
    Left,
}

/// Asks for a field until the answer fits.
fn one_field(field: &Field<'_>) -> Result<Filled, Failure> {
    for (n, choice) in field.choices.iter().enumerate() {
        let called = choice.title.map(|title| format!(" ({title})"));
        let called = output::line(&called.unwrap_or_default());
        output::print(&format!("  {}. {}{called}\n", n + 1, words(choice.value)))?;
    }
    let asked = output::line(field.name);
    let question = format!("{asked}: {}? ", asked_for(field));
    loop {
        let Some(said) = prompt::ask(&question)? else { return Ok(Filled::Left) };
        let value = read(field, &said);
        match field.fault(value.as_ref()) {
            None => return Ok(value.map_or(Filled::Blank, Filled::With)),
            Some(fault) => output::print(&format!("{}\n", output::line(&fault)))?,
        }
    }
}

/// A choice as it was shown, by its words or by its number; the default for an empty line; else what
/// the field makes of the text.
fn read(field: &Field<'_>, said: &str) -> Option<Value> {
    if said.is_empty() {
        return field.default.cloned();
    }
    let by_words = field.choices.iter().find(|choice| words(choice.value) == said);
    let by_number = || field.choices.get(said.parse::<usize>().ok()?.checked_sub(1)?);
    match by_words.or_else(by_number) {
        Some(choice) => Some(choice.value.clone()),
        None => field.read(said),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choice_is_named_by_its_words_or_its_number() {
        let said = |field: Value, said: &str| {
            let form = Form(json!({ "properties": { "it": field } }));
            form.fields().first().and_then(|field| read(field, said)).unwrap_or_default()
        };
        let size = || json!({ "type": "string", "enum": ["2", "1"], "default": "1" });
        assert_eq!(said(size(), "2"), "2", "a choice by its words comes before one by its number");
        assert_eq!(said(size(), ""), "1", "an empty line is the default");
        let size = || json!({ "type": "string", "enum": ["small", "large"] });
        assert_eq!(said(size(), "2"), "large");
        assert_eq!(said(size(), "3"), "3", "which is then refused");
        assert_eq!(said(size(), ""), Value::Null);
        let sure = || json!({ "type": "boolean", "enum": [false, true] });
        assert_eq!(said(sure(), "yes"), true);
        assert_eq!(said(sure(), "1"), false);
    }
}
