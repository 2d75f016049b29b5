//! `punch demo`: shows the main use, without a key and without set-up.
//!
//! A mission with two pillars whose figures are read by real programs; a lead, an owner and a coder
//! whose models play scripts. Everything goes through the real worker, queue and operations;
//! nothing is faked. At the end the expected results are checked in the store.

mod folder;
mod open_house;
mod teller;

use std::io;
use std::path::Path;
use std::sync::Arc;

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_core::driver::StopReason;
use punchlist_core::{Actor, AgentPath, Role, Run, Status};
use punchlist_engine::agent::ConfiguredTools;
use punchlist_engine::model::Shelf;
use punchlist_engine::{Pump, Worker};
use punchlist_ops::catalogue::Define;
use punchlist_ops::config::{Config, Origin};
use punchlist_ops::operations::metric_collect::MetricCollect;
use punchlist_ops::operations::metric_history::MetricHistory;
use punchlist_ops::operations::mission_cycle::MissionCycle;
use punchlist_ops::operations::mission_init::MissionInit;
use punchlist_ops::operations::mission_status::MissionStatus;
use punchlist_ops::operations::mission_todo_list::MissionTodoList;
use punchlist_ops::operations::run_list::RunList;
use punchlist_ops::operations::run_start::RunStart;
use punchlist_ops::{Context, Envelope, Ops, Proof, clock};
use punchlist_store::{Options, Target};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::args::Globals;
use crate::failure::Failure;
use crate::render;
use crate::stop::Stop;
use folder::Folder;
use teller::Teller;

const PROJECT: &str = "demo";
const MISSION: &str = "developer-experience";

pub(crate) fn command() -> Command {
    Command::new("demo")
        .about("Watch a mission plan, work, review and measure, with no key and no set-up")
        .long_about(
            "Watch a mission plan, work, review and measure, with no key and no set-up.\n\n\
             A lead, an owner and a coder plan a todo, complete it and measure its metric again. \
             Then an agent that stops too early is continued until its list is done. The models \
             are scripted; everything else is real: the store, the queue, the programs that read \
             the figures, the tools that change a file. The demo takes a few seconds, uses no \
             network, and keeps its own store for you to look at; it prints the path. With --json \
             each event is one line.\n\n\
             With --serve the demo stays open in your browser until Ctrl-C: agents continue to \
             work on issues, and you sign them off, refuse them and answer their questions.",
        )
        .arg(
            Arg::new("serve")
                .long("serve")
                .help("Stay open in the browser until Ctrl-C, with agents at work")
                .action(ArgAction::SetTrue),
        )
        .after_help("Example: punch demo --serve")
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    // Before anything starts a thread.
    let stop = Stop::on_signals();
    let folder = Folder::make()?;
    let config = Config::default()
        .read(&folder.config(), Origin::User, folder.path())
        .map_err(|fault| Failure::InFile { fault, file: "punchlist.toml".to_owned() })?;
    let store = folder.path().join("demo.db");
    let ops = Arc::new(Ops::new(Target::File(store.clone()), Options::default()));
    let demo = Demo { ops: &ops, config: &config, folder: &folder, stop: &stop };
    let teller = Teller::new(globals, &ops, demo.envelope());
    teller.opens(folder.path());
    let story = || demo.tell(&teller, &store);
    if !matches.get_flag("serve") {
        return story();
    }
    open_house::hold(&demo, &teller, &store, story)
}

struct Demo<'a> {
    ops: &'a Arc<Ops>,
    config: &'a Config,
    folder: &'a Folder,
    stop: &'a Stop,
}

