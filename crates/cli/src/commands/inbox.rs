//! `punch inbox`: what waits for a person, and `punch inbox answer`: the person's answer.

use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use punchlist_core::deadline::Deadline;
use punchlist_core::gate::{GateDecision, GateKind, GateState, Purpose};
use punchlist_core::naming::{self, Candidate};
use punchlist_core::text::{Body, Content, Title};
use punchlist_core::{GateId, Refusal};
use punchlist_ops::catalogue::{Define, find};
use punchlist_ops::input::{Cursor, Limit, Maybe};
use punchlist_ops::operations::gate_answer::{self, GateAnswer};
use punchlist_ops::operations::gate_list::{self, GateList};
use punchlist_ops::operations::todo_accept::{self, TodoAccept};
use punchlist_ops::operations::todo_return::{self, TodoReturn};
use punchlist_ops::views::GateView;
use punchlist_ops::{Envelope, Error, Ops};
use serde_json::{Map, Value, json};

use super::{call, inbox_answer, operation, prompt, sign_off};
use crate::args::Globals;
use crate::failure::Failure;
use crate::render::short;
use crate::{caller, output, render};

pub(crate) fn command() -> Command {
    Command::new("inbox")
        .about("Show what is waiting for you, and answer it")
        .long_about(
            "Show what is waiting for you, the oldest first: pauses, sign-offs with their \
             criteria and evidence, questions, forms, tools that an agent wants to call, and what \
             is overdue in a mission. \
             With --issue or --session only what is about that issue or that session.",
        )
        .arg(
            Arg::new("limit")
                .long("limit")
                .value_name("N")
                .help("Maximum number of questions [default: 50]")
                .value_parser(value_parser!(i64)),
        )
        .arg(
            Arg::new("cursor")
                .long("cursor")
                .value_name("TEXT")
                .help("The cursor that the previous page returned"),
        )
        .subcommand(answer_command())
}

