//! `permission_ask`: an agent's runner asks whether the agent may call an outside tool.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::gate::{AskPermission, GateState};
use punchlist_core::text::Title;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::explain::Fault;
use crate::input::{Agent, Maybe};
use crate::{Envelope, Error};

/// How much of an input is shown to a person, in bytes of its JSON.
const SHOWN_MAX: usize = 4 << 10;

/// The longest definition, in bytes of its JSON.
const DEFINITION_MAX: usize = 16 << 10;

/// Ask whether an agent may make this call of an outside tool: allowed, denied, or open until the
/// operator answers. Asking again for the same call returns the same gate.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The tool's name.
    pub tool: Title,
    /// The input of the call.
    #[serde(default)]
    pub input: Option<Value>,
    /// The tool's definition, e.g. its command. A permission given always applies until this
    /// changes.
    #[serde(default)]
    pub definition: Option<Map<String, Value>>,
    /// The path of the calling agent; absent: the caller.
    #[serde(default)]
    pub agent: Maybe<Agent>,
    /// The run that makes the call.
    pub run: Title,
    /// The id of the call in that run.
    pub call: Title,
}

/// Whether a call may be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Nobody has answered yet.
    Open,
    Allowed,
    Denied,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub permission: Verdict,
    /// The gate that asks, or that gave the answer.
    pub gate_id: String,
    /// It was permitted always, so nobody was asked this time.
    pub standing: bool,
    /// The operator's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Value>,
}

#[derive(Debug)]
pub struct PermissionAsk;

impl Define for PermissionAsk {
    const NAME: &'static str = "permission_ask";
    const ACCESS: Access = Access::On(Subject::Permission, Action::Ask);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    /// The answer changes once a person has answered.
    const KEEPS_ANSWERS: bool = false;
    const EXAMPLE: &'static str = r#"{"tool":"deploy","input":{"to":"staging"},
        "definition":{"command":["./deploy.sh"]},"run":"run-1","call":"call-1"}"#;

    type Input = Input;
    type Output = Output;

    /// The limit is on the bytes of any JSON value, which a schema cannot count.
    fn check(_: &Envelope, input: &Input) -> Result<(), Error> {
        let length = input.definition.as_ref().map_or(0, |found| json(found).len());
        if length > DEFINITION_MAX {
            let (path, limit, unit) = ("definition".to_owned(), DEFINITION_MAX, "bytes");
            return Err(Fault::TooLong { path, length, limit, unit }.into());
        }
        Ok(())
    }

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let agent = match &input.agent.0 {
            Some(named) => named.0.clone(),
            None => call.envelope().actor.agent.clone(),
        };
        let whole = input.input.clone().unwrap_or(Value::Null);
        let digest = Sha256::digest(whole.to_string().as_bytes());
        let command = AskPermission {
            tool: input.tool.clone(),
            agent,
            run: input.run.clone(),
            call: input.call.clone(),
            digest: digest.iter().map(|byte| format!("{byte:02x}")).collect(),
            input: shown(whole),
            definition: Value::Object(input.definition.clone().unwrap_or_default()),
        };
        let (gate, standing) = call.ask_permission(&command)?;
        let permission = match gate.state {
            GateState::Resumed => Verdict::Allowed,
            GateState::Refused => Verdict::Denied,
            GateState::Open | GateState::Superseded => Verdict::Open,
        };
        let (gate_id, response) = (gate.id.to_string(), gate.response);
        Ok(Output { permission, gate_id, standing, response })
    }
}

fn json(object: &Map<String, Value>) -> String {
    Value::Object(object.clone()).to_string()
}

/// A long input is cut, and the text says so.
fn shown(input: Value) -> Value {
    let text = input.to_string();
    if text.len() <= SHOWN_MAX {
        return input;
    }
    let end = text.floor_char_boundary(SHOWN_MAX);
    Value::String(format!("{}… ({} bytes in all)", &text[..end], text.len()))
}
