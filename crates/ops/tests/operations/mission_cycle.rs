//! A mission's cycle: late items are escalated, each pillar is asked to plan, and items settled
//! long ago are archived.

use punchlist_core::Role;
use punchlist_testkit::{Backend, on_every_store};
use serde_json::{Value, json};

use crate::mission_desk::{BUILD, Desk, MISSION, complete, file, new, strings, update, with};

/// The texts of a chat.
pub(crate) fn said(desk: &Desk, chat: &Value) -> Vec<String> {
    let input = json!({ "conversationId": chat });
    strings(&desk.call(&desk.operator(), "conversation_show", input)["messages"], "text")
}

fn cycle(desk: &Desk) -> Value {
    let mut system = desk.world.envelope(Role::System);
    system.actor.principal = "system:scheduler".into();
    desk.call(&system, "mission_cycle", json!({ "mission": MISSION }))
}

/// The open questions to a person about deadlines.
fn open_gates(desk: &Desk) -> Vec<Value> {
    let input = json!({ "state": "open", "kind": "escalation" });
    desk.call(&desk.operator(), "gate_list", input)["gates"].as_array().unwrap().clone()
}

fn post(desk: &Desk, text: &str) -> Value {
    let input = json!({ "conversationId": desk.mission["conversationId"], "text": text });
    desk.call(&desk.operator(), "conversation_post", input)
}

/// A mission with one item in progress and one pending, both overdue, in that order.
fn late(backend: Backend, todo: Value) -> (Desk, Value, Value) {
    let mut desk = Desk::new(backend, todo);
    let due = json!({ "deadline": "2026-11-20" });
    let working = desk.create("Profile webpack", due.clone());
    desk.update(&desk.lead(), &working, "start");
    let waiting = desk.create("Audit the cache", due);
    desk.at("2026-11-21T09:00:00Z");
    (desk, working, waiting)
}

/// M-73, M-74, M-75, M-76, M-79, D-5, D-6: a late item is flagged, and escalated once in the
/// mission's chat and in the inbox. The worker is warned in its own chat. An item that was never
/// started goes back to the backlog.
fn a_late_item_is_escalated_once(backend: Backend) {
    let (desk, working, waiting) = late(backend, json!({}));
    assert_eq!(strings(&desk.status()["overdue"], "id").len(), 2, "flagged before any cycle");
    assert_eq!(desk.todo(&working)["overdue"], true);
    let done = cycle(&desk);
    assert_eq!(done["escalated"], json!(["Profile webpack", "Audit the cache"]));
    assert_eq!(done["demoted"], json!(["Audit the cache"]));
    let digest = desk.call(&desk.world.envelope(Role::Operator), "digest", json!({}));
    assert_eq!(digest["total"]["escalated"], 2, "P-30: {digest}");
    let asked = [
        "[synthetic · punchlist] TODO overdue: Profile webpack. Status: in_progress since \
         2026-11-15. Please advise: extend deadline or cancel?",
        "[synthetic · punchlist] TODO overdue: Audit the cache. Status: pending since 2026-11-15. \
         Please advise: extend deadline or cancel?",
    ];
    let (mission_chat, build) = (&desk.mission["conversationId"], &desk.mission["pillars"][0]);
    let todo_chat = &build["conversationIds"]["todos"];
    assert_eq!(said(&desk, mission_chat), asked);
    let warned = said(&desk, todo_chat);
    assert_eq!(warned.len(), 1, "only who works on something is warned: {warned:?}");
    assert!(warned[0].contains("Profile webpack was due 2026-11-20"), "{warned:?}");
    let gates = open_gates(&desk);
    assert_eq!(gates.iter().map(|g| &g["todoId"]).collect::<Vec<_>>(), [&working, &waiting]);
    assert_eq!(desk.todo(&waiting)["status"], "backlog");
    assert_eq!(
        (&desk.todo(&waiting)["overdue"], desk.status()["overdue"].as_array().unwrap().len()),
        (&json!(false), 1)
    );
    for _ in 0..2 {
        assert_eq!(cycle(&desk)["escalated"], json!([]));
    }
    assert_eq!((said(&desk, mission_chat).len(), open_gates(&desk).len()), (2, 2));
}

