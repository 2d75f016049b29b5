//! What a person sees before signing off, and what can follow: closing the issue, continuing the
//! run.

use punchlist_core::gate::GateState;
use punchlist_core::text::Title;
use punchlist_core::{IssueStatus, Time};
use punchlist_ops::input::Maybe;
use punchlist_ops::operations::issue_show::{self, IssueShow};
use punchlist_ops::operations::issue_transition::{self, IssueTransition};
use punchlist_ops::operations::session_show::{self, SessionShow};
use punchlist_ops::views::GateView;
use punchlist_ops::views::issue::ItemStatus;
use punchlist_ops::{Envelope, Ops};

use super::{call, prompt};
use crate::args::Globals;
use crate::caller;
use crate::failure::Failure;
use crate::output::{self, BOLD, DIM, line, width};
use crate::render::columns::hanging;
use crate::repository;

/// How many commits, files and steps are shown.
const SHOWN: usize = 12;

/// How many lines of an issue's body are shown.
const BODY_LINES: usize = 8;

/// The background of a sign-off besides its criteria: the issue, open steps, and what changed in
/// the repository since the session began.
pub(super) fn background(ops: &Ops, envelope: &Envelope, gate: &GateView) -> String {
    let envelope = Envelope { idempotency_key: None, ..envelope.clone() };
    let mut shown = String::new();
    if let Some(number) = gate.number {
        let input = issue_show::Input { number };
        if let Ok(issue) = ops.run::<IssueShow>(&envelope, input) {
            shown.push_str(&about_issue(&issue));
        }
    }
    let session = gate.session.as_deref().and_then(|id| Title::new(id).ok());
    let input = session_show::Input { session: Maybe(session) };
    if let Some(since) = gate.session.as_ref().and_then(|_| {
        ops.run::<SessionShow>(&envelope, input).ok().map(|shown| shown.session.created_at)
    }) {
        shown.push_str(&changed(since));
    }
    shown
}

fn about_issue(issue: &issue_show::Output) -> String {
    let title = format!("#{} {}", issue.issue.number, line(&issue.issue.title));
    let mut shown = format!("{BOLD}{}{BOLD:#}\n", hanging("", "", &title, width()).trim_end());
    for text in issue.issue.body.lines().take(BODY_LINES) {
        shown.push_str(&hanging("  ", "  ", &output::clean(text), width()));
    }
    let open = issue.steps.iter().filter(|step| {
        matches!(step.status, ItemStatus::Pending | ItemStatus::InProgress) && step.claim.is_none()
    });
    let open: Vec<String> = open.map(|step| line(&step.content)).collect();
    shown.push_str(&listed("Steps still open", &open));
    shown
}

/// Commits and files since a time, if git is available.
fn changed(since: Time) -> String {
    let (commits, files) = repository::changed(&caller::folder(), since);
    let [commits, files] = [commits, files].map(|lines| {
        let clean: Vec<String> = lines.iter().map(|text| line(text)).collect();
        clean
    });
    listed("Commits since the session began", &commits) + &listed("Files changed", &files)
}

fn listed(name: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut shown = format!("{BOLD}{name}{BOLD:#}\n");
    for text in lines.iter().take(SHOWN) {
        shown.push_str(&hanging("  ", "  ", text, width()));
    }
    if lines.len() > SHOWN {
        shown.push_str(&format!("  {DIM}… {} more{DIM:#}\n", lines.len() - SHOWN));
    }
    shown
}

/// After a yes: closes the issue if the person wants that.
pub(super) fn close(
    globals: &Globals,
    ops: &Ops,
    envelope: &Envelope,
    gate: &GateView,
) -> Result<(), Failure> {
    let Some(number) = gate.number.filter(|_| gate.state == GateState::Resumed) else {
        return Ok(());
    };
    let status = gate.end.unwrap_or(IssueStatus::Resolved);
    let question = format!("Close issue #{number} as {status} now? [y/N] ");
    if prompt::yes(&question)? != Some(true) {
        return Ok(());
    }
    let envelope = Envelope { idempotency_key: None, ..envelope.clone() };
    let input = issue_transition::Input { number, status, reason: Maybe(None), confirm: None };
    let moved = ops.run::<IssueTransition>(&envelope, input)?;
    call::show_output::<IssueTransition>(globals, moved, envelope.now)
}
