//! What a new run is: its agent, role and reach, and the messages it answers.

use punchlist_core::conversation::{About, Message, MessageKind, Speaker};
use punchlist_core::driver::{Budget, StopReason};
use punchlist_core::run::begin::{self, Answered, Course};
use punchlist_core::run::{Run, RunState, SettingsOf};
use punchlist_core::{
    Actor, AgentPath, Ids, MessageId, MissionId, PillarId, Reach, Refusal, Role, SessionId, Time,
};

use crate::driver::case::run;
use crate::edges_of_delegations::delegated;
use crate::world::actor;

const NOW: Time = Time::from_micros(5);

fn path(text: &str) -> AgentPath {
    AgentPath::parse(text).unwrap()
}

/// The actor of a token for this agent.
fn token(role: Role, agent: &str) -> Actor {
    Actor { fixed: true, ..Actor::new(role, path(agent)) }
}

#[test]
fn a_run_without_a_named_agent_is_the_callers() {
    assert_eq!(begin::default_agent(&Actor::new(Role::Operator, path("ada"))), "primary");
    assert_eq!(begin::default_agent(&token(Role::Root, "ada")), "ada");
    let unknown = Refusal::BadAgentType { name: "a b".to_owned() };
    assert_eq!(begin::agent_named("a b"), Err(unknown));
    for (agent, configured, role) in [
        ("primary", None, Role::Root),
        ("primary.coder", None, Role::Worker),
        ("primary.coder", Some(Role::Root), Role::Root),
        ("lead", Some(Role::Lead), Role::Lead),
    ] {
        assert_eq!(begin::role_of(&path(agent), configured), role, "{agent}");
    }
}

#[test]
fn a_token_that_may_not_choose_the_model_uses_the_settings_of_a_process() {
    for (actor, held, expected) in [
        (Actor::new(Role::Root, path("ada")), false, SettingsOf::Run),
        (token(Role::Operator, "ada"), false, SettingsOf::Run),
        (token(Role::Root, "ada"), true, SettingsOf::Starter),
        (token(Role::Root, "ada"), false, SettingsOf::Executor),
    ] {
        assert_eq!(begin::settings_of(&actor, held), expected, "{actor:?} {held}");
    }
}

/// A message continues the run that waits in its chat, and does not disturb one that runs.
#[test]
fn a_waiting_run_gets_the_message_if_it_is_in_reach() {
    let running = run(Budget::default());
    let waiting = Run { state: RunState::Waiting, ..running.clone() };
    let over = Run { state: RunState::Ended, ..running.clone() };
    let operator = actor(Role::Operator);
    assert_eq!(begin::course(&operator, None), Ok(Course::Begin));
    assert_eq!(begin::course(&operator, Some(&over)), Ok(Course::Begin));
    assert_eq!(begin::course(&operator, Some(&waiting)), Ok(Course::Resume(waiting.id)));
    let (conversation, agent) = (running.conversation_id, running.agent.clone());
    let run = Some(running.id);
    let at_work = Refusal::AgentAtWork { conversation, agent: agent.clone(), run };
    // The process of a running run may be gone, so the hint must help then, too.
    let hint = at_work.hint();
    let short = punchlist_core::naming::short(&running.id.to_string()).to_owned();
    assert!(hint.contains(&format!("`punch run --resume {short}`")), "{hint}");
    assert_eq!(begin::course(&operator, Some(&running)), Err(at_work));
    let other = begin::course(&token(Role::Root, "other"), Some(&waiting));
    assert_eq!(other, Err(Refusal::NotYourself { agent }));
    let mut narrowed = token(Role::Root, "primary");
    narrowed.reach.number = Some(4);
    let missing = format!("as far as run {}", waiting.id);
    let refused = begin::course(&narrowed, Some(&waiting));
    assert_eq!(refused, Err(Refusal::OutOfReach { missing }));
}

#[test]
fn a_narrowed_run_reaches_its_own_session() {
    let session = SessionId::from(Ids::new(NOW, 2).ulid());
    let with = |reach: Reach| begin::reach_in(&Actor { reach, ..actor(Role::Root) }, session);
    assert_eq!(with(Reach::default()), Reach::default());
    let number = Reach { number: Some(4), ..Reach::default() };
    let both = Reach { session: Some(session.to_string()), ..number.clone() };
    assert_eq!(with(number), both);
    let elsewhere = Reach { session: Some("other".to_owned()), ..Reach::default() };
    assert_eq!(with(elsewhere.clone()), elsewhere);
}

fn message(seed: u128, author: &str) -> Message {
    let mut ids = Ids::new(NOW, seed);
    Message {
        id: MessageId::from(ids.ulid()),
        conversation_id: run(Budget::default()).conversation_id,
        role: Speaker::User,
        kind: MessageKind::Text,
        author: author.to_owned(),
        reach: Reach::default(),
        text: "hello".to_owned(),
        run_id: None,
        part: None,
        created_at: NOW,
    }
}

