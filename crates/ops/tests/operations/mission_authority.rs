//! Authority in a mission: its lead, the owners of its pillars, and everybody else.

use punchlist_core::Role;
use punchlist_ops::catalogue::{CATALOGUE, Effect, find};
use punchlist_ops::{Envelope, Error};
use punchlist_testkit::{Backend, on_every_store};
use serde_json::{Value, json};

use crate::mission_desk::{BUILD, Desk, MISSION, complete, file, new, sets, strings, update, with};

/// Callers that have no part in the pillar `build-performance`.
fn strangers(desk: &Desk) -> Vec<(&'static str, Envelope)> {
    let worker = desk.world.envelope(Role::Worker);
    let mut narrowed = desk.world.envelope(Role::Worker);
    narrowed.actor.reach.mission = Some(MISSION.to_owned());
    vec![
        ("an owner of another pillar", desk.owner("onboarding")),
        ("an owner in another mission", desk.tied(Role::Owner, "other", Some(BUILD))),
        ("a lead of another mission", desk.tied(Role::Lead, "other", None)),
        ("root", desk.world.envelope(Role::Root)),
        ("a worker", worker),
        ("a worker of the mission", narrowed),
    ]
}

/// Not permitted, out of reach, or unknown: a token does not see items outside its reach.
fn is_turned_away(refused: &Error) -> bool {
    refused.meaning().exit == 4 || refused.code() == "unknown_todo"
}

/// M-32, M-35, M-40, M-43, D-1: the lead may do everything, the owner may cancel in its own pillar,
/// and any other caller may do nothing, even if it names the tool.
fn only_the_lead_and_the_owner_can_change_an_item(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    desk.call(&desk.operator(), "mission_init", file("other", json!({})));
    let id = desk.started("x");
    let waiting = desk.create("y", json!({}));
    for (who, envelope) in strangers(&desk) {
        for action in ["promote", "demote", "start", "cancel", "extend", "reprioritize"] {
            let input = with(update(&waiting, action), sets(action));
            let refused = desk.refused(&envelope, "mission_todo_update", input);
            assert!(is_turned_away(&refused), "{who}: {action}: {refused}");
        }
        for (name, input) in [
            ("mission_todo_create", new("mine", json!({}))),
            ("mission_todo_complete", complete(&id, json!({}))),
            ("todo_accept", json!({ "todoId": id })),
            ("todo_return", json!({ "todoId": id, "feedback": "no" })),
            ("todo_claim", json!({ "todoId": id, "outcome": "done" })),
            ("todo_hold", json!({ "todoId": id, "kind": "blocked", "reason": "x" })),
            ("todo_defer", json!({ "todoId": id, "until": "2027-01-01T00:00:00Z" })),
            ("delegate", json!({ "type": "coder", "mission": "do it", "todoId": id })),
            ("mission_init", file(MISSION, json!({ "activeTodoLimit": 99 }))),
            ("mission_pause", json!({ "mission": MISSION })),
            ("mission_cycle", json!({ "mission": MISSION })),
        ] {
            let refused = desk.refused(&envelope, name, input);
            assert!(is_turned_away(&refused), "{who}: {name}: {refused}");
        }
    }
    let owner = desk.owner(BUILD);
    for (name, input) in [
        ("mission_todo_complete", complete(&id, json!({}))),
        ("todo_accept", json!({ "todoId": id })),
        ("todo_return", json!({ "todoId": id, "feedback": "no" })),
        ("mission_init", file(MISSION, json!({}))),
        ("mission_pause", json!({ "mission": MISSION })),
        ("mission_cycle", json!({ "mission": MISSION })),
    ] {
        let refused = desk.refused(&owner, name, input);
        assert_eq!((refused.code(), refused.meaning().exit), ("not_permitted", 4), "{name}");
    }
    assert_eq!(desk.update(&owner, &waiting, "cancel")["todo"]["status"], "cancelled");
    assert_eq!(desk.update(&owner, &id, "cancel")["todo"]["status"], "cancelled", "M-32");
}

/// The number of log entries before anybody is denied: the project, the mission and its chats, the
/// list, the item and its start.
const BEFORE: usize = 10;

