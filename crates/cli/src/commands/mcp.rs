//! `punch mcp`: the catalogue's tools over standard input and output.

use clap::{Arg, ArgMatches, Command};
use punchlist_core::session::OWN_PREFIX;
use punchlist_ops::clock;
use punchlist_server::mcp::tools::Choice;
use punchlist_server::mcp::{McpServer, Parent};

use crate::args::Globals;
use crate::caller;
use crate::failure::Failure;

pub(crate) fn command() -> Command {
    Command::new("mcp")
        .about("Serve the tools of one agent over MCP on standard input and output")
        .arg(
            Arg::new("profile")
                .long("profile")
                .value_name("NAME")
                .help(
                    "Which tools to list: turn, issue, plan, session, mission, inbox or all \
                 [default: the role's own]",
                )
                .value_parser(profile),
        )
}

fn profile(name: &str) -> Result<Choice, String> {
    Choice::parse(name).ok_or_else(|| {
        "the profiles are turn, issue, plan, session, mission, inbox and all".to_owned()
    })
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let parent = Parent::now();
    let choice = matches.get_one::<Choice>("profile").copied().unwrap_or(Choice::Default);
    let ops = caller::ops(globals)?;
    let mut envelope = caller::envelope(&ops, globals, true)?;
    // Looked up now, because the shell that started the server may end before it does.
    envelope.context.processes.get();
    // Without a named session, the server uses one of its own.
    let id = clock::ids(envelope.now).map(|mut ids| ids.ulid().to_string());
    envelope.context.own_session = id.ok().map(|id| format!("{OWN_PREFIX}{id}"));
    // Reports a store that cannot be opened now, not at the first call.
    if ops.remote().is_none() {
        ops.store()?;
    }
    let credentials = caller::credentials(globals, true);
    McpServer::new(ops, credentials, envelope, caller::ticking, choice).serve_stdio(parent)?;
    Ok(())
}