/// D-6: the item is cancelled and reported if the mission says so, and no question is left open. It
/// is kept if the mission says so or the backlog is full.
fn a_late_item_that_was_never_started_follows_the_missions_setting(backend: Backend) {
    let (desk, working, waiting) = late(backend, json!({ "overduePending": "cancel" }));
    assert_eq!(cycle(&desk)["cancelled"], json!(["Audit the cache"]));
    let todo = desk.todo(&waiting);
    assert_eq!(
        (&todo["status"], &todo["cancelReason"]),
        (&json!("cancelled"), &json!("overdue and never started"))
    );
    let gates = open_gates(&desk);
    assert_eq!(gates.iter().map(|g| &g["todoId"]).collect::<Vec<_>>(), [&working]);
    let told = said(&desk, &desk.mission["conversationId"]);
    assert!(
        told[1].contains(
            "TODO overdue: Audit the cache. Status: pending since 2026-11-15. Please advise: extend \
             deadline or cancel?"
        ),
        "{told:?}"
    );
    assert!(told[1].contains("cancelled now"), "{told:?}");

    for todo in [json!({ "overduePending": "keep" }), json!({ "backlogTodoLimit": 0 })] {
        let (desk, _, waiting) = late(backend, todo);
        let done = cycle(&desk);
        assert_eq!((&done["demoted"], &done["cancelled"]), (&json!([]), &json!([])));
        assert_eq!(desk.todo(&waiting)["status"], "pending");
        assert_eq!((done["escalated"].as_array().unwrap().len(), open_gates(&desk).len()), (2, 2));
    }
}

/// M-77: a reply in the mission's chat is executed for the named item, or for the only one. An
/// unclear reply is answered with a question; other messages are only stored.
fn a_reply_in_the_chat_is_executed(backend: Backend) {
    let (desk, working, waiting) = late(backend, json!({ "overduePending": "keep" }));
    assert_eq!(post(&desk, "cancel")["done"], Value::Null, "nothing was asked yet");
    cycle(&desk);
    let before = desk.todos();
    for (text, asked) in [
        ("cancel", true),
        ("cancel the offsite", true),
        ("extend to 2026-12-01", true),
        ("Cancel? What would we lose?", false),
        ("What is going on?", false),
    ] {
        let answer = post(&desk, text);
        match answer["done"].as_str() {
            Some(done) => {
                assert!(asked && done.starts_with("Which one?"), "{text}: {done}");
                assert!(done.contains("Profile webpack; Audit the cache"), "{done}");
            }
            None => assert!(!asked, "{text}"),
        }
        assert_eq!((desk.todos(), open_gates(&desk).len()), (before.clone(), 2), "{text}");
    }
    assert_eq!(
        post(&desk, "extend Profile webpack to 2026-12-01")["done"],
        "Extended to 2026-12-01: Profile webpack"
    );
    let todo = desk.todo(&working);
    assert_eq!((&todo["deadline"], &todo["overdue"]), (&json!("2026-12-01"), &json!(false)));
    assert_eq!(open_gates(&desk).len(), 1);
    assert_eq!(post(&desk, "cancel it, nobody needs it")["done"], "Cancelled: Audit the cache");
    assert_eq!(desk.todo(&waiting)["status"], "cancelled");
    assert_eq!(open_gates(&desk), [] as [Value; 0]);
    // Messages of agents have no effect.
    let input = json!({ "conversationId": desk.mission["conversationId"], "text": "cancel" });
    assert_eq!(desk.call(&desk.lead(), "conversation_post", input)["done"], Value::Null);
}