/// One run answers all messages since the agent's last one.
#[test]
fn messages_after_the_agents_last_one_are_news() {
    let earlier = Run { state: RunState::Ended, ..run(Budget::default()) };
    let reply = Message { run_id: Some(earlier.id), ..message(1, "lead:lead") };
    let (old, new, newer) = (message(2, "operator"), message(3, "operator"), message(4, "root:x"));
    let own = message(5, "lead:lead");
    let by_a_run = Message { run_id: Some(earlier.id), ..message(6, "root:x") };
    let turn = |last: &Message| Some(last.id);
    let asked = Run { turn_id: old.id.to_string(), ..earlier };
    let mut owing = asked.clone();
    owing.counters.heard = owing.counters.answered + 1;
    let stopped = Run { stop_reason: Some(StopReason::Cancelled), ..owing.clone() };
    for (newest, messages, expected) in [
        (None, vec![], None),
        (None, vec![&old, &new], turn(&new)),
        (None, vec![&old, &own], turn(&old)),
        (None, vec![&own, &by_a_run], None),
        (Some(&asked), vec![&old, &reply], None),
        (Some(&asked), vec![&new, &old], None),
        (Some(&asked), vec![&old, &reply, &new, &newer], turn(&newer)),
        (Some(&owing), vec![&new, &old, &reply], turn(&new)),
        (Some(&stopped), vec![&new, &old, &reply], None),
    ] {
        let messages: Vec<Message> = messages.into_iter().cloned().collect();
        let found = begin::unanswered(newest, &messages, "lead:lead");
        assert_eq!(found.map(|answered| answered.turn), expected, "{messages:?}");
    }
}

#[test]
fn an_answer_has_the_narrowest_reach_of_its_authors() {
    let with = |seed, number| {
        let reach = Reach { number, ..Reach::default() };
        Message { reach, ..message(seed, "operator") }
    };
    for (numbers, expected) in [
        ([None, None], None),
        ([Some(4), None], Some(4)),
        ([None, Some(4)], Some(4)),
        // Neither contains the other: the newest counts.
        ([Some(3), Some(4)], Some(4)),
    ] {
        let messages = [with(1, numbers[0]), with(2, numbers[1])];
        let reach = Reach { number: expected, ..Reach::default() };
        let answered = Answered { turn: messages[1].id, reach };
        assert_eq!(begin::unanswered(None, &messages, "lead:lead"), Some(answered), "{numbers:?}");
    }
}

/// M-63: a running agent is left alone; one of another role is not asked about.
#[test]
fn only_a_running_run_is_at_work() {
    let one = run(Budget::default());
    for (state, expected) in
        [(RunState::Running, true), (RunState::Waiting, false), (RunState::Ended, false)]
    {
        assert_eq!(begin::is_at_work(Some(&Run { state, ..one.clone() })), expected);
    }
    assert!(!begin::is_at_work(None));
}

/// M-40, M-50: only an agent that is configured as owner is one. Another one that is handed a pillar's
/// todo is a worker.
#[test]
fn an_agent_configured_as_owner_is_owner_in_the_chat_of_a_pillar_and_a_worker_elsewhere() {
    let mut ids = Ids::new(NOW, 9);
    let pillar = Some((PillarId::from(ids.ulid()), "speed".to_owned()));
    let mission_id = MissionId::from(ids.ulid());
    let about = About { mission_id, mission_slug: "m".to_owned(), pillar };
    for (about, configured, expected) in [
        (Some(&about), None, Ok(Role::Worker)),
        (Some(&about), Some(Role::Owner), Ok(Role::Owner)),
        (Some(&about), Some(Role::Worker), Ok(Role::Worker)),
        (None, None, Ok(Role::Worker)),
        (None, Some(Role::Owner), Ok(Role::Worker)),
        (None, Some(Role::Lead), Err(Refusal::MayNotRun { role: Role::Lead })),
        (None, Some(Role::Root), Ok(Role::Worker)),
        (Some(&about), Some(Role::Root), Ok(Role::Worker)),
        (Some(&about), Some(Role::Lead), Err(Refusal::MayNotRun { role: Role::Lead })),
    ] {
        assert_eq!(begin::role_for_work(about, configured), expected, "{configured:?}");
    }
    assert_eq!(begin::pillar_of(Role::Owner, Some(&about)), Some("speed"));
    assert_eq!(begin::pillar_of(Role::Lead, Some(&about)), None, "a lead sees every pillar");
    for role in Role::ALL {
        assert_eq!(begin::is_in_session(role), role == Role::Root, "{role}");
    }
}

#[test]
fn a_drained_run_of_a_delegation_is_not_repeated() {
    let one = run(Budget::default());
    for (stop_reason, expected) in
        [(None, true), (Some(StopReason::Drained), true), (Some(StopReason::NoProgress), false)]
    {
        assert_eq!(begin::is_kept(&Run { stop_reason, ..one.clone() }), expected);
    }
}

/// The order is the newest message of the delegator with the words of the delegation.
#[test]
fn delegated_work_is_done_by_its_agent_and_begins_at_its_order() {
    let work = delegated();
    let said =
        |seed, author: &str, text: &str| Message { text: text.to_owned(), ..message(seed, author) };
    let (by, order) = (work.delegated_by.as_str(), work.mission.as_str());
    let chat = [
        said(1, by, order),
        said(2, by, order),
        said(3, "operator:other", order),
        said(4, by, "something else"),
    ];
    assert_eq!(begin::order(&work, &chat).map(|message| message.id), Some(chat[1].id));
    assert_eq!(begin::order(&work, &chat[2..]), None);
    let agent = |role| begin::agent_for_work(role, "speed", &work);
    assert_eq!(agent(Role::Owner), Ok(path("speed")));
    assert_eq!(agent(Role::Worker), Ok(work.agent.clone()));
}
