//! `punch init`: set up the agent hosts of this machine for the project, or undo that.
//!
//! Every change is shown as a diff before it is written. A file that cannot be edited safely is
//! shown with the line at fault, and not changed.

use std::env;
use std::path::Path;

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_core::host::Host;
use punchlist_core::text::counted;
use punchlist_store::Target;
use punchlist_store::target::has_password;
use serde_json::json;
use similar::TextDiff;

use crate::args::Globals;
use crate::commands::prompt;
use crate::failure::Failure;
use crate::hosts::install::{self, Change, Fault, Ledger, Setup, Style};
use crate::hosts::machine::Machine;
use crate::output::{self, BOLD, GREEN, YELLOW};
use crate::{caller, settings};

const VSCODE: &str = "vscode";

pub(crate) fn command() -> Command {
    let switch = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
    };
    Command::new("init")
        .about("Set up the agent hosts of this machine for this project")
        .long_about(
            "Set up the agent hosts of this machine for this project: hooks, the MCP server, and a \
             block in AGENTS.md.\n\n\
             Shows each change as a diff and asks before it writes; without a terminal it does not \
             ask. Running it again changes nothing. --remove removes what init added.",
        )
        .after_help("Example: punch init --host claude --dry-run")
        .arg(
            Arg::new("host")
                .long("host")
                .value_name("HOST")
                .help("Only this host; repeat it for more [default: those that are installed]")
                .long_help(
                    "Only this host; repeat it for more [default: those that are installed]: \
                     claude, codex, opencode, gemini, cursor, copilot, goose, or vscode, which \
                     reads the files of copilot",
                )
                .action(ArgAction::Append)
                .value_parser(host),
        )
        .arg(switch("dry-run", "Show what would change, and write nothing"))
        .arg(switch("yes", "Write without asking").short('y'))
        .arg(switch("remove", "Remove what init added"))
        .arg(
            switch("plugin", "Claude Code: write a plugin folder instead of settings")
                .conflicts_with("settings"),
        )
        .arg(switch("settings", "Claude Code: write settings instead of a plugin folder"))
}

fn host(text: &str) -> Result<Host, String> {
    // VS Code runs Copilot's agents and reads the same files.
    if text == VSCODE {
        return Ok(Host::Copilot);
    }
    let names: Vec<&str> = Host::ALL.iter().map(|host| host.name()).chain([VSCODE]).collect();
    Host::parse(text).ok_or_else(|| format!("the hosts are {}", names.join(", ")))
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let hosts = chosen(globals, matches)?;
    let (is_dry, removes) = (matches.get_flag("dry-run"), matches.get_flag("remove"));
    let mut setup = setup(globals)?;
    // A second time keeps what is there.
    match (matches.get_flag("plugin"), matches.get_flag("settings")) {
        (true, _) => setup.claude = Style::Plugin,
        (_, true) => setup.claude = Style::Settings,
        _ => {}
    }
    if !is_dry && !removes {
        // Creates the store now. Nobody becomes its operator without asking for it.
        let ops = caller::ops(globals)?;
        let envelope = caller::envelope(&ops, globals, false)?;
        ops.prepare(envelope.proof, envelope.now)?;
        setup.set_project(envelope.project);
    }
    let ledger = Ledger::in_folder(caller::data_folder()?.join("init"));
    let plan = planned(&hosts, &setup, removes, &ledger);
    if globals.json {
        return finish_json(&plan, &ledger, is_dry, removes);
    }
    let asks = output::is_interactive() && !matches.get_flag("yes") && !is_dry;
    // Nobody is asked to agree to what was not shown.
    let is_quiet = globals.quiet && (!asks || plan.changes.is_empty());
    let say = |text: &str| if is_quiet { Ok(()) } else { output::print(text) };
    for change in &plan.changes {
        say(&shown(change, &setup.folder))?;
    }
    for (_, fault) in &plan.faults {
        let path = shown_path(&fault.path, &setup.folder);
        output::remark(&format!("{YELLOW}left alone{YELLOW:#}: {path}: {}\n", fault.message));
    }
    let faulty = plan.faulty();
    if plan.changes.is_empty() {
        let said = if removes { "There is nothing to remove." } else { "Everything is in place." };
        if hosts.iter().any(|host| !faulty.contains(host)) {
            say(&format!("{said}\n"))?;
        }
    } else if !is_dry {
        let count = counted(plan.changes.len(), "file", "files");
        if asks && prompt::yes(&format!("Write {count}? [y/N] "))? != Some(true) {
            return Err(declined());
        }
        write(&plan.changes, &ledger, removes)?;
        let what = if removes { "Removed from" } else { "Wrote" };
        say(&format!("{GREEN}{what}{GREEN:#} {count}.\n"))?;
    }
    for host in &faulty {
        let (label, name) = (host.label(), host.name());
        let (state, flag) =
            if removes { ("not removed completely", " --remove") } else { ("not set up", "") };
        let again = format!("punch init --host {name}{flag}");
        let said = format!("{label} is {state}: fix the file above, then run `{again}` again\n");
        output::remark(&said);
    }
    if !removes {
        for host in hosts.iter().filter(|host| !faulty.contains(host)) {
            let steps = install::next_steps(*host, &setup);
            let lines: String = steps.iter().map(|step| format!("  {step}\n")).collect();
            say(&format!("{BOLD}{}{BOLD:#}: what to do next\n{lines}", host.label()))?;
        }
    }
    if faulty.is_empty() { Ok(()) } else { Err(Failure::Shown(1)) }
}