/// M-77, M-79: an answer in the inbox is executed like a reply in the chat. An answer that neither
/// extends nor cancels is refused, one answer is enough, and a new deadline that passes is
/// escalated again.
fn an_answer_in_the_inbox_is_executed(backend: Backend) {
    let (mut desk, working, waiting) = late(backend, json!({ "overduePending": "keep" }));
    cycle(&desk);
    let gates = open_gates(&desk);
    let answer = |desk: &Desk, gate: &Value, response: Value| {
        let input = json!({ "gateId": gate["id"], "decision": "resume", "response": response });
        desk.world.call_in(&desk.operator(), "gate_answer", input)
    };
    for bad in [json!("hm"), json!({}), Value::Null, json!({ "extend": "later" })] {
        let refused = answer(&desk, &gates[0], bad).unwrap_err();
        assert_eq!((refused.code(), open_gates(&desk).len()), ("bad_response", 2));
    }
    for agent in [desk.lead(), desk.owner(BUILD)] {
        let input = json!({ "gateId": gates[0]["id"], "decision": "resume", "response": "cancel" });
        assert_eq!(desk.refused(&agent, "gate_answer", input).meaning().exit, 4);
    }
    answer(&desk, &gates[0], json!("extend to 2026-11-25")).unwrap();
    answer(&desk, &gates[1], json!({ "cancel": true })).unwrap();
    assert_eq!(desk.todo(&working)["deadline"], "2026-11-25");
    assert_eq!(desk.todo(&waiting)["status"], "cancelled");
    assert_eq!(answer(&desk, &gates[1], json!("cancel")).unwrap_err().code(), "already_answered");
    desk.at("2026-11-26T09:00:00Z");
    assert_eq!(cycle(&desk)["escalated"], json!(["Profile webpack"]));
    // After a refusal the question is closed and the item is unchanged.
    let input = json!({ "gateId": open_gates(&desk)[0]["id"], "decision": "refuse" });
    desk.call(&desk.operator(), "gate_answer", input);
    assert_eq!(
        (desk.todo(&working)["status"].clone(), open_gates(&desk)),
        (json!("in_progress"), vec![])
    );
}

/// The lead's action also answers a question about a deadline, if it concerns the deadline.
fn the_leads_action_answers_the_question(backend: Backend) {
    let (desk, working, waiting) = late(backend, json!({ "overduePending": "keep" }));
    cycle(&desk);
    let lead = desk.lead();
    let low = with(update(&working, "reprioritize"), json!({ "priority": "low" }));
    desk.call(&lead, "mission_todo_update", low);
    assert_eq!(open_gates(&desk).len(), 2);
    desk.call(&lead, "mission_todo_complete", complete(&working, json!({})));
    assert_eq!(open_gates(&desk).len(), 1);
    let extend = with(update(&waiting, "extend"), json!({ "deadline": "2027-01-01" }));
    desk.call(&lead, "mission_todo_update", extend);
    assert_eq!(open_gates(&desk), [] as [Value; 0]);
}

/// M-65, Q-M3, X-19: each pillar is asked in its own chat, also about shared items; nothing of it
/// gets into the chat of the pillar's work. Paused pillars are not asked.
fn each_pillar_is_asked_to_plan(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    desk.create("Profile webpack", json!({ "relatedPillars": ["onboarding"] }));
    let done = cycle(&desk);
    assert_eq!((&done["ran"], &done["planned"]), (&json!(true), &json!([BUILD, "onboarding"])));
    let chats = |n: usize| &desk.mission["pillars"][n]["conversationIds"];
    let (build, other) = (said(&desk, &chats(0)["pillar"]), said(&desk, &chats(1)["pillar"]));
    assert!(
        build[0].contains(
            "### Active TODOs (1/10)\n- Profile webpack (pending, medium, unassigned, today) ["
        ),
        "{build:?}"
    );
    let shared =
        "- Profile webpack (pending, medium, today) (shared, owned by Build Performance) [";
    assert!(other[0].contains(&format!("### Active TODOs (1/10)\n{shared}")), "{other:?}");
    assert_eq!(said(&desk, &chats(0)["todos"]), [] as [String; 0]);
    desk.call(&desk.lead(), "mission_pause", json!({ "mission": MISSION, "pillar": "onboarding" }));
    assert_eq!(cycle(&desk)["planned"], json!([BUILD]), "M-72");
    desk.call(&desk.lead(), "mission_pause", json!({ "mission": MISSION }));
    let resting = cycle(&desk);
    assert_eq!((&resting["ran"], &resting["planned"]), (&json!(false), &json!([])));
    assert_eq!(said(&desk, &chats(0)["pillar"]).len(), 2);
    desk.call(&desk.lead(), "mission_resume", json!({ "mission": MISSION }));
    assert_eq!(cycle(&desk)["ran"], true);
}

