//! `gate_list`: everything that waits for a person.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::gate::{GateKind, GateState};
use punchlist_core::text::Title;
use punchlist_core::{GateId, IssueId, ListKind, ProjectId, Scope, TodoKind};
use punchlist_store::rows::gates::WantedGates;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::{Cursor, Limit, Maybe, page};
use crate::views::todo::ClaimView;
use crate::views::{DelegationView, GateView};

/// List the gates of this project, oldest first: open questions and the answers that were given.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Only gates in this state; absent: all.
    #[serde(default)]
    pub state: Option<GateState>,
    /// Only questions of this kind.
    #[serde(default)]
    pub kind: Option<GateKind>,
    /// Only questions of this session.
    #[serde(default)]
    pub session: Maybe<Title>,
    /// Only gates about this issue.
    #[serde(default)]
    pub number: Option<i64>,
    /// Page size; default is 50, the maximum is 1,000.
    #[serde(default)]
    pub limit: Limit,
    /// The cursor that the previous page returned.
    #[serde(default)]
    pub cursor: Cursor<GateId>,
}

#[derive(Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub gates: Vec<GateView>,
    /// Claimed items that wait for their reviewer and have no gate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reviews: Vec<ReviewView>,
    /// Proposals of workers for a checklist that nobody has decided on; of open gates only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub proposals: Vec<ProposalView>,
    /// Pass as `cursor` for the next page; absent: no more pages.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_cursor: Option<GateId>,
}

/// An item that waits for its reviewer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ReviewView {
    pub todo_id: String,
    pub title: String,
    pub kind: TodoKind,
    /// The kind of its list.
    pub list: ListKind,
    /// The issue's number, the plan's file or the pillar.
    pub of: String,
    pub claim: ClaimView,
}

/// A worker's proposal for a checklist.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProposalView {
    /// The issue whose checklist it is for.
    pub number: Option<i64>,
    /// Its title.
    pub title: Option<String>,
    pub delegation: DelegationView,
}

/// The proposals that nobody has decided on.
pub(crate) fn proposals(
    call: &mut Call<'_, '_>,
    project: ProjectId,
) -> Result<Vec<ProposalView>, Error> {
    let mut proposals = Vec::new();
    for delegation in call.tx().undecided(project, REVIEWS_MAX)? {
        let issue = match delegation.issue_id {
            Some(id) => call.tx().issue_by_id(id, Lock::No)?,
            None => None,
        };
        proposals.push(ProposalView {
            number: issue.as_ref().map(|issue| issue.number),
            title: issue.map(|issue| issue.title),
            delegation: delegation.into(),
        });
    }
    Ok(proposals)
}

/// How many reviews are listed with the gates.
const REVIEWS_MAX: i64 = 50;

/// The items that wait for their reviewer (P-32; `Todo::is_in_review`).
pub(crate) fn reviews(
    call: &mut Call<'_, '_>,
    project: ProjectId,
) -> Result<Vec<ReviewView>, Error> {
    let mut reviews = Vec::new();
    for claimed in call.tx().claimed(project, REVIEWS_MAX)? {
        let (outer, inner) = claimed.scope.keys();
        let of = match &claimed.scope {
            Scope::Issue { issue_id } => {
                let Some(id) = IssueId::parse(issue_id) else { continue };
                let number = call.tx().issue_number(id)?.unwrap_or_default();
                format!("#{number}")
            }
            Scope::Plan { .. } | Scope::Pillar { .. } => inner.to_owned(),
            Scope::Turn { .. } | Scope::Session { .. } => outer.to_owned(),
        };
        reviews.push(ReviewView {
            todo_id: claimed.id.to_string(),
            list: claimed.scope.kind(),
            of,
            title: claimed.title,
            kind: claimed.kind,
            claim: ClaimView::from(&claimed.claim),
        });
    }
    Ok(reviews)
}

#[derive(Debug)]
pub struct GateList;

impl Define for GateList {
    const NAME: &'static str = "gate_list";
    const ACCESS: Access = Access::On(Subject::Gate, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Inbox], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"state":"open"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        // Access to a session or an issue that the caller names is checked below.
        if input.session.0.is_none() && input.number.is_none() {
            call.reach_project()?;
        }
        let limit = input.limit;
        let Some(project) = call.project()? else {
            return Ok(Output::default());
        };
        let session = match &input.session.0 {
            Some(named) => Some(call.session_named(named.as_str(), Lock::No)?.id),
            None => None,
        };
        let issue = match input.number {
            Some(number) => Some(call.issue(number, Lock::No)?.id),
            None => None,
        };
        let above = input.cursor.text();
        let wanted = WantedGates { state: input.state, kind: input.kind, session, issue, above };
        let mut found = call.tx().gates(project, &wanted, limit.and_one())?;
        let next_cursor = page(&mut found, limit, |last| last.id);
        let mut gates = Vec::new();
        for gate in found {
            gates.push(GateView::of(call, gate)?);
        }
        // Reviews are shown only on the first page of all open gates, not for one issue or session.
        let is_inbox = input.state == Some(GateState::Open)
            && input.kind.is_none()
            && input.session.0.is_none()
            && input.number.is_none()
            && input.cursor.0.is_none();
        let mut output = Output { gates, reviews: Vec::new(), proposals: Vec::new(), next_cursor };
        if is_inbox {
            output.reviews = reviews(call, project)?;
            output.proposals = proposals(call, project)?;
        } else if let (Some(GateState::Open), Some(number), None) =
            (input.state, input.number, input.kind)
        {
            output.proposals = proposals(call, project)?;
            output.proposals.retain(|proposal| proposal.number == Some(number));
        }
        Ok(output)
    }
}
