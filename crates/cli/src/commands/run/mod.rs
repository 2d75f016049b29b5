//! `punch run "PROMPT"`: an agent answers, in this process, until its lists are done or there is a
//! reason to stop.
//!
//! The run is taken from the outbox by lease like any other, so a worker or `--resume` continues it
//! if this process is killed. Delegated work is done here too, if an agent is configured for it.

mod end;
mod view;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::{Arg, ArgMatches, Command, value_parser};
use punchlist_core::authority::{Action, Subject, may_any};
use punchlist_core::delegation::DelegationState;
use punchlist_core::run::RunState;
use punchlist_core::text::Body;
use punchlist_core::{Run, RunId};
use punchlist_engine::agent::{ConfiguredTools, EffectHandler, Models as _, code_of};
use punchlist_engine::model::Shelf;
use punchlist_engine::{Collector, Pump, Runtime};
use punchlist_ops::catalogue::{Define, find};
use punchlist_ops::config::drive::DriveFlags;
use punchlist_ops::config::{Config, Overrides};
use punchlist_ops::input::{Maybe, text};
use punchlist_ops::operations::delegation_show::{self, DelegationShow};
use punchlist_ops::operations::run_show::{self, RunShow};
use punchlist_ops::operations::run_start::{self, RunStart};
use punchlist_ops::operations::run_stop::{self, RunStop};
use punchlist_ops::{Envelope, Error, Ops};
use serde_json::{Map, Value};

use super::{call, inbox, programs, prompt};
use crate::args::Globals;
use crate::failure::Failure;
use crate::render::short;
use crate::run_folders::RunFolders;
use crate::stop::{Asked, Stop};
use crate::{caller, drive, output, settings};
use end::{End, Flags};
use view::View;

/// How long the run stays ours after this process died; then others may continue it.
const LEASE_S: i64 = 10;

/// How often a failed store call is retried.
const TRIES_MAX: u32 = 5;

/// How often to check for a stop request.
const LOOK: Duration = Duration::from_millis(200);

pub(crate) fn command() -> Command {
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("N").help(help).value_parser(value_parser!(i64))
    };
    Command::new("run")
        .about("Run an agent on a prompt, and continue it until its list is done")
        .long_about(
            "Run an agent on a prompt, and continue it until its list is done.\n\n\
             Its replies go to standard output; its plan, its tool calls and each continuation \
             with its reason go to standard error. The agent is one that punchlist.toml names \
             (--with, default `primary`), or any model you name. With --session or --conversation \
             it continues that chat; with --issue it works on that issue.\n\n\
             Ctrl-C stops it cleanly, a second Ctrl-C at once. To continue a killed run, use \
             --resume or `punch worker`.",
        )
        .arg(
            Arg::new("prompt")
                .value_name("PROMPT|-")
                .help("The message to the agent; - reads it from standard input")
                .required_unless_present("resume"),
        )
        .arg(
            Arg::new("with")
                .long("with")
                .value_name("NAME")
                .help("The agent that answers, as punchlist.toml names it [default: primary]"),
        )
        .arg(
            Arg::new("model")
                .long("model")
                .value_name("SPEC")
                .help("The model, e.g. anthropic:claude-sonnet-5 [default: as configured]"),
        )
        .arg(Arg::new("plan").long("plan").value_name("FILE").help("The plan file to work on"))
        .arg(
            Arg::new("auto-complete-todos")
                .long("until-done")
                .alias("auto-complete-todos")
                .value_name("BOOL")
                .help("Keep it going until its list is done [default: as configured]")
                .num_args(0..=1)
                .require_equals(true)
                .default_missing_value("true")
                .value_parser(value_parser!(bool)),
        )
        .arg(number("max-todo-continuations", "Maximum number of continuations [default: 10]"))
        .arg(number("max-iterations", "Maximum model calls between two stops, 1 to 50"))
        .arg(number("max-tokens", "Maximum tokens of the whole run, input and output"))
        .arg(
            Arg::new("resume")
                .long("resume")
                .value_name("RUN")
                .help("Continue a run that waits, or whose process died")
                .conflicts_with_all(["prompt", "model", "plan", "auto-complete-todos"])
                .conflicts_with_all(["max-todo-continuations", "max-iterations", "max-tokens"]),
        )
        .after_help(
            "Exit codes: 0 nothing is left to do, 1 stopped with work left (the reason is \
             printed).\n\nExamples:\n  \
             punch run \"Make the tests green\" --until-done\n  \
             punch run \"Continue\" --issue 4 --with coder\n  \
             punch run --resume 4F7Q",
        )
}

