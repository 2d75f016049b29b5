//! `punch completions SHELL`: what makes a shell ask `punch` while somebody types (`complete`).

use clap::{Arg, ArgMatches, Command, value_parser};
use clap_complete::Shell;
use clap_complete::env::Shells;

use super::complete;
use crate::failure::Failure;
use crate::output;

pub(crate) fn command() -> Command {
    Command::new("completions")
        .about("Print the completions for a shell")
        .arg(
            Arg::new("shell")
                .value_name("SHELL")
                .help("The shell to complete in")
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

/// While somebody types, zsh runs programs without a terminal. A person is known by it, as in other
/// shells: without it, missions and questions would not be offered.
const ZSH_TERMINAL: &str = "<${TTY:-/dev/null} 2>${TTY:-/dev/null}";

/// zsh loads a file of `$fpath` at the first Tab and runs it as a function named like the file. The
/// script only defines what later Tabs use, so without this the first one would offer nothing.
const ZSH_FIRST_TAB: &str = "
if [[ $funcstack[1] == _punch ]]; then
    _clap_dynamic_completer_punch \"$@\"
fi
";

pub(crate) fn run(matches: &ArgMatches) -> Result<(), Failure> {
    let Some(shell) = matches.get_one::<Shell>("shell") else {
        return Err(Failure::usage("no shell was named".to_owned()));
    };
    let (shells, name) = (Shells::builtins(), shell.to_string());
    let Some(writer) = shells.completer(&name) else {
        return Err(Failure::usage(format!("there are no completions for {name}")));
    };
    let mut script = Vec::new();
    writer.write_registration(complete::VARIABLE, "punch", "punch", "punch", &mut script)?;
    if *shell == Shell::Zsh {
        let text = String::from_utf8_lossy(&script).replace("2>/dev/null", ZSH_TERMINAL);
        script = format!("{text}{ZSH_FIRST_TAB}").into_bytes();
    }
    // Bytes for a shell: escape sequences in it are its own and must not be stripped.
    Ok(output::print_raw(&script)?)
}