/// M-71, F-4: if many processes find a cycle due, one runs it. The next time is set, and a restart
/// changes nothing.
fn a_due_cycle_fires_once(backend: Backend) {
    let mut desk = Desk::new(backend, json!({}));
    let weekly = with(file(MISSION, json!({})), json!({ "cadence": "0 9 * * 1" }));
    let made = desk.call(&desk.operator(), "mission_init", weekly);
    assert_eq!(made["mission"]["nextCycleAt"], "2026-11-16T09:00:00.000000Z");
    let tick = |desk: &Desk| {
        let system = desk.world.envelope(Role::System);
        let input = json!({ "mission": MISSION, "ifDue": true });
        desk.call(&system, "mission_cycle", input)["ran"] == true
    };
    assert!(!tick(&desk), "not yet");
    desk.at("2026-12-01T12:00:00Z");
    let ran: usize = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..8).map(|_| scope.spawn(|| usize::from(tick(&desk)))).collect();
        tries.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!(ran, 1);
    let status = desk.status();
    assert_eq!(status["nextCycleAt"], "2026-12-07T09:00:00.000000Z");
    assert_eq!(status["mission"]["lastCycleAt"], "2026-12-01T12:00:00.000000Z");
}

/// Q-M2: an item settled long ago leaves the usual lists, and is shown on request.
fn items_settled_long_ago_are_shown_on_request(backend: Backend) {
    let mut desk = Desk::new(backend, json!({}));
    let done = desk.started("done");
    desk.call(&desk.lead(), "mission_todo_complete", complete(&done, json!({})));
    desk.at("2026-12-20T08:00:00Z");
    desk.create("new", json!({}));
    assert_eq!(cycle(&desk)["archived"], 1);
    let list = |more: Value| {
        let input = with(json!({ "missionSlug": MISSION }), more);
        strings(&desk.call(&desk.lead(), "mission_todo_list", input)["todos"], "title")
    };
    assert_eq!(list(json!({})), ["new"]);
    assert_eq!(list(json!({ "includeArchived": true })), ["done", "new"]);
    assert_eq!(list(json!({ "includeArchived": true, "status": "completed" })), ["done"]);
}

/// Q-M5: stale candidates are cancelled only if the mission says so; P-27: not while they are
/// deferred.
fn stale_candidates_follow_the_missions_setting(backend: Backend) {
    for (todo, cancelled) in
        [(json!({}), json!([])), (json!({ "autoCancelStaleBacklog": true }), json!(["old"]))]
    {
        let mut desk = Desk::new(backend, todo);
        let backlog = json!({ "targetStatus": "backlog" });
        desk.create("old", backlog.clone());
        let resting = desk.create("resting", backlog);
        let rest = json!({ "todoId": resting, "until": "2027-06-01T00:00:00Z" });
        desk.call(&desk.lead(), "todo_defer", rest);
        desk.at("2026-12-20T08:00:00Z");
        desk.call(
            &desk.lead(),
            "mission_todo_create",
            new("new", json!({ "targetStatus": "backlog" })),
        );
        assert_eq!(cycle(&desk)["cancelled"], cancelled);
    }
}

on_every_store!(
    a_late_item_is_escalated_once,
    a_late_item_that_was_never_started_follows_the_missions_setting,
    a_reply_in_the_chat_is_executed,
    an_answer_in_the_inbox_is_executed,
    the_leads_action_answers_the_question,
    each_pillar_is_asked_to_plan,
    a_due_cycle_fires_once,
    items_settled_long_ago_are_shown_on_request,
    stale_candidates_follow_the_missions_setting,
);