/// Continues a run, as `punch run --resume` does.
pub(super) fn resume(globals: &Globals, id: &str) -> Result<(), Failure> {
    let words = ["punch", "run", "--resume", id];
    let matches = crate::args::tree(Some("run"), None).try_get_matches_from(words)?;
    match matches.subcommand() {
        Some((_, matches)) => run(globals, matches),
        None => Ok(()),
    }
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    // Before anything starts a thread.
    let stop = Stop::on_signals();
    let mut globals = globals.clone();
    // `--agent` is the old spelling of `--with`: here it names the agent that answers, not the
    // caller.
    let old = globals.take_for_field("agent", matches);
    let agent = matches.get_one::<String>("with").cloned().or(old);
    programs::prepare();
    let config = settings::read()?.config;
    let ops = caller::database(&globals)?;
    let envelope = caller::envelope(&ops, &globals, false)?;
    let flags = Flags { agent: agent.clone(), model: matches.get_one::<String>("model").cloned() };
    let id = match matches.get_one::<String>("resume") {
        Some(named) => known(&ops, &envelope, named)?,
        None => {
            let input = input(matches, agent.clone(), globals.issue, &config)?;
            can_answer(&envelope, agent.as_deref(), flags.model.clone())?;
            let started = ops.answer(find(RunStart::NAME)?, &envelope, input);
            let started = started.map_err(|error| in_flags(error, globals.issue))?;
            started.into_output::<run_start::Output>()?.run.id
        }
    };
    let view = View::new(&globals, &ops, &envelope, id);
    view.announce();
    let places = RunFolders::new(&ops, &envelope.project).here_first();
    let folders = |project: &str, run: &Run| places.folder(project, run);
    let tools = ConfiguredTools::new(&ops, &config, &folders, &caller::ticking);
    let (globals, envelope, stop) = (&globals, &envelope, &stop);
    let turn = Turn { globals, ops: &ops, tools: &tools, envelope, stop, view, id };
    let end = turn.execute()?;
    turn.view.close();
    end.show(globals, &flags)
}

/// A failure to start, with the flags of this command.
fn in_flags(error: Error, issue: Option<i64>) -> Failure {
    if error.code() == "issue_held" {
        let facts = error.to_json();
        let session = facts["error"]["session"].as_str().map_or("ID", short);
        let issue = issue.map(|number| format!(" --issue {number}")).unwrap_or_default();
        let hint = format!("continue in that session: `punch run …{issue} --session {session}`");
        return Failure::Advised { error, hint };
    }
    Failure::from(error).typed_by(|path| match path {
        "maxTotalTokens" => "--max-tokens".to_owned(),
        "maxTodoContinuations" => "--max-todo-continuations".to_owned(),
        "maxIterations" => "--max-iterations".to_owned(),
        "planFile" => "--plan".to_owned(),
        path => format!("`{path}`"),
    })
}

/// The input of `run_start` that the flags make.
fn input(
    matches: &ArgMatches,
    agent: Option<String>,
    number: Option<i64>,
    config: &Config,
) -> Result<Value, Failure> {
    let prompt = match matches.get_one::<String>("prompt").map(String::as_str) {
        Some("-") => call::read_stdin()?,
        given => given.unwrap_or_default().to_owned(),
    };
    let text =
        |name: &str| matches.get_one::<String>(name).map(|given| Value::from(given.as_str()));
    let count = |name: &str| matches.get_one::<i64>(name).map(|given| Value::from(*given));
    let (drives, continuations) = driven(matches, agent.as_deref(), config);
    let fields = [
        ("agent", agent.map(Value::from)),
        ("model", text("model")),
        ("number", number.map(Value::from)),
        ("planFile", text("plan")),
        ("autoCompleteTodos", drives.map(Value::from)),
        ("maxTodoContinuations", continuations.map(Value::from)),
        ("maxIterations", count("max-iterations")),
        ("maxTotalTokens", count("max-tokens")),
    ];
    let mut input = Map::from_iter([
        ("prompt".to_owned(), Value::from(prompt)),
        ("held".to_owned(), Value::from(true)),
    ]);
    let given = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
    input.extend(given);
    Ok(Value::Object(input))
}

