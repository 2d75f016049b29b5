//! Work on a mission's item: delegated, reported, reviewed; and the chats about it.

use punchlist_core::Role;
use punchlist_store::Options;
use punchlist_testkit::{Backend, on_every_lasting_store, on_every_store};
use serde_json::{Value, json};

use crate::mission_cycle::said;
use crate::mission_desk::{BUILD, Desk, MISSION, complete, file, new, strings, with};

/// Delegates an item and lets a worker take it: returns the delegation and its epoch.
fn hand_on(desk: &Desk, id: &Value) -> (Value, Value) {
    let order = json!({ "type": "coder", "mission": "Do it.", "async": true, "todoId": id });
    let made = desk.call(&desk.lead(), "delegate", order)["delegationId"].clone();
    let worker = desk.world.envelope(Role::Worker);
    let taken = desk.call(&worker, "delegation_take", json!({ "types": ["coder"] }));
    assert_eq!(taken["delegation"]["id"], made);
    (made, taken["epoch"].clone())
}

fn report(desk: &Desk, (id, epoch): &(Value, Value), more: Value) -> Result<Value, &'static str> {
    let worker = desk.world.envelope(Role::Worker);
    let input = with(json!({ "delegationId": id, "epoch": epoch }), more);
    desk.world.call_in(&worker, "delegation_report", input).map_err(|refused| refused.code())
}

fn todo_chat(desk: &Desk) -> &Value {
    &desk.mission["pillars"][0]["conversationIds"]["todos"]
}

fn queue(desk: &Desk) -> Vec<String> {
    strings(&desk.status()["reviewQueue"], "title")
}

/// F-2: cancelling an item in progress stops its worker; a later report is logged and ignored.
fn cancelling_stops_the_work(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    for who in [desk.lead(), desk.owner(BUILD)] {
        let id = desk.started("x");
        let work = hand_on(&desk, &id);
        desk.update(&who, &id, "cancel");
        let shown = json!({ "delegationId": work.0 });
        let shown = desk.call(&desk.operator(), "delegation_show", shown);
        assert_eq!(shown["delegation"]["state"], "cancelled");
        let chat = said(&desk, todo_chat(&desk));
        let before = desk.todo(&id);
        assert_eq!(report(&desk, &work, json!({ "result": "done!" })), Err("delegation_over"));
        let log = desk.world.log();
        let last = log.last().unwrap();
        assert_eq!(last["type"], "delegation_refused");
        assert_eq!(last["data"]["delegationId"], work.0);
        assert_eq!((desk.todo(&id), said(&desk, todo_chat(&desk))), (before, chat));
    }
    // A person's answer has the same effect.
    let mut desk = Desk::new(backend, json!({}));
    let id = desk.create("late", json!({ "deadline": "2026-11-20" }));
    desk.update(&desk.lead(), &id, "start");
    let work = hand_on(&desk, &id);
    desk.at("2026-11-21T08:00:00Z");
    desk.call(&desk.lead(), "mission_cycle", json!({ "mission": MISSION }));
    let cancel = json!({ "conversationId": desk.mission["conversationId"], "text": "cancel" });
    assert_eq!(desk.call(&desk.operator(), "conversation_post", cancel)["done"], "Cancelled: late");
    assert_eq!(report(&desk, &work, json!({ "result": "done!" })), Err("delegation_over"));
}

