//! `punch inbox`: what waits for a person, and `punch inbox answer`: what the person says.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use punchlist_core::{GateId, Refusal};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Envelope, Error, Ops};
use serde_json::{Map, Value, json};

use super::{call, inbox_answer};
use crate::args::Globals;
use crate::failure::Failure;
use crate::{caller, output};

pub(crate) fn command() -> Command {
    Command::new("inbox")
        .about("Show what waits for a person, the oldest first, and answer it")
        .long_about(
            "Show what waits for a person, the oldest first: checkpoints, sign-offs with their \
             criteria and evidence, questions, forms, tools that an agent wants to call, and what \
             is overdue in a mission. \
             With --issue or --session only what is about that issue or that session.",
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("N")
                .help("How many at most [default: 50]")
                .value_parser(value_parser!(i64)),
        )
        .arg(
            Arg::new("cursor")
                .long("cursor")
                .value_name("TEXT")
                .help("The nextCursor of the page before"),
        )
        .subcommand(answer_command())
}

fn answer_command() -> Command {
    Command::new("answer")
        .about("Answer one of them: let the agent go on, or refuse")
        .long_about(
            "Answer one of them: let the agent go on, or refuse. An answer counts once.\n\n\
             At a terminal it asks for whatever is not said. Without GATE it takes the only one \
             that waits.",
        )
        .arg(
            Arg::new("gate")
                .value_name("GATE")
                .help("Its id, or a beginning or end that only it has"),
        )
        .arg(
            Arg::new("resume")
                .long("resume")
                .help("Let the agent go on")
                .conflicts_with("refuse")
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("refuse")
                .long("refuse")
                .help("Refuse; at a sign-off, criteria open again")
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("allow")
                .long("allow")
                .value_name("once|always")
                .help("Of a tool: it may be called, this once or from now on")
                .value_parser(["once", "always"])
                .conflicts_with_all(["resume", "refuse", "response", "extend", "cancel"]),
        )
        .arg(
            Arg::new("extend")
                .long("extend")
                .value_name("DATE")
                .help("Of an overdue todo: its new deadline")
                .conflicts_with_all(["resume", "refuse", "response", "cancel"]),
        )
        .arg(
            Arg::new("cancel")
                .long("cancel")
                .help("Of an overdue todo: cancel it")
                .conflicts_with_all(["resume", "refuse", "response"])
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("response")
                .long("response")
                .value_name("TEXT|JSON")
                .help("What to say; JSON if it begins with {, [ or \" and reads as such"),
        )
        .arg(
            Arg::new("reopen")
                .long("reopen")
                .value_name("TEXT")
                .help("With --refuse: a criterion to open again [default: all that are claimed]")
                .action(ArgAction::Append),
        )
        .arg(
            Arg::new("accept-unclaimed")
                .long("accept-unclaimed")
                .help("With --resume: accept criteria that nobody claimed, too")
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("expect-revision")
                .long("expect-revision")
                .value_name("N")
                .help("With --resume: the issue's revision you looked at [default: when it was asked]")
                .value_parser(value_parser!(i64)),
        )
        .after_help(
            "Examples:\n  \
             punch inbox answer 4F7Q --resume --response 'Ship it.'\n  \
             punch inbox answer 4F7Q --refuse --response 'No test' --reopen 'A test covers it'\n  \
             punch inbox answer 4F7Q --extend 2026-12-01\n  \
             punch inbox answer 4F7Q --allow always",
        )
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let ops = caller::ops(globals)?;
    let mut globals = globals.clone();
    if let Some(("answer", matches)) = matches.subcommand() {
        let envelope = caller::envelope(&ops, &globals, false)?;
        let inbox = Inbox { globals: &globals, ops: &ops, envelope, is_in_run: false };
        return inbox.answer(matches);
    }
    let mut input = Map::from_iter([("state".to_owned(), Value::from("open"))]);
    let session = matches.value_source("session") == Some(ValueSource::CommandLine);
    let session = session.then(|| globals.session.take()).flatten();
    input.extend(session.map(|session| ("session".to_owned(), session.into())));
    input.extend(globals.issue.map(|number| ("number".to_owned(), number.into())));
    let limit = matches.get_one::<i64>("limit");
    input.extend(limit.map(|limit| ("limit".to_owned(), Value::from(*limit))));
    let cursor = matches.get_one::<String>("cursor");
    input.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.as_str().into())));
    let envelope = caller::envelope(&ops, &globals, false)?;
    let operation = find("gate_list")?;
    let answer = ops.call(operation, &envelope, Value::Object(input))?;
    call::show(&globals, operation, &answer, envelope.now)
}

