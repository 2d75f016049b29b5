//! Changes of a pillar's items, and the sweep of a cycle.

use punchlist_core::conversation::{MessageKind, Speaker, synthetic};
use punchlist_core::deadline::Deadline;
use punchlist_core::event::{
    ClaimReturned, TodoArchived, TodoCancelled, TodoEscalated, TodoRevised,
};
use punchlist_core::follow::Then;
use punchlist_core::follow::mission::{self as follow, Notice, Swept};
use punchlist_core::mission::{called_off, warning};
use punchlist_core::todo::SettledBy;
use punchlist_core::{
    Actor, ConversationId, Decision, Event, Ids, ListKind, Role, Status, Time, TodoId,
};

use crate::mission_init::mission;
use crate::world::{World, actor};

fn only(event: impl Into<Event>) -> Decision {
    Decision { events: vec![event.into()], ..Decision::default() }
}

fn said(chat: ConversationId, text: &str) -> Then {
    let (speaker, kind) = (Speaker::User, MessageKind::Synthetic);
    Then::Post { chat, speaker, kind, text: synthetic(text) }
}

fn cancelled(todo_id: TodoId, by: &Actor) -> TodoCancelled {
    let settled_by = SettledBy { principal: by.principal.clone(), role: by.role };
    TodoCancelled { todo_id, outcome: None, settled_at: Time::from_micros(9), settled_by }
}

/// M-51, M-74: a question stays open while its deadline is the same, and returned work goes back with
/// the feedback.
#[test]
fn what_follows_from_a_change_of_an_item() {
    let mut world = World::new(ListKind::Pillar);
    let todo_id = world.create(&["Profile webpack"])[0];
    let late = Deadline::parse("2026-11-01");
    let set = |asked: Option<Deadline>, status: Status| {
        let mut list = world.state.clone();
        let todo = list.todos.get_mut(&todo_id).unwrap();
        (todo.deadline, todo.overdue_notified_for, todo.status) = (late, asked, status);
        list
    };
    let todo = world.state.todo(todo_id).unwrap();
    let revised = TodoRevised {
        todo_id,
        title: todo.title.clone(),
        phase: None,
        priority: todo.priority,
        position: todo.position,
        deadline: late,
        reason: None,
    };
    let returned = ClaimReturned { todo_id, feedback: "measure it".to_owned() };
    let (lead, person) = (actor(Role::Lead), actor(Role::Operator));
    let close = |by: &Actor| Then::CloseQuestions { actor: Box::new(by.clone()), todo_id };
    let back = |speaker| {
        let feedback = "measure it".to_owned();
        vec![Then::HandBack { todo_id, speaker, feedback }]
    };
    let pending = Status::Pending;
    for (name, list, decided, by, then) in [
        ("asked, and late as before", set(late, pending), only(revised.clone()), &lead, vec![]),
        ("never asked", set(None, pending), only(revised.clone()), &lead, vec![close(&lead)]),
        (
            "a new deadline",
            set(Deadline::parse("2026-10-01"), pending),
            only(revised),
            &lead,
            vec![close(&lead)],
        ),
        (
            "cancelled",
            set(late, Status::Cancelled),
            only(cancelled(todo_id, &person)),
            &person,
            vec![close(&person)],
        ),
        ("returned by an agent", set(None, pending), only(returned.clone()), &lead, {
            back(Speaker::Assistant)
        }),
        ("returned by a person", set(None, pending), only(returned), &person, back(Speaker::User)),
    ] {
        assert_eq!(follow::changed(&list, &decided, by), then, "{name}");
    }
    let mut plan = World::new(ListKind::Plan);
    let id = plan.create(&["a"])[0];
    assert_eq!(follow::changed(&plan.state, &only(cancelled(id, &lead)), &lead), vec![]);
}

/// M-74, M-76: people are asked about late items, and notices about those cancelled for it, in order.
#[test]
fn what_follows_from_a_sweep() {
    let mut world = World::new(ListKind::Pillar);
    let ids = world.create(&["late", "dropped", "old"]);
    let before = world.state.clone();
    let mut after = before.clone();
    after.todos.get_mut(&ids[1]).unwrap().status = Status::Cancelled;
    let deadline = Deadline::parse("2026-11-01").unwrap();
    let escalated = |todo_id| Event::from(TodoEscalated { todo_id, deadline });
    let events = vec![
        escalated(ids[0]),
        cancelled(ids[1], &Actor::system()).into(),
        escalated(ids[1]),
        TodoArchived { todo_id: ids[2], archived_at: Time::from_micros(9) }.into(),
    ];
    let decided = Decision { events, ..Decision::default() };
    let chat = ConversationId::from(Ids::new(Time::from_micros(0), 4).ulid());
    let dropped = called_off(before.todo(ids[1]).unwrap());
    let expected = Swept {
        escalated: vec!["late".to_owned(), "dropped".to_owned()],
        demoted: vec![],
        cancelled: vec!["dropped".to_owned()],
        archived: 1,
        notices: vec![Notice::Asked(ids[0]), Notice::Said(said(chat, &dropped))],
    };
    assert_eq!(follow::swept(&before, &after, &decided, chat), expected);
}

/// An agent that works on a late item is warned; nobody else is.
#[test]
fn only_the_agent_on_a_late_item_is_warned() {
    let (mission, mut world) = (mission(), World::new(ListKind::Pillar));
    let id = world.create(&["late"])[0];
    let (chat, pillar) = (mission.conversation_id, &mission.pillars[0]);
    let todo = world.state.todos.get_mut(&id).unwrap();
    assert_eq!(follow::escalated(todo, "why?", chat, pillar), vec![said(chat, "why?")]);
    todo.status = Status::InProgress;
    let warned = said(pillar.todos_conversation_id, &warning(todo));
    assert_eq!(follow::escalated(todo, "why?", chat, pillar), vec![said(chat, "why?"), warned]);
    crate::driver::case::claim(todo);
    assert_eq!(follow::escalated(todo, "why?", chat, pillar), vec![said(chat, "why?")]);
    let prompt = "# Plan";
    let own = pillar.conversation_id;
    let asked = [said(own, prompt), Then::CallUpon(own)];
    assert_eq!(follow::asked_to_plan(pillar, prompt), asked);
    assert!(synthetic(prompt).ends_with("\n\n# Plan"), "a heading begins its own line");
    assert_eq!(follow::planned(chat, "done"), [said(chat, "done"), Then::CallUpon(chat)]);
}
