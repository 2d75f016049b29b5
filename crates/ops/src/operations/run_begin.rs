//! `run_begin`: begin a run of a configured agent that answers in a chat or works on a delegation.

use punchlist_core::Actor;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::conversation::{MessageKind, Speaker};
use punchlist_core::run::begin;
use punchlist_core::text::Title;
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::{Call, NewRun};
use crate::catalogue::{Define, Effect, Surfaces};
use crate::config::Overrides;
use crate::input::Maybe;
use crate::views::run::RunView;

/// How many messages are searched for those that the agent has not answered yet.
const RECENT: i64 = 200;

/// Begin a run of a configured agent that answers in a chat or works on a delegation. Only workers may.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Input {
    /// The agent, by its name in punchlist.toml.
    pub agent: Title,
    /// The chat it answers in.
    #[serde(default)]
    pub conversation_id: Maybe<Title>,
    /// The delegation it works on.
    #[serde(default)]
    pub delegation_id: Maybe<Title>,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Output {
    /// The run to execute; null: there is nothing to answer.
    pub run: Option<RunView>,
    /// Another run of the agent is active in the chat; try again when it has ended.
    pub at_work: bool,
}

#[derive(Debug)]
pub struct RunBegin;

impl Define for RunBegin {
    const NAME: &'static str = "run_begin";
    const ACCESS: Access = Access::On(Subject::Run, Action::Execute);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces::CALL;
    const EXAMPLE: &'static str =
        r#"{"agent":"lead","conversationId":"01JCQ0000000000000000000AB"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        match (&input.delegation_id.0, &input.conversation_id.0) {
            (Some(named), _) => for_work(call, input.agent.as_str(), named.as_str()),
            (None, Some(named)) => answer(call, input.agent.as_str(), named.as_str()),
            (None, None) => Err(Error::MissingContext { missing: vec!["conversation"] }),
        }
    }
}

/// Begins one run that answers all messages since the agent's last one.
fn answer(call: &mut Call<'_, '_>, name: &str, named: &str) -> Result<Output, Error> {
    let conversation = call.conversation(named)?;
    let (settings, _) = call.envelope().agents().settings(name, &Overrides::default())?;
    let role = conversation.addressee();
    let agent = begin::agent_named(name)?;
    let newest = call.tx().newest_run_as(conversation.id, role)?;
    if begin::is_at_work(newest.as_ref()) {
        return Ok(Output { run: None, at_work: true });
    }
    let messages = call.tx().newest_messages(conversation.id, RECENT)?;
    let principal = Actor::new(role, agent.clone()).principal;
    let Some(answered) = begin::unanswered(newest.as_ref(), &messages, &principal) else {
        return Ok(Output { run: None, at_work: false });
    };
    let about = conversation.about.as_ref();
    let new = NewRun {
        agent,
        role,
        mission: about.map(|about| about.mission_slug.clone()),
        pillar: begin::pillar_of(role, about).map(str::to_owned),
        settings,
        plan: None,
        delegation: None,
        reach: Some(answered.reach),
        names_model: false,
        held: false,
    };
    let session = match begin::is_in_session(role) {
        true => call.tx().session_of_conversation(conversation.id)?,
        false => None,
    };
    let turn = answered.turn.to_string();
    let run = call.start_run(conversation.id, turn, session.as_ref(), new)?;
    Ok(Output { run: Some(RunView::from(&run)), at_work: false })
}

/// The run of a delegation: the one it has, or a new one.
fn for_work(call: &mut Call<'_, '_>, name: &str, named: &str) -> Result<Output, Error> {
    let (delegation, _) = call.delegation(named, Lock::Row)?;
    let earlier = call.tx().run_of_delegation(delegation.id)?;
    if let Some(run) = earlier.filter(begin::is_kept) {
        return Ok(Output { run: Some(RunView::from(&run)), at_work: false });
    }
    let (settings, role) = call.envelope().agents().settings(name, &Overrides::default())?;
    let project = delegation.project_id;
    let (conversation, about) = match delegation.conversation_id {
        Some(id) => (id, call.tx().conversation(project, id)?.and_then(|chat| chat.about)),
        None => (call.open_chat(&format!("{}: {}", delegation.kind, delegation.mission))?.id, None),
    };
    let recent = call.tx().newest_messages(conversation, 50)?;
    let turn_id = match begin::order(&delegation, &recent) {
        Some(message) => message.id,
        None => {
            let said = (Speaker::User, MessageKind::Text);
            let author = delegation.delegated_by.clone();
            let text = delegation.mission.clone();
            call.post_as(author, project, conversation, said, text, None)?.id
        }
    };
    let role = begin::role_for_work(about.as_ref(), role)?;
    let agent = begin::agent_for_work(role, name, &delegation)?;
    let new = NewRun {
        agent,
        role,
        mission: about.as_ref().map(|about| about.mission_slug.clone()),
        pillar: about.and_then(|about| about.pillar.map(|(_, slug)| slug)),
        settings,
        plan: None,
        reach: Some(delegation.reach.clone()),
        delegation: Some(delegation),
        names_model: false,
        held: false,
    };
    let run = call.start_run(conversation, turn_id.to_string(), None, new)?;
    Ok(Output { run: Some(RunView::from(&run)), at_work: false })
}
