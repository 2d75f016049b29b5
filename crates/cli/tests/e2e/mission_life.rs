//! The whole life of a mission's todo over real MCP: four servers, three principals, one store.
//!
//! A mission is created from its file, a cycle asks the pillar to plan, the owner creates items,
//! the lead starts and delegates, the work is reported, returned once and completed; a metric is
//! queued, a slot becomes free, and the next item takes it. No worker completes its own work.

use punchlist_core::event::ReadingRecorded;
use punchlist_core::metric::{Figure, Reading};
use punchlist_core::{Actor, AgentPath, Decision, MetricId, MissionId, Role, Time};
use punchlist_store::{Error, Stamp};
use punchlist_testkit::{Backend, on_every_lasting_store};
use serde_json::{Value, json};

use crate::party::Party;
use crate::support::Place;

/// The scenario takes place in this February.
const FEBRUARY: &str = "2026-02-14T09:00:00Z";

const MISSION: &str = "developer-experience";
const PILLAR: &str = "build-performance";
const TITLE: &str = "Profile webpack build to identify top 3 slow plugins";

/// The file of the mission.
fn file() -> Value {
    json!({
        "name": "Developer Experience",
        "cadence": { "cron": "0 9 * * 1", "timezone": "Europe/Berlin" },
        "pillars": [
            {
                "name": "Build Performance",
                "description": "A build one does not have to wait for.",
                "metrics": [{
                    "name": "Local build time", "type": "duration", "unit": "s",
                    "target": { "operator": "<", "value": 60, "warningThreshold": 90 },
                    "collect": { "command": ["true"] },
                }],
                "strategies": [{ "description": "Profile before changing anything" }],
            },
            { "name": "Onboarding" },
        ],
    })
}

/// A token created by the operator.
fn token(place: &Place, operator: &str, words: &[&str]) -> String {
    let made = place.punch(["token", "new", "--json", "--mission", MISSION]).words(words);
    made.with(operator).answer()["token"].as_str().unwrap().to_owned()
}

/// The last readings of the scenario: 55, 63, 72.
fn measure(place: &Place, mission: &Value) {
    let id = |value: &Value| value.as_str().unwrap().to_owned();
    let mission_id = MissionId::parse(&id(&mission["id"])).unwrap();
    let metric_id = MetricId::parse(&id(&mission["pillars"][0]["metrics"][0]["id"])).unwrap();
    let at = Time::parse(FEBRUARY).unwrap();
    let actor = Actor::new(Role::System, AgentPath::primary());
    let written = place.open().write(move |tx| {
        let project = tx.project("test")?.unwrap();
        let stamp = Stamp {
            project,
            actor: actor.clone(),
            cause: "metric_record",
            at,
            proof: "none".into(),
            recorded_at: at,
        };
        for value in [55.0, 63.0, 72.0] {
            let (value, source) = (Figure::new(value).unwrap(), "manual".to_owned());
            let reading = Reading { metric_id, value, at, source };
            let events = vec![ReadingRecorded { mission_id, reading: reading.clone() }.into()];
            let decision = Decision { events, ..Decision::default() };
            tx.add_reading(mission_id, &reading, &decision, &stamp)?;
        }
        Ok::<_, Error>(())
    });
    written.unwrap();
}

/// The messages of a chat, in order: kind, author and text.
fn chat(party: &Party, id: &Value) -> Vec<(String, String, String)> {
    let shown = party.call("conversation_show", json!({ "conversationId": id }));
    let text = |message: &Value, name: &str| message[name].as_str().unwrap().to_owned();
    let messages = shown["messages"].as_array().unwrap();
    messages.iter().map(|m| (text(m, "kind"), text(m, "author"), text(m, "text"))).collect()
}

fn strings(value: &Value, field: &str) -> Vec<String> {
    value.as_array().unwrap().iter().map(|v| v[field].as_str().unwrap().to_owned()).collect()
}

fn counts(active: i64, backlog: i64) -> Value {
    json!({ "active": active, "activeLimit": 10, "backlog": backlog, "backlogLimit": 50 })
}

fn update(id: &Value, action: &str, reason: &str) -> Value {
    json!({ "missionSlug": MISSION, "todoId": id, "action": action, "reason": reason })
}

fn report(delegation: &Value, epoch: &Value, result: &str) -> Value {
    json!({ "delegationId": delegation, "epoch": epoch, "result": result })
}

