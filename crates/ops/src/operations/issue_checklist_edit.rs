//! `issue_checklist_edit`: replace a checklist by the markdown that a person edited (K-29).

use punchlist_core::ListKind;
use punchlist_core::Refusal;
use punchlist_core::authority::Action;
use punchlist_core::command::{Basis, EditChecklist};
use punchlist_core::issue::checklist::{Line, MARKDOWN_LIMIT, parse};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::issue_show;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::explain::Fault;
use crate::{Envelope, Error};

/// Replace an issue's checklist by markdown. Unchanged lines keep their items; the item of a
/// removed line is hidden.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The issue's number.
    pub number: i64,
    /// The whole checklist; at most 1 MiB.
    pub markdown: String,
    /// The revision the text was made from. If the issue has changed since, the edit is refused.
    #[serde(default)]
    pub expected_revision: Option<i64>,
}

#[derive(Debug)]
pub struct IssueChecklistEdit;

impl Define for IssueChecklistEdit {
    const NAME: &'static str = "issue_checklist_edit";
    const ACCESS: Access = Access::List(ListKind::Issue, &[Action::Edit]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str =
        r##"{"number":1,"markdown":"# Criteria\n- [ ] It works\n","expectedRevision":2}"##;

    type Input = Input;
    type Output = issue_show::Output;

    /// All faults of the list are reported at once, as a refusal; a field reports only its first.
    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        lines(&input.markdown).map(drop)
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<issue_show::Output, Error> {
        let lines = lines(&input.markdown)?;
        let issue = call.issue(input.number, Lock::Row)?;
        let mut checklist = call.open_checklist(&issue)?;
        let notes = call.notes(&checklist)?;
        let (number, revision) = (issue.number, issue.revision);
        let basis = input.expected_revision.map(|expected| Basis { number, expected, revision });
        call.decide(&mut checklist, EditChecklist { lines, notes, basis })?;
        issue_show::show(call, input.number)
    }
}

/// The lines of a checklist.
pub(super) fn lines(markdown: &str) -> Result<Vec<Line>, Error> {
    let (length, limit) = (markdown.len(), MARKDOWN_LIMIT);
    if length > limit {
        let path = "markdown".to_owned();
        return Err(Fault::TooLong { path, length, limit, unit: "bytes" }.into());
    }
    parse(markdown).map_err(|faults| Refusal::BadChecklist { faults }.into())
}