fn declined() -> Failure {
    let (code, message) = ("declined", "nothing was written".to_owned());
    Failure::Declined { code, message, hint: None }
}

fn finish_json(plan: &Plan, ledger: &Ledger, is_dry: bool, removes: bool) -> Result<(), Failure> {
    if !is_dry {
        write(&plan.changes, ledger, removes)?;
    }
    let changes: Vec<_> = plan
        .changes
        .iter()
        .map(|change| {
            let backup = (!removes).then(|| ledger.entry_of(&change.path));
            json!({ "path": change.path, "diff": diff(change, &change.path.display().to_string()),
                "backup": backup })
        })
        .collect();
    let faults: Vec<_> = plan
        .faults
        .iter()
        .map(|(host, fault)| {
            json!({ "host": host.name(), "path": fault.path, "message": fault.message })
        })
        .collect();
    let is_whole = faults.is_empty();
    let answer = json!({ "changes": changes, "leftAlone": faults, "written": !is_dry });
    output::print_json_line(&answer)?;
    if is_whole { Ok(()) } else { Err(Failure::Shown(1)) }
}

/// The named hosts, else those found on this machine.
fn chosen(globals: &Globals, matches: &ArgMatches) -> Result<Vec<Host>, Failure> {
    let mut named: Vec<Host> =
        matches.get_many::<Host>("host").into_iter().flatten().copied().collect();
    // The old spelling, a global flag.
    if named.is_empty()
        && let Some(agent) = &globals.agent
    {
        let known = host(agent.as_str()).map_err(Failure::usage)?;
        named.push(known);
    }
    // `copilot` and `vscode` are one host.
    named = Host::ALL.iter().copied().filter(|host| named.contains(host)).collect();
    if named.is_empty() {
        let (machine, folder) = (Machine::here(), caller::folder());
        let is_here = |host: &Host| machine.has(*host, &folder);
        named = Host::ALL.iter().copied().filter(is_here).collect();
    }
    if named.is_empty() {
        let message = "no agent host was found on this machine".to_owned();
        let hint = Some("name one, e.g. punch init --host claude".to_owned());
        return Err(Failure::Declined { code: "no_host", message, hint });
    }
    Ok(named)
}

pub(super) fn setup(globals: &Globals) -> Result<Setup, Failure> {
    let ops = caller::ops(globals)?;
    // A password must not be written into a file of the project.
    let store = match ops.target() {
        Target::File(path) => {
            let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
            Some(path.to_string_lossy().into_owned())
        }
        _ => globals.db.clone().filter(|url| !has_password(url)),
    };
    let is_named = globals.db.as_deref().is_some_and(|db| !db.trim().is_empty());
    let flag = |name: &str, value: Option<String>| {
        value.map(|value| vec![name.to_owned(), value]).unwrap_or_default()
    };
    let configured = settings::read()?.config.project;
    let project = globals.project.clone().filter(|_| configured.is_none());
    let flags =
        [flag("--db", store.clone().filter(|_| is_named)), flag("--project", project)].concat();
    let here = configured.unwrap_or_else(|| caller::project_by_name(globals));
    let every_flag = [flag("--db", store), flag("--project", Some(here))].concat();
    let folder = caller::folder();
    let claude = match folder.join(install::claude::MANIFEST).exists() {
        true => Style::Plugin,
        false => Style::Settings,
    };
    Ok(Setup { folder, program: program(), flags, every_flag, claude })
}

