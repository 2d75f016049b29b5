//! `session_hook`: a hook of a host, translated to our terms, and our answer to the host.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::host::{Happened, Host, Source};
use punchlist_core::named;
use punchlist_core::text::{Content, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::{Maybe, range, up_to, up_to_or_none};
use crate::operations::todo_write::{WrittenPriority, WrittenStatus};

/// Report a hook of an agent host, and learn what the host is to do. `punch hook` calls it.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The host.
    pub host: Host,
    /// What happened.
    pub event: Happened,
    /// The host's own id for the session.
    #[serde(default)]
    pub external_id: Maybe<Title>,
    /// The host's id for the turn or the prompt.
    #[serde(default)]
    pub turn: Maybe<Title>,
    /// The beginning of what a person wrote, of a prompt.
    #[serde(default)]
    pub prompt: Maybe<Title>,
    /// Why the session begins; absent: startup.
    #[serde(default)]
    pub source: Option<Source>,
    /// The stop follows a continuation.
    #[serde(default)]
    pub continued: Option<bool>,
    /// A digest of the model's last words, to know the same stop again.
    #[serde(default)]
    pub content: Maybe<Title>,
    /// Background work or a schedule will wake the session.
    #[serde(default)]
    pub parked: Option<bool>,
    /// The host only plans at the moment.
    #[serde(default)]
    pub plan_mode: Option<bool>,
    /// A person interrupted the model, or the turn failed.
    #[serde(default)]
    pub interrupted: Option<bool>,
    /// The hook is of a subagent, by its id or type.
    #[serde(default)]
    pub subagent: Maybe<Title>,
    /// A tool that changes something succeeded since the last stop.
    #[serde(default)]
    pub changed: Option<bool>,
    /// For a stop failure: the error of the model's service.
    #[serde(default)]
    pub error: Maybe<Title>,
    /// The version of the host.
    #[serde(default)]
    pub version: Maybe<Title>,
    /// The processes the hook was fired from, the nearest first.
    #[serde(default, deserialize_with = "up_to_or_none::<32, _, _>")]
    #[schemars(with = "Option<Vec<Title>>", length(max = 32))]
    pub processes: Vec<Title>,
    /// Ask the session to continue while its list is open; absent: what is configured, else yes.
    #[serde(default)]
    pub auto_complete_todos: Option<bool>,
    /// How often, from 0; never more often than the host allows.
    #[serde(default, deserialize_with = "range::<0, { i64::MAX }, _>")]
    #[schemars(range(min = 0))]
    pub max_todo_continuations: Option<i64>,
    /// The host's own list, whole; absent: it is not known, and nothing changes.
    #[serde(default, deserialize_with = "up_to::<10_000, _, _>")]
    #[schemars(length(max = 10_000))]
    pub todos: Option<Vec<NativeTodo>>,
}

/// An item of the host's own list.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NativeTodo {
    /// The host's id; absent: the text says which it is.
    #[serde(default)]
    pub id: Maybe<Title>,
    /// What to do.
    #[serde(default)]
    pub content: Maybe<Content>,
    /// Where it stands; completed is a claim here.
    #[serde(default)]
    pub status: Option<WrittenStatus>,
    /// How much it matters.
    #[serde(default)]
    pub priority: Option<WrittenPriority>,
}

named! {
    /// What the host is to do.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
    pub enum Answer {
        /// Nothing: a stop is allowed.
        Allow = "allow",
        /// Do not stop: tell the model this text.
        Continue = "continue",
        /// Show the model this text.
        Context = "context",
    }
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    pub answer: Answer,
    /// For the model, or, where a stop is allowed with work left, for the person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// A stable code: the driver's, or why it was not asked.
    pub reason: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_id: Option<String>,
}

#[derive(Debug)]
pub struct SessionHook;

impl Define for SessionHook {
    const NAME: &'static str = "session_hook";
    const ACCESS: Access = Access::On(Subject::Session, Action::Start);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str =
        r#"{"host":"claude","event":"start","externalId":"abc-123","source":"startup"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        call.answer_hook(input)
    }
}