/// The value of a flag, else of the environment; otherwise the file decides (S-2…S-6).
fn driven(
    matches: &ArgMatches,
    agent: Option<&str>,
    config: &Config,
) -> (Option<bool>, Option<i64>) {
    let flags = DriveFlags {
        auto_complete_todos: matches.get_one::<bool>("auto-complete-todos").copied(),
        // The operation refuses an invalid number.
        max_todo_continuations: None,
    };
    let agent = config.agents.get(agent.unwrap_or("primary"));
    let (drives, most) = drive::said(&drive::settings_or_warn(agent, flags));
    (drives, matches.get_one::<i64>("max-todo-continuations").copied().or(most))
}

/// Checks that there is a usable model before anything is written, so that a run that cannot begin
/// leaves no session behind.
fn can_answer(
    envelope: &Envelope,
    agent: Option<&str>,
    model: Option<String>,
) -> Result<(), Failure> {
    let name = agent.unwrap_or("primary");
    let over = Overrides { model, ..Overrides::default() };
    let (settings, _) = envelope.agents.settings(name, &over)?;
    let opened = Shelf::default().open(&settings.model, settings.effort.as_deref());
    match opened {
        Ok(_) => Ok(()),
        Err(fault) => {
            let hint = match settings.model.split_once(':') {
                Some(("scripted", file)) => format!("correct {file}, or name another model"),
                _ => "name another model with --model, or correct it in punchlist.toml".to_owned(),
            };
            let hint = Some(hint);
            Err(Failure::Declined { code: code_of(fault.kind), message: fault.message, hint })
        }
    }
}

/// The run to continue.
fn known(ops: &Ops, envelope: &Envelope, named: &str) -> Result<RunId, Failure> {
    let input = run_show::Input { run: text("run", named)? };
    Ok(ops.run::<RunShow>(envelope, input)?.run.id)
}

/// A run that this command executes.
struct Turn<'a> {
    globals: &'a Globals,
    ops: &'a Ops,
    tools: &'a ConfiguredTools<'a>,
    envelope: &'a Envelope,
    stop: &'a Stop,
    view: View<'a>,
    id: RunId,
}

