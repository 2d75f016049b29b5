//! The text for a host's model, and the copy of the host's own list.

use punchlist_core::command::{ClaimTodo, ListedTodo, ReplaceTodos};
use punchlist_core::conversation::{Message, MessageKind, Speaker};
use punchlist_core::driver::Budget;
use punchlist_core::gate::{GateKind, GateState};
use punchlist_core::host::brief::{self, Brief, Work};
use punchlist_core::host::mirror::{NativeItem, claims, is_copied, mirrored};
use punchlist_core::host::{Host, Source};
use punchlist_core::text::{Content, Title};
use punchlist_core::{
    Gate, Ids, ListKind, MessageId, Reach, Role, RunId, Session, SessionId, Status, Time,
};
use serde_json::json;

use crate::driver::case::run;
use crate::issue_life::{issue, session};
use crate::plan_world::{complete, grown, nobody_known};
use crate::world::{World, details};

const NOW: Time = Time::from_micros(50);

fn facts<'a>(work: Work<'a>) -> Brief<'a> {
    let (news, plans) = (Some("news".to_owned()), vec!["plan".to_owned()]);
    Brief { first_message: Some("first"), news, plans, work }
}

/// The issue comes first, then the fork, the message, the news and the plans; the advice is last.
#[test]
fn a_brief_has_one_order() {
    let issue = issue();
    let parent = Some(SessionId::from(Ids::new(NOW, 4).ulid()));
    let of = |parent| Work::Issue { issue: &issue, checklist: None, gates: &[], parent };
    let text = facts(of(parent)).text(Host::Claude, NOW).unwrap();
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part} in {text}"));
    let parts = ["Issue #", "This session is a fork", "first", "news", "plan\n", "Keep the"];
    assert!(parts.map(at).is_sorted(), "{text}");
    assert!(!facts(of(None)).text(Host::Claude, NOW).unwrap().contains("fork"));
    let own = facts(Work::List(None)).text(Host::Claude, NOW);
    assert_eq!(own.as_deref(), Some("first\nnews\nplan"));
    let nothing = Brief { first_message: None, news: None, plans: vec![], work: Work::List(None) };
    assert_eq!(nothing.text(Host::Claude, NOW), None);
}

/// The rest may take half of the room, and the whole never exceeds it.
#[test]
fn an_issue_has_half_of_the_room() {
    let issue = issue();
    let (checklist, gates, parent) = (None, &[][..], None);
    let long = "x".repeat(5_000);
    let work = Work::Issue { issue: &issue, checklist, gates, parent };
    let text = Brief { first_message: Some(&long), ..facts(work) }.text(Host::Codex, NOW).unwrap();
    assert_eq!(text.chars().count(), punchlist_core::issue::context::BUDGET);
    assert!(text.starts_with("Issue #"), "{text}");
}

#[test]
fn only_a_fork_is_told_about_its_parents_issue() {
    for source in Source::ALL {
        assert_eq!(brief::follows_parent(Some(source)), source == Source::Fork, "{source:?}");
    }
    assert!(!brief::follows_parent(None));
}

fn message(seed: u128, text: &str) -> Message {
    Message {
        id: MessageId::from(Ids::new(NOW, seed).ulid()),
        conversation_id: run(Budget::default()).conversation_id,
        role: Speaker::User,
        kind: MessageKind::Text,
        author: "operator".to_owned(),
        reach: Reach::default(),
        text: text.to_owned(),
        run_id: None,
        part: None,
        created_at: NOW,
    }
}