/// Asks the person at this terminal about one gate.
pub(super) fn answer_here(
    globals: &Globals,
    ops: &Ops,
    envelope: Envelope,
    gate: &str,
) -> Result<(), Failure> {
    inbox_answer::ask(&Inbox { globals, ops, envelope, is_in_run: true }, Some(gate))
}

/// Where answers are given.
pub(super) struct Inbox<'a> {
    pub(super) globals: &'a Globals,
    ops: &'a Ops,
    pub(super) envelope: Envelope,
    /// This very process goes on with the run that asks.
    is_in_run: bool,
}

impl Inbox<'_> {
    fn answer(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let named = matches.get_one::<String>("gate").map(|gate| gate.trim().to_owned());
        let decision = match (matches.get_flag("resume"), matches.get_flag("refuse")) {
            (true, _) => Some("resume"),
            (_, true) => Some("refuse"),
            _ => None,
        };
        if let Some(allow) = matches.get_one::<String>("allow") {
            let response = json!({ "allow": allow });
            return self.short("permission", "a tool", "--allow", named.as_deref(), &response);
        }
        let advice = match (matches.get_one::<String>("extend"), matches.get_flag("cancel")) {
            (Some(date), _) => Some(format!("extend to {}", date.trim())),
            (None, true) => Some("cancel".to_owned()),
            (None, false) => None,
        };
        if let Some(advice) = advice {
            let flags = "--extend or --cancel";
            let (about, response) = ("an overdue todo", advice.into());
            return self.short("escalation", about, flags, named.as_deref(), &response);
        }
        let may_ask = output::is_interactive() && !self.globals.json && !self.globals.compact;
        let Some(decision) = decision else {
            if may_ask {
                return inbox_answer::ask(self, named.as_deref());
            }
            let message = "say whether to go on".to_owned();
            let hint = Some("give --resume or --refuse".to_owned());
            return Err(Failure::Usage { message, hint });
        };
        // A switch that is off counts as given for clap's own `requires`.
        if decision == "resume" && matches.contains_id("reopen") {
            return Err(Failure::usage("--reopen goes with --refuse".to_owned()));
        }
        if let Some(todo) = self.review(named.as_deref())? {
            let said = matches.get_one::<String>("response").map(String::as_str);
            return self.judge(&todo, decision, said);
        }
        let Some(gate) = self.one(named.as_deref())? else {
            return Ok(output::print("Nothing waits for you.\n")?);
        };
        let mut input = json!({ "gateId": gate, "decision": decision });
        if let Some(said) = matches.get_one::<String>("response") {
            input["response"] = response(said);
        }
        if let Some(texts) = matches.get_many::<String>("reopen") {
            input["reopen"] = texts.map(String::as_str).map(Value::from).collect();
        }
        if matches.get_flag("accept-unclaimed") {
            input["acceptUnclaimed"] = true.into();
        }
        if let Some(revision) = matches.get_one::<i64>("expect-revision") {
            input["expectedRevision"] = (*revision).into();
        }
        self.give(input)
    }

    /// The item that waits for its reviewer and is meant: by its id, or a beginning or an end of it
    /// that no open gate has.
    fn review(&self, named: Option<&str>) -> Result<Option<String>, Failure> {
        let Some(named) = named.filter(|named| !named.is_empty()) else { return Ok(None) };
        let wanted = named.to_uppercase();
        let fits = |id: &str| id.starts_with(&wanted) || id.ends_with(&wanted);
        let envelope = Envelope { idempotency_key: None, ..self.envelope.clone() };
        let list = self.ops.call(find("gate_list")?, &envelope, json!({ "state": "open" }))?;
        let ids = |field: &str, id: &str| -> Vec<String> {
            let found = list[field].as_array().into_iter().flatten();
            let found = found.filter_map(|one| one[id].as_str()).filter(|id| fits(id));
            found.map(str::to_owned).collect()
        };
        let (gates, items) = (ids("gates", "id"), ids("reviews", "todoId"));
        match items.as_slice() {
            [only] if gates.is_empty() => Ok(Some(only.clone())),
            _ => Ok(None),
        }
    }

    /// Accepts or returns an item that waits for its reviewer.
    fn judge(&self, todo: &str, decision: &str, said: Option<&str>) -> Result<(), Failure> {
        let mut input = json!({ "todoId": todo });
        let operation = match (decision, said) {
            ("resume", said) => {
                input["outcome"] = said.into();
                find("todo_accept")?
            }
            (_, Some(said)) => {
                input["feedback"] = said.into();
                find("todo_return")?
            }
            (_, None) => {
                let message = "say what is missing".to_owned();
                let hint = Some("give --response WHY beside --refuse".to_owned());
                return Err(Failure::Usage { message, hint });
            }
        };
        let answer = self.ops.call(operation, &self.envelope, input)?;
        call::show(self.globals, operation, &answer, self.envelope.now)
    }

    /// Answers by a flag that only one kind of question takes.
    fn short(
        &self,
        kind: &str,
        about: &str,
        flags: &str,
        named: Option<&str>,
        response: &Value,
    ) -> Result<(), Failure> {
        let Some(id) = self.one(named)? else {
            return Ok(output::print("Nothing waits for you.\n")?);
        };
        let found = self.gates(None)?.into_iter().find(|gate| gate["id"] == id.as_str());
        if found.is_some_and(|gate| gate["kind"] != kind) {
            let message = format!("only a question about {about} takes {flags}");
            let hint = Some("give --resume or --refuse".to_owned());
            return Err(Failure::Usage { message, hint });
        }
        self.give(json!({ "gateId": id, "decision": "resume", "response": response }))
    }

    /// Gives an answer and shows what it did.
    pub(super) fn give(&self, input: Value) -> Result<(), Failure> {
        let operation = find("gate_answer")?;
        let answer = self.ops.call(operation, &self.envelope, input)?;
        call::show(self.globals, operation, &answer, self.envelope.now)?;
        let run = answer["gate"]["runId"].as_str();
        let is_text = !self.globals.json && !self.globals.compact && !self.globals.quiet;
        if let Some(run) = run.filter(|_| is_text && !self.is_in_run) {
            output::print(&format!(
                "The run that asked goes on in a worker, or here: punch run --resume {run}\n"
            ))?;
        }
        Ok(())
    }

    /// The gates of a state, or all, the oldest first.
    pub(super) fn gates(&self, state: Option<&str>) -> Result<Vec<Value>, Failure> {
        let envelope = Envelope { idempotency_key: None, ..self.envelope.clone() };
        let mut input = json!({ "limit": 1000 });
        if let Some(state) = state {
            input["state"] = state.into();
        }
        let mut gates = Vec::new();
        loop {
            let mut page = self.ops.call(find("gate_list")?, &envelope, input.clone())?;
            if let Value::Array(found) = page["gates"].take() {
                gates.extend(found);
            }
            match page["nextCursor"].take() {
                Value::Null => return Ok(gates),
                cursor => input["cursor"] = cursor,
            }
        }
    }

    /// The id of the gate that is meant; none: there is nothing to answer.
    fn one(&self, named: Option<&str>) -> Result<Option<String>, Failure> {
        let id = |gate: &Value| gate["id"].as_str().unwrap_or_default().to_owned();
        match named {
            Some(named) => self.named(named).map(Some),
            None => match self.gates(Some("open"))?.as_slice() {
                [] => Ok(None),
                [only] => Ok(Some(id(only))),
                several => {
                    let message = format!("{} gates wait for you", several.len());
                    let hint = Some("name one; `punch inbox` shows them".to_owned());
                    Err(Failure::Usage { message, hint })
                }
            },
        }
    }

    /// The id that a beginning or an end means: an open gate's before any other's. What means
    /// none is left as it is, for the operation to refuse.
    pub(super) fn named(&self, named: &str) -> Result<String, Failure> {
        if named.is_empty() || GateId::parse(named).is_some() {
            return Ok(named.to_owned());
        }
        let wanted = named.to_uppercase();
        for state in [Some("open"), None] {
            let gates = self.gates(state)?;
            let ids = gates.iter().filter_map(|gate| gate["id"].as_str());
            let fits = |id: &&str| id.starts_with(&wanted) || id.ends_with(&wanted);
            let found: Vec<String> = ids.filter(fits).map(str::to_owned).collect();
            match found.as_slice() {
                [] => {}
                [only] => return Ok(only.clone()),
                _ => {
                    let refusal = Refusal::AmbiguousText { text: named.to_owned(), texts: found };
                    return Err(Error::from(refusal).into());
                }
            }
        }
        Ok(named.to_owned())
    }
}

/// Words are words; only what is plainly meant as JSON is read as JSON, so that the answer `8080`
/// to a question stays the option it names.
fn response(said: &str) -> Value {
    let looks_like_json = said.trim_start().starts_with(['{', '[', '"']);
    let json = looks_like_json.then(|| serde_json::from_str(said).ok()).flatten();
    json.unwrap_or_else(|| said.into())
}
