//! `punch hook HOST EVENT`: a hook of an agent host comes in, its answer goes out.
//!
//! For a host, exit code 2 means "do not stop", and a hook that hangs blocks the host. So any
//! failure or timeout here ends in an allowed stop, exit code 0, and one line on standard error
//! (P-11). Standard output carries the host's protocol and nothing else (P-13).

use std::ffi::OsString;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use clap::{Arg, ArgMatches, Command};
use punchlist_core::host::{Happened, Host, Why};
use punchlist_core::text::Title;
use punchlist_ops::config::drive::DriveFlags;
use punchlist_ops::operations::session_hook::{Input, Output, SessionHook};
use punchlist_ops::{Ancestors, Ops};
use punchlist_store::Target;
use serde_json::Value;

use crate::args::{self, Globals};
use crate::failure::Failure;
use crate::hosts::{self, process};
use crate::{caller, drive, output};

/// The longest payload that is read.
const PAYLOAD_MAX: u64 = 32 << 20;

/// How long a database on this machine may take; others may be writing to it.
const LOCAL: Duration = Duration::from_secs(4);

/// How long a server may take.
const REMOTE: Duration = Duration::from_secs(1);

/// The variable that sets the timeout in milliseconds, for slow machines.
const TIMEOUT: &str = "PUNCHLIST_HOOK_TIMEOUT_MS";

pub(crate) fn command() -> Command {
    Command::new("hook")
        .about("Answer a hook of an agent host (hosts call this)")
        .long_about(
            "Answer a hook of an agent host (hosts call this).\n\n\
             Reads the host's JSON from standard input and answers in its form. Whatever goes \
             wrong, the stop is allowed, with one line on standard error and exit code 0.\n\n\
             `punch init` writes the hooks into the host's files.",
        )
        .arg(
            Arg::new("host")
                .value_name("HOST")
                .help("claude, codex, opencode, gemini, cursor, copilot or goose"),
        )
        .arg(Arg::new("event").value_name("EVENT").help(
            "session-start, prompt, stop, subagent-start, subagent-stop, stop-failure, todos or \
             session-end",
        ))
}

/// Runs the command for any arguments.
pub(crate) fn main(words: Vec<OsString>) -> ExitCode {
    // A panic prints one line of ours, not a trace.
    std::panic::set_hook(Box::new(|_| {}));
    let host = words.iter().filter_map(|word| word.to_str()).find_map(Host::parse);
    let (sender, answer) = mpsc::channel();
    let time = time_for(&words);
    let thread = std::thread::Builder::new().name("hook".to_owned());
    let begun = thread.spawn(move || {
        let said = std::panic::catch_unwind(|| answered(&words));
        drop(sender.send(said));
    });
    let said = match begun {
        Ok(_) => answer.recv_timeout(time),
        Err(error) => return allowed(host, &error.to_string()),
    };
    match said {
        Ok(Ok(Ok(Reply { text, note }))) => {
            if let Some(note) = note {
                output::remark(&format!("punch hook: {note}\n"));
            }
            drop(output::print_raw(text.as_bytes()));
            ExitCode::SUCCESS
        }
        Ok(Ok(Err(failure))) => allowed(host, &failure.one_line()),
        Ok(Err(_)) => allowed(host, "internal error: the hook panicked"),
        Err(_) => allowed(host, &format!("no answer within {} ms", time.as_millis())),
    }
}

/// The answer if nothing could be decided.
fn allowed(host: Option<Host>, why: &str) -> ExitCode {
    output::remark(&format!("punch hook: the stop is allowed: {}\n", output::line(why)));
    let silence = host.map_or("", |host| hosts::dialect(host).silence());
    drop(output::print_raw(silence.as_bytes()));
    ExitCode::SUCCESS
}

/// The timeout: a host that ends a session waits at most a second and a half.
fn time_for(words: &[OsString]) -> Duration {
    let set = std::env::var(TIMEOUT).ok().and_then(|text| text.trim().parse().ok());
    if let Some(set) = set {
        return Duration::from_millis(set);
    }
    let text: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let named = std::env::var("PUNCHLIST_DB").ok();
    let is_remote = |word: &str| {
        let url = word.strip_prefix("--db=").unwrap_or(word);
        ["postgres://", "postgresql://", "http://", "https://"].iter().any(|s| url.starts_with(s))
    };
    let ends = text.iter().any(|word| hosts::event(word) == Some(Happened::End));
    if ends || text.iter().copied().chain(named.as_deref()).any(is_remote) { REMOTE } else { LOCAL }
}

/// The answer to the host.
struct Reply {
    text: String,
    note: Option<String>,
}