#[test]
fn answers_and_messages_of_people_are_news() {
    let gate: Gate = serde_json::from_value(json!({
        "id": "01JCQ0000000000000000000AB", "projectId": "01JCQ0000000000000000000AA",
        "kind": "ask", "purpose": null, "state": "resumed", "sessionId": null, "issueId": null,
        "text": "Which port?", "details": {}, "askedBy": "root:primary", "agent": "primary",
        "createdAt": NOW, "revision": null, "response": "8080", "answeredBy": "operator",
        "answeredAt": NOW, "collectedAt": null,
    }))
    .unwrap();
    let said = message(1, "Hurry");
    let (before, after) = (Time::from_micros(40), Time::from_micros(60));
    let expected = format!("{}\noperator says: Hurry", gate.news().unwrap());
    let (gates, messages) = (std::slice::from_ref(&gate), std::slice::from_ref(&said));
    assert_eq!(brief::news(gates, messages, before), Some(expected.clone()));
    assert_eq!(brief::news(gates, messages, NOW), Some(expected), "at the same time");
    assert_eq!(brief::news(gates, messages, after), None);
    let permission = Gate { details: details(GateKind::Permission), ..gate.clone() };
    let open = Gate { state: GateState::Open, answered_at: None, ..gate };
    let run_id = Some(RunId::from(Ids::new(NOW, 7).ulid()));
    let others = [
        Message { run_id, ..said.clone() },
        Message { role: Speaker::Assistant, ..said.clone() },
        Message { kind: MessageKind::Synthetic, ..said.clone() },
    ];
    assert_eq!(brief::news(&[permission, open], &others, before), None);
    let chat = [others[1].clone(), said];
    assert_eq!(brief::first_message(&chat), Some("Hurry"));
}

#[test]
fn a_finished_plan_has_no_line() {
    let mut world = grown("- [ ] a\n- [ ] b\n");
    complete(&mut world, "a");
    let line = |world: &World| brief::plan_line(&world.state, &nobody_known(), world.now);
    assert!(line(&world).is_some_and(|line| !line.contains('\n')));
    for task in ["b", "stem"] {
        complete(&mut world, task);
    }
    assert_eq!(line(&world), None);
}

fn item(name: &str, status: Status) -> NativeItem {
    let (id, content) = (None, Some(Content::from(Title::new(name).unwrap())));
    NativeItem { id, content, status: Some(status), priority: None }
}

/// P-22: what a host marks as done is claimed, and stays claimed when the host forgets it.
#[test]
fn a_hosts_list_is_copied_and_its_ends_are_claims() {
    let mut world = World::new(ListKind::Session);
    let host = [
        item("a", Status::InProgress),
        item("b", Status::InProgress),
        item("c", Status::Completed),
        item("c", Status::Completed),
    ];
    let items = mirrored(&host, &world.state);
    let status: Vec<Option<Status>> = items.iter().map(|item| item.status).collect();
    // One item is in progress at a time, and nothing is completed by a copy.
    assert_eq!(status, [Some(Status::InProgress), Some(Status::Pending), None, None]);
    world.ok(Role::Root, ReplaceTodos { items: items[..3].to_vec() });
    let c = world.state.todos.values().find(|todo| todo.title == "c").unwrap().id;
    let claim = ClaimTodo { todo_id: c, outcome: None, evidence: Vec::new(), clock: None };
    assert_eq!(claims(&host, &world.state), std::slice::from_ref(&claim), "once");
    world.ok(Role::Root, claim);
    assert_eq!(claims(&host, &world.state), []);
    let kept = ListedTodo { external_id: Some("c".to_owned()), ..ListedTodo::default() };
    assert_eq!(mirrored(&[], &world.state), [kept]);
}

#[test]
fn a_host_names_an_item_by_its_id_or_by_its_text() {
    let list = World::new(ListKind::Session).state;
    let named = |item: NativeItem| mirrored(&[item], &list)[0].external_id.clone();
    let by_text = item(&"x".repeat(300), Status::Pending);
    assert_eq!(named(by_text.clone()), Some("x".repeat(200)));
    let id = Some(Title::new("7").unwrap());
    assert_eq!(named(NativeItem { id, ..by_text }).as_deref(), Some("7"));
    assert_eq!(named(NativeItem::default()), None);
}

#[test]
fn a_session_with_an_issue_keeps_its_checklist() {
    let bound = session();
    let free = Session { bound_issue: None, ..bound.clone() };
    assert!(bound.bound_issue.is_some());
    for (keeps, session, expected) in
        [(true, &free, true), (false, &free, false), (true, &bound, false)]
    {
        assert_eq!(is_copied(keeps, session), expected);
    }
}
