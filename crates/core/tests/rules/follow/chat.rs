//! A message in a chat.

use punchlist_core::conversation::{Channel, Conversation};
use punchlist_core::driver::Budget;
use punchlist_core::effect::Effect;
use punchlist_core::follow::chat::{Heard, called_upon, heard};
use punchlist_core::run::{Run, RunState};
use punchlist_core::{Role, Session, Time};

use crate::driver::case::run;
use crate::issue_life::session;
use crate::world::actor;

/// A person's message wakes the run that waits, or is answered by the agent; an agent's waits.
#[test]
fn a_person_is_heard_and_an_agent_later() {
    let running = run(Budget::default());
    let waiting = Run { state: RunState::Waiting, ..running.clone() };
    let over = Run { state: RunState::Ended, ..running.clone() };
    let operator = actor(Role::Operator);
    for (newest, expected) in [
        (None, Heard::Answered),
        (Some(&over), Heard::Answered),
        (Some(&waiting), Heard::By(waiting.id)),
        (Some(&running), Heard::By(running.id)),
    ] {
        assert_eq!(heard(&operator, newest), expected);
        assert_eq!(heard(&actor(Role::Worker), newest), Heard::Later);
    }
}

#[test]
fn the_addressed_agent_answers_unless_a_host_runs_it() {
    let running = run(Budget::default());
    let waiting = Run { state: RunState::Waiting, ..running.clone() };
    let (own, hosted) = (session(), Session { host: Some("claude".to_owned()), ..session() });
    let chat = Conversation {
        id: running.conversation_id,
        project_id: running.project_id,
        channel: Channel::Pillar,
        title: "speed".to_owned(),
        about: None,
        created_at: Time::from_micros(0),
    };
    let answer = Effect::Answer { conversation_id: chat.id, role: Role::Owner };
    for (session, newest, expected) in [
        (None, None, (None, Some(answer.clone()))),
        (Some(&own), Some(&waiting), (None, Some(answer.clone()))),
        // It may have read the chat for the last time.
        (Some(&own), Some(&running), (Some(running.id), Some(answer))),
        (Some(&hosted), Some(&running), (None, None)),
    ] {
        assert_eq!(called_upon(&chat, session, newest), expected);
    }
}
