//! The todos of a mission: created within its limits, moved with a reason, completed by its lead.

use punchlist_ops::Envelope;
use punchlist_testkit::{Backend, on_every_store};
use serde_json::{Value, json};

use crate::mission_desk::{BUILD, Desk, MISSION, complete, file, new, sets, strings, update, with};

fn counts(active: i64, backlog: i64) -> Value {
    json!({ "active": active, "activeLimit": 2, "backlog": backlog, "backlogLimit": 1 })
}

fn small() -> Value {
    json!({ "activeTodoLimit": 2, "backlogTodoLimit": 1 })
}

/// M-4, M-7, M-8, M-9, M-14, M-26, M-27, D-3: items are created while the mission has room, by lead
/// and owner alike, and each answer says how full it is.
fn items_are_created_within_the_limits(backend: Backend) {
    let desk = Desk::new(backend, small());
    let (lead, owner) = (desk.lead(), desk.owner(BUILD));
    let create =
        |who: &Envelope, more: Value| desk.call(who, "mission_todo_create", new("x", more));
    let made = create(&owner, json!({}));
    assert_eq!((&made["todo"]["status"], &made["counts"]), (&json!("pending"), &counts(1, 0)));
    // The limits apply to the whole mission, whichever pillar creates the item.
    let other = json!({ "pillarSlug": "onboarding" });
    assert_eq!(create(&lead, other.clone())["counts"], counts(2, 0));
    let spilled = create(&owner, json!({}));
    assert_eq!(spilled["todo"]["status"], "backlog");
    assert_eq!(spilled["warning"], "Active TODO limit (2) reached. Created in backlog instead.",);
    assert_eq!(spilled["counts"], counts(2, 1));
    for more in [json!({}), json!({ "targetStatus": "backlog" }), other] {
        let refused = desk.refused(&lead, "mission_todo_create", new("x", more));
        assert_eq!((refused.code(), refused.meaning().exit), ("backlog_full", 1));
        assert_eq!(
            refused.to_string(),
            "Backlog limit (1) reached. Cancel or complete existing items first."
        );
    }
    let waiting = &desk.todos()[2]["id"];
    desk.update(&owner, waiting, "cancel");
    let more = json!({ "targetStatus": "backlog" });
    assert_eq!(create(&owner, more)["todo"]["status"], "backlog", "M-26");
    assert_eq!(desk.status()["counts"], counts(2, 1));
}

/// M-84: the lead sees how full each pillar is.
fn counts_are_shown_for_each_pillar(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    desk.create("a", json!({}));
    desk.started("b");
    desk.create("c", json!({ "targetStatus": "backlog" }));
    let other = new("d", json!({ "pillarSlug": "onboarding" }));
    desk.call(&desk.lead(), "mission_todo_create", other);
    let status = desk.status();
    let of =
        |value: &Value| (value["counts"]["active"].clone(), value["counts"]["backlog"].clone());
    assert_eq!(of(&status), (json!(3), json!(1)));
    let pillars = status["pillars"].as_array().unwrap();
    assert_eq!(strings(&status["pillars"], "slug"), [BUILD, "onboarding"]);
    assert_eq!(
        pillars.iter().map(of).collect::<Vec<_>>(),
        [(json!(2), json!(1)), (json!(1), json!(0))]
    );
}

