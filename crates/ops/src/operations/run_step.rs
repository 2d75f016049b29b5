//! `run_step`: the process that executes a run records what happened, before it acts on it.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::conversation::ToolCall;
use punchlist_core::driver::{Finish, Spent, Trigger, Verdict, Ways};
use punchlist_core::run::RunState;
use punchlist_core::{ListKind, Run, RunId, TodoId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::access::Access;
use crate::call::{Call, Scene};
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{count, natural};
use crate::schema::generate;
use crate::token::holds;

/// Record what happened in a run. Only the process that executes the run may call it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The run's id.
    pub run: RunId,
    /// The epoch from run_take.
    pub epoch: i64,
    /// What happened, in order; all of it is recorded, or nothing.
    #[serde(deserialize_with = "count::<1, 2, _, _>")]
    #[schemars(length(min = 1, max = 2))]
    pub steps: Vec<Step>,
}

/// One thing that happened.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(transform = generate::one_property)]
pub enum Step {
    /// The model replied.
    Reply(Reply),
    /// A tool call has its result.
    Result(ToolResult),
    /// The id of an outside tool's call that is about to begin.
    Start(String),
    /// A summary that replaces the messages before it.
    Summary(Summary),
    /// Ask the driver what is next.
    Drive(Question),
}

/// What the model said.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Reply {
    /// Its words.
    pub text: String,
    /// The tools it calls.
    #[serde(default)]
    pub calls: Vec<ToolCall>,
    /// Data that the model's maker wants back unchanged.
    #[serde(default)]
    pub raw: Option<Value>,
    /// How it ended.
    pub finish: Finish,
    /// How many tokens fit into one call of this model.
    #[serde(default, deserialize_with = "natural")]
    #[schemars(with = "Option<i64>", range(min = 0))]
    pub window: Option<u64>,
    /// The run's count of messages heard, as it was when the model was called; absent: all of them.
    #[serde(default)]
    #[schemars(with = "Option<i64>", range(min = 0, max = u32::MAX))]
    pub heard: Option<u32>,
    /// The tokens it used.
    pub spent: Spent,
    /// The newest message it had seen; later messages of others come after the reply.
    #[serde(default)]
    pub seen: Option<String>,
}

/// What came of a call.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ToolResult {
    /// The model's id of the call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What the model gets to see.
    pub text: String,
    /// It failed.
    #[serde(default)]
    pub is_error: bool,
    /// It changed something.
    #[serde(default)]
    pub changed: bool,
    /// It changed something on a list.
    #[serde(default)]
    pub touched_list: bool,
    /// The tool is not one of punchlist's own: an item it fails on twice is held (S-25, S-32).
    #[serde(default)]
    pub outside: bool,
}

/// A summary of the conversation so far.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Summary {
    /// Its words.
    pub text: String,
    /// The tokens it took to write it.
    pub spent: Spent,
}

/// A question to the driver.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Question {
    /// What calls for a decision: tools_done, user_message, delegation_returned, gate_answered, tick,
    /// resumed, handed, or {"stopped": how the reply ended}.
    #[schemars(transform = generate::word_or_object)]
    pub trigger: Trigger,
    /// The kinds of lists that the agent has a tool to change.
    #[serde(default)]
    pub workable: Vec<ListKind>,
    /// Can it hold an item?
    #[serde(default)]
    pub can_hold: bool,
    /// Can it ask the person?
    #[serde(default)]
    pub can_ask: bool,
    /// The words of an error.
    #[serde(default)]
    pub detail: Option<String>,
    /// The stable code of the error.
    #[serde(default)]
    pub code: Option<String>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub state: RunState,
    /// What the driver decided, where it was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Value>")]
    pub verdict: Option<Verdict>,
    /// What it wrote into the chat, to the model or to the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The lists as they are now, where the model is called next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<Scene>,
    /// An item that is now held because its tools fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub held: Option<TodoId>,
}

#[derive(Debug)]
pub struct RunStep;

impl Define for RunStep {
    const NAME: &'static str = "run_step";
    const ACCESS: Access = Access::On(Subject::Run, Action::Execute);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = r#"{"run":"01JCQ0000000000000000000AB","epoch":0,
        "steps":[{"summary":{"text":"So far: nothing.","spent":{"input":10,"output":3}}}]}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let run = call.run_held(&input.run.to_string(), input.epoch)?;
        record(call, run, &input.steps)
    }
}

/// Records the steps of a run that the caller holds.
pub(crate) fn record(
    call: &mut Call<'_, '_>,
    mut run: Run,
    steps: &[Step],
) -> Result<Output, Error> {
    let (mut verdict, mut said, mut scene, mut held) = (None, None, None, None);
    for step in steps {
        // A reply and an outside tool act for the principal that started the run.
        if matches!(step, Step::Reply(_) | Step::Start(_)) {
            holds(call.tx(), &run.reach)?;
        }
        run = match step {
            Step::Reply(reply) => call.record_reply(run, reply)?,
            Step::Result(result) => {
                let (run, given_up) = call.record_result(run, result)?;
                held = given_up;
                run
            }
            Step::Start(call_id) => call.record_start(run, call_id.clone())?,
            Step::Summary(summary) => call.record_summary(run, &summary.text, summary.spent)?,
            Step::Drive(question) => {
                let ways = Ways { hold: question.can_hold, ask: question.can_ask };
                let fault = (question.detail.as_deref(), question.code.as_deref());
                let (trigger, workable) = (question.trigger, &question.workable);
                let driven = call.drive(run, trigger, workable, ways, fault)?;
                (verdict, said, scene) = (Some(driven.verdict), driven.said, driven.scene);
                driven.run
            }
        };
    }
    Ok(Output { state: run.state, verdict, said, scene, held })
}
