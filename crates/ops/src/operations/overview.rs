//! `overview`: how much waits in which project, for the navigation of the pages.

use std::collections::HashMap;

use punchlist_core::IssueStatus;
use punchlist_core::authority::{Action, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::views::home::sees;

/// Counting stops here, so that the cost does not depend on the size of the store.
pub const COUNTED_MAX: i64 = 1_000;

/// Count what waits for a person in every project you reach, and the open issues of this one.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The oldest first.
    pub projects: Vec<ProjectCount>,
    /// Decisions that wait in all of them; counted up to 1,000 for each project.
    pub waiting: i64,
    /// The open issues of the caller's project, counted up to 1,000 for each status.
    pub issues: Vec<StatusCount>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectCount {
    pub name: String,
    /// Is it the caller's?
    pub current: bool,
    /// Gates, claims and proposals that wait for a person.
    pub waiting: i64,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StatusCount {
    pub status: IssueStatus,
    pub count: i64,
}

#[derive(Debug)]
pub struct Overview;

impl Define for Overview {
    const NAME: &'static str = "overview";
    const ACCESS: Access = Access::On(Subject::Project, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = "{}";

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, _: &Input) -> Result<Output, Error> {
        let envelope = call.envelope();
        let reach = &envelope.actor.reach;
        let sees_gates = sees(call, Subject::Gate) && call.reach_project().is_ok();
        let mut output = Output { projects: Vec::new(), waiting: 0, issues: Vec::new() };
        let mut reviews = match sees_gates {
            true => call.tx().review_counts(COUNTED_MAX)?,
            false => HashMap::new(),
        };
        for (id, name) in call.tx().project_names()? {
            let is_current = name == envelope.project;
            // A narrowed token sees only the caller's project.
            let is_reached = match reach.is_narrowed() {
                true => is_current,
                false => reach.covers_project(&name).is_ok(),
            };
            if !is_reached {
                continue;
            }
            let mut waiting = reviews.remove(&id).unwrap_or(0);
            if sees_gates {
                waiting += call.tx().waiting_count(id, COUNTED_MAX)?;
            }
            output.waiting += waiting;
            output.projects.push(ProjectCount { current: is_current, name, waiting });
        }
        let sees_issues = sees(call, Subject::Issue) && call.reach_project().is_ok();
        let here = call.tx().project(&envelope.project)?;
        if let Some(project) = here.filter(|_| sees_issues) {
            for status in IssueStatus::ALL {
                let count = call.tx().issue_count(project, status, COUNTED_MAX)?;
                output.issues.push(StatusCount { status, count });
            }
        }
        Ok(output)
    }
}
