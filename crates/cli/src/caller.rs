//! Where a command runs: the store, the project, who calls, and the time.
//!
//! The facts come from flags, environment, streams and folders; `ops::identity` decides what they
//! prove.

use std::env;
use std::io::IsTerminal;
use std::path::PathBuf;

use punchlist_core::Time;
use punchlist_engine::Telemetry;
use punchlist_ops::identity::{AGENT_HOSTS, Facts, Terminal};
use punchlist_ops::{Ancestors, Context, Envelope, Error, Ops, Place, clock};
use punchlist_server::remote::{self, Address, RemoteStore};
use punchlist_store::target::is_misspelt_server;
use punchlist_store::{Options, Target};

use crate::args::Globals;
use crate::failure::Failure;
use crate::hosts::process;
use crate::output::warn;
use crate::{repository, settings};

/// The operations on the store that the flags name.
pub(crate) fn ops(globals: &Globals) -> Result<Ops, Failure> {
    let named = globals.db.as_deref().map(str::trim).filter(|db| !db.is_empty());
    if let Some(db) = named.filter(|db| remote::is_remote(db)) {
        return over_http(db);
    }
    let target = match named {
        // Used as a path, it would make a file, or an error would show the password in it.
        Some(db) if is_misspelt_server(db) => {
            let message = "--db names neither a file nor a server of a kind we know".to_owned();
            let hint =
                "give a path, sqlite:PATH, postgres://USER@HOST/DATABASE or http(s)://HOST:PORT";
            let hint = Some(hint.to_owned());
            return Err(Failure::Usage { message, hint });
        }
        Some(db) => Target::parse(db),
        None => Target::File(default_store()?),
    };
    let (make_folder, notice) = (named.is_none(), Some(warn as fn(&str)));
    Ok(Ops::new(target, Options { make_folder, notice, ..Options::default() }))
}

/// The operations on a store behind a running `punch serve`.
fn over_http(db: &str) -> Result<Ops, Failure> {
    let usage = |message: String| Failure::usage(format!("--db: {message}"));
    let address = Address::parse(db).map_err(usage)?;
    let ca_file = env::var_os("SSL_CERT_FILE").filter(|file| !file.is_empty()).map(PathBuf::from);
    let store = RemoteStore::new(&address, token(), ca_file.as_ref()).map_err(usage)?;
    Ok(Ops::over(Box::new(store)))
}

/// The operations on a database that is opened directly; a server cannot be used for this.
pub(crate) fn database(globals: &Globals) -> Result<Ops, Failure> {
    let ops = ops(globals)?;
    if ops.remote().is_some() {
        return Err(Error::NeedsDatabase.into());
    }
    Ok(ops)
}

/// Only from the environment: anybody can read a secret in the arguments. A value that is not UTF-8
/// counts as an invalid token, not as a missing one.
fn token() -> Option<String> {
    env::var_os("PUNCHLIST_TOKEN").map(|token| token.to_string_lossy().into_owned())
}

/// Which of our streams are a terminal.
fn terminal() -> Terminal {
    let (input, output) = (std::io::stdin().is_terminal(), std::io::stdout().is_terminal());
    match (input, output, std::io::stderr().is_terminal()) {
        (true, true, _) => Terminal::Person,
        (false, false, false) => Terminal::None,
        _ => Terminal::Part,
    }
}

/// The credentials of this process: facts about it, and its token.
pub(crate) fn credentials(globals: &Globals, speaks_protocol: bool) -> (Facts, Option<String>) {
    let terminal = if speaks_protocol { Terminal::None } else { terminal() };
    let facts = Facts {
        terminal,
        agent_host: AGENT_HOSTS.iter().any(|name| env::var_os(name).is_some()),
        user: env::var("USER").ok().filter(|user| is_user_name(user)),
        agent: globals.agent.clone(),
        carry: globals.carry,
        mission: globals.mission.clone(),
        pillar: globals.pillar.clone(),
    };
    (facts, token())
}

/// Is it a usual user name? Any other text could imitate another principal in the log, so it is
/// left out and the log shows only `operator`.
fn is_user_name(user: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+' | '$');
    (1..=64).contains(&user.chars().count()) && user.chars().all(fits)
}