/// M-12: of twenty concurrent creations at the limit, only as many succeed as there is room.
fn twenty_at_once_never_exceed_the_limits(backend: Backend) {
    let desk = Desk::new(backend, json!({ "activeTodoLimit": 5, "backlogTodoLimit": 3 }));
    for _ in 0..3 {
        desk.create("there", json!({}));
    }
    let outcomes: Vec<String> = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..20)
            .map(|n| {
                let desk = &desk;
                scope.spawn(move || {
                    let pillar = if n % 2 == 0 { BUILD } else { "onboarding" };
                    let input = new("new", json!({ "pillarSlug": pillar }));
                    match desk.world.call_in(&desk.lead(), "mission_todo_create", input) {
                        Ok(made) => made["todo"]["status"].as_str().unwrap().to_owned(),
                        Err(refused) => refused.code().to_owned(),
                    }
                })
            })
            .collect();
        tries.into_iter().map(|t| t.join().unwrap()).collect()
    });
    let count = |what: &str| outcomes.iter().filter(|outcome| *outcome == what).count();
    assert_eq!((count("pending"), count("backlog"), count("backlog_full")), (2, 3, 15));
    let status = desk.status();
    assert_eq!((&status["counts"]["active"], &status["counts"]["backlog"]), (&json!(5), &json!(3)));
    // Now twenty concurrent promotions into one free place.
    desk.update(&desk.lead(), &desk.todos()[0]["id"], "cancel");
    let waiting: Vec<Value> =
        desk.todos().into_iter().filter(|t| t["status"] == "backlog").collect();
    let promoted: usize = std::thread::scope(|scope| {
        let tries: Vec<_> = (0..20)
            .map(|n| {
                let (desk, id) = (&desk, &waiting[n % 3]["id"]);
                let input = update(id, "promote");
                let call = || desk.world.call_in(&desk.lead(), "mission_todo_update", input);
                scope.spawn(|| usize::from(call().is_ok()))
            })
            .collect();
        tries.into_iter().map(|t| t.join().unwrap()).sum()
    });
    assert_eq!((promoted, &desk.status()["counts"]["active"]), (1, &json!(5)));
}

/// M-21, M-22, M-36, D-7: every field is stored and returned, and neither priority nor agent
/// changes the order. Missing fields that make an item hard to judge are reported.
fn an_item_keeps_all_its_fields(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let owner = desk.owner(BUILD);
    desk.create("first", json!({ "priority": "low" }));
    let more = json!({
        "description": "what", "justification": "why", "completionCriteria": "when",
        "deadline": "2027-02-21", "priority": "critical", "assignedAgent": "coder",
        "targetStatus": "pending", "relatedPillars": ["onboarding"],
    });
    let made = desk.call(&owner, "mission_todo_create", new("  second  ", more));
    assert_eq!(made["warning"], Value::Null);
    let todo = desk.todo(&made["todo"]["id"]);
    for (field, value) in [
        ("title", "second"),
        ("description", "what"),
        ("justification", "why"),
        ("completionCriteria", "when"),
        ("deadline", "2027-02-21"),
        ("priority", "critical"),
        ("assignedAgent", "coder"),
        ("status", "pending"),
        ("pillarSlug", BUILD),
        ("createdAt", "2026-11-15T08:00:00.000000Z"),
    ] {
        assert_eq!(todo[field], value, "{field}");
    }
    assert_eq!(todo["relatedPillars"], json!(["onboarding"]));
    for empty in ["startedAt", "completedAt", "outcome"] {
        assert_eq!(todo[empty], Value::Null, "{empty}");
    }
    let listed = json!({ "missionSlug": MISSION });
    let listed = desk.call(&owner, "mission_todo_list", listed);
    assert_eq!(strings(&listed["todos"], "title"), ["first", "second"], "the oldest first");
    for (input, lacks) in [
        (json!({ "title": "x" }), "justification and completionCriteria"),
        (json!({ "title": "x", "justification": "y" }), "completionCriteria"),
        (json!({ "title": "x", "completionCriteria": "z", "deadline": null }), "justification"),
    ] {
        let least = json!({ "missionSlug": MISSION, "pillarSlug": BUILD });
        let made = desk.call(&owner, "mission_todo_create", with(least, input));
        let warning = made["warning"].as_str().unwrap();
        assert!(warning.starts_with(&format!("Created without {lacks}:")), "{warning}");
        let todo = &made["todo"];
        assert_eq!((&todo["priority"], &todo["status"]), (&json!("medium"), &json!("pending")));
    }
}

