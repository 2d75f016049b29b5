//! `punch man DIR`: a man page for every command, from the same words as the help.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, value_parser};

use crate::failure::Failure;
use crate::{args, output};

pub(crate) fn command() -> Command {
    Command::new("man")
        .about("Write the man pages into a folder")
        .arg(
            Arg::new("folder")
                .value_name("DIR")
                .help("The folder; it is created if it is missing")
                .required(true)
                .value_parser(value_parser!(PathBuf)),
        )
        .after_help("Example: punch man ~/.local/share/man/man1")
}

pub(crate) fn run(quiet: bool, matches: &ArgMatches) -> Result<(), Failure> {
    let Some(folder) = matches.get_one::<PathBuf>("folder") else {
        return Err(Failure::usage("no folder was named".to_owned()));
    };
    let fault = |error: std::io::Error| Failure::Io(format!("{}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(fault)?;
    clap_mangen::generate_to(args::tree(None, None), folder).map_err(fault)?;
    if !quiet {
        let shown = output::clean(&folder.display().to_string());
        output::print(&format!(
            "Wrote the man pages to {shown}; read one with `man {shown}/punch.1`\n"
        ))?;
    }
    Ok(())
}