fn answer_command() -> Command {
    Command::new("answer")
        .about("Answer a question: let the agent continue, or refuse")
        .long_about(
            "Answer a question: let the agent continue, or refuse. Only the first answer \
             counts.\n\n\
             At a terminal the command asks for what you leave out. Without QUESTION it answers \
             the only open question.",
        )
        .arg(
            Arg::new("gate")
                .value_name("QUESTION")
                .help("The question: its short id, or a unique part of its text"),
        )
        .arg(
            Arg::new("resume")
                .long("resume")
                .help("Let the agent continue")
                .conflicts_with("refuse")
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("refuse")
                .long("refuse")
                .help("Refuse; refusing a sign-off reopens criteria")
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("allow")
                .long("allow")
                .value_name("once|always")
                .help("Allow the tool call, this once or from now on")
                .value_parser(["once", "always"])
                .conflicts_with_all(["resume", "refuse", "response", "extend", "cancel"]),
        )
        .arg(
            Arg::new("extend")
                .long("extend")
                .value_name("DATE")
                .help("Give an overdue todo a new deadline")
                .conflicts_with_all(["resume", "refuse", "response", "cancel"]),
        )
        .arg(
            Arg::new("cancel")
                .long("cancel")
                .help("Cancel an overdue todo")
                .conflicts_with_all(["resume", "refuse", "response"])
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("response")
                .long("response")
                .value_name("TEXT|JSON")
                .help("Your answer; JSON that begins with {, [ or \" is sent as JSON"),
        )
        .arg(
            Arg::new("reopen")
                .long("reopen")
                .value_name("TEXT")
                .help("With --refuse: a criterion to reopen [default: all claimed ones]")
                .action(ArgAction::Append),
        )
        .arg(
            Arg::new("accept-unclaimed")
                .long("accept-unclaimed")
                .help("With --resume: also accept criteria that nobody claimed")
                .action(ArgAction::SetTrue),
        )
        .arg(
            Arg::new("expect-revision")
                .long("expect-revision")
                .alias("expected-revision")
                .value_name("N")
                .help("With --resume: the issue's revision you looked at [default: when it was asked]")
                .value_parser(value_parser!(i64)),
        )
        .after_help(
            "Examples:\n  \
             punch inbox answer 4F7Q --resume --response 'Ship it.'\n  \
             punch inbox answer 4F7Q --refuse --response 'No test' --reopen 'A test covers it'\n  \
             punch inbox answer 4F7Q --extend 2030-01-31\n  \
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
    let limit = matches.get_one::<i64>("limit");
    input.extend(limit.map(|limit| ("limit".to_owned(), Value::from(*limit))));
    let cursor = matches.get_one::<String>("cursor");
    input.extend(cursor.map(|cursor| ("cursor".to_owned(), cursor.as_str().into())));
    let envelope = caller::envelope(&ops, &globals, false)?;
    let (session, number) = about(session, globals.issue, &envelope);
    input.extend(session.map(|session| ("session".to_owned(), session.into())));
    input.extend(number.map(|number| ("number".to_owned(), number.into())));
    let operation = find(GateList::NAME)?;
    let answer = ops.answer(operation, &envelope, Value::Object(input));
    let answer = answer
        .map_err(for_the_operator)
        .map_err(|failure| operation::in_flags(failure, operation))?;
    call::show(&globals, operation, &answer, envelope.now)
}

/// A refusal in the words of this command.
fn for_the_operator(error: Error) -> Failure {
    // By its code, because the refusal of a server has no other type.
    if error.code() != "not_permitted" {
        return error.into();
    }
    let message = "only the operator may see the inbox".to_owned();
    let hint = "run it at a terminal, or set PUNCHLIST_TOKEN to an operator's token".to_owned();
    Failure::Reworded { error, message, hint }
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
    /// This process itself continues the run that asks.
    is_in_run: bool,
}

impl Inbox<'_> {
    fn answer(&self, matches: &ArgMatches) -> Result<(), Failure> {
        let named = matches.get_one::<String>("gate").map(|gate| gate.trim().to_owned());
        let decision = match (matches.get_flag("resume"), matches.get_flag("refuse")) {
            (true, _) => Some(GateDecision::Resume),
            (_, true) => Some(GateDecision::Refuse),
            _ => None,
        };
        if let Some(allow) = matches.get_one::<String>("allow") {
            let response = json!({ "allow": allow });
            let kind = GateKind::Permission;
            return self.short(kind, "a tool", "--allow", named.as_deref(), response);
        }
        let advice = match (matches.get_one::<String>("extend"), matches.get_flag("cancel")) {
            (Some(date), _) if Deadline::parse(date.trim()).is_none() => {
                let message = format!("--extend cannot be `{}`", date.trim());
                let hint = Some("give a date such as 2030-01-31".to_owned());
                return Err(Failure::Usage { message, hint });
            }
            (Some(date), _) => Some(format!("extend to {}", date.trim())),
            (None, true) => Some("cancel".to_owned()),
            (None, false) => None,
        };
        if let Some(advice) = advice {
            let flags = "--extend or --cancel";
            let (kind, about) = (GateKind::Escalation, "an overdue todo");
            return self.short(kind, about, flags, named.as_deref(), advice.into());
        }
        let may_ask = output::is_interactive() && !self.globals.json && !self.globals.compact;
        let Some(decision) = decision else {
            if may_ask {
                return inbox_answer::ask(self, named.as_deref());
            }
            let message = "say whether to continue or to refuse".to_owned();
            let hint = Some("give --resume or --refuse".to_owned());
            return Err(Failure::Usage { message, hint });
        };
        // clap's own `requires` counts a switch that is off as given.
        if decision == GateDecision::Resume && matches.contains_id("reopen") {
            return Err(Failure::usage("--reopen goes with --refuse".to_owned()));
        }
        let gate = match self.meant(named.as_deref())? {
            None => return Err(nothing_waits()),
            Some(Meant::Review(todo)) => {
                let said = matches.get_one::<String>("response").map(String::as_str);
                return self.judge(todo, decision, said);
            }
            Some(Meant::Gate(gate)) => gate,
        };
        let mut answer = answer_to(gate, decision);
        answer.response = matches.get_one::<String>("response").map(|said| response(said));
        if let Some(texts) = matches.get_many::<String>("reopen") {
            answer.reopen = Some(texts.map(|text| content(text)).collect::<Result<_, _>>()?);
        }
        answer.accept_unclaimed = matches.get_flag("accept-unclaimed").then_some(true);
        answer.expected_revision = matches.get_one::<i64>("expect-revision").copied();
        self.give(answer)
    }

    /// Accepts or returns an item that waits for its reviewer.
    pub(super) fn judge(
        &self,
        todo_id: String,
        decision: GateDecision,
        said: Option<&str>,
    ) -> Result<(), Failure> {
        let said = said.filter(|said| !said.trim().is_empty()).map(body).transpose()?;
        let (ops, envelope) = (self.ops, &self.envelope);
        match (decision, said) {
            (GateDecision::Resume, said) => {
                let input = todo_accept::Input { todo_id: todo_id.into(), outcome: Maybe(said) };
                let done = ops.run::<TodoAccept>(envelope, input)?;
                call::show_output::<TodoAccept>(self.globals, done, envelope.now)
            }
            (GateDecision::Refuse, Some(feedback)) => {
                let input = todo_return::Input { todo_id: todo_id.into(), feedback };
                let done = ops.run::<TodoReturn>(envelope, input)?;
                call::show_output::<TodoReturn>(self.globals, done, envelope.now)
            }
            (GateDecision::Refuse, None) => {
                let message = "say what is missing".to_owned();
                let hint = Some("give --response WHY beside --refuse".to_owned());
                Err(Failure::Usage { message, hint })
            }
        }
    }

    /// Answers by a flag for one kind of question only.
    fn short(
        &self,
        kind: GateKind,
        about: &str,
        flags: &str,
        named: Option<&str>,
        response: Value,
    ) -> Result<(), Failure> {
        let Some(Meant::Gate(id) | Meant::Review(id)) = self.meant(named)? else {
            return Err(nothing_waits());
        };
        let found = self.gates(None)?.into_iter().find(|gate| gate.id == id);
        if found.is_some_and(|gate| gate.kind != kind) {
            let message = format!("only a question about {about} takes {flags}");
            let hint = Some("give --resume or --refuse".to_owned());
            return Err(Failure::Usage { message, hint });
        }
        let answer = answer_to(id, GateDecision::Resume);
        self.give(gate_answer::Input { response: Some(response), ..answer })
    }

    /// Gives an answer and shows what it did.
    pub(super) fn give(&self, answer: gate_answer::Input) -> Result<(), Failure> {
        let done = self.ops.run::<GateAnswer>(&self.envelope, answer)?;
        let run = done.gate.run_id.as_deref().map(|run| short(run).to_owned());
        call::show_output::<GateAnswer>(self.globals, done, self.envelope.now)?;
        let is_text = !self.globals.json && !self.globals.compact && !self.globals.quiet;
        if let Some(run) = run.filter(|_| is_text && !self.is_in_run) {
            output::print(&format!(
                "A worker continues the run, or you do here: punch run --resume {run}\n"
            ))?;
        }
        Ok(())
    }

    /// Gives an answer that a person typed; after a sign-off, asks what to do next.
    pub(super) fn give_typed(&self, answer: gate_answer::Input) -> Result<(), Failure> {
        let Some(done) = self.accepted(answer)? else {
            return Ok(output::print("It stays open.\n")?);
        };
        let is_signed =
            done.gate.purpose == Some(Purpose::SignOff) && done.gate.state == GateState::Resumed;
        output::print(&render::gates::answered(&done.gate))?;
        if is_signed {
            sign_off::close(self.globals, self.ops, &self.envelope, &done.gate)?;
        }
        let Some(run) = done.gate.run_id.as_deref().filter(|_| !self.is_in_run) else {
            return Ok(());
        };
        match prompt::yes("Continue the run here? [y/N] ")? {
            Some(true) => super::run::resume(self.globals, run),
            _ => Ok(output::print(&format!(
                "A worker continues it, or you do: punch run --resume {}\n",
                short(run)
            ))?),
        }
    }

    /// Gives an answer. If the issue has changed since the sign-off was asked for, says what has, and
    /// asks again about what was shown. None: the gate stays open.
    fn accepted(
        &self,
        mut answer: gate_answer::Input,
    ) -> Result<Option<gate_answer::Output>, Failure> {
        let shown = answer.expected_revision.take();
        let given = self.ops.run::<GateAnswer>(&self.envelope, answer.clone());
        let changed = match (given, shown) {
            (Err(Error::Refused(refusal)), Some(_))
                if matches!(*refusal, Refusal::ChangedSinceAsked { .. }) =>
            {
                refusal
            }
            (given, _) => return Ok(Some(given?)),
        };
        output::print(&format!("{}.\n", output::line(&changed.to_string())))?;
        let question = "Sign off what is shown above? [y/n, empty leaves it open] ";
        if prompt::yes(question)? != Some(true) {
            return Ok(None);
        }
        answer.expected_revision = shown;
        Ok(Some(self.ops.run::<GateAnswer>(&self.envelope, answer)?))
    }

    /// The background of a sign-off.
    pub(super) fn background(&self, gate: &GateView) -> String {
        sign_off::background(self.ops, &self.envelope, gate)
    }

    /// The gates of a state, or all, the oldest first.
    pub(super) fn gates(&self, state: Option<GateState>) -> Result<Vec<GateView>, Failure> {
        let envelope = Envelope { idempotency_key: None, ..self.envelope.clone() };
        let mut cursor = Cursor::FIRST;
        let mut gates = Vec::new();
        loop {
            let input = gate_list::Input { cursor, ..self.wanted(state)? };
            let page = self.ops.run::<GateList>(&envelope, input)?;
            gates.extend(page.gates);
            cursor = Cursor(page.next_cursor);
            if cursor == Cursor::FIRST {
                return Ok(gates);
            }
        }
    }

    /// The gates of a state, or of any, as many as a page holds.
    fn wanted(&self, state: Option<GateState>) -> Result<gate_list::Input, Failure> {
        let (session, number) = about(None, self.globals.issue, &self.envelope);
        let title = |session: String| Title::new(&session);
        let session =
            session.map(title).transpose().map_err(|fault| Failure::usage(fault.to_string()))?;
        Ok(gate_list::Input {
            state,
            kind: None,
            session: Maybe(session),
            number,
            limit: Limit::MAX,
            cursor: Cursor::FIRST,
        })
    }

    /// Finds what a name refers to: an open gate or an item in review, before an answered gate. An
    /// unknown name is passed on, for the operation to refuse. Without a name, the only waiting
    /// one; `None` if nothing waits.
    pub(super) fn meant(&self, named: Option<&str>) -> Result<Option<Meant>, Failure> {
        let envelope = Envelope { idempotency_key: None, ..self.envelope.clone() };
        let list = self.ops.run::<GateList>(&envelope, self.wanted(Some(GateState::Open))?)?;
        let Some(named) = named else {
            return match list.gates.as_slice() {
                [] => Ok(None),
                [only] => Ok(Some(Meant::Gate(only.id.clone()))),
                several => {
                    let message = format!("{} questions are waiting for you", several.len());
                    let hint = Some("name one; `punch inbox` shows them".to_owned());
                    Err(Failure::Usage { message, hint })
                }
            };
        };
        let is_review = |id: &str| list.reviews.iter().any(|item| item.todo_id == id);
        if named.is_empty() || GateId::parse(named).is_some() {
            let id = named.to_owned();
            return Ok(Some(if is_review(named) { Meant::Review(id) } else { Meant::Gate(id) }));
        }
        let gates = list.gates.iter().map(|gate| (&gate.id, &gate.text));
        let reviews = list.reviews.iter().map(|item| (&item.todo_id, &item.title));
        let open: Vec<Candidate> = gates.chain(reviews).map(candidate).collect();
        if let Some(found) = naming::find(named, &open).map_err(Error::from)? {
            let id = found.id.clone();
            return Ok(Some(if is_review(&id) { Meant::Review(id) } else { Meant::Gate(id) }));
        }
        let all = self.gates(None)?;
        let all: Vec<Candidate> =
            all.iter().map(|gate| candidate((&gate.id, &gate.text))).collect();
        let found = naming::find(named, &all).map_err(Error::from)?;
        let id = found.map_or(named, |found| &found.id).to_owned();
        Ok(Some(Meant::Gate(id)))
    }
}