/// The envelope of this process.
pub(crate) fn envelope(
    ops: &Ops,
    globals: &Globals,
    speaks_protocol: bool,
) -> Result<Envelope, Failure> {
    let (facts, token) = credentials(globals, speaks_protocol);
    let is_person = facts.terminal == Terminal::Person && !facts.agent_host;
    let (actor, proof) = ops.identify(facts, token.as_deref())?;
    let settings = settings::read()?;
    let configured = settings.config.project.as_deref();
    let Home { project, place, names } = located(ops, globals, configured);
    let here = env::current_dir().unwrap_or_default();
    let (branch, detached) = repository::branch(&here);
    Ok(Envelope {
        actor,
        proof,
        project,
        context: Context {
            session: globals.session.clone(),
            conversation: globals.conversation.clone(),
            turn: globals.turn.clone(),
            host_session: globals
                .implied_session
                .clone()
                .or_else(|| env::var("CLAUDE_CODE_SESSION_ID").ok()),
            // A person is not in a host's session, and a session from the environment has priority
            // over it.
            processes: match is_person || globals.implied_session.is_some() {
                true => Ancestors::default(),
                false => Ancestors::looked_up_by(process::ancestors),
            },
            own_session: None,
            branch,
            detached,
            place,
            names,
            directory: env::current_dir().ok().map(|path| path.to_string_lossy().into_owned()),
            issue: globals.issue,
            run: None,
            executor: None,
            is_remote: false,
            client_answer: None,
            awaited: None,
        },
        idempotency_key: globals.idempotency_key.clone(),
        agents: settings.config.agents,
        now: now()?,
    })
}

/// The clock of this process: `PUNCHLIST_NOW` if set, for tests and demos.
pub(crate) fn now() -> Result<Time, Failure> {
    let Ok(text) = env::var("PUNCHLIST_NOW") else {
        return Ok(clock::now());
    };
    let now = Time::parse(text.trim()).ok_or_else(|| {
        Failure::usage(format!("PUNCHLIST_NOW is `{text}`, which is not an RFC 3339 time"))
    })?;
    warn(&format!("the clock of this process is set to {now} (PUNCHLIST_NOW)"));
    Ok(now)
}

/// The same clock for a long-running process, which has refused a bad `PUNCHLIST_NOW` before.
pub(crate) fn ticking() -> Time {
    let fixed = env::var("PUNCHLIST_NOW").ok().and_then(|text| Time::parse(text.trim()));
    fixed.unwrap_or_else(clock::now)
}

/// Reports runs to the OpenTelemetry collector named in the environment, if there is one. Keep it
/// while runs go on: when dropped, it sends what is left, for at most two seconds.
pub(crate) fn telemetry() -> Telemetry {
    Telemetry::from_env(&|name| env::var(name).ok(), warn)
}

/// The project named by a flag or by the configuration.
fn named(globals: &Globals, configured: Option<&str>) -> Option<String> {
    let name = globals.project.as_deref().map(str::trim).filter(|name| !name.is_empty());
    name.or(configured).map(str::to_owned)
}

/// The project that a command is for.
struct Home {
    project: String,
    /// If nobody named it: how it is recognised, and the names that it may get.
    place: Option<Place>,
    names: Vec<String>,
}

/// The project's name and, if nobody named it, the facts that identify it. If the store fails here,
/// the next call reports the error.
fn located(ops: &Ops, globals: &Globals, configured: Option<&str>) -> Home {
    if let Some(project) = named(globals, configured) {
        return Home { project, place: None, names: Vec::new() };
    }
    let here = env::current_dir().unwrap_or_default();
    let (mut place, names) = repository::place(&here);
    let mut located = ops.project_at(&place, &names);
    if located.as_ref().is_ok_and(|located| located.wants_root) {
        place.root_commit = repository::root_commit(&here);
        if place.root_commit.is_some() {
            located = ops.project_at(&place, &names);
        }
    }
    let name = located.map(|located| located.project);
    let project = name.unwrap_or_else(|_| names.first().cloned().unwrap_or_default());
    Home { project, place: Some(place), names }
}

/// The project's name, without asking the store.
pub(crate) fn project_by_name(globals: &Globals) -> String {
    let here = || repository::place(&env::current_dir().unwrap_or_default()).1;
    named(globals, None).or_else(|| here().into_iter().next()).unwrap_or_default()
}

/// The project's folder: the root of the git folder, else the one we are in.
pub(crate) fn folder() -> PathBuf {
    let folder = env::current_dir().unwrap_or_default();
    repository::root(&folder).unwrap_or(&folder).to_owned()
}

/// `punchlist.db` in the user's data directory.
pub(crate) fn default_store() -> Result<PathBuf, Failure> {
    Ok(data_folder()?.join("punchlist.db"))
}

/// Our folder in the user's data directory.
pub(crate) fn data_folder() -> Result<PathBuf, Failure> {
    let data = settings::user_folder("XDG_DATA_HOME", ".local/share")
        .ok_or_else(|| Failure::usage("there is no HOME; name the store with --db".to_owned()))?;
    Ok(data.join("punchlist"))
}