/// P-4, P-32, M-51: an item that waits for review cannot be worked on, for weeks and across
/// restarts. After a return it can, and the feedback is in the chat of the work.
fn an_item_that_waits_for_review_cannot_be_worked_on(backend: Backend) {
    let mut desk = Desk::new(backend, json!({}));
    let id = desk.create("x", json!({ "deadline": "2026-11-20" }));
    desk.update(&desk.lead(), &id, "start");
    let work = hand_on(&desk, &id);
    report(&desk, &work, json!({ "result": "done" })).unwrap();
    assert_eq!(queue(&desk), ["x"]);
    let worker = desk.world.envelope(Role::Worker);
    let idle = desk.call(&worker, "delegation_take", json!({}));
    assert_eq!(idle["delegation"], Value::Null);
    let claim = json!({ "todoId": id, "outcome": "done, really" });
    assert_eq!(
        desk.refused(&desk.owner(BUILD), "todo_claim", claim.clone()).code(),
        "already_claimed"
    );
    // Weeks later, after the deadline: the person is asked, the worker is not.
    desk.at("2026-12-20T08:00:00Z");
    let before = said(&desk, todo_chat(&desk));
    let done = desk.call(&desk.lead(), "mission_cycle", json!({ "mission": MISSION }));
    assert_eq!((&done["reviewQueue"], &done["escalated"]), (&json!(["x"]), &json!(["x"])));
    assert_eq!(said(&desk, todo_chat(&desk)), before, "P-32: no warning to who waits");
    let feedback = json!({ "todoId": id, "feedback": "Name all three." });
    desk.call(&desk.lead(), "todo_return", feedback);
    assert_eq!((queue(&desk), &desk.todo(&id)["status"]), (vec![], &json!("in_progress")));
    assert_eq!(said(&desk, todo_chat(&desk)).last().unwrap(), "Name all three.");
    desk.call(&desk.owner(BUILD), "todo_claim", claim);
    assert_eq!(queue(&desk), ["x"], "it could be worked on again");
    let accepted = desk.call(&desk.lead(), "todo_accept", json!({ "todoId": id }));
    assert_eq!(accepted["todo"]["status"], "completed");
    assert_eq!(desk.todo(&id)["outcome"], "done, really");
    // The item remembers who said what about its end.
    let shown = desk.call(&desk.lead(), "todo_show", json!({ "todoId": id }));
    let history: Vec<String> = shown["judgements"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| {
            let text = |name: &str| one[name].as_str().unwrap_or_default();
            format!("{} {}: {}", text("by"), text("kind"), text("said"))
        })
        .collect();
    let expected = [
        "lead:primary started: because of it",
        "worker:primary.subagents.w claimed: done",
        "lead:primary returned: Name all three.",
        "owner:primary claimed: done, really",
        "lead:primary completed: done, really",
    ];
    assert_eq!(history, expected);
}

/// The order for an item: the item's text, then the message of `hand_on` (M-49).
fn order(title: &str) -> String {
    format!(
        "Execute this task: {title}. Completion criteria: it is measured. Use the tools available \
         to you. Report back when done.\n\nDo it."
    )
}

/// M-60, F-8, X-19: the result of the work is posted to the chat of the work, done or failed, and
/// not to the one for planning; a failure settles nothing.
fn reports_are_posted_to_the_chat(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let id = desk.started("Profile the build");
    let work = hand_on(&desk, &id);
    report(&desk, &work, json!({ "error": "no network" })).unwrap();
    let again = desk.call(&desk.world.envelope(Role::Worker), "delegation_take", json!({}));
    report(&desk, &(work.0, again["epoch"].clone()), json!({ "error": "still none" })).unwrap();
    let told = said(&desk, todo_chat(&desk));
    assert_eq!(
        told,
        [
            &order("Profile the build"),
            "Worker failed TODO “Profile the build”; it is tried once more.\n\nno network",
            "Worker failed TODO “Profile the build”\n\nstill none"
        ]
    );
    let planning = &desk.mission["pillars"][0]["conversationIds"]["pillar"];
    assert_eq!(said(&desk, planning), [] as [String; 0]);
    assert_eq!((queue(&desk), &desk.todo(&id)["status"]), (vec![], &json!("in_progress")));
    // Nobody works on it any more, and its hold says so.
    let hold = &desk.todo(&id)["hold"];
    assert_eq!(
        (&hold["kind"], &hold["reason"]),
        (&json!("failed"), &json!("coder failed: still none"))
    );
}

/// M-54, M-55, F-5: a chat only grows. A person can read it at any time and write when nobody works
/// there; the lead reads the message.
fn a_chat_is_read_by_its_members_and_written_when_idle(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    desk.call(&desk.operator(), "mission_init", file("other", json!({})));
    let id = desk.started("x");
    let operator = desk.operator();
    let post = json!({ "conversationId": todo_chat(&desk), "text": "How far are you?" });
    let work = hand_on(&desk, &id);
    assert_eq!(said(&desk, todo_chat(&desk)), [order("x")], "reading goes on");
    let refused = desk.refused(&operator, "conversation_post", post.clone());
    assert_eq!((refused.code(), refused.meaning().exit), ("agent_at_work", 1));
    report(&desk, &work, json!({ "result": "done" })).unwrap();
    let posted = desk.call(&operator, "conversation_post", post.clone());
    assert_eq!(
        (&posted["addressee"], &posted["message"]["role"]),
        (&json!("lead"), &json!("user"))
    );
    let texts = said(&desk, todo_chat(&desk));
    assert_eq!(texts, [&order("x"), "Worker completed TODO “x”\n\ndone", "How far are you?"]);
    // The next turn of the lead finds it there; agents can write at the same time.
    let read =
        desk.call(&desk.lead(), "conversation_show", json!({ "conversationId": todo_chat(&desk) }));
    assert_eq!(strings(&read["messages"], "text"), texts);
    let answer = with(post.clone(), json!({ "text": "Nearly there." }));
    assert_eq!(
        desk.call(&desk.owner(BUILD), "conversation_post", answer)["message"]["role"],
        "assistant"
    );
    for (who, envelope) in [
        ("an owner of another pillar", desk.owner("onboarding")),
        ("a lead of another mission", desk.tied(Role::Lead, "other", None)),
        ("an owner in another mission", desk.tied(Role::Owner, "other", Some(BUILD))),
        ("root", desk.world.envelope(Role::Root)),
        ("a worker", desk.world.envelope(Role::Worker)),
    ] {
        let show = json!({ "conversationId": todo_chat(&desk) });
        for (name, input) in [("conversation_show", show), ("conversation_post", post.clone())] {
            let refused = desk.refused(&envelope, name, input);
            let hidden = ["unknown_conversation", "not_permitted"].contains(&refused.code());
            assert!(hidden, "{who}: {name}: {refused}");
        }
        let listed = json!({ "mission": MISSION, "pillar": BUILD });
        if let Ok(listed) = desk.world.call_in(&envelope, "conversation_list", listed) {
            assert_eq!(listed["conversations"], json!([]), "{who}");
        }
    }
    let own = desk.call(&desk.owner("onboarding"), "conversation_list", json!({}));
    assert_eq!(strings(&own["conversations"], "title"), ["Onboarding", "[TODOs] Onboarding"]);
}