/// The refusal of an answer to which there is no question.
fn nothing_waits() -> Failure {
    Failure::Declined {
        code: "unknown_gate",
        message: "nothing is waiting for you, so there is nothing to answer".to_owned(),
        hint: Some("`punch inbox` shows what is waiting".to_owned()),
    }
}

/// The message if there is nothing to answer.
pub(super) const NOTHING: &str = "Nothing is waiting for you.\n";

/// What a person wants to answer.
pub(super) enum Meant {
    Gate(String),
    /// An item that waits for its reviewer.
    Review(String),
}

fn candidate((id, text): (&String, &String)) -> Candidate {
    Candidate::new(id.clone(), text.clone())
}

/// What the questions are about: the session or the issue that a person names, else the one that
/// their token was narrowed to.
fn about(
    session: Option<String>,
    number: Option<i64>,
    envelope: &Envelope,
) -> (Option<String>, Option<i64>) {
    let reach = &envelope.actor.reach;
    match (session, number) {
        (None, None) => (reach.session.clone(), reach.number),
        named => named,
    }
}

/// An answer of only yes or no.
pub(super) fn answer_to(gate_id: String, decision: GateDecision) -> gate_answer::Input {
    gate_answer::Input {
        gate_id: gate_id.into(),
        decision,
        response: None,
        reopen: None,
        expected_revision: None,
        accept_unclaimed: None,
    }
}

/// The text of a criterion.
pub(super) fn content(text: &str) -> Result<Content, Failure> {
    Content::new(text).map_err(|fault| Failure::usage(format!("--reopen: {fault}")))
}

fn body(text: &str) -> Result<Body, Failure> {
    Body::new(text).map_err(|fault| Failure::usage(format!("--response: {fault}")))
}

/// Reads a response as JSON only if it clearly is JSON, so that the answer `8080` stays the text of
/// an option.
fn response(said: &str) -> Value {
    let looks_like_json = said.trim_start().starts_with(['{', '[', '"']);
    let json = looks_like_json.then(|| serde_json::from_str(said).ok()).flatten();
    json.unwrap_or_else(|| said.into())
}