/// M-23, M-37, M-38, M-41: bad input is refused with the valid values.
fn bad_input_is_refused_with_the_valid_values(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let lead = desk.lead();
    let id = desk.started("x");
    for (more, exit, code, words) in [
        (json!({ "missionSlug": "nope" }), 4, "out_of_reach", "nope"),
        (json!({ "pillarSlug": "nope" }), 1, "unknown_pillar", BUILD),
        (json!({ "title": "   " }), 2, "", "title"),
        (json!({ "title": null }), 2, "", "title"),
        (json!({ "priority": "urgent" }), 2, "", "critical"),
        (json!({ "targetStatus": "in_progress" }), 2, "", "backlog"),
        (json!({ "status": "completed" }), 2, "", "status"),
        (json!({ "deadline": "soon" }), 2, "", "2030-01-31"),
        (json!({ "deadline": "2026-02-30" }), 2, "", "2030-01-31"),
        (json!({ "template": "nope" }), 1, "unknown_template", "migration-eval"),
        (json!({ "relatedPillars": ["nope"] }), 1, "unknown_pillar", "onboarding"),
    ] {
        let input = new("x", more.clone());
        let refused = desk.refused(&lead, "mission_todo_create", input);
        assert_eq!(refused.meaning().exit, exit, "{more}");
        assert!(exit == 2 || refused.code() == code, "{more}: {}", refused.code());
        let said = format!("{refused} {:?}", refused.hint());
        assert!(said.contains(words), "{more}: {said}");
    }
    let unknown = new("x", json!({ "missionSlug": "nope" }));
    let refused = desk.refused(&desk.operator(), "mission_todo_create", unknown);
    assert_eq!(refused.code(), "unknown_mission");
    assert!(format!("{refused} {:?}", refused.hint()).contains(MISSION), "{refused}");
    for (more, words) in [
        (json!({ "action": "finish" }), "promote"),
        (json!({ "reason": " " }), "reason"),
        (json!({ "action": "extend" }), "deadline"),
        (json!({ "action": "extend", "deadline": "later" }), "2030-01-31"),
        (json!({ "action": "reprioritize" }), "priority"),
    ] {
        let input = with(update(&id, "cancel"), more.clone());
        let refused = desk.refused(&lead, "mission_todo_update", input);
        assert_eq!(refused.meaning().exit, 2, "{more}");
        let said = format!("{refused} {:?}", refused.hint());
        assert!(said.contains(words), "{more}: {said}");
    }
    for missing in ["missionSlug", "todoId", "action", "reason"] {
        let mut input = update(&id, "cancel");
        input.as_object_mut().unwrap().remove(missing);
        let refused = desk.refused(&lead, "mission_todo_update", input);
        assert!(refused.to_string().contains(missing), "{refused}");
    }
    for (missing, blank) in [("missionSlug", None), ("todoId", None), ("outcome", Some(" "))] {
        let mut input = complete(&id, json!({}));
        match blank {
            Some(blank) => input[missing] = json!(blank),
            None => drop(input.as_object_mut().unwrap().remove(missing)),
        }
        let refused = desk.refused(&lead, "mission_todo_complete", input);
        assert_eq!(refused.meaning().exit, 2, "{missing}");
        assert!(refused.to_string().contains(missing), "{refused}");
    }
}

/// M-24, M-28, M-29, M-30, M-31, M-32, M-33, M-34, M-42: every action from every status. An action
/// that is not in the table is refused with the item's status and the allowed one.
fn every_action_from_every_status(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let lead = desk.lead();
    let in_status = |status: &str| {
        let target = if status == "backlog" { "backlog" } else { "pending" };
        let id = desk.create(status, json!({ "targetStatus": target }));
        match status {
            "in_progress" => drop(desk.update(&lead, &id, "start")),
            "completed" => {
                desk.update(&lead, &id, "start");
                desk.call(&lead, "mission_todo_complete", complete(&id, json!({})));
            }
            "cancelled" => drop(desk.update(&lead, &id, "cancel")),
            _ => {}
        }
        assert_eq!(desk.todo(&id)["status"], status);
        id
    };
    for (from, allowed) in [
        ("backlog", &[("promote", "pending"), ("cancel", "cancelled")][..]),
        ("pending", &[("demote", "backlog"), ("start", "in_progress"), ("cancel", "cancelled")]),
        ("in_progress", &[("cancel", "cancelled"), ("complete", "completed")]),
        ("completed", &[]),
        ("cancelled", &[]),
    ] {
        for action in ["promote", "demote", "start", "cancel", "complete"] {
            let id = in_status(from);
            let (name, input) = match action {
                "complete" => ("mission_todo_complete", complete(&id, json!({}))),
                _ => ("mission_todo_update", update(&id, action)),
            };
            let Some((_, to)) = allowed.iter().find(|(of, _)| *of == action) else {
                let refused = desk.refused(&lead, name, input);
                let settled = ["completed", "cancelled"].contains(&from);
                let code = if settled { "already_settled" } else { "wrong_status" };
                assert_eq!((refused.code(), refused.meaning().exit), (code, 1), "{action} {from}");
                let said = format!("{refused} {:?}", refused.hint());
                assert!(said.contains(from), "{action} {from}: {said}");
                if !settled {
                    let expected = match action {
                        "promote" => "backlog",
                        "complete" => "in_progress",
                        _ => "pending",
                    };
                    assert!(said.contains(expected), "{action} {from}: {said}");
                }
                continue;
            };
            let before = desk.todo(&id);
            let after = desk.call(&lead, name, input)["todo"].clone();
            assert_eq!(
                (&after["status"], &after),
                (&json!(to), &desk.todo(&id)),
                "{action} {from}"
            );
            assert_eq!(after["createdAt"], before["createdAt"]);
            let now = json!("2026-11-15T08:00:00.000000Z");
            let started = if action == "start" { &now } else { &before["startedAt"] };
            let completed = if action == "complete" { &now } else { &Value::Null };
            assert_eq!((&after["startedAt"], &after["completedAt"]), (started, completed));
            // Make room for the next one.
            if !["completed", "cancelled"].contains(to) {
                desk.update(&lead, &id, "cancel");
            }
        }
        for id in desk.todos().iter().filter(|t| t["status"] == from).map(|t| &t["id"]) {
            if !["completed", "cancelled"].contains(&from) {
                desk.update(&lead, id, "cancel");
            }
        }
    }
}

