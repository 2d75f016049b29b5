//! `run_show`: the progress of a run.

use std::collections::BTreeSet;

use punchlist_core::authority::{Action, Subject};
use punchlist_core::conversation::Part;
use punchlist_core::text::Title;
use punchlist_core::{Status, Todo, TodoId};
use punchlist_core::{plan, select};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::views::run::{RunView, WaitView};

/// How many messages are searched for the agent's last words.
const RECENT: i64 = 50;

/// Show a run: its last message, what is done, what is left and what it used.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// Its id.
    pub run: Title,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub run: RunView,
    /// The last words of the agent.
    pub text: String,
    pub done: Vec<RunItem>,
    pub left: Vec<RunItem>,
}

/// An item of the lists of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunItem {
    pub id: String,
    pub title: String,
    pub status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outcome: Option<String>,
    /// Why it is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<String>,
    /// It is claimed and waits for its reviewer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub claimed: bool,
}

impl From<&Todo> for RunItem {
    fn from(todo: &Todo) -> Self {
        Self {
            id: todo.id.to_string(),
            title: todo.title.clone(),
            status: todo.status,
            outcome: todo.outcome.clone(),
            hold: todo.hold.as_deref().map(|hold| format!("{}: {}", hold.kind.name(), hold.reason)),
            claimed: todo.claim.is_some() && !todo.status.is_settled(),
        }
    }
}

#[derive(Debug)]
pub struct RunShow;

impl Define for RunShow {
    const NAME: &'static str = "run_show";
    const ACCESS: Access = Access::On(Subject::Run, Action::View);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces =
        Surfaces { command: &["runs", "show"], positional: &["run"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"run":"01JCQ0000000000000000000AB"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let (run, _) = call.run(input.run.as_str(), Lock::No)?;
        let session = match run.session_id {
            Some(id) => call.tx().session_by_id(id)?,
            None => None,
        };
        let lists = call.lists_of(&run, session.as_ref(), Load::All)?;
        let dropped: BTreeSet<TodoId> = lists.iter().flat_map(plan::dropped).collect();
        let items = lists.iter().flat_map(select::ordered);
        let (done, left): (Vec<&Todo>, Vec<&Todo>) = items
            .filter(|todo| !dropped.contains(&todo.id))
            .partition(|todo| todo.status.is_settled());
        let messages = call.tx().newest_messages(run.conversation_id, RECENT)?;
        let text = messages
            .into_iter()
            .rev()
            .find(|message| {
                message.run_id == Some(run.id)
                    && matches!(message.part, Some(Part::Reply { .. }))
                    && !message.text.trim().is_empty()
            })
            .map(|message| message.text)
            .unwrap_or_default();
        let mut view = RunView::from(&run);
        view.waits_for = WaitView::of(call, &run)?;
        let (input, output) = (run.counters.input_tokens, run.counters.output_tokens);
        view.usage.cost_usd = call.envelope().agents().cost_usd(&view.model, input, output);
        Ok(Output {
            run: view,
            text,
            done: done.into_iter().map(RunItem::from).collect(),
            left: left.into_iter().map(RunItem::from).collect(),
        })
    }
}