/// P-24: if the mission requires evidence, a claim without it is refused with what is missing; the
/// evidence stays with the item.
fn a_claim_carries_the_evidence_the_mission_asks_for(backend: Backend) {
    let desk = Desk::new(backend, json!({ "claimEvidence": ["commit", "test"] }));
    let owner = desk.owner(BUILD);
    let id = desk.started("x");
    let claim = |evidence: Value| json!({ "todoId": id, "outcome": "done", "evidence": evidence });
    let refused = desk.refused(&owner, "todo_claim", claim(json!(["commit:0123abcd"])));
    assert_eq!(refused.code(), "evidence_required");
    assert!(refused.to_string().contains("test"), "{refused}");
    desk.call(&owner, "todo_claim", claim(json!(["commit:0123abcd", "test:build"])));
    assert_eq!(
        desk.status()["reviewQueue"][0]["claim"]["evidence"],
        json!(["commit:0123abcd", "test:build"])
    );
    desk.call(&desk.lead(), "mission_todo_complete", complete(&id, json!({})));
    let completed = desk.world.log().into_iter().find(|e| e["type"] == "todo_completed").unwrap();
    assert_eq!(completed["data"]["evidence"], json!(["commit:0123abcd", "test:build"]));
}

/// Work on a todo that is not started is accepted, and the answer says that its report will not become
/// a claim.
fn work_on_a_todo_that_is_not_started_is_accepted_with_a_warning(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let id = desk.create("x", json!({}));
    let delegate = || {
        let order = json!({ "type": "coder", "mission": "Do it.", "async": true, "todoId": id });
        let made = desk.call(&desk.lead(), "delegate", order);
        made["warning"].as_str().unwrap_or_default().to_owned()
    };
    let warning = delegate();
    assert!(warning.starts_with("`x` is not started, so the report will not become a claim"));
    assert!(warning.contains("no agent `coder` is configured"), "both are said: {warning}");
    desk.update(&desk.lead(), &id, "start");
    let warning = delegate();
    assert!(warning.starts_with("no agent `coder` is configured"), "{warning}");
}

/// F-2: work that is still queued is cancelled as well.
fn work_that_nobody_holds_is_stopped_too(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let id = desk.started("x");
    let order = json!({ "type": "coder", "mission": "Do it.", "async": true, "todoId": id });
    desk.call(&desk.owner(BUILD), "delegate", order);
    desk.update(&desk.lead(), &id, "cancel");
    let left = desk.call(&desk.world.envelope(Role::Worker), "delegation_take", json!({}));
    assert_eq!(left["delegation"], Value::Null);
}

/// F-2: if a worker takes an item while it is being cancelled, it gets it before or not at all; the
/// log and the rows agree.
fn concurrent_take_and_cancel_agree(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    for _ in 0..12 {
        let id = desk.started("x");
        let order = json!({ "type": "coder", "mission": "Do it.", "async": true, "todoId": id });
        let made = desk.call(&desk.lead(), "delegate", order)["delegationId"].clone();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                let worker = desk.world.envelope(Role::Worker);
                let world = &desk.world;
                scope.spawn(move || world.call_in(&worker, "delegation_take", json!({})).unwrap());
            }
            scope.spawn(|| desk.update(&desk.lead(), &id, "cancel"));
        });
        let shown = desk.call(&desk.operator(), "delegation_show", json!({ "delegationId": made }));
        assert_eq!(shown["delegation"]["state"], "cancelled");
    }
    let report = punchlist_store::care::examine(desk.world.store.target(), Options::default());
    assert!(report.ok, "{report:?}");
}

