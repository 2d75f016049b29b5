//! `punch issue edit N`: the checklist in a person's editor, or from a file.
//!
//! The file is the checklist and nothing else. If anything fails after a person has edited it, the
//! text is kept and its path is shown.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use clap::{Arg, ArgMatches, Command, value_parser};
use punchlist_core::Refusal;
use punchlist_ops::catalogue::{Define, find};
use punchlist_ops::dispatch::INPUT_MAX;
use punchlist_ops::explain::Fault;
use punchlist_ops::operations::issue_checklist_edit::{self, IssueChecklistEdit};
use punchlist_ops::operations::issue_show::{self, IssueShow};
use punchlist_ops::{Envelope, Error, Ops};
use punchlist_store::outside;

use super::editor::Draft;
use super::{call, flags, named, prompt};
use crate::args::Globals;
use crate::failure::Failure;
use crate::{caller, output};

pub(crate) fn command() -> Command {
    Command::new("edit")
        .about("Edit an issue's checklist in your editor, or replace it from a file")
        .long_about(
            "Edit an issue's checklist in your editor, or replace it from a file.\n\n\
             The editor is $VISUAL, else $EDITOR, else vi. An unchanged line keeps its item; a \
             changed mark ([ ] pending, [/] in progress, [x] completed, [-] dropped) changes its \
             status; the comment <!-- blocked: why --> after the text holds it; a new line adds an \
             item; a deleted line hides its item. If somebody changes the checklist meanwhile, \
             nothing is saved and your text is kept.",
        )
        .arg(Arg::new("number").value_name("ISSUE").help(flags::ISSUE).required(true))
        .arg(
            Arg::new("file")
                .long("file")
                .value_name("FILE|-")
                .help("Take the markdown from this file, or from standard input; no editor")
                .value_parser(value_parser!(PathBuf)),
        )
        .arg(
            Arg::new("expected-revision")
                .long("expected-revision")
                .alias("expect-revision")
                .value_name("N")
                .help("Save only if the issue still has this revision")
                .requires("file")
                .value_parser(value_parser!(i64)),
        )
        .after_help("Examples:\n  punch issue edit 3\n  punch issue edit 3 --file checklist.md")
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    let named = matches.get_one::<String>("number").map(String::as_str);
    let number = named::issue(globals, named.unwrap_or_default())?;
    let operation = find(IssueChecklistEdit::NAME)?;
    let ops = caller::ops(globals)?;
    let envelope = caller::envelope(&ops, globals, false)?;
    // Refused before the person has written anything.
    operation.access.check(envelope.actor.role, operation.name)?;
    let edit = Edit { globals, ops, envelope, number };
    if let Some(file) = matches.get_one::<PathBuf>("file") {
        let revision = matches.get_one::<i64>("expected-revision").copied();
        return edit.with_file(file, revision);
    }
    if !output::is_interactive() {
        let message = "there is no terminal for an editor".to_owned();
        let hint = Some("give the checklist with --file FILE, or --file -".to_owned());
        return Err(Failure::Usage { message, hint });
    }
    edit.in_editor()
}

struct Edit<'a> {
    globals: &'a Globals,
    ops: Ops,
    envelope: Envelope,
    number: i64,
}