/// M-25, M-44, M-46: one call, one summary; a metric that cannot be measured is only a warning.
fn a_completion_reports_its_effects(backend: Backend) {
    let mut desk = Desk::new(backend, json!({}));
    let id = desk.started("Profile the build");
    desk.at("2026-11-16T10:00:00Z");
    let metrics = json!(["local-build-time", "local-build-time", "morale", "nope"]);
    let input = complete(&id, json!({ "metricsImpacted": metrics }));
    let done = desk.call(&desk.lead(), "mission_todo_complete", input);
    let todo = &done["todo"];
    assert_eq!((&todo["id"], &todo["title"]), (&id, &json!("Profile the build")));
    assert_eq!(
        (&todo["status"], &todo["outcome"]),
        (&json!("completed"), &json!("measured and cut"))
    );
    assert_eq!(todo["completedAt"], "2026-11-16T10:00:00.000000Z");
    assert_eq!(todo["startedAt"], "2026-11-15T08:00:00.000000Z");
    assert_eq!(*todo, desk.todo(&id));
    assert_eq!(done["metricsQueued"], json!(["local-build-time"]));
    assert_eq!(
        done["warnings"],
        json!([
            "mission `developer-experience` has no metric `nope`",
            "metric `morale` has no collector: record it with metric_record"
        ])
    );
    let room = json!({ "active": 0, "activeLimit": 10, "backlog": 0, "backlogLimit": 50 });
    assert_eq!(done["counts"], room);
    let id = desk.create("Drop it", json!({}));
    let todo = desk.update(&desk.lead(), &id, "cancel")["todo"].clone();
    assert_eq!((&todo["outcome"], &todo["completedAt"]), (&Value::Null, &Value::Null), "D-9");
    assert_eq!(todo["cancelReason"], "because of it");
}

/// M-48: the reason of every action is in the log, word for word.
fn every_reason_is_kept(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let lead = desk.lead();
    let id = desk.create("x", json!({}));
    let acts = ["demote", "promote", "extend", "reprioritize", "start", "cancel"];
    let before = desk.world.log().len();
    for action in acts {
        let more = with(sets(action), json!({ "reason": format!("{action}, we said") }));
        desk.call(&lead, "mission_todo_update", with(update(&id, action), more));
    }
    let log = desk.world.log();
    let told: Vec<(String, String)> = log[before..]
        .iter()
        .map(|event| {
            let data = &event["data"];
            let reason = data["reason"].as_str().or(data["outcome"].as_str()).unwrap();
            (event["type"].as_str().unwrap().to_owned(), reason.to_owned())
        })
        .collect();
    let kinds = ["demoted", "promoted", "revised", "revised", "started", "cancelled"];
    let expected: Vec<(String, String)> = std::iter::zip(kinds, acts)
        .map(|(kind, act)| (format!("todo_{kind}"), format!("{act}, we said")))
        .collect();
    assert_eq!(told, expected);
}

