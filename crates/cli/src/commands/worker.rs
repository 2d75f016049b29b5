//! `punch worker`: the scheduler and the queue, until stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use punchlist_core::Run;
use punchlist_core::authority::Action;
use punchlist_engine::agent::ConfiguredTools;
use punchlist_engine::model::Shelf;
use punchlist_engine::worker::JOBS;
use punchlist_engine::{Done, Pump, Worker};
use serde_json::{Value, json};

use super::{live, programs};
use crate::args::Globals;
use crate::failure::Failure;
use crate::output::{DIM, GREEN, RED, YELLOW};
use crate::run_folders::RunFolders;
use crate::stop::Stop;
use crate::vigil::Vigil;
use crate::{caller, output, settings};

pub(crate) fn command() -> Command {
    Command::new("worker")
        .about("Run due and queued work of all projects in the store until stopped")
        .long_about(
            "Run due and queued work of all projects in the store until stopped.\n\n\
             Missions plan by their cadence. Metrics are read by their collectors: by their cron, \
             on request, and when a completed todo may have changed them. A collector that fails \
             is tried five times, then again at its next time. Agents with a model in \
             punchlist.toml do the work delegated to them, answer in the chats of missions and \
             sessions, and continue runs. Any number of workers may share a store: each job is \
             done by one of them. Ctrl-C ends the worker and gives back unfinished jobs.\n\nIf \
             OTEL_EXPORTER_OTLP_ENDPOINT is set, runs are reported to that OpenTelemetry collector.",
        )
        .arg(
            Arg::new("jobs")
                .long("jobs")
                .short('j')
                .value_name("N")
                .help("Maximum number of jobs at once, 1 to 256 [default: 8]")
                .value_parser(value_parser!(u16).range(1..=256)),
        )
        .arg(
            Arg::new("once")
                .long("once")
                .help("Do what is due now, then end")
                .action(ArgAction::SetTrue),
        )
        .after_help("Example: punch worker --jobs 4")
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    // Before anything starts a thread.
    let stop = Stop::on_signals();
    programs::prepare();
    let ops = caller::database(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let nobody_listens = AtomicBool::new(false);
    let models = Shelf::default();
    let telemetry = caller::telemetry();
    let config = settings::read()?.for_all_projects(&envelope.project);
    let places = RunFolders::new(&ops, &envelope.project);
    let folders = |project: &str, run: &Run| places.folder(project, run);
    let tools = ConfiguredTools::new(&ops, &config, &folders, &caller::ticking);
    let listened = |told: std::io::Result<()>| {
        if told.is_err() {
            nobody_listens.store(true, Ordering::Relaxed);
        }
    };
    let observer = telemetry.beside(|live| listened(live::tell(globals, live)));
    ops.may_serve(&envelope.actor, envelope.proof, Action::Serve, "worker")?;
    let vigil = Vigil::new(&ops, envelope.proof);
    let worker = Worker {
        executor: Some(&envelope.actor),
        ops: &ops,
        agents: Arc::clone(&config.agents),
        models: &models,
        outside: &tools,
        pump: Pump::default(),
        jobs: matches.get_one::<u16>("jobs").map_or(JOBS, |jobs| usize::from(*jobs)),
        observer: &observer,
        clock: &caller::ticking,
        is_stopped: &|| stop.asked() || nobody_listens.load(Ordering::Relaxed) || vigil.is_over(),
        report: &|done| listened(tell(globals, &done)),
    };
    if matches.get_flag("once") {
        worker.once()?;
    } else {
        worker.run()?;
    }
    Ok(vigil.end()?)
}

fn tell(globals: &Globals, done: &Done) -> std::io::Result<()> {
    if globals.json {
        let mut line = serde_json::to_value(done).unwrap_or_else(|_| json!({}));
        line["at"] = Value::from(caller::ticking().to_string());
        return output::print_json_line(&line);
    }
    if globals.quiet {
        return Ok(());
    }
    output::print(&words(done))
}

fn words(done: &Done) -> String {
    let place = |project: &str, mission: &str| output::line(&format!("{project}/{mission}"));
    match done {
        Done::MetricDue { project, mission, metric } => {
            format!("{DIM}due{DIM:#}        {}/{metric}\n", place(project, mission))
        }
        Done::MetricCollected { project, mission, metric, value } => {
            let value = output::line(value);
            format!("{GREEN}collected{GREEN:#}  {}/{metric}  {value}\n", place(project, mission))
        }
        Done::MetricFailed { project, mission, metric, error, attempt, gives_up } => {
            let word = if *gives_up { "given up" } else { "failed" };
            let (place, error) = (place(project, mission), output::line(error));
            format!("{RED}{word:<9}{RED:#}  {place}/{metric}  attempt {attempt}: {error}\n")
        }
        Done::CycleRun { project, mission } => {
            format!("{GREEN}planned{GREEN:#}    {}\n", place(project, mission))
        }
        Done::CycleFailed { project, mission, error } => {
            let error = output::line(error);
            format!("{RED}not planned{RED:#}  {}  {error}\n", place(project, mission))
        }
        Done::StoreTrouble { error } => {
            format!("{YELLOW}waiting{YELLOW:#}    {}; trying again\n", output::line(error))
        }
    }
}