/// P-21: a denied judgement is logged, whichever step refused it.
fn a_denied_judgement_is_logged(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let id = desk.started("x");
    let before = desk.world.log().len();
    assert_eq!(before, BEFORE);
    for (who, name, input) in [
        (desk.owner(BUILD), "mission_todo_complete", complete(&id, json!({}))),
        (desk.owner(BUILD), "todo_accept", json!({ "todoId": id })),
        (desk.world.envelope(Role::Worker), "mission_todo_complete", complete(&id, json!({}))),
        (desk.world.envelope(Role::Root), "todo_accept", json!({ "todoId": id })),
    ] {
        desk.world.call_in(&who, name, input).unwrap_err();
    }
    // A judgement about a missing item is not logged.
    let nothing = complete(&json!("01JCQ0000000000000000000AB"), json!({}));
    desk.world.call_in(&desk.owner(BUILD), "mission_todo_complete", nothing).unwrap_err();
    let log = desk.world.log();
    let told: Vec<_> = log[before..]
        .iter()
        .map(|event| {
            assert_eq!(
                (&event["type"], &event["data"]["todoId"]),
                (&json!("command_refused"), &id)
            );
            let text = |value: &Value| value.as_str().unwrap().to_owned();
            (text(&event["actor"]), text(&event["data"]["action"]))
        })
        .collect();
    let line = |actor: &str, action: &str| (actor.to_owned(), action.to_owned());
    assert_eq!(
        told,
        [
            line("owner:primary", "complete"),
            line("owner:primary", "accept"),
            line("worker:primary.subagents.w", "complete"),
            line("root:primary", "accept"),
        ]
    );
}

/// M-39: an item is found only in its own mission, for every caller.
fn an_item_belongs_to_one_mission(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    desk.call(&desk.operator(), "mission_init", file("other", json!({})));
    let id = desk.started("x");
    let elsewhere = json!({ "missionSlug": "other" });
    let other_lead = desk.tied(Role::Lead, "other", None);
    let mut both = desk.world.envelope(Role::Lead);
    both.actor.mission = None;
    for (name, input) in [
        ("mission_todo_update", with(update(&id, "cancel"), elsewhere.clone())),
        ("mission_todo_complete", with(complete(&id, json!({})), elsewhere)),
    ] {
        for who in [&desk.operator(), &both] {
            let refused = desk.refused(who, name, input.clone());
            assert_eq!(refused.code(), "other_mission", "{name}");
            assert!(refused.to_string().contains(MISSION), "{refused}");
        }
        // The lead of another mission does not learn where it is.
        assert_eq!(desk.refused(&other_lead, name, input).code(), "unknown_todo");
    }
    let unknown = json!("01JCQ0000000000000000000AB");
    let refused = desk.refused(&desk.lead(), "mission_todo_update", update(&unknown, "cancel"));
    assert_eq!(refused.code(), "unknown_todo");
}

