//! `run_step`: the process that executes a run writes down what it did, before it acts on it.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::conversation::{Part, ToolCall};
use punchlist_core::driver::{Finish, Spent, StopReason, Trigger, Verdict, Ways};
use punchlist_core::run::RunState;
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::Error;
use crate::access::Access;
use crate::call::{Call, Reply, Scene, ToolResult};
use crate::catalogue::{Define, Effect, Surfaces};
use crate::views::run::WaitView;

/// Write down what a run did. Whoever executes it does, and nobody else.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The run.
    pub run: Title,
    /// The epoch of the process that has it; absent: take it over.
    #[serde(default)]
    pub epoch: Option<i64>,
    /// The entry of the outbox it is taken over for: only who holds that gets it.
    #[serde(default)]
    pub entry: Option<EntryInput>,
    /// What the model said.
    #[serde(default)]
    pub reply: Option<ReplyInput>,
    /// What came of a call.
    #[serde(default)]
    pub result: Option<ResultInput>,
    /// The id of a call of an outside tool that is about to begin.
    #[serde(default)]
    pub starts: Option<String>,
    /// What stands for all that was said before.
    #[serde(default)]
    pub summary: Option<SummaryInput>,
    /// Ask the driver what is next.
    #[serde(default)]
    pub drive: Option<DriveInput>,
}

/// An entry of the outbox.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EntryInput {
    /// Its id.
    pub id: String,
    /// The epoch of whoever took it.
    pub epoch: i64,
}

/// What the model said.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReplyInput {
    /// Its words.
    pub text: String,
    /// What it calls.
    #[serde(default)]
    pub calls: Vec<CallInput>,
    /// What its maker wants back unchanged.
    #[serde(default)]
    pub raw: Option<Value>,
    /// How it ended.
    pub finish: Finish,
    /// How many tokens fit into one call of this model.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    pub window: Option<u64>,
    /// How much had been said to the run when the model was called, as its look told; absent: all of
    /// it.
    #[serde(default)]
    #[schemars(with = "Option<i64>")]
    pub heard: Option<u32>,
    /// Tokens that went in.
    #[schemars(with = "i64")]
    pub input_tokens: u64,
    /// Of these, from the maker's cache.
    #[serde(default)]
    #[schemars(with = "i64")]
    pub cached_tokens: u64,
    /// Tokens that came out.
    #[schemars(with = "i64")]
    pub output_tokens: u64,
    /// The newest message it had seen: what others said since comes after it.
    #[serde(default)]
    pub seen: Option<String>,
}

/// A call of a tool.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct CallInput {
    /// The model's id of it.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its input, as JSON text.
    pub input: String,
}

/// What came of a call.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ResultInput {
    /// The model's id of the call.
    pub call_id: String,
    /// The tool.
    pub name: String,
    /// What the model gets to see.
    pub text: String,
    /// It failed.
    #[serde(default)]
    pub is_error: Option<bool>,
    /// It changed something.
    #[serde(default)]
    pub changed: Option<bool>,
    /// What it changed is on a list.
    #[serde(default)]
    pub touched_list: Option<bool>,
    /// The tool is not one of punchlist's own.
    #[serde(default)]
    pub outside: Option<bool>,
}

/// What stands for all that was said before.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SummaryInput {
    /// The words.
    pub text: String,
    /// Tokens that went in.
    #[schemars(with = "i64")]
    pub input_tokens: u64,
    /// Of these, from the maker's cache.
    #[serde(default)]
    #[schemars(with = "i64")]
    pub cached_tokens: u64,
    /// Tokens that came out.
    #[schemars(with = "i64")]
    pub output_tokens: u64,
}

/// Ask the driver.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DriveInput {
    /// What happened.
    pub trigger: Happened,
    /// How the model's last reply ended, where it stopped; absent: end_turn.
    #[serde(default)]
    pub finish: Option<Finish>,
    /// Can the agent change its list?
    pub has_todo_tool: bool,
    /// Can it hold an item?
    #[serde(default)]
    pub can_hold: Option<bool>,
    /// Can it ask the person?
    #[serde(default)]
    pub can_ask: Option<bool>,
    /// The words of an error.
    #[serde(default)]
    pub detail: Option<String>,
    /// Its stable code.
    #[serde(default)]
    pub code: Option<String>,
}

/// What happened that calls for a decision.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Happened {
    Stopped,
    ToolsDone,
    UserMessage,
    DelegationReturned,
    GateAnswered,
    Tick,
    Resumed,
    Handed,
}

