//! `punch demo --serve`: the demo's world in a browser until Ctrl-C, with agents at work in it.
//!
//! The story is played first, while somebody may already look. After it a worker goes on, and there is
//! always something to do: an issue that ends in a sign-off, or the list of modules to look over. Nothing
//! new is started while enough decisions wait, so an unattended demo stays small.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use punchlist_core::Run;
use punchlist_core::gate::GateState;
use punchlist_core::run::RunState;
use punchlist_engine::agent::ConfiguredTools;
use punchlist_engine::model::Shelf;
use punchlist_engine::{Pump, Worker};
use punchlist_ops::operations::gate_list::GateList;
use punchlist_ops::operations::issue_create::IssueCreate;
use punchlist_ops::operations::metric_collect::MetricCollect;
use punchlist_ops::operations::plan_import::PlanImport;
use punchlist_ops::operations::run_list::RunList;
use punchlist_ops::operations::run_start::RunStart;
use punchlist_ops::operations::sign_in_link::{self, SignInLink, link};
use punchlist_ops::{Error, clock};
use punchlist_server::http::{Handle, Limits, Server, Settings};
use serde_json::json;

use super::teller::Teller;
use super::{Demo, MISSION, PROJECT, input};
use crate::commands::serve::cannot_start;
use crate::failure::Failure;

/// How often there is a look for whether something new should begin.
const BEAT: Duration = Duration::from_secs(4);

/// How many decisions wait at most before no more issues are started.
const GATES_MAX: usize = 3;

/// How many agents work side by side.
const JOBS: usize = 4;
const RUNS_MAX: usize = 2;

/// Figures are read again every so many beats.
const MEASURED_EVERY: usize = 8;

const BUILDER: &str = include_str!("../../demo/builder.toml");
const QUESTION: &str = include_str!("../../demo/question.toml");
const TESTER: &str = include_str!("../../demo/tester.toml");
const PERMISSION: &str = include_str!("../../demo/permission.toml");
const PLAN: &str = include_str!("../../demo/plan.md");

