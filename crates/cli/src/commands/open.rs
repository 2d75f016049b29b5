//! `punch open`: the operator's browser, signed in to the pages of a running server.

use std::net::{TcpStream, ToSocketAddrs};
use std::process::{Command as Program, Stdio};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command};
use punchlist_ops::Ops;
use punchlist_ops::operations::sign_in_link::{self, SignInLink, link};
use serde_json::json;

use crate::args::Globals;
use crate::failure::Failure;
use crate::{caller, output};

/// How long a server may take to be reached.
const PATIENCE: Duration = Duration::from_secs(2);

pub(crate) fn command() -> Command {
    Command::new("open")
        .about("Open the pages of a running server in your browser, signed in")
        .long_about(
            "Open the pages of a running server in your browser, signed in.\n\n\
             The link works once, for five minutes. The browser then stays signed in until you sign \
             out, revoke its token (`punch token list`, `punch token revoke`), or do not use it \
             for 30 days. Only the operator can do this: at a terminal, or with an operator's \
             token.",
        )
        .arg(
            Arg::new("print")
                .long("print")
                .help("Print the link instead of opening a browser")
                .action(ArgAction::SetTrue),
        )
        .after_help("Example: punch open --print")
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    let made = ops.run::<SignInLink>(&envelope, sign_in_link::Input {})?;
    let url = running(globals, &ops, &made).ok_or_else(|| Failure::Unreachable {
        message: "no server is running over this store".to_owned(),
        hint: "start one: punch serve --open".to_owned(),
    })?;
    let is_print = matches.get_flag("print");
    if !is_print {
        browse(&url)?;
    }
    match (globals.json, is_print) {
        (true, _) => Ok(output::print_json_line(&json!({ "url": url }))?),
        (false, true) => Ok(output::print(&format!("{url}\n"))?),
        (false, false) if globals.quiet => Ok(()),
        (false, false) => Ok(output::print("Opened the pages in your browser.\n")?),
    }
}

/// The link at a server that answers: the one that was asked, or one that the store knows of.
fn running(globals: &Globals, ops: &Ops, made: &sign_in_link::Output) -> Option<String> {
    if ops.remote().is_some() {
        let server = globals.db.as_deref().unwrap_or_default();
        let server = server.split('?').next().unwrap_or_default();
        return Some(link(server.trim(), &made.code));
    }
    made.urls.iter().find(|url| answers(url)).cloned()
}

/// Is somebody there? A server that crashed left its address behind.
fn answers(url: &str) -> bool {
    let (scheme, rest) = url.split_once("://").unwrap_or(("http", url));
    let host = rest.split('/').next().unwrap_or_default();
    let has_port = host.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let port = if scheme == "https" { 443 } else { 80 };
    let named = if has_port { host.to_owned() } else { format!("{host}:{port}") };
    let found = named.to_socket_addrs().map(Iterator::collect::<Vec<_>>).unwrap_or_default();
    found.iter().any(|address| TcpStream::connect_timeout(address, PATIENCE).is_ok())
}

/// Hands a link to the system's browser.
pub(super) fn browse(url: &str) -> Result<(), Failure> {
    let (program, first): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("rundll32", &["url.dll,FileProtocolHandler"]),
        _ => ("xdg-open", &[]),
    };
    let started = Program::new(program)
        .args(first)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.map(drop).map_err(|error| Failure::Unreachable {
        message: format!("no browser could be started ({program}: {error})"),
        hint: "print the link: punch open --print".to_owned(),
    })
}
