//! The commands: the fixed ones, and one for each operation that asks for its own words.

mod backlog;
mod backup;
mod call;
mod chat;
mod checklist;
mod collect;
pub(crate) mod complete;
mod completions;
mod config;
mod demo;
mod doctor;
mod edit;
mod editor;
mod export;
mod flags;
mod follow;
pub(crate) mod help;
pub(crate) mod hook;
mod import;
mod inbox;
mod inbox_answer;
mod init;
mod issue_verbs;
mod live;
mod man;
mod mcp;
mod mission;
mod mission_init;
mod mission_new;
mod named;
mod open;
mod operation;
mod plan;
mod plan_sync;
mod plan_watch;
mod programs;
mod prompt;
mod rewrite;
mod run;
mod serve;
mod session;
mod sign_off;
mod store;
mod token_new;
mod worker;

pub(crate) use flags::LEASE;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use punchlist_ops::catalogue::find;
use serde_json::json;

use crate::args::Globals;
use crate::failure::Failure;
use crate::output;

/// The commands that are not operations of the catalogue.
pub(crate) const FIXED: [&str; 20] = [
    "demo",
    "init",
    "run",
    "inbox",
    "call",
    "mcp",
    "hook",
    "worker",
    "serve",
    "open",
    "wait",
    "doctor",
    "config",
    "backup",
    "restore",
    "export",
    "import",
    "completions",
    "man",
    "help",
];

/// Builds one command in full, if there is one of that name.
pub(crate) fn built(name: &str, second: Option<&str>) -> Option<Command> {
    match name {
        "demo" => Some(demo::command()),
        "init" => Some(init::command()),
        "inbox" => Some(inbox::command()),
        "help" => Some(help::command()),
        "issue" => {
            operation::command(name, second).map(|issue| issue_verbs::with_verbs(issue, second))
        }
        "todo" => operation::command(name, second).map(|todo| checklist::with_actions(&todo)),
        "plan" => operation::command(name, second)
            .map(|plan| plan_watch::with_flag(plan::lenient(plan)))
            .map(|plan| plan.subcommands(backlog::commands()).subcommand(plan_sync::command())),
        "mission" => operation::command(name, second).map(mission::with_commands),
        "metric" => operation::command(name, second)
            .map(|group| collect::explained(mission::lenient(name, group))),
        "run" => Some(run::command()),
        "runs" => operation::command(name, second).map(|runs| runs.subcommand_required(false)),
        "call" => Some(call::command()),
        "mcp" => Some(mcp::command().after_help("Example: punch mcp --profile issue")),
        "hook" => {
            Some(hook::command().after_help("Example: punch hook claude < what-the-host-sent.json"))
        }
        "worker" => Some(worker::command()),
        "serve" => Some(serve::command()),
        "open" => Some(open::command()),
        "wait" => Some(follow::wait_command()),
        "log" => operation::command(name, second).map(follow::with_flag),
        "doctor" => Some(doctor::command().after_help("Example: punch doctor --json")),
        "config" => Some(config::command()),
        "backup" => Some(backup::command()),
        "restore" => Some(backup::restore_command()),
        "export" => Some(export::command()),
        "import" => Some(import::command()),
        "store" => {
            operation::command(name, second).map(|group| group.subcommand(store::copy_command()))
        }
        "completions" => Some(completions::command()),
        "man" => Some(man::command()),
        "chat" => operation::command(name, second).map(chat::with_flag),
        "token" => operation::command(name, second).map(token_new::with_flag),
        "session" => operation::command(name, second).map(session::with_place),
        _ => operation::command(name, second),
    }
}

/// Runs the requested command.
pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    if globals.no_color {
        output::without_color();
    }
    let typed = matches.subcommand().map_or(matches, |(_, matches)| matches);
    if globals.session.as_deref().is_some_and(|session| session.trim().is_empty())
        && typed.value_source("session") == Some(ValueSource::CommandLine)
    {
        let hint = Some("give the id of a session, or leave it out".to_owned());
        return Err(Failure::Usage { message: "--session is empty".to_owned(), hint });
    }
    if let Some(title) = &globals.issue_title {
        let issue = Some(named::issue(globals, title)?);
        return run(&Globals { issue, issue_title: None, ..globals.clone() }, matches);
    }
    match matches.subcommand() {
        Some(("demo", matches)) => demo::run(globals, matches),
        Some(("init", matches)) => init::run(globals, matches),
        Some(("inbox", matches)) => inbox::run(globals, matches),
        Some(("issue", matches)) if let Some(("edit", matches)) = matches.subcommand() => {
            edit::run(globals, matches)
        }
        Some(("issue", matches)) if issue_verbs::is_verb(matches) => {
            issue_verbs::run(globals, matches)
        }
        Some(("help", matches)) => help::run(matches),
        Some(("todo", matches)) if checklist::is_action(matches) => {
            checklist::run(globals, matches)
        }
        Some(("plan", matches)) if let Some(("from-todo", matches)) = matches.subcommand() => {
            backlog::from_todo(globals, matches)
        }
        Some(("plan", matches)) if let Some(("tick", matches)) = matches.subcommand() => {
            backlog::tick(globals, matches)
        }
        Some(("plan", matches)) if let Some(("sync", matches)) = matches.subcommand() => {
            plan_sync::run(globals, matches)
        }
        Some(("plan", matches))
            if let Some(("tree", matches)) = matches.subcommand()
                && matches.get_flag("watch") =>
        {
            plan_watch::run(globals, matches)
        }
        Some(("plan", matches)) if plan::lacks_file(matches) => plan::run(globals, matches),
        Some(("mission", matches)) => mission::run(globals, matches),
        Some(("metric", matches)) if let Some(given) = matches.subcommand() => {
            mission::run_in("metric", globals, matches, given)
        }
        Some(("run", matches)) => run::run(globals, matches),
        // Alone it lists them.
        Some(("runs", matches)) if matches.subcommand().is_none() => {
            call::call(globals, find("run_list")?, json!({}))
        }
        Some(("call", matches)) => call::run(globals, matches),
        Some(("mcp", matches)) => mcp::run(globals, matches),
        Some(("worker", matches)) => worker::run(globals, matches),
        Some(("serve", matches)) => serve::run(globals, matches),
        Some(("open", matches)) => open::run(globals, matches),
        Some(("wait", matches)) => follow::wait(globals, matches),
        Some(("log", matches)) if matches.get_flag("follow") => follow::log(globals, matches),
        Some(("log", matches)) => follow::page(globals, matches),
        Some(("doctor", _)) => doctor::run(globals),
        Some(("config", matches)) => config::run(globals, matches),
        Some(("backup", matches)) => backup::run(globals, matches),
        Some(("restore", matches)) => backup::restore(globals, matches),
        Some(("export", matches)) => export::run(globals, matches),
        Some(("import", matches)) => import::run(globals, matches),
        Some(("store", matches)) if let Some(("copy", matches)) = matches.subcommand() => {
            store::copy(globals, matches)
        }
        Some(("completions", matches)) => completions::run(matches),
        Some(("man", matches)) => man::run(globals.quiet, matches),
        Some(("chat", matches)) if let Some(("show", matches)) = matches.subcommand() => {
            chat::show(globals, matches)
        }
        Some(("token", matches)) if let Some(("new", matches)) = matches.subcommand() => {
            token_new::run(globals, matches)
        }
        Some(("session", matches)) => session::run(globals, matches),
        Some((name, matches)) => operation::run(globals, name, matches),
        // Alone it shows what matters now.
        None => call::call(globals, find("status")?, json!({})),
    }
}

#[cfg(test)]
mod tests;