impl DriveInput {
    fn trigger(&self) -> Trigger {
        match self.trigger {
            Happened::Stopped => Trigger::Stopped(self.finish.unwrap_or(Finish::EndTurn)),
            Happened::ToolsDone => Trigger::ToolsDone,
            Happened::UserMessage => Trigger::UserMessage,
            Happened::DelegationReturned => Trigger::DelegationReturned,
            Happened::GateAnswered => Trigger::GateAnswered,
            Happened::Tick => Trigger::Tick,
            Happened::Resumed => Trigger::Resumed,
            Happened::Handed => Trigger::Handed,
        }
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub epoch: i64,
    pub state: RunState,
    /// Somebody asked it to end.
    pub cancelled: bool,
    /// What the driver says.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictView>,
    /// What it told the model, or the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub said: Option<String>,
    /// The lists as they stand, where the model is to be called.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scene: Option<Scene>,
    /// An item that is held now because its tools fail.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub held: Option<String>,
}

/// What the driver says.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct VerdictView {
    /// Call the model again.
    pub goes_on: bool,
    /// Because it was asked to, with this item.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continued_with: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waits_for: Option<WaitView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stop_reason: Option<StopReason>,
}

impl From<&Verdict> for VerdictView {
    fn from(verdict: &Verdict) -> Self {
        let mut view =
            Self { goes_on: false, continued_with: None, waits_for: None, stop_reason: None };
        match verdict {
            Verdict::Continue { todo, prompted } => {
                view.goes_on = true;
                view.continued_with = todo.filter(|_| *prompted).map(|id| id.to_string());
            }
            Verdict::Wait(wait) => view.waits_for = Some(wait.into()),
            Verdict::Stop(reason) => view.stop_reason = Some(*reason),
        }
        view
    }
}

#[derive(Debug)]
pub struct RunStep;

impl Define for RunStep {
    const NAME: &'static str = "run_step";
    const ACCESS: Access = Access::On(Subject::Run, Action::Execute);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str = r#"{"run":"01JCQ0000000000000000000AB","epoch":0,
        "summary":{"text":"So far: nothing.","inputTokens":10,"outputTokens":3}}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let Some(epoch) = input.epoch else {
            let entry = input.entry.as_ref().map(|entry| (entry.id.as_str(), entry.epoch));
            let (run, epoch) = call.take_run(input.run.as_str(), entry)?;
            let cancelled = run.cancelled.is_some();
            let (verdict, said, scene, held) = (None, None, None, None);
            return Ok(Output { epoch, state: run.state, cancelled, verdict, said, scene, held });
        };
        let mut run = call.run_held(input.run.as_str(), epoch)?;
        let mut held = None;
        if let Some(reply) = &input.reply {
            run = call.record_reply(run, reply.into())?;
        }
        if let Some(result) = &input.result {
            (run, held) = call.record_result(run, result.into())?;
        }
        if let Some(call_id) = &input.starts {
            run = call.record_start(run, call_id.clone())?;
        }
        if let Some(summary) = &input.summary {
            let spent = Spent {
                input: summary.input_tokens,
                cached: summary.cached_tokens,
                output: summary.output_tokens,
            };
            run = call.record_summary(run, &summary.text, spent)?;
        }
        let (mut verdict, mut said, mut scene) = (None, None, None);
        if let Some(drive) = &input.drive {
            let ways = Ways {
                hold: drive.can_hold.unwrap_or_default(),
                ask: drive.can_ask.unwrap_or_default(),
            };
            let trigger = drive.trigger();
            let fault = (drive.detail.as_deref(), drive.code.as_deref());
            let driven = call.drive(run, trigger, drive.has_todo_tool, ways, fault)?;
            verdict = Some(VerdictView::from(&driven.verdict));
            (run, said, scene) = (driven.run, driven.said, driven.scene);
        }
        let (state, cancelled) = (run.state, run.cancelled.is_some());
        let held = held.map(|id| id.to_string());
        Ok(Output { epoch, state, cancelled, verdict, said, scene, held })
    }
}

impl From<&ReplyInput> for Reply {
    fn from(input: &ReplyInput) -> Self {
        let calls = input.calls.iter().map(|call| ToolCall {
            id: call.id.clone(),
            name: call.name.clone(),
            input: call.input.clone(),
        });
        let (raw, finish, seen) = (input.raw.clone(), input.finish, input.seen.clone());
        let part = Part::Reply { calls: calls.collect(), raw, finish, seen };
        let spent = Spent {
            input: input.input_tokens,
            cached: input.cached_tokens,
            output: input.output_tokens,
        };
        let (window, heard) = (input.window, input.heard);
        Self { text: input.text.clone(), part, spent, window, heard }
    }
}

impl From<&ResultInput> for ToolResult {
    fn from(input: &ResultInput) -> Self {
        let part = Part::Result {
            call_id: input.call_id.clone(),
            name: input.name.clone(),
            is_error: input.is_error.unwrap_or_default(),
        };
        Self {
            text: input.text.clone(),
            part,
            changed: input.changed.unwrap_or_default(),
            touched_list: input.touched_list.unwrap_or_default(),
            outside: input.outside.unwrap_or_default(),
        }
    }
}
