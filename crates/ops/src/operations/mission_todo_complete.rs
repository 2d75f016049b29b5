//! `mission_todo_complete`: the lead completes an item.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use punchlist_core::command::CompleteTodo;
use punchlist_core::evidence::Evidence;
use punchlist_core::text::Body;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::{Call, Counts};
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::Name;
use crate::views::MissionTodoView;

/// Complete a todo in progress, after review. Metrics it changed are measured again.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The mission.
    pub mission_slug: Name,
    /// Its id.
    pub todo_id: Name,
    /// What was done.
    pub outcome: Body,
    /// Metrics that may have changed.
    #[serde(default)]
    pub metrics_impacted: Option<Vec<String>>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub todo: MissionTodoView,
    /// Slugs of the metrics that will be measured again.
    pub metrics_queued: Vec<String>,
    pub warnings: Vec<String>,
    pub counts: Counts,
}

#[derive(Debug)]
pub struct MissionTodoComplete;

impl Define for MissionTodoComplete {
    const NAME: &'static str = "mission_todo_complete";
    const ACCESS: Access = Access::List(ListKind::Pillar, &[Action::Complete]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Mission],
        command: &["mission", "complete"],
        positional: &["missionSlug", "todoId", "outcome"],
    };
    const EXAMPLE: &'static str = r#"{
        "missionSlug": "developer-experience",
        "todoId": "01JCQ0000000000000000000AB",
        "outcome": "ts-loader takes 39 % of the time",
        "metricsImpacted": ["local-build-time"]
    }"#;

    const PRIVATE: bool = true;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let mission = call.mission(&input.mission_slug, Lock::Row)?;
        let (mut list, todo_id, pillar) = call.mission_todo(&mission, &input.todo_id)?;
        let slugs = input.metrics_impacted.clone().unwrap_or_default();
        let (metrics, unknown) = mission.metrics_named(&slugs);
        let mut warnings: Vec<String> = unknown
            .iter()
            .map(|slug| format!("mission `{}` has no metric `{slug}`", mission.slug))
            .collect();
        let (queued, by_hand): (Vec<_>, Vec<_>) =
            metrics.into_iter().partition(|metric| metric.collect.is_some());
        warnings.extend(by_hand.iter().map(|metric| {
            format!("metric `{}` has no collector: record it with metric_record", metric.slug)
        }));
        // Keep the evidence of the claim with the completion.
        let claimed = list.todo(todo_id).and_then(|todo| todo.claim.clone());
        let evidence: Vec<Evidence> = claimed.map(|claim| claim.evidence).unwrap_or_default();
        let complete = CompleteTodo {
            todo_id,
            outcome: Some(input.outcome.as_str().to_owned()),
            evidence,
            metrics_impacted: queued.iter().map(|metric| metric.id).collect(),
        };
        call.decide(&mut list, complete)?;
        let todo = list.todo(todo_id).cloned();
        let todo = todo.ok_or_else(|| Error::Internal { detail: "the item is gone".into() })?;
        Ok(Output {
            todo: MissionTodoView::new(&mission, &pillar, &todo, call.envelope().now),
            metrics_queued: queued.iter().map(|metric| metric.slug.clone()).collect(),
            warnings,
            counts: Counts::new(&mission, &list.tally),
        })
    }
}