impl Edit<'_> {
    fn save(&self, markdown: String, revision: Option<i64>) -> Result<issue_show::Output, Error> {
        let (number, expected_revision) = (self.number, revision);
        let input = issue_checklist_edit::Input { number, markdown, expected_revision };
        self.ops.run::<IssueChecklistEdit>(&self.envelope, input)
    }

    fn show(&self, saved: issue_show::Output) -> Result<(), Failure> {
        call::show_output::<IssueChecklistEdit>(self.globals, saved, self.envelope.now)
    }

    fn with_file(&self, file: &Path, revision: Option<i64>) -> Result<(), Failure> {
        let text = if file == Path::new("-") { call::read_stdin()? } else { read(file)? };
        if text.trim().is_empty() {
            // An empty input more likely comes from a failed command before the pipe.
            let message = "the text is empty, which would remove every item".to_owned();
            let hint = "to remove every item: `punch call issue_checklist_edit`".to_owned();
            return Err(Failure::Usage { message, hint: Some(hint) });
        }
        self.show(self.save(text, revision)?)
    }

    fn in_editor(&self) -> Result<(), Failure> {
        let look = Envelope { idempotency_key: None, ..self.envelope.clone() };
        let input = issue_show::Input { number: self.number };
        let shown = self.ops.run::<IssueShow>(&look, input)?;
        let (before, revision) = (shown.checklist.as_str(), Some(shown.issue.revision));
        let draft = Draft::new(&format!("issue-{}.md", self.number), before)?;
        loop {
            let status = draft.edit()?;
            let text = draft.text()?;
            let is_changed = text != before.as_bytes();
            if !status.success() {
                let how = match status.code() {
                    Some(code) => format!("failed with exit code {code}"),
                    None => "was killed by a signal".to_owned(),
                };
                let message = format!("the editor {how}; nothing was changed");
                let hint = is_changed.then(|| format!("your text is kept in {}", draft.keep()));
                return Err(Failure::Declined { code: "editor_failed", message, hint });
            }
            if !is_changed {
                return self.say("Nothing was changed.\n");
            }
            let saved = match String::from_utf8(text) {
                Ok(text) if text.trim().is_empty() && !self.is_meant()? => {
                    return self.say("Nothing was changed.\n");
                }
                Ok(text) => self.save(text, revision),
                Err(_) => Err(Fault::Utf8.into()),
            };
            let error = match saved {
                Ok(saved) => return self.show(saved),
                Err(error) => error,
            };
            if !self.is_mendable(&error) {
                let kept = draft.keep();
                let hint = match error.hint() {
                    Some(hint) => format!("your text is kept in {kept}: {hint}"),
                    None => format!("your text is kept in {kept}"),
                };
                return Err(Failure::Advised { error, hint });
            }
            complain(&error);
            // Shown before the question, so that a person who presses Ctrl-C has read it.
            output::remark(&format!("Your text is in {}.\n", draft.file().display()));
            if !prompt::yes_unless_no("Edit it again? [Y/n] ")? {
                self.say(&format!(
                    "Nothing was changed; your text is kept in {}.\n",
                    draft.keep()
                ))?;
                return Err(Failure::Shown(error.meaning().exit));
            }
        }
    }

    /// Can the person fix it in the text? Not if the issue has changed or is unknown, or if the
    /// caller may not edit it.
    fn is_mendable(&self, error: &Error) -> bool {
        let refused = matches!(error.meaning().exit, 1 | 2);
        let elsewhere = ["stale_revision", "unknown_issue", "not_permitted", "out_of_reach"];
        refused && !elsewhere.contains(&error.code()) && !self.globals.json
    }

    /// Asks for confirmation, because an accident may also leave an empty file.
    fn is_meant(&self) -> Result<bool, Failure> {
        let said = prompt::yes("The text is empty: take every item out of view? [y/N] ")?;
        Ok(said == Some(true))
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.globals.quiet { Ok(()) } else { Ok(output::print(text)?) }
    }
}

/// Prints every fault on its own line, with its line number.
fn complain(error: &Error) {
    match error {
        Error::Refused(refusal) => match refusal.as_ref() {
            Refusal::BadChecklist { faults } => {
                output::fail(error.code(), "the checklist cannot be read; nothing was changed", "");
                for fault in faults {
                    output::remark(&format!("  {}\n", output::line(&fault.to_string())));
                }
            }
            other => output::fail(error.code(), &other.to_string(), &other.hint()),
        },
        other => output::fail(other.code(), &other.to_string(), &other.hint().unwrap_or_default()),
    }
}

fn read(file: &Path) -> Result<String, Failure> {
    let bytes = outside::read(file, INPUT_MAX).map_err(|error| match error.kind() {
        ErrorKind::FileTooLarge => Error::from(Fault::TooLarge { limit: INPUT_MAX }).into(),
        _ => Failure::Io(format!("{}: {error}", file.display())),
    })?;
    String::from_utf8(bytes).map_err(|_| Error::from(Fault::Utf8).into())
}