impl Turn<'_> {
    /// Executes it until it ends, or waits for something that this process cannot do.
    fn execute(&self) -> Result<End, Failure> {
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::SeqCst) {
                    if self.stop.wait(LOOK) {
                        return self.heed_stop();
                    }
                }
            });
            let end = self.go_on();
            over.store(true, Ordering::SeqCst);
            end
        })
    }

    /// Ctrl-C ends the run itself; at a shutdown of the machine the run is left for the next
    /// process.
    fn heed_stop(&self) {
        if self.stop.by() != Some(Asked::Person) {
            return;
        }
        self.view.interrupted();
        self.view.remark("Stopping; press Ctrl-C again to end at once.");
        let now = caller::ticking();
        let envelope = Envelope { idempotency_key: None, now, ..self.envelope.clone() };
        let (run, reason) = (self.id.into(), Maybe(Body::new("Ctrl-C").ok()));
        let asked = self.ops.run::<RunStop>(&envelope, run_stop::Input { run, reason });
        if let Err(error) = asked {
            self.view.remark(&format!("It could not be stopped: {error}"));
        }
    }

    fn go_on(&self) -> Result<End, Failure> {
        let models = Shelf::default();
        let is_stopped = || self.stop.by() == Some(Asked::Machine);
        let telemetry = caller::telemetry();
        let observer = telemetry.beside(|live| self.view.observe(live));
        let runtime = Runtime {
            executor: Some(&self.envelope.actor),
            ops: self.ops,
            agents: &self.envelope.agents,
            models: &models,
            outside: self.tools,
            clock: &caller::ticking,
            is_stopped: &is_stopped,
            observer: &observer,
        };
        // Checked before the run is taken: a later refusal would leave the run without a process.
        self.ops.may_execute(self.envelope, self.id)?;
        let report = |_| {};
        let collector = Collector {
            ops: self.ops,
            clock: &caller::ticking,
            is_stopped: &is_stopped,
            report: &report,
        };
        let handler = EffectHandler::new(collector, runtime);
        let pump = Pump { lease_s: LEASE_S, ..Pump::default() };
        let store = self.ops.store()?;
        let mut watch = store.watch().map_err(Error::from)?;
        let mut failures = 0;
        let id = self.id;
        loop {
            let taken = store.write(move |tx| tx.take_drive(id, LEASE_S)).map_err(Error::from)?;
            if let Some(work) = taken {
                let done = pump.work(store, &handler, work).map_err(Error::from)?;
                failures += u32::try_from(done.failed).unwrap_or(u32::MAX);
                if failures > TRIES_MAX {
                    return Err(Failure::Io("the store fails; the run stays as it is".to_owned()));
                }
            }
            let end = self.look()?;
            let going = match end.state() {
                RunState::Ended => false,
                _ if self.stop.by() == Some(Asked::Machine) => false,
                RunState::Waiting => match end.waits_for() {
                    // Ctrl-C was pressed between two steps.
                    _ if self.stop.asked() => true,
                    "gate" => self.ask_here(&end)?,
                    "delegations" => {
                        runtime.work_on_delegation(&self.envelope.project)?
                            || self.others_work_on(&end)?
                    }
                    _ => false,
                },
                _ => true,
            };
            if !going {
                return Ok(end);
            }
            // Another process holds it, or is about to wake it.
            if self.others_have_it(&end)? {
                watch.wait(LOOK).map_err(Error::from)?;
            }
        }
    }

    fn look(&self) -> Result<End, Failure> {
        let envelope =
            Envelope { idempotency_key: None, now: caller::ticking(), ..self.envelope.clone() };
        let input = run_show::Input { run: self.id.into() };
        Ok(End::new(self.ops.run::<RunShow>(&envelope, input)?))
    }

    /// Is there nothing in the outbox for us to take right now?
    fn others_have_it(&self, end: &End) -> Result<bool, Failure> {
        if end.state() == RunState::Waiting {
            return Ok(true);
        }
        let id = self.id;
        let driven = self.ops.store()?.read(move |tx| tx.is_driven(id)).map_err(Error::from)?;
        if driven {
            self.view.once("Another process is executing the run; waiting for it.");
        }
        Ok(true)
    }

    /// Does another process work on what it waits for?
    fn others_work_on(&self, end: &End) -> Result<bool, Failure> {
        for id in end.delegations() {
            let input = delegation_show::Input { delegation_id: id.to_string().into() };
            let shown = self.ops.run::<DelegationShow>(self.envelope, input)?;
            if shown.delegation.state == DelegationState::Running {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Asks the person at this terminal; false if there is none, or if they leave it open.
    fn ask_here(&self, end: &End) -> Result<bool, Failure> {
        let role = self.envelope.actor.role;
        let may_answer = may_any(role, Subject::Gate, Action::Answer);
        let is_person = may_answer && output::is_interactive();
        let Some(gate) = end.gate().filter(|_| is_person && !self.globals.json) else {
            return Ok(false);
        };
        self.view.close();
        prompt::heed(self.stop);
        let envelope = Envelope {
            idempotency_key: None,
            now: caller::ticking(),
            agents: Arc::clone(&self.envelope.agents),
            ..self.envelope.clone()
        };
        inbox::answer_here(self.globals, self.ops, envelope, &gate.to_string())?;
        // Once answered, the run no longer waits for this gate.
        Ok(self.look()?.gate() != Some(gate))
    }
}
