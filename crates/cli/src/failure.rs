//! How a command fails: the message, its form, and the exit code.

use std::process::ExitCode;

use punchlist_core::Span;
use punchlist_ops::CATALOGUE;
use punchlist_ops::Error;
use punchlist_ops::written::Misplaced;
use serde_json::{Map, Value, json};

use crate::commands::LEASE;
use crate::output;

/// How to give a text that looks like a flag.
const TEXT_WITH_DASH: &str =
    "a text that begins with - goes after --, or is joined to its flag: --reason='- text'";

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Failure {
    /// An operation's error: the error table has its exit code.
    Operation(Error),
    /// An operation's error, with a better hint than the operation can give.
    Advised { error: Error, hint: String },
    /// An operation's error, in the words of the command.
    Reworded { error: Error, message: String, hint: String },
    /// An operation's error about a field, with what people type for it.
    Typed { error: Error, path: String, typed: String },
    /// An operation's error about the content of a file.
    InFile { fault: Misplaced, file: String },
    /// Nothing was changed, for a reason outside the operations.
    Declined { code: &'static str, message: String, hint: Option<String> },
    /// The command line itself.
    Usage { message: String, hint: Option<String> },
    /// Help or version was asked for; not a failure, but it ends the command.
    Help(String),
    /// What the command needs is not there: a server, a browser.
    Unreachable { message: String, hint: String },
    /// Reading input or writing output failed.
    Io(String),
    /// A server cannot listen at its address.
    NotListening(String),
    /// The answer has been shown, and it was negative: only the exit code is left.
    Shown(u8),
    /// The reader of our output is gone, so nothing is printed.
    Silent,
}

impl Failure {
    pub(crate) const fn usage(message: String) -> Self {
        Self::Usage { message, hint: None }
    }

    /// The same, where an error about a field names what people type instead.
    pub(crate) fn typed_by(self, name: impl FnOnce(&str) -> String) -> Self {
        let Self::Operation(error) = self else { return self };
        let path = match &error {
            Error::Input(fault) => fault.path().map(str::to_owned),
            Error::Remote(error) => {
                error.facts.get("path").and_then(Value::as_str).map(str::to_owned)
            }
            _ => None,
        };
        match path.filter(|path| !path.is_empty()) {
            Some(path) => {
                let typed = name(&path);
                Self::Typed { error, path, typed }
            }
            None => Self::Operation(error),
        }
    }

    /// The error in one line.
    pub(crate) fn one_line(self) -> String {
        match self {
            Self::Operation(error) | Self::Advised { error, .. } | Self::Typed { error, .. } => {
                format!("{}: {error}", error.code())
            }
            Self::Reworded { error, message, .. } => format!("{}: {message}", error.code()),
            Self::InFile { fault, file } => format!("{file}: {}", fault.error),
            Self::Declined { message, .. }
            | Self::Usage { message, .. }
            | Self::Unreachable { message, .. }
            | Self::Io(message)
            | Self::NotListening(message) => message,
            Self::Help(_) | Self::Shown(_) | Self::Silent => {
                "there is nothing to answer".to_owned()
            }
        }
    }

    /// Prints the error in the requested form, and returns the exit code.
    pub(crate) fn show(self, json: bool) -> ExitCode {
        let (exit, error) = match self {
            Self::Help(text) => {
                drop(output::print(&text));
                return ExitCode::SUCCESS;
            }
            Self::Silent => return ExitCode::SUCCESS,
            Self::Shown(exit) => return ExitCode::from(exit),
            Self::Operation(error) => (error.meaning().exit, error.to_json()),
            Self::Typed { error, path, typed } => {
                let (exit, mut object) = (error.meaning().exit, error.to_json());
                if !json {
                    for part in ["message", "hint"] {
                        let said = object["error"][part].as_str().map(str::to_owned);
                        let said = said.map(|said| said.replace(&format!("`{path}`"), &typed));
                        // A field in seconds is typed as a duration.
                        let said = match path == LEASE {
                            true => said.map(|said| in_durations(&said)),
                            false => said,
                        };
                        object["error"][part] = said.into();
                    }
                }
                (exit, object)
            }
            Self::Advised { error, hint } => {
                let (exit, mut object) = (error.meaning().exit, error.to_json());
                object["error"]["hint"] = hint.into();
                (exit, object)
            }
            Self::Reworded { error, message, hint } => {
                let (exit, mut object) = (error.meaning().exit, error.to_json());
                (object["error"]["message"], object["error"]["hint"]) =
                    (message.into(), hint.into());
                (exit, object)
            }
            Self::InFile { fault, file } => (fault.error.meaning().exit, in_file(&fault, &file)),
            Self::Declined { code, message, hint } => (1, object(code, &message, hint)),
            Self::Usage { message, hint } => (2, object("usage", &message, hint)),
            Self::Unreachable { message, hint } => (3, object("unreachable", &message, Some(hint))),
            Self::NotListening(message) => {
                let hint = "name another address with --listen, or end the program that uses it";
                (3, object("io", &message, Some(hint.to_owned())))
            }
            Self::Io(message) => {
                let hint = "check the path, its permissions, and that the disk is not full";
                (3, object("io", &message, Some(hint.to_owned())))
            }
        };
        if json {
            drop(output::print_json_line(&error));
        } else {
            let say = |name: &str| error["error"][name].as_str().unwrap_or_default().to_owned();
            output::fail(&say("code"), &say("message"), &typed(&say("hint")));
        }
        ExitCode::from(exit)
    }
}

/// A text with its numbers of seconds as durations.
fn in_durations(said: &str) -> String {
    let words = said.split(' ').map(|word| {
        let bare = word.trim_matches('`');
        match bare.parse() {
            Ok(seconds) => word.replace(bare, &Span::seconds(seconds).to_string()),
            Err(_) => word.to_owned(),
        }
    });
    words.collect::<Vec<_>>().join(" ")
}

/// Fields that hints name, and what people type for them.
const FIELDS: [(&str, &str); 8] = [
    ("gate_list", "`punch inbox`"),
    ("plan_from_todo", "`punch plan from-todo`"),
    ("`takeOver`", "--take-over"),
    ("`forceNew`", "--force-new"),
    ("`confirm`", "--yes"),
    ("`reason`", "--reason"),
    ("another planFile", "another file"),
    ("expect revision", "give --expect-revision"),
];

/// A hint in the words of the command line: commands instead of operations, flags instead of
/// fields. Programs and models get the hint as it is.
fn typed(hint: &str) -> String {
    // About the JSON that `punch call` was given.
    if hint.starts_with("did you mean") {
        return hint.to_owned();
    }
    let mut said = String::new();
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let mut rest = hint;
    while let Some(at) = rest.find(is_part) {
        let (before, from) = rest.split_at(at);
        let end = from.find(|c| !is_part(c)).unwrap_or(from.len());
        let (word, after) = from.split_at(end);
        let named = CATALOGUE.iter().find(|operation| operation.name == word);
        let command = named.map_or(&[][..], |operation| operation.surfaces.command);
        said.push_str(before);
        match word.contains('_') && !command.is_empty() {
            true => said.push_str(&format!("`punch {}`", command.join(" "))),
            false => said.push_str(word),
        }
        rest = after;
    }
    said.push_str(rest);
    FIELDS.iter().fold(said, |said, (field, flag)| said.replace(field, flag))
}

/// The error with its position in the file before the message.
fn in_file(fault: &Misplaced, file: &str) -> Value {
    let mut object = fault.error.to_json();
    let error = &mut object["error"];
    error["file"] = file.into();
    let at = fault.place.map(|place| {
        (error["line"], error["column"]) = (place.line.into(), place.column.into());
        format!(":{}:{}", place.line, place.column)
    });
    let hint = match fault.error.code() {
        "invalid_json" | "invalid_toml" => Some("fix it at that position; nothing was changed"),
        "invalid_utf8" => Some("give a text file in UTF-8"),
        "input_too_large" => Some("make the file smaller than that limit"),
        _ => None,
    };
    if let Some(hint) = hint {
        error["hint"] = hint.into();
    }
    error["message"] = format!("{file}{}: {}", at.unwrap_or_default(), fault.error).into();
    object
}

fn object(code: &str, message: &str, hint: Option<String>) -> Value {
    let mut error = Map::new();
    error.insert("code".into(), code.into());
    error.insert("message".into(), message.into());
    error.extend(hint.map(|hint| ("hint".to_owned(), hint.into())));
    json!({ "error": error })
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Operation(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        if error.kind() == std::io::ErrorKind::BrokenPipe {
            return Self::Silent;
        }
        Self::Io(error.to_string())
    }
}

impl From<clap::Error> for Failure {
    fn from(error: clap::Error) -> Self {
        use clap::error::ErrorKind as Kind;
        match error.kind() {
            Kind::DisplayHelp | Kind::DisplayVersion => {
                Self::Help(error.render().ansi().to_string())
            }
            Kind::MissingSubcommand => {
                let text = error.render().to_string();
                let command = text.split('\'').nth(1).unwrap_or("punch").to_owned();
                let hint = Some(format!("`{command} --help` shows its commands"));
                Self::Usage { message: format!("`{command}` needs a command"), hint }
            }
            _ => {
                let text = error.render().to_string();
                let text = text.strip_prefix("error: ").unwrap_or(&text);
                // clap's own closing lines (usage, tips) are the hint.
                let (message, rest) = text.split_once("\n\n").unwrap_or((text, ""));
                let mut hint = rest.trim().replace("\n\n", "\n");
                if hint.starts_with("tip: to pass ") {
                    let (_, rest) = hint.split_once('\n').unwrap_or((&hint, ""));
                    hint = format!("{TEXT_WITH_DASH}\n{rest}");
                }
                let hint = (!hint.is_empty()).then_some(hint);
                Self::Usage { message: message.trim().to_owned(), hint }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hints_name_commands_and_flags() {
        assert_eq!(typed("token_list shows the tokens"), "`punch token list` shows the tokens");
        let over = "end that session, or take the issue over with `takeOver`";
        assert_eq!(typed(over), "end that session, or take the issue over with --take-over");
        assert_eq!(typed("leave one in_progress"), "leave one in_progress");
        let opened = "plan_from_todo opens a plan from a line";
        assert_eq!(typed(opened), "`punch plan from-todo` opens a plan from a line");
        assert_eq!(in_durations("--for cannot be 172800"), "--for cannot be 2d");
        assert_eq!(in_durations("it must be 1 to 86400"), "it must be 1s to 1d");
        assert_eq!(typed(""), "");
    }
}
