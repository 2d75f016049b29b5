//! `delegation_report`: report the result of a delegation.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::delegation::{Proposal, Report};
use punchlist_core::text::Body;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::explain::Fault;
use crate::input::{Maybe, Name};
use crate::views::OneDelegation;
use crate::{Envelope, Error};

/// Report on a delegation you hold: its result or its error. The delegating agent decides on a
/// proposal.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id.
    pub delegation_id: Name,
    /// The number of the lease it was taken with.
    pub epoch: i64,
    /// The result; a fenced todo-proposal block in it is a proposal.
    #[serde(default)]
    pub result: Maybe<Body>,
    /// What went wrong.
    #[serde(default)]
    pub error: Maybe<Body>,
    /// Items to add to the checklist.
    #[serde(default)]
    pub proposal: Option<Proposal>,
}

#[derive(Debug)]
pub struct DelegationReport;

impl Define for DelegationReport {
    const NAME: &'static str = "delegation_report";
    const ACCESS: Access = Access::On(Subject::Delegation, Action::Report);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        command: &["delegation", "report"],
        positional: &["delegationId", "epoch"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = concat!(
        r#"{"delegationId":"01JCQ0000000000000000000AB","epoch":1,"result":"Found it.","#,
        r#""proposal":{"items":[{"content":"Patch the cookie"}]}}"#
    );

    type Input = Input;
    type Output = OneDelegation;

    /// Exactly one of two fields is given.
    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        report(input).map(|_| ())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<OneDelegation, Error> {
        let report = report(input)?;
        Ok(call.report(&input.delegation_id, input.epoch, report)?.into())
    }
}

/// Exactly one of `result` and `error` must be given.
fn report(input: &Input) -> Result<Report, Error> {
    match (&input.result.0, &input.error.0) {
        (Some(result), None) => {
            Ok(Report::Done { result: result.clone(), proposal: input.proposal.clone() })
        }
        (None, Some(error)) => Ok(Report::Failed { error: error.clone() }),
        (None, None) => Err(Fault::MissingField { path: "result".to_owned() }.into()),
        (Some(_), Some(_)) => {
            let (path, found) = ("error".to_owned(), "given together with a result".to_owned());
            let expected = "either result or error".to_owned();
            Err(Fault::BadValue { path, found, expected }.into())
        }
    }
}