fn answered(words: &[OsString]) -> Result<Reply, Failure> {
    let tree = args::tree(Some("hook"), None);
    let matches = tree.try_get_matches_from(words)?;
    let globals = Globals::from_matches(&matches);
    let Some(("hook", matches)) = matches.subcommand() else {
        return Err(Failure::usage("no command was given".to_owned()));
    };
    let (host, event) = named(matches)?;
    let payload = read()?;
    let fired_by = hosts::fired_by(host, &payload);
    go_to(&payload);
    let mut hook = hosts::dialect(fired_by).decode(event, &payload);
    hook.version.0 = hook.version.0.or_else(|| version_of(fired_by));
    hook.processes = process::fired_from().iter().filter_map(|key| Title::new(key).ok()).collect();
    let ops = caller::ops(&globals)?;
    if let Target::File(path) = ops.target()
        && !path.exists()
    {
        let message = format!("there is no store at {}", path.display());
        return Err(Failure::usage(message));
    }
    let output = ask(&ops, &globals, hook)?;
    let text = hosts::dialect(host).encode(event, &output);
    Ok(Reply { text, note: note(event, &output) })
}

fn ask(ops: &Ops, globals: &Globals, mut hook: Input) -> Result<Output, Failure> {
    let mut envelope = caller::envelope(ops, globals, true)?;
    // The payload names the session.
    envelope.context.processes = Ancestors::default();
    let agent = envelope.agents.get(hook.host.name());
    // Warnings have nobody to read them here.
    let (settings, _) = drive::settings(agent, DriveFlags::default());
    let (drives, most) = drive::said(&settings);
    hook.auto_complete_todos = drives.or(hook.auto_complete_todos);
    hook.max_todo_continuations = most.or(hook.max_todo_continuations);
    Ok(ops.run::<SessionHook>(&envelope, hook)?)
}

/// One line if a stop is allowed although something is wrong.
fn note(event: Happened, output: &Output) -> Option<String> {
    if !matches!(event, Happened::Stop | Happened::SubagentStop | Happened::StopFailure) {
        return None;
    }
    match Why::parse(&output.reason) {
        Some(Why::UnknownSession) => Some(
            "the stop is allowed: no such session is known; it begins with session-start or prompt"
                .to_owned(),
        ),
        Some(Why::Duplicate) => {
            Some("the stop is allowed: it was delivered twice, and counts once".to_owned())
        }
        _ => None,
    }
}

fn named(matches: &ArgMatches) -> Result<(Host, Happened), Failure> {
    let word = |name: &str| matches.get_one::<String>(name).map(String::as_str);
    let host = word("host").unwrap_or_default();
    let known = Host::parse(host)
        .ok_or_else(|| Failure::usage(format!("there is no host `{}`", output::line(host))))?;
    let event = word("event").unwrap_or_default();
    let happened = hosts::event(event)
        .ok_or_else(|| Failure::usage(format!("there is no event `{}`", output::line(event))))?;
    Ok((known, happened))
}

fn read() -> Result<Value, Failure> {
    let mut bytes = Vec::new();
    std::io::stdin().lock().take(PAYLOAD_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > PAYLOAD_MAX {
        return Err(Failure::usage(format!("the payload is longer than {PAYLOAD_MAX} bytes")));
    }
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Failure::usage("standard input is empty".to_owned()));
    }
    let bad = |error: serde_json::Error| Failure::usage(format!("the payload is no JSON: {error}"));
    let payload: Value = serde_json::from_slice(&bytes).map_err(bad)?;
    match payload {
        Value::Object(_) => Ok(payload),
        _ => Err(Failure::usage("the payload is no JSON object".to_owned())),
    }
}

/// The version of a host that sets it in a variable, e.g. `claude-code_2-1-197_harness`.
fn version_of(host: Host) -> Option<Title> {
    let agent = std::env::var("AI_AGENT").ok().filter(|_| host == Host::Claude)?;
    let version = agent.strip_prefix("claude-code_")?.split('_').next()?.replace('-', ".");
    Title::new(&version).ok()
}

/// Changes to the folder where the session began, which determines the project. The session may be
/// in another folder now.
fn go_to(payload: &Value) {
    let given = std::env::var("CLAUDE_PROJECT_DIR").ok();
    let field = |name: &str| payload[name].as_str().map(str::to_owned);
    let root = || payload["workspace_roots"][0].as_str().map(str::to_owned);
    let folder = given.or_else(|| field("cwd")).or_else(|| field("working_dir")).or_else(root);
    if let Some(folder) = folder.filter(|folder| Path::new(folder).is_dir()) {
        drop(std::env::set_current_dir(folder));
    }
}