/// D-2, M-69, M-70: a change that the owner may not make becomes a recommendation to the lead, who
/// applies it with the usual call. Nothing else changes.
fn an_owners_change_becomes_a_recommendation_to_the_lead(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    let (owner, lead) = (desk.owner(BUILD), desk.lead());
    let id = desk.create("x", json!({ "targetStatus": "backlog" }));
    let before = desk.todo(&id);
    let wish = |action: &str, more: Value| {
        let answer = desk.call(&owner, "mission_todo_update", with(update(&id, action), more));
        assert_eq!((&answer["recommended"], &answer["todo"]), (&json!(true), &before), "{action}");
        assert_eq!(answer["counts"]["active"], 0);
    };
    wish("promote", json!({}));
    wish("extend", json!({ "deadline": "2027-01-01" }));
    wish("reprioritize", json!({ "priority": "high" }));
    let status = desk.status();
    let wishes = &status["recommendations"];
    assert_eq!(strings(wishes, "action"), ["promote", "extend", "reprioritize"]);
    assert_eq!((&wishes[0]["todoId"], &wishes[0]["by"]), (&id, &json!("owner:primary")));
    assert_eq!(
        (&wishes[1]["deadline"], &wishes[2]["priority"]),
        (&json!("2027-01-01"), &json!("high"))
    );
    // A recommendation contains the fields of that call.
    for wish in wishes.as_array().unwrap() {
        let mut input = json!({ "missionSlug": MISSION });
        for field in ["todoId", "action", "reason", "deadline", "priority"] {
            if wish.get(field).is_some_and(|value| !value.is_null()) {
                input[field] = wish[field].clone();
            }
        }
        let applied = desk.call(&lead, "mission_todo_update", input);
        assert_eq!(applied["recommended"], Value::Null);
    }
    let todo = desk.todo(&id);
    assert_eq!((&todo["status"], &todo["deadline"]), (&json!("pending"), &json!("2027-01-01")));
    assert_eq!(
        (&todo["priority"], &desk.status()["recommendations"]),
        (&json!("high"), &json!([]))
    );
    assert_eq!(desk.update(&owner, &id, "start")["todo"]["status"], "pending");

    // If the mission allows it, the owner's change is made at once; starting is still reserved for
    // the lead.
    let own = file(MISSION, json!({ "ownerMayRebalance": true }));
    desk.call(&desk.operator(), "mission_init", own);
    assert_eq!(desk.update(&owner, &id, "demote")["todo"]["status"], "backlog");
    assert_eq!(desk.update(&owner, &id, "promote")["todo"]["status"], "pending");
    assert_eq!(desk.update(&owner, &id, "start")["recommended"], true);
}

/// F-3: no operation that takes an item's id gets around its pillar's rules: strangers can change
/// nothing, and the owner can only cancel.
fn no_operation_goes_around_the_rules(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    desk.call(&desk.operator(), "mission_init", file("other", json!({})));
    let id = desk.started("x");
    let mut callers = strangers(&desk);
    callers.push(("its owner", desk.owner(BUILD)));
    let mut tried = 0;
    for operation in CATALOGUE.iter().filter(|operation| operation.effect == Effect::Write) {
        let mut input: Value = serde_json::from_str(operation.example).unwrap();
        let named: Vec<&str> =
            ["todoId", "taskId"].into_iter().filter(|name| input.get(*name).is_some()).collect();
        if named.is_empty() || operation.name == "delegate" {
            continue;
        }
        for name in named {
            input[name] = id.clone();
        }
        if input.get("missionSlug").is_some() {
            input["missionSlug"] = json!(MISSION);
        }
        let stands = |desk: &Desk| {
            let todo = desk.todo(&id);
            ["status", "startedAt", "completedAt", "outcome", "deadline", "priority"]
                .map(|field| todo[field].clone())
        };
        let before = stands(&desk);
        for (who, envelope) in &callers {
            tried += 1;
            let answer = desk.world.call_in(envelope, operation.name, input.clone());
            assert_eq!(stands(&desk), before, "{who}: {}: {answer:?}", operation.name);
            if *who != "its owner" {
                assert!(answer.is_err(), "{who}: {}: {answer:?}", operation.name);
            }
        }
    }
    assert!(tried > 60, "{tried}");
    assert_eq!(desk.status()["counts"]["active"], 1);
}

