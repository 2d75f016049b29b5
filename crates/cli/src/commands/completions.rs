//! `punch completions SHELL`: the words of the whole command tree, for a shell to complete.

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;

use crate::failure::Failure;
use crate::{args, output};

pub(crate) fn command() -> Command {
    Command::new("completions")
        .about("Print the completions for a shell")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .help("Whose completions")
                .required(true)
                .value_parser(value_parser!(Shell)),
        )
        .after_help(
            "Examples:\n  \
             bash: punch completions bash > ~/.local/share/bash-completion/completions/punch\n  \
             zsh:  punch completions zsh > ~/.zfunc/_punch   (a folder of $fpath)\n  \
             fish: punch completions fish > ~/.config/fish/completions/punch.fish",
        )
}

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let Some(shell) = matches.get_one::<Shell>("shell") else {
        return Err(Failure::usage("no shell was named".to_owned()));
    };
    let mut script = Vec::new();
    clap_complete::generate(*shell, &mut args::tree(None, None), "punch", &mut script);
    // Bytes for a shell: escape sequences in it are its own and must not be stripped.
    Ok(output::print_raw(&script)?)
}