/// Q-M4: a template fills empty fields and does not change others.
fn a_template_fills_empty_fields(backend: Backend) {
    let own = json!({ "name": "cleanup", "description": "Ours.", "justification": "It rots." });
    let desk = Desk::new(backend, json!({ "templates": [own] }));
    let create = |more: Value| {
        let least = json!({ "missionSlug": MISSION, "pillarSlug": BUILD, "title": "x" });
        desk.call(&desk.owner(BUILD), "mission_todo_create", with(least, more))["todo"].clone()
    };
    let todo = create(json!({ "template": "profiling", "justification": "Mine." }));
    assert_eq!(todo["justification"], "Mine.");
    assert!(todo["description"].as_str().unwrap().starts_with("Measure where the time goes"));
    assert!(!todo["completionCriteria"].as_str().unwrap().is_empty());
    let todo = create(json!({ "template": "cleanup" }));
    assert_eq!(
        (&todo["description"], &todo["justification"]),
        (&json!("Ours."), &json!("It rots."))
    );
}

/// D-4: a new deadline and another priority, by the lead and the operator.
fn a_deadline_is_extended_and_a_priority_changed(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    for who in [desk.lead(), desk.operator()] {
        let id = desk.create("x", json!({ "deadline": "2026-12-01" }));
        let more = json!({ "deadline": "2026-12-24" });
        let extended = desk.call(&who, "mission_todo_update", with(update(&id, "extend"), more));
        assert_eq!(extended["todo"]["deadline"], "2026-12-24");
        let more = json!({ "priority": "critical" });
        let input = with(update(&id, "reprioritize"), more);
        let todo = desk.call(&who, "mission_todo_update", input)["todo"].clone();
        assert_eq!(
            (&todo["priority"], &todo["deadline"]),
            (&json!("critical"), &json!("2026-12-24"))
        );
        assert_eq!(todo["status"], "pending", "and nothing else");
    }
}

/// M-53: the same file again creates no second mission and no second chat.
fn a_mission_is_created_once(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let operator = desk.operator();
    let again = desk.call(&operator, "mission_init", file(MISSION, json!({})));
    assert_eq!((&again["changes"], &again["mission"]), (&json!([]), &desk.mission));
    let chats = desk.call(&operator, "conversation_list", json!({ "mission": MISSION }));
    assert_eq!(chats["conversations"].as_array().unwrap().len(), 5, "M-52");
    let about = &chats["conversations"][2];
    assert_eq!(
        (&about["channel"], &about["title"]),
        (&json!("pillar-todo"), &json!("[TODOs] Build Performance"))
    );
    for (field, value) in [
        ("channel", &json!("pillar-todo")),
        ("missionId", &desk.mission["id"]),
        ("missionSlug", &json!(MISSION)),
        ("pillarId", &desk.mission["pillars"][0]["id"]),
        ("pillarSlug", &json!(BUILD)),
    ] {
        assert_eq!(about["metadata"][field], *value, "{field}");
    }
    // A limit below the current number of items changes nothing (M-13).
    desk.create("a", json!({}));
    desk.create("b", json!({}));
    let lowered = json!({ "activeTodoLimit": 1, "backlogTodoLimit": 0 });
    desk.call(&operator, "mission_init", file(MISSION, lowered));
    assert_eq!(strings(&json!(desk.todos()), "status"), ["pending", "pending"]);
    let refused = desk.refused(&desk.lead(), "mission_todo_create", new("c", json!({})));
    assert_eq!(refused.code(), "backlog_full");
}

on_every_store!(
    items_are_created_within_the_limits,
    counts_are_shown_for_each_pillar,
    twenty_at_once_never_exceed_the_limits,
    an_item_keeps_all_its_fields,
    bad_input_is_refused_with_the_valid_values,
    every_action_from_every_status,
    a_completion_reports_its_effects,
    every_reason_is_kept,
    a_template_fills_empty_fields,
    a_deadline_is_extended_and_a_priority_changed,
    a_mission_is_created_once,
);
