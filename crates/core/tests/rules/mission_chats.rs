//! Who owns a chat, who writes in it, and which agent a person speaks to there.

use punchlist_core::conversation::{About, Channel, Conversation, Speaker};
use punchlist_core::{Actor, AgentPath, ConversationId, Ids, Refusal, Role};

use crate::mission_init::{mission, now};
use crate::world::actor;

/// The chats of the mission `outer` and its pillar `inner`, and one of a session.
fn chat(channel: Channel) -> Conversation {
    let mission = mission();
    let mut ids = Ids::new(now(), 5);
    let pillar = (mission.pillars[0].id, "inner".to_owned());
    let pillar = matches!(channel, Channel::Pillar | Channel::PillarTodo).then_some(pillar);
    let about = About { mission_id: mission.id, mission_slug: "outer".into(), pillar };
    Conversation {
        id: ConversationId::from(ids.ulid()),
        project_id: mission.project_id,
        channel,
        title: "chat".into(),
        about: (channel != Channel::Session).then_some(about),
        created_at: now(),
    }
}

/// F-5: a person's message in the chat of the todos is for the lead, who delegates them.
#[test]
fn a_person_speaks_to_the_agent_that_can_act_on_it() {
    for (channel, addressee) in [
        (Channel::Session, Role::Root),
        (Channel::Mission, Role::Lead),
        (Channel::Pillar, Role::Owner),
        (Channel::PillarTodo, Role::Lead),
    ] {
        assert_eq!(chat(channel).addressee(), addressee, "{channel:?}");
    }
}

/// A lead owns the chats of its mission, an owner those of its pillar, and no agent those of
/// others.
#[test]
fn every_agent_has_only_its_own_chats() {
    let elsewhere = |role, mission: &str, pillar: &str| Actor {
        mission: Some(mission.into()),
        pillar: Some(pillar.into()),
        ..actor(role)
    };
    let (of_mission, of_pillar) = (chat(Channel::Mission), chat(Channel::PillarTodo));
    for (who, mission, pillar) in [
        (actor(Role::Operator), true, true),
        (actor(Role::System), true, true),
        (actor(Role::Lead), true, true),
        (actor(Role::Owner), false, true),
        (actor(Role::Root), false, false),
        (actor(Role::Worker), false, false),
        (elsewhere(Role::Lead, "another", "inner"), false, false),
        (elsewhere(Role::Owner, "outer", "another"), false, false),
        (elsewhere(Role::Owner, "another", "inner"), false, false),
    ] {
        assert_eq!((of_mission.is_of(&who), of_pillar.is_of(&who)), (mission, pillar), "{who:?}");
        let refused = of_pillar.writes(&who, None).is_err();
        assert_eq!(refused, !pillar, "{who:?}");
    }
    let session = chat(Channel::Session);
    let own = |role| session.is_of(&actor(role));
    assert_eq!(Role::ALL.map(own), [true, false, false, true, false, true]);
}

/// M-55: a person may only read while an agent works there, and may write otherwise; agents may
/// always write.
#[test]
fn a_person_waits_until_the_agent_is_idle() {
    let chat = chat(Channel::PillarTodo);
    let worker = AgentPath::parse("boss.subagents.coder").unwrap();
    let refused = chat.writes(&actor(Role::Operator), Some(&worker)).unwrap_err();
    assert_eq!(
        refused,
        Refusal::AgentAtWork { conversation: chat.id, agent: worker.clone(), run: None }
    );
    assert_eq!(chat.writes(&actor(Role::Operator), None), Ok(Speaker::User));
    for role in [Role::Lead, Role::Owner] {
        assert_eq!(chat.writes(&actor(role), Some(&worker)), Ok(Speaker::Assistant));
    }
}