/// `punch` if the search path finds this program, else its full path.
fn program() -> String {
    let own = env::current_exe().ok().and_then(|path| path.canonicalize().ok());
    let paths = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&paths).map(|path| path.join("punch")).find(|path| path.is_file());
    let found = found.and_then(|path| path.canonicalize().ok());
    match own {
        Some(own) if found.as_ref() != Some(&own) => own.to_string_lossy().into_owned(),
        _ => "punch".to_owned(),
    }
}

/// What is to be written, and the files that cannot be edited, with the host they belong to.
#[derive(Default)]
struct Plan {
    changes: Vec<Change>,
    faults: Vec<(Host, Fault)>,
}

impl Plan {
    fn add(&mut self, changes: Vec<Change>) {
        for change in changes {
            if change.is_needed() && !self.changes.iter().any(|known| known.path == change.path) {
                self.changes.push(change);
            }
        }
    }

    /// The hosts with a file that cannot be edited.
    fn faulty(&self) -> Vec<Host> {
        let is_faulty = |host: &Host| self.faults.iter().any(|(faulty, _)| faulty == host);
        Host::ALL.iter().copied().filter(is_faulty).collect()
    }
}

/// A host is set up completely or not at all. Of one that is removed, everything that can be is
/// removed.
fn planned(hosts: &[Host], setup: &Setup, removes: bool, ledger: &Ledger) -> Plan {
    let mut plan = Plan::default();
    // The block in AGENTS.md is for every host, so the last one takes it out.
    let is_other = |host: &&Host| !hosts.contains(*host) && install::is_set_up(**host, setup);
    let keeps_block = removes && Host::ALL.iter().any(|host| is_other(&host));
    for host in hosts {
        let wanted = install::plan(*host, setup).into_iter().map(|target| (target, removes));
        let others = install::replaced(*host, setup).into_iter().map(|other| (other, true));
        let mut own = Vec::new();
        let mut faults = Vec::new();
        for (target, leaves) in wanted.chain(others) {
            if keeps_block && target.is_shared() {
                continue;
            }
            match if leaves { target.remove() } else { target.install() } {
                Ok(change) => own.push(if leaves { ledger.restored(change) } else { change }),
                Err(fault) => faults.push((*host, fault)),
            }
        }
        if removes || faults.is_empty() {
            plan.add(own);
        }
        plan.faults.append(&mut faults);
    }
    plan
}

fn write(changes: &[Change], ledger: &Ledger, removes: bool) -> Result<(), Failure> {
    for change in changes {
        let written = if removes { install::apply(change) } else { ledger.install(change) };
        let io = |error: std::io::Error| {
            Failure::Io(format!("could not write {}: {error}", change.path.display()))
        };
        written.map_err(io)?;
    }
    Ok(())
}

fn shown_path(path: &Path, folder: &Path) -> String {
    output::line(&path.strip_prefix(folder).unwrap_or(path).to_string_lossy())
}

fn shown(change: &Change, folder: &Path) -> String {
    let diff = diff(change, &shown_path(&change.path, folder));
    // Tabs and the line breaks of Windows are no sign of anything odd here.
    output::clean(&diff.replace("\r\n", "\n").replace('\t', "    "))
}

fn diff(change: &Change, name: &str) -> String {
    let (before, after) = (change.before.as_deref(), change.after.as_deref());
    let title = |text: Option<&str>| text.map_or("/dev/null".to_owned(), |_| name.to_owned());
    TextDiff::from_lines(before.unwrap_or_default(), after.unwrap_or_default())
        .unified_diff()
        .context_radius(2)
        .header(&title(before), &title(after))
        .to_string()
}
