//! What a collector receives about runs, and that runs do not depend on it.

mod delivery;
mod listener;
mod seen;
mod spans;

use std::sync::{Arc, Mutex};

use punchlist_core::{RunId, Time};
use punchlist_engine::Telemetry;
use punchlist_engine::agent::{Outcome, Runtime};
use punchlist_engine::model::Cancel;
use punchlist_engine::telemetry::Settings;

use crate::stage::Stage;

/// The warnings.
type ToolOutput = Arc<Mutex<Vec<String>>>;

/// The settings of an environment with this collector and more variables. There must be no warning.
fn settings(address: &str, more: &[(&str, &str)]) -> Option<Settings> {
    let env = |name: &str| {
        let said = more.iter().find(|(known, _)| *known == name);
        let said = said.map(|(_, value)| (*value).to_owned());
        said.or_else(|| (name == "OTEL_EXPORTER_OTLP_ENDPOINT").then(|| address.to_owned()))
    };
    let mut settings = Settings::read(&env, &|line| panic!("{line}"))?;
    // Nothing is lost on a busy machine.
    settings.flush = std::time::Duration::from_secs(60);
    Some(settings)
}

fn open(settings: Settings) -> (Telemetry, ToolOutput) {
    let said = ToolOutput::default();
    let lines = Arc::clone(&said);
    let warn = move |line: &str| lines.lock().unwrap().push(line.to_owned());
    (Telemetry::new(settings, warn), said)
}

/// Telemetry that must not warn.
fn telemetry(address: &str, more: &[(&str, &str)]) -> Telemetry {
    Telemetry::new(settings(address, more).unwrap(), |line| panic!("{line}"))
}

/// Executes a run with telemetry.
fn drive(stage: &Stage, telemetry: &Telemetry, run: RunId) -> Outcome {
    let clock = || -> Time { stage.world.now };
    let runtime = Runtime {
        executor: None,
        ops: &stage.world.ops,
        agents: &stage.agents,
        models: &stage.shelf,
        outside: &(),
        clock: &clock,
        is_stopped: &|| false,
        observer: &|live| telemetry.watch(live),
    };
    runtime.drive("test", run, &Cancel::default()).unwrap()
}