/// P-28: a token that is narrowed to a mission or a pillar sees only that and takes only its work.
/// Nobody with another role can cancel a delegation of its holder.
fn a_narrowed_token_sees_only_its_mission_or_pillar(backend: Backend) {
    let desk = Desk::new(backend, json!({}));
    desk.call(&desk.operator(), "mission_init", file("other", json!({})));
    let id = desk.started("x");
    desk.call(&desk.lead(), "mission_todo_create", new("y", json!({ "pillarSlug": "onboarding" })));
    let order = json!({ "type": "coder", "mission": "Do it.", "async": true, "todoId": id });
    let made = desk.call(&desk.lead(), "delegate", order)["delegationId"].clone();
    let listed = |who: &Envelope, more: Value| {
        let answer = desk.world.call_in(who, "delegation_list", more);
        answer.map(|answer| strings(&answer["delegations"], "id")).map_err(|error| error.code())
    };
    let one = Ok(vec![made.as_str().unwrap().to_owned()]);
    for who in [desk.lead(), desk.owner(BUILD), desk.operator()] {
        assert_eq!(listed(&who, json!({})), one);
        assert_eq!(listed(&who, json!({ "todoId": id })), one);
    }
    let (other, elsewhere) = (desk.owner("onboarding"), desk.tied(Role::Lead, "other", None));
    for who in [&other, &elsewhere] {
        assert_eq!(listed(who, json!({})), Ok(vec![]));
        assert_eq!(listed(who, json!({ "todoId": id })), Err("unknown_todo"));
        for name in ["delegation_show", "delegation_cancel"] {
            let refused = desk.refused(who, name, json!({ "delegationId": made }));
            assert_eq!(refused.code(), "unknown_delegation", "{name}");
        }
    }
    let none = desk.call(&other, "delegation_take", json!({}));
    assert_eq!(none["delegation"], Value::Null);
    for role in [Role::Root, Role::Owner] {
        // It has the lead's name but not the lead's role.
        let namesake = desk.world.envelope(role);
        let refused = desk.refused(&namesake, "delegation_cancel", json!({ "delegationId": made }));
        assert_eq!(refused.meaning().exit, 4, "{role}");
    }
    let missions = desk.call(&desk.lead(), "mission_list", json!({}));
    assert_eq!(strings(&missions["missions"], "slug"), [MISSION]);
    let own = desk.call(&desk.owner(BUILD), "mission_todo_list", json!({ "missionSlug": MISSION }));
    assert_eq!(strings(&own["todos"], "title"), ["x"]);
    let more = json!({ "missionSlug": MISSION, "pillarSlug": "onboarding" });
    assert_eq!(desk.refused(&desk.owner(BUILD), "mission_todo_list", more).code(), "out_of_reach");
    let status = desk.call(&desk.owner(BUILD), "mission_status", json!({ "mission": MISSION }));
    assert_eq!(strings(&status["pillars"], "slug"), [BUILD]);
    let foreign = desk.refused(&elsewhere, "mission_status", json!({ "mission": MISSION }));
    assert_eq!(foreign.code(), "out_of_reach");
    desk.call(&desk.lead(), "delegation_cancel", json!({ "delegationId": made }));
}

/// F-6: a tool is called by its full name; a similar name is unknown.
#[test]
fn a_tool_is_called_by_its_full_name() {
    for name in ["delegate", "mission_todo_complete", "todo_accept"] {
        assert!(find(name).is_ok());
        let longer =
            [format!("{name}_todo"), format!("x_{name}"), format!("{name} "), name.to_uppercase()];
        let shorter = [name[..name.len() - 1].to_owned(), name[1..].to_owned(), format!("{name}*")];
        for other in longer.iter().chain(&shorter) {
            assert_eq!(find(other).unwrap_err().code(), "unknown_operation", "{other}");
        }
    }
}

/// M-47, M-83: only the lead and the operator see the tool for completing, and the tool texts guide
/// the model that fills them in.
#[test]
fn tool_texts_guide_the_model_and_completing_is_hidden() {
    let complete = find("mission_todo_complete").unwrap();
    let may: Vec<Role> =
        Role::ALL.into_iter().filter(|role| complete.access.allows(*role)).collect();
    assert_eq!(may, [Role::Operator, Role::Lead]);
    let schema = find("mission_todo_create").unwrap().input_schema();
    let schema = serde_json::to_value(&schema).unwrap();
    let says =
        |field: &str| schema["properties"][field]["description"].as_str().unwrap().to_lowercase();
    for (field, words) in [
        ("title", &["concise", "actionable", "verb first"][..]),
        ("justification", &["why this", "why now", "metric", "strategy"]),
        ("completionCriteria", &["done", "measurable"]),
    ] {
        for word in words {
            assert!(says(field).contains(word), "{field}: {}", says(field));
        }
    }
}

on_every_store!(
    only_the_lead_and_the_owner_can_change_an_item,
    a_denied_judgement_is_logged,
    an_item_belongs_to_one_mission,
    an_owners_change_becomes_a_recommendation_to_the_lead,
    no_operation_goes_around_the_rules,
    a_narrowed_token_sees_only_its_mission_or_pillar,
);