/// M-80 and with it M-35, M-43, M-47, M-49, M-51, M-54, M-60, M-65, P-4, P-21, F-5.
fn a_mission_todo_lives_over_mcp(backend: Backend) {
    let place = Place::new(backend);
    let secret = place.operator();
    let party = |token: &str| Party::at(&place, FEBRUARY, &[], Some(token));
    let operator = party(&secret);
    let lead = party(&token(&place, &secret, &["--role", "lead", "--agent", "boss"]));
    let own = ["--role", "owner", "--agent", "builder", "--pillar", PILLAR];
    let own = token(&place, &secret, &own);
    let owner = party(&own);

    // Each party is shown only the tools it may use.
    let tools = [
        "mission_todo_create",
        "mission_todo_update",
        "mission_todo_complete",
        "mission_todo_list",
        "mission_status",
        "delegate",
        "todo_accept",
        "todo_return",
    ];
    let shown = |party: &Party| -> Vec<&str> {
        let names = party.client.names();
        tools.into_iter().filter(|tool| names.iter().any(|name| name == tool)).collect()
    };
    assert_eq!(shown(&lead), tools);
    let judging = ["mission_todo_complete", "todo_accept", "todo_return"];
    let others: Vec<&str> = tools.into_iter().filter(|tool| !judging.contains(tool)).collect();
    assert_eq!(shown(&owner), others, "P-21, M-47");

    // Created from its file, with its chats.
    let made = operator.call("mission_init", file());
    let mission = &made["mission"];
    assert_eq!(mission["nextCycleAt"], "2026-02-16T08:00:00.000000Z");
    let planning = &mission["pillars"][0]["conversationIds"]["pillar"];
    let work = &mission["pillars"][0]["conversationIds"]["todos"];
    let chats = operator.call("conversation_list", json!({ "mission": MISSION }));
    let titles = [
        "Developer Experience",
        "Build Performance",
        "[TODOs] Build Performance",
        "Onboarding",
        "[TODOs] Onboarding",
    ];
    assert_eq!(strings(&chats["conversations"], "title"), titles);
    measure(&place, mission);

    // A cycle asks each pillar to plan, in its own chat.
    let cycle = operator.call("mission_cycle", json!({ "mission": MISSION }));
    assert_eq!(cycle["planned"], json!([PILLAR, "onboarding"]));
    let asked = chat(&owner, planning);
    assert_eq!((asked.len(), asked[0].0.as_str()), (1, "synthetic"));
    let prompt = &asked[0].2;
    let heading = "[synthetic · punchlist]\n\n## TODO Planning Cycle\n";
    assert!(prompt.starts_with(heading), "{prompt}");
    let line = "- Local build time: 72s, target < 60s, status warning, trend degrading";
    assert!(prompt.contains(line), "{prompt}");
    assert_eq!(chat(&owner, work), [], "planning stays out of the chat the work is in");

    // The owner plans.
    let justification = "Build time is 72s, 12s above the 60s target.";
    let create = json!({
        "missionSlug": MISSION, "pillarSlug": PILLAR, "title": TITLE,
        "description": "Run webpack --profile --json, analyze the output.",
        "justification": justification,
        "completionCriteria": "A list of the top 3 plugins by time contribution.",
        "deadline": "2026-02-21", "targetStatus": "pending",
    });
    let created = owner.call("mission_todo_create", create);
    let todo = &created["todo"];
    assert_eq!((&todo["status"], &todo["deadline"]), (&json!("pending"), &json!("2026-02-21")));
    assert_eq!(
        (&todo["justification"], &created["warning"]),
        (&json!(justification), &Value::Null)
    );
    assert_eq!(created["counts"], counts(1, 0));
    let id = &todo["id"];
    let update = |action: &str, reason: &str| update(id, action, reason);
    let wished = owner.call("mission_todo_update", update("start", "It is urgent."));
    assert_eq!(
        (&wished["recommended"], &wished["todo"]["status"]),
        (&json!(true), &json!("pending"))
    );
    let complete = json!({
        "missionSlug": MISSION, "todoId": id, "metricsImpacted": ["local-build-time"],
        "outcome": "ts-loader (39%), css-loader+postcss (17%), terser (12%).",
    });
    assert_eq!(lead.refused("mission_todo_complete", complete.clone()), "wrong_status");

    // The lead sees the recommendation, starts the todo, and posts the order in the chat of the
    // pillar's todos.
    let status = lead.call("mission_status", json!({ "mission": MISSION }));
    assert_eq!(strings(&status["recommendations"], "action"), ["start"]);
    let reason = "Build time degradation confirmed by 3 consecutive readings.";
    let started = lead.call("mission_todo_update", update("start", reason));
    assert_eq!(started["todo"]["status"], "in_progress");
    assert_eq!(started["todo"]["startedAt"], "2026-02-14T09:00:00.000000Z");
    let order = started["order"].as_str().unwrap();
    assert_eq!(
        order,
        "Execute this task: Profile webpack build to identify top 3 slow plugins. Run webpack \
         --profile --json, analyze the output. Completion criteria: A list of the top 3 plugins by \
         time contribution. Use the tools available to you. Report back when done."
    );
    let hand_on = |order: &str| {
        let input =
            json!({ "type": "pillar-owner", "mission": order, "async": true, "todoId": id });
        lead.call("delegate", input)["delegationId"].clone()
    };
    let delegation = hand_on(order);
    assert_eq!(chat(&owner, work), [("text".into(), "lead:boss".into(), order.to_owned())]);
    // A person can read the work in progress, but not interrupt it (M-55).
    let worker = party(&own);
    let taken = worker.call("delegation_take", json!({ "types": ["pillar-owner"] }));
    assert_eq!(taken["delegation"]["id"], delegation);
    let post = json!({ "conversationId": work, "text": "How far are you?" });
    assert_eq!(operator.refused("conversation_post", post.clone()), "agent_at_work");

    // Reported: it is claimed, in the lead's queue, and nobody can work on it meanwhile.
    worker.call("delegation_report", report(&delegation, &taken["epoch"], "ts-loader: 39 %."));
    let last = chat(&lead, work).pop().unwrap();
    assert_eq!((last.0.as_str(), last.1.as_str()), ("report", "owner:builder"));
    assert_eq!(last.2, format!("Worker completed TODO “{TITLE}”\n\nts-loader: 39 %."));
    let queue = lead.call("mission_status", json!({ "mission": MISSION }))["reviewQueue"].clone();
    assert_eq!(strings(&queue, "title"), [TITLE]);
    assert_eq!(queue[0]["claim"]["by"], "owner:builder");
    assert_eq!(operator.call("conversation_post", post)["addressee"], "lead", "F-5");

    // The agent that did the work cannot judge it under any name, and the attempt is logged.
    let accept = json!({ "todoId": id });
    for maker in [&owner, &worker] {
        assert_eq!(maker.refused("mission_todo_complete", complete.clone()), "not_permitted");
        assert_eq!(maker.refused("todo_accept", accept.clone()), "not_permitted");
    }
    let refused = place.punch(["wait", "--types", "command_refused", "--after", "0", "--json"]);
    let told = refused.with(&secret).answer();
    let line = &told["events"][0];
    assert_eq!((&line["actor"], &line["data"]["todoId"]), (&json!("owner:builder"), id), "{told}");

    // Returned once, in the same chat; worked on again.
    let feedback = json!({ "todoId": id, "feedback": "Name all three, with a recommendation." });
    lead.call("todo_return", feedback);
    let last = chat(&owner, work).pop().unwrap();
    assert_eq!(last.2, "Name all three, with a recommendation.");
    let again = lead.call("mission_status", json!({ "mission": MISSION }));
    assert_eq!((&again["reviewQueue"], &again["counts"]), (&json!([]), &counts(1, 0)));
    let delegation = hand_on("Go on.");
    let taken = worker.call("delegation_take", json!({}));
    let three = "ts-loader 39 %, css-loader 17 %, terser 12 %. Evaluate esbuild-loader.";
    worker.call("delegation_report", report(&delegation, &taken["epoch"], three));

    // Completed by the lead: the metric is queued, the slot is free, the next item takes it.
    let done = lead.call("mission_todo_complete", complete);
    assert_eq!(done["todo"]["status"], "completed");
    assert_eq!(done["todo"]["completedAt"], "2026-02-14T09:00:00.000000Z");
    assert_eq!(done["metricsQueued"], json!(["local-build-time"]));
    assert_eq!((&done["warnings"], &done["counts"]), (&json!([]), &counts(0, 0)));
    let follow_up = json!({
        "missionSlug": MISSION, "pillarSlug": PILLAR,
        "title": "Evaluate esbuild-loader migration for ts-loader replacement",
        "justification": "ts-loader accounts for 39% of build time.",
        "completionCriteria": "Build time delta, test pass rate, list of breaking changes.",
    });
    assert_eq!(lead.call("mission_todo_create", follow_up)["counts"], counts(1, 0));
    let said: Vec<String> = chat(&lead, work).into_iter().map(|(kind, ..)| kind).collect();
    assert_eq!(said, ["text", "report", "text", "text", "text", "report"]);
    for party in [operator, lead, owner, worker] {
        party.end();
    }
    // The store is sound; the metric is overdue, because that February is long ago.
    let doctor = place.punch(["doctor", "--json"]).run().json();
    let checks = doctor["store"]["checks"].as_array().unwrap();
    let bad: Vec<&Value> = checks.iter().filter(|check| check["ok"] == false).collect();
    assert_eq!(bad.iter().map(|check| &check["name"]).collect::<Vec<_>>(), ["outbox"], "{doctor}");
}

on_every_lasting_store!(a_mission_todo_lives_over_mcp);
