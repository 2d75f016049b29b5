//! `run_start`: start a run of an agent that answers a message.

use punchlist_core::authority::{Action, Subject};
use punchlist_core::conversation::{MessageKind, Speaker};
use punchlist_core::driver::Trigger;
use punchlist_core::run::SettingsOf;
use punchlist_core::run::begin::{self, Course};
use punchlist_core::session::going;
use punchlist_core::text::{Body, Title};
use punchlist_core::{Refusal, Scope};
use punchlist_store::Load;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::{Call, NewRun, NewSession};
use crate::catalogue::{Define, Effect, Surfaces};
use crate::config::Overrides;
use crate::config::drive::{MAX_CONTINUATIONS_LIMIT, MAX_ITERATIONS, MAX_TOKENS_LIMIT};
use crate::input::{Maybe, range};
use crate::views::run::RunView;

/// The limits of a configuration file.
const CONTINUATIONS_MAX: i64 = MAX_CONTINUATIONS_LIMIT as i64;
const ITERATIONS_MAX: i64 = MAX_ITERATIONS as i64;
const TOKENS_MAX: i64 = MAX_TOKENS_LIMIT as i64;

/// Start a run of an agent that answers a message. A worker executes it; `punch run` executes it itself.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The message.
    pub prompt: Body,
    /// The agent, by its name in punchlist.toml; absent: primary.
    #[serde(default)]
    #[schemars(with = "Maybe<crate::input::Agent>")]
    pub agent: Maybe<Title>,
    /// The model, e.g. `anthropic:claude-sonnet-5`; absent: what is configured.
    #[serde(default)]
    pub model: Maybe<Title>,
    /// The number of the issue to work on.
    #[serde(default)]
    pub number: Option<i64>,
    /// The plan to work on, by its file.
    #[serde(default)]
    #[schemars(with = "Maybe<crate::input::PlanFile>")]
    pub plan_file: Maybe<Title>,
    /// The branch of that plan; absent: the one checked out.
    #[serde(default)]
    pub branch: Maybe<Title>,
    /// Continue automatically until its lists are drained; absent: what is configured.
    #[serde(default)]
    pub auto_complete_todos: Option<bool>,
    /// How many continuations there may be, 0 to 1000.
    #[serde(default, deserialize_with = "range::<0, CONTINUATIONS_MAX, _>")]
    #[schemars(range(min = 0, max = CONTINUATIONS_MAX))]
    pub max_todo_continuations: Option<i64>,
    /// How many model calls there may be between two stops, 1 to 50.
    #[serde(default, deserialize_with = "range::<1, ITERATIONS_MAX, _>")]
    #[schemars(range(min = 1, max = ITERATIONS_MAX))]
    pub max_iterations: Option<i64>,
    /// How many tokens the whole run may use, in and out, 1 to 1000000000.
    #[serde(default, deserialize_with = "range::<1, TOKENS_MAX, _>")]
    #[schemars(range(min = 1, max = TOKENS_MAX))]
    pub max_total_tokens: Option<i64>,
    /// The caller executes it itself, so workers do not take it for a while.
    #[serde(default)]
    pub held: Option<bool>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub run: RunView,
}

#[derive(Debug)]
pub struct RunStart;

impl Define for RunStart {
    const NAME: &'static str = "run_start";
    const ACCESS: Access = Access::On(Subject::Run, Action::Start);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str =
        r#"{"prompt":"Make the tests green.","model":"anthropic:claude-sonnet-5"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let actor = &call.envelope().actor;
        let name = input.agent.0.as_ref().map_or(begin::default_agent(actor), Title::as_str);
        let agent = begin::agent_named(name)?;
        let held = input.held == Some(true);
        let queued = begin::settings_of(actor, held) == SettingsOf::Executor;
        let over = Overrides {
            // No settings are needed if the process that executes the run brings its own.
            model: input
                .model
                .0
                .clone()
                .map(Title::into_string)
                .or_else(|| queued.then(String::new)),
            drives: input.auto_complete_todos,
            max_continuations: count(input.max_todo_continuations),
            max_iterations: count(input.max_iterations),
            max_total_tokens: input.max_total_tokens.and_then(|n| u64::try_from(n).ok()),
        };
        let (settings, role) = call.envelope().agents().settings(name, &over)?;
        let role = begin::role_of(&agent, role);
        let plan = match &input.plan_file.0 {
            Some(file) => Some(known_plan(call, file, input.branch.0.as_ref())?),
            None => None,
        };
        let session = match call.session_to_run_in()? {
            Some(session) => {
                going(&session).map_err(|refused| refused.refusal)?;
                session
            }
            None => {
                let line = input.prompt.as_str().lines().next().unwrap_or_default();
                let line: String = line.chars().take(80).collect();
                let title = Title::new(&line).or_else(|_| Title::new("run"));
                let title = title.map_err(|f| Error::Internal { detail: f.to_string() })?;
                let directory = call.envelope().context.directory.clone();
                let named = call.envelope().context.conversation.as_deref();
                let external_id = named.and_then(|named| Title::new(named).ok());
                call.start_session(NewSession { title, host: None, external_id, directory })?
            }
        };
        let session = match input.number {
            Some(number) => {
                let issue = call.issue(number, Lock::Row)?;
                if session.bound_issue == Some(issue.id) {
                    session
                } else {
                    call.bind_session(session, issue, false)?.0
                }
            }
            None => session,
        };
        let conversation = session.conversation_id;
        let newest = call.tx().newest_run_in(conversation)?;
        let course = begin::course(&call.envelope().actor, newest.as_ref())?;
        let said = (Speaker::User, MessageKind::Text);
        let text = input.prompt.as_str().to_owned();
        let message = call.post(session.project_id, conversation, said, text)?;
        if let Course::Resume(id) = course {
            call.wake_run(session.project_id, id, Trigger::UserMessage, None)?;
            let (run, _) = call.run(&id.to_string(), Lock::No)?;
            return Ok(Output { run: RunView::from(&run) });
        }
        let reach = begin::reach_in(&call.envelope().actor, session.id);
        let new = NewRun {
            agent,
            role,
            mission: None,
            pillar: None,
            settings,
            plan,
            delegation: None,
            reach: Some(reach),
            names_model: input.model.0.is_some(),
            held,
        };
        let run = call.start_run(conversation, message.id.to_string(), Some(&session), new)?;
        Ok(Output { run: RunView::from(&run) })
    }
}

/// The plan of a file. A missing plan is refused: it would look as if nothing were left to do.
fn known_plan(
    call: &mut Call<'_, '_>,
    file: &Title,
    branch: Option<&Title>,
) -> Result<Scope, Error> {
    let scope = call.plan(file, branch);
    if call.look(&scope, Load::Counts)?.is_some() {
        return Ok(scope);
    }
    let (branch, plan_file) = scope.keys();
    let (branch, plan_file) = (branch.to_owned(), plan_file.to_owned());
    Err(Refusal::UnknownPlan { plan_file, branch }.into())
}

fn count(given: Option<i64>) -> Option<u32> {
    given.map(|n| u32::try_from(n).unwrap_or(if n < 0 { 0 } else { u32::MAX }))
}