/// An issue that an agent takes to its sign-off.
struct Errand {
    title: &'static str,
    criteria: [&'static str; 2],
    asks: bool,
}

const ERRANDS: [Errand; 3] = [
    Errand {
        title: "{module} is built again when nothing has changed",
        criteria: ["A second build leaves {module} alone", "A test fails if it is built twice"],
        asks: false,
    },
    Errand {
        title: "The name of {module} says nothing about it",
        criteria: ["{module} is named after what it does", "Everything that uses it is renamed"],
        asks: true,
    },
    Errand {
        title: "The build of {module} prints warnings",
        criteria: ["{module} builds without a warning", "A warning fails the build"],
        asks: false,
    },
];

/// Serves the demo's store while `story` is told, and on until somebody stops it.
pub(super) fn hold(
    demo: &Demo<'_>,
    teller: &Teller<'_>,
    store: &Path,
    story: impl FnOnce() -> Result<(), Failure>,
) -> Result<(), Failure> {
    let server = bind(demo)?;
    let (handle, url) = (server.handle(), server.url());
    demo.ops.server_starts(&url)?;
    let made = demo.call::<SignInLink>(sign_in_link::Input {})?;
    teller.invites(&url, &link(&url, &made.code), store);
    let held = std::thread::scope(|scope| {
        let served = scope.spawn(|| server.run());
        let told = story().and_then(|()| go_on(demo, teller, &handle));
        handle.stop();
        let crashed = |_| Err(Error::Internal { detail: "the server crashed".to_owned() });
        let served = served.join().unwrap_or_else(crashed);
        told.and(served.map_err(Failure::from))
    });
    demo.ops.server_ends(&url)?;
    held?;
    teller.ends(store);
    Ok(())
}

/// The server, on a free port of this machine.
fn bind(demo: &Demo<'_>) -> Result<Server, Failure> {
    let listen = SocketAddr::from(([127, 0, 0, 1], 0));
    let settings = Settings {
        listen,
        tls: None,
        public_url: None,
        project: Some(PROJECT.to_owned()),
        agents: Arc::clone(&demo.config.agents),
        clock: clock::now,
        limits: Limits::default(),
        read_change: punchlist_engine::change::read,
        fixtures: false,
    };
    Server::bind(Arc::clone(demo.ops), settings).map_err(|error| cannot_start(listen, error))
}

/// A worker, and something for it to do, until somebody stops it.
fn go_on(demo: &Demo<'_>, teller: &Teller<'_>, handle: &Handle) -> Result<(), Failure> {
    if demo.stop.asked() {
        return Ok(());
    }
    teller.stays_open();
    demo.call::<PlanImport>(input(json!({ "planFile": "plan.md", "markdown": PLAN }))?)?;
    let models = Shelf::default();
    let folder = |_: &str, _: &Run| Some(demo.folder.path().to_owned());
    let tools = ConfiguredTools::new(demo.ops, demo.config, &folder, &clock::now);
    let worker = Worker {
        executor: None,
        ops: demo.ops,
        agents: Arc::clone(&demo.config.agents),
        models: &models,
        outside: &tools,
        pump: Pump::default(),
        jobs: JOBS,
        clock: &clock::now,
        is_stopped: &|| demo.stop.asked(),
        report: &|done| teller.did(&done),
        observer: &|live| teller.observe(live),
    };
    std::thread::scope(|scope| {
        let worked = scope.spawn(|| worker.run());
        let begun = begin_work(demo);
        // Nobody would answer a page any more, so the worker need not wait.
        handle.stop();
        let crashed = |_| Err(Error::Internal { detail: "the worker crashed".to_owned() });
        begun.and(worked.join().unwrap_or_else(crashed).map_err(Failure::from))
    })
}

fn begin_work(demo: &Demo<'_>) -> Result<(), Failure> {
    let (mut errands, mut beats) = (0, 0);
    loop {
        let running = json!({ "state": RunState::Running, "limit": 10 });
        let running = demo.call::<RunList>(input(running)?)?.runs.len();
        let open = json!({ "state": GateState::Open, "limit": 10 });
        let waiting = demo.call::<GateList>(input(open)?)?.gates.len();
        if running < RUNS_MAX && waiting < GATES_MAX {
            begin_errand(demo, errands)?;
            errands += 1;
        } else if running == 0 {
            look_over(demo, false)?;
        }
        beats += 1;
        if beats % MEASURED_EVERY == 0 {
            demo.call::<MetricCollect>(input(json!({ "mission": MISSION }))?)?;
        }
        if demo.stop.wait(BEAT) {
            return Ok(());
        }
    }
}

/// The next issue, and an agent that begins with it at once.
fn begin_errand(demo: &Demo<'_>, count: usize) -> Result<(), Failure> {
    if count == 1 {
        look_over(demo, true)?;
    }
    let errand = &ERRANDS[count % ERRANDS.len()];
    let module = format!("core/module-{:02}", count % super::folder::MODULES);
    let filled = |text: &str| text.replace("{module}", &module);
    let criteria = errand.criteria.map(filled);
    let made = json!({ "title": filled(errand.title), "criteria": criteria, "forceNew": true });
    let number = demo.call::<IssueCreate>(input(made)?)?.issue.number;
    let [first, second] = &criteria;
    let question = if errand.asks { filled(QUESTION) } else { String::new() };
    let script = BUILDER
        .replace("{question}", &question)
        .replace("{number}", &number.to_string())
        .replace("{first}", first)
        .replace("{second}", second);
    let started = json!({
        "prompt": format!("Take #{number} to its sign-off."),
        "agent": "builder",
        "model": demo.folder.script(&format!("builder-{number}"), &script)?,
        "number": number,
    });
    demo.call::<RunStart>(input(started)?)?;
    Ok(())
}

/// Work that ends by itself, unless it asks for a permission on the way.
fn look_over(demo: &Demo<'_>, asks: bool) -> Result<(), Failure> {
    let (name, permission) = if asks { ("tester-asks", PERMISSION) } else { ("tester", "") };
    let model = demo.folder.script(name, &TESTER.replace("{permission}", permission))?;
    let prompt = "Look over the list of modules.";
    let started = json!({ "prompt": prompt, "agent": "tester", "model": model });
    demo.call::<RunStart>(input(started)?)?;
    Ok(())
}