on_every_lasting_store!(concurrent_take_and_cancel_agree);
/// M-81, M-85: an item in full: badges, deadline, delegations, and the messages in that time,
/// without messages of other work in the same chat.
fn an_item_is_shown_in_full(backend: Backend) {
    let mut desk = Desk::new(backend, json!({}));
    let id = desk.create("x", json!({ "deadline": "2026-11-20" }));
    desk.update(&desk.lead(), &id, "start");
    let work = hand_on(&desk, &id);
    let show = |desk: &Desk, who| desk.call(&who, "todo_show", json!({ "todoId": id }));
    let shown = show(&desk, desk.lead());
    assert_eq!((&shown["badges"], &shown["daysLeft"]), (&json!(["in_progress"]), &json!(5)));
    let place = json!({ "kind": "pillar", "mission": MISSION, "pillar": BUILD });
    assert_eq!(shown["list"], place);
    desk.at("2026-11-23T08:00:00Z");
    let shown = show(&desk, desk.operator());
    assert_eq!(shown["badges"], json!(["in_progress", "overdue"]));
    assert_eq!(shown["daysLeft"], json!(-3));
    report(&desk, &work, json!({ "result": "it is done" })).unwrap();
    desk.at("2026-11-24T08:00:00Z");
    let post = json!({ "conversationId": todo_chat(&desk), "text": "something else" });
    desk.call(&desk.operator(), "conversation_post", post);
    let shown = show(&desk, desk.owner(BUILD));
    assert_eq!(shown["badges"], json!(["in_progress", "overdue", "claimed"]));
    assert_eq!(strings(&shown["delegations"], "state"), ["returned"]);
    let said = strings(&shown["messages"], "text");
    assert_eq!(said, [&order("x"), "Worker completed TODO “x”\n\nit is done"]);
    let other = desk.owner("code-quality");
    assert_eq!(desk.refused(&other, "todo_show", json!({ "todoId": id })).code(), "unknown_todo");
}

/// M-49: a settled item is not delegated.
fn a_settled_item_is_not_delegated(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let order =
        |id: &Value| json!({ "type": "x", "mission": "Do it.", "async": true, "todoId": id });
    let id = desk.create("x", json!({}));
    desk.update(&desk.lead(), &id, "start");
    desk.call(&desk.lead(), "delegate", order(&id));
    desk.update(&desk.lead(), &id, "cancel");
    assert_eq!(desk.refused(&desk.lead(), "delegate", order(&id)).code(), "already_settled");
}

/// M-14, M-84: without a pillar, the counts are those of the whole mission, whatever the limits
/// apply to.
fn a_list_of_the_whole_mission_counts_all_pillars(backend: Backend) {
    for scope in ["mission", "pillar"] {
        let desk = Desk::new(backend, json!({ "limitScope": scope }));
        for pillar in [BUILD, "onboarding"] {
            let input = new(pillar, json!({ "pillarSlug": pillar }));
            desk.call(&desk.lead(), "mission_todo_create", input);
        }
        let count = |more: Value| {
            let input = with(json!({ "missionSlug": MISSION }), more);
            desk.call(&desk.lead(), "mission_todo_list", input)["counts"]["active"].clone()
        };
        assert_eq!(count(json!({})), 2, "{scope}");
        let own = if scope == "pillar" { 1 } else { 2 };
        assert_eq!(count(json!({ "pillarSlug": BUILD })), own, "{scope}");
    }
}

/// Unknown missions, pillars and messages are refused; they do not look like an empty chat.
fn unknown_places_of_chats_are_refused(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let list = |more: Value| desk.refused(&desk.operator(), "conversation_list", more).code();
    assert_eq!(list(json!({ "mission": "zz" })), "unknown_mission");
    assert_eq!(list(json!({ "mission": MISSION, "pillar": "zz" })), "unknown_pillar");
    for field in ["after", "before"] {
        let input = with(json!({ "conversationId": todo_chat(&desk) }), json!({ field: "zz" }));
        let error = desk.refused(&desk.operator(), "conversation_show", input);
        assert_eq!((error.code(), error.meaning().exit), ("unknown_message", 1));
    }
}

on_every_store!(
    unknown_places_of_chats_are_refused,
    a_settled_item_is_not_delegated,
    a_list_of_the_whole_mission_counts_all_pillars,
    an_item_is_shown_in_full,
    cancelling_stops_the_work,
    an_item_that_waits_for_review_cannot_be_worked_on,
    reports_are_posted_to_the_chat,
    a_chat_is_read_by_its_members_and_written_when_idle,
    a_claim_carries_the_evidence_the_mission_asks_for,
    work_on_a_todo_that_is_not_started_is_accepted_with_a_warning,
    work_that_nobody_holds_is_stopped_too,
);
