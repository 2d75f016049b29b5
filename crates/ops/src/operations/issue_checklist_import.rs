//! `issue_checklist_import`: import a checklist from elsewhere into an issue (P-22).

use punchlist_core::authority::Action;
use punchlist_core::command::ImportTodos;
use punchlist_core::issue::checklist::markdown;
use punchlist_core::{Event, ListKind, Warning};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::issue_checklist_edit::lines;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::{Envelope, Error};

/// Merge a markdown checklist into an issue's. New items are added; ticked items become claims, not
/// completions.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// `- [ ] text` lines under headings, at most 1 MiB; `[x]` is claimed, `[-]` cancelled, `[!]` held.
    pub markdown: String,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub number: i64,
    /// New items.
    pub created: usize,
    /// New items that are claimed.
    pub claimed: usize,
    /// New items that are cancelled.
    pub cancelled: usize,
    /// Texts that were already on the list.
    pub skipped: Vec<String>,
    /// The whole list as markdown.
    pub checklist: String,
}

#[derive(Debug)]
pub struct IssueChecklistImport;

impl Define for IssueChecklistImport {
    const NAME: &'static str = "issue_checklist_import";
    const ACCESS: Access = Access::List(ListKind::Issue, &[Action::Create]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str =
        r##"{"number":1,"markdown":"# Fix\n- [x] Read the code\n- [ ] Patch it\n"}"##;

    type Input = Input;
    type Output = Output;

    /// All faults of the list are reported at once, as a refusal; a field reports only its first.
    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        lines(&input.markdown).map(drop)
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let lines = lines(&input.markdown)?;
        let issue = call.issue(input.number, Lock::Row)?;
        let mut checklist = call.open_checklist(&issue)?;
        let decided = call.decide(&mut checklist, ImportTodos { lines })?;
        let count = |is: fn(&Event) -> bool| decided.events.iter().filter(|e| is(e)).count();
        let skipped = decided.warnings.iter().filter_map(|warning| match warning {
            Warning::AlreadyListed { text } => Some(text.clone()),
            _ => None,
        });
        let notes = call.notes(&checklist)?;
        Ok(Output {
            number: issue.number,
            created: count(|event| matches!(event, Event::TodoCreated(_))),
            claimed: count(|event| matches!(event, Event::TodoClaimed(_))),
            cancelled: count(|event| matches!(event, Event::TodoCancelled(_))),
            skipped: skipped.collect(),
            checklist: markdown(&checklist, &notes),
        })
    }
}