impl Demo<'_> {
    /// The person's envelope.
    fn envelope(&self) -> Envelope {
        Envelope {
            actor: Actor::new(Role::Operator, AgentPath::primary()),
            // The store is this process's own, and so is who decides in it.
            proof: Proof::Terminal,
            project: PROJECT.to_owned(),
            context: Context {
                directory: Some(self.folder.path().to_string_lossy().into_owned()),
                ..Context::default()
            },
            idempotency_key: None,
            agents: Arc::clone(&self.config.agents),
            now: clock::now(),
        }
    }

    fn call<D: Define>(&self, input: D::Input) -> Result<D::Output, Failure> {
        Ok(self.ops.run::<D>(&self.envelope(), input)?)
    }

    /// The whole story, and whether it came out as it was told.
    fn tell(&self, teller: &Teller<'_>, store: &Path) -> Result<(), Failure> {
        self.play(teller)?;
        if self.stop.asked() {
            teller.broken_off(store);
            return Err(Failure::Shown(130));
        }
        let sound = self.ops.examine().ok;
        self.check(sound)?;
        teller.closes(self.folder.path(), store);
        Ok(())
    }

    fn play(&self, teller: &Teller<'_>) -> Result<(), Failure> {
        teller.chapter("A mission with two pillars; programs read its figures");
        let file = serde_json::from_str(folder::MISSION).map_err(io::Error::from)?;
        let made = self.call::<MissionInit>(file)?;
        teller.made(&made.mission);
        self.call::<MetricCollect>(input(json!({ "mission": MISSION }))?)?;
        self.work(teller)?;
        if self.stop.asked() {
            return Ok(());
        }
        teller.chapter("A cycle begins: owners plan, the lead starts, work is done and reviewed");
        self.call::<MissionCycle>(input(json!({ "mission": MISSION }))?)?;
        self.work(teller)?;
        if self.stop.asked() {
            return Ok(());
        }
        teller.chapter("An agent with a list of its own stops too early");
        let prompt = "Prepare the release: what changed, the notes, and who reviews them.";
        teller.says("you", prompt);
        self.call::<RunStart>(input(json!({ "prompt": prompt }))?)?;
        self.work(teller)?;
        if self.stop.asked() {
            return Ok(());
        }
        teller.chapter("How it stands now");
        let status = self.call::<MissionStatus>(input(json!({ "mission": MISSION }))?)?;
        teller.stands(&status, &render::mission_status::status(&status, clock::now()));
        Ok(())
    }

    /// Does what a worker does: all due work, and the work that results from it.
    fn work(&self, teller: &Teller<'_>) -> Result<(), Failure> {
        let models = Shelf::default();
        let folder = |_: &str, _: &Run| Some(self.folder.path().to_owned());
        let tools = ConfiguredTools::new(self.ops, self.config, &folder, &clock::now);
        let worker = Worker {
            executor: None,
            ops: self.ops,
            agents: Arc::clone(&self.config.agents),
            models: &models,
            outside: &tools,
            pump: Pump::default(),
            // One job at a time, so that every demo is the same.
            jobs: 1,
            clock: &clock::now,
            is_stopped: &|| self.stop.asked(),
            report: &|done| teller.did(&done),
            observer: &|live| teller.observe(live),
        };
        Ok(worker.once()?)
    }

    /// Checks that the store has the results that were shown.
    fn check(&self, is_sound: bool) -> Result<(), Failure> {
        let todos = self.call::<MissionTodoList>(input(json!({ "missionSlug": MISSION }))?)?;
        let statuses: Vec<Status> = todos.todos.iter().map(|todo| todo.status).collect();
        let of = json!({ "mission": MISSION, "metric": "modules" });
        let readings = self.call::<MetricHistory>(input(of)?)?.readings.len();
        let runs = self.call::<RunList>(input(json!({ "limit": 1 }))?)?.runs;
        let reason = runs.first().and_then(|run| run.stop_reason);
        let is_so = is_sound
            && statuses == [Status::Completed, Status::Backlog, Status::Pending]
            && readings == 2
            && reason == Some(StopReason::Drained);
        if is_so {
            return Ok(());
        }
        Err(Failure::Io(format!(
            "the demo did not end as it should: todos {statuses:?}, {readings} readings, the last \
             run {reason:?}, store sound: {is_sound}"
        )))
    }
}

/// A short input, written as JSON. The operation's own type parses it, so a wrong name fails the demo.
fn input<T: DeserializeOwned>(fields: Value) -> Result<T, Failure> {
    Ok(serde_json::from_value(fields).map_err(io::Error::from)?)
}
