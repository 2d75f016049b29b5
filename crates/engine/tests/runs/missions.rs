//! Whole missions: owners plan and work; the lead starts, delegates, reviews and completes. A worker
//! executes it all from the chats and the queue.

use std::sync::Arc;

use punchlist_core::{Role, Time};
use punchlist_engine::model::Scripted;
use punchlist_ops::config::Origin;
use punchlist_testkit::{Backend, developer_experience, on_every_lasting_store};
use serde_json::{Value, json};

use crate::stage::Stage;

on_every_lasting_store!(
    a_todo_goes_from_planned_to_completed,
    a_message_of_a_person_reaches_the_lead,
    a_failure_lands_in_the_chat,
    other_work_goes_on_meanwhile,
    long_work_is_resumed_from_its_history,
    a_report_reaches_an_agent_that_is_replying,
    a_pillars_work_of_an_unconfigured_type_is_done_by_its_owner,
    an_agent_without_a_role_does_a_pillars_todo_as_a_worker,
    a_result_longer_than_a_report_is_cut,
);

const AGENTS: &str = r#"
[agents.boss]
role = "lead"
model = "scripted:lead"
[agents.pillar-owner]
role = "owner"
model = "scripted:owner"
[agents.coder]
model = "scripted:worker"
"#;

const PLAN: &str = include_str!("scripts/plan.toml");
const LEAD: &str = include_str!("scripts/lead.toml");
const REVIEW: &str = include_str!("scripts/review.toml");
const OWNER: &str = include_str!("scripts/owner.toml");
const ANOTHER: &str = include_str!("scripts/another.toml");

const WORKER: &str = r#"
[[steps]]
text = "ts-loader takes 39 percent"
"#;

/// Slow enough to be stopped in the middle.
const SLOW: &str = r#"
[[steps]]
delay_ms = 1500
text = "ts-loader takes 39 percent"
"#;

/// The scripts of one agent, one for each chat it writes in. The first step that matches is played.
fn stage(backend: Backend, lead: &[&str], owner: &[&str]) -> (Stage, Value) {
    stage_with(backend, lead, owner, WORKER)
}

fn stage_with(backend: Backend, lead: &[&str], owner: &[&str], worker: &str) -> (Stage, Value) {
    let (lead, owner) = (lead.concat(), owner.concat());
    let scripts = [("lead", lead.as_str()), ("owner", &owner), ("worker", worker)];
    let stage = Stage::new(backend, AGENTS, &scripts);
    let made = stage.call("mission_init", developer_experience()).unwrap();
    (stage, made["mission"].clone())
}

fn todos(stage: &Stage) -> Vec<Value> {
    let input = json!({ "missionSlug": "developer-experience" });
    stage.call("mission_todo_list", input).unwrap()["todos"].as_array().unwrap().clone()
}

fn brief(stage: &Stage) -> Vec<String> {
    let word = |todo: &Value, field: &str| todo[field].as_str().unwrap_or("-").to_owned();
    let line = |todo: &Value| format!("{}: {}", word(todo, "title"), word(todo, "status"));
    todos(stage).iter().map(line).collect()
}

/// The messages of a chat with their authors, without tool results and empty texts.
fn said(stage: &Stage, chat: &Value) -> Vec<String> {
    let input = json!({ "conversationId": chat, "limit": 1000 });
    let shown = stage.call("conversation_show", input).unwrap();
    let messages = shown["messages"].as_array().unwrap().iter();
    let said = messages.filter(|message| message["kind"] != "result" && message["text"] != "");
    said.map(|m| format!("{}: {}", m["author"].as_str().unwrap(), m["text"].as_str().unwrap()))
        .collect()
}

fn todo_chat(mission: &Value) -> Value {
    mission["pillars"][0]["conversationIds"]["todos"].clone()
}

fn cycle(stage: &Stage) {
    stage.call("mission_cycle", json!({ "mission": "developer-experience" })).unwrap();
}

const ORDER: &str = "Execute this task: Profile the build. Find the slow plugins. Completion \
                     criteria: The top 3 plugins. Use the tools available to you. Report back when \
                     done.";

/// M-49, M-50, M-51, M-59, M-60, M-61, M-80, M-84: the owner plans the todo at the cycle; the lead
/// starts and delegates it in the seed's words; a worker helps; it is returned once, completed,
/// measured again, and followed up.
fn a_todo_goes_from_planned_to_completed(backend: Backend) {
    let (stage, mission) = stage(backend, &[LEAD, REVIEW], &[PLAN, OWNER]);
    cycle(&stage);
    stage.work();
    assert_eq!(
        brief(&stage),
        ["Profile the build: completed", "Evaluate esbuild-loader: pending"],
        "{:#?}",
        stage.told()
    );
    let told = said(&stage, &todo_chat(&mission));
    let expected = [
        &format!("lead:boss: {ORDER}"),
        "owner:pillar-owner: I ask the coder.",
        "owner:pillar-owner: It is ts-loader only: ts-loader takes 39 percent",
        "worker:worker: Worker completed TODO “Profile the build”\n\nIt is ts-loader only: ts-loader \
         takes 39 percent",
        "lead:boss: Name all three.",
        "lead:boss: Returned.",
        "owner:pillar-owner: ts-loader, css-loader, terser.",
        "worker:worker: Worker completed TODO “Profile the build”\n\nts-loader, css-loader, terser.",
        "lead:boss: Completed, with a follow-up.",
    ];
    assert_eq!(told, expected);
    let done = &todos(&stage)[0];
    assert_eq!(done["outcome"], "ts-loader, css-loader, terser");
    assert!(done["startedAt"].is_string() && done["completedAt"].is_string());
    // It is measured again, because the todo names the metric that it moved.
    let input = json!({ "mission": "developer-experience", "metric": "local-build-time" });
    let history = stage.call("metric_history", input).unwrap();
    assert_eq!(history["readings"].as_array().unwrap().len(), 1);
    // Nothing is left to do, however often the worker looks.
    let (chats, told) = (stage.told().len(), told.len());
    stage.work();
    assert_eq!((stage.told().len(), said(&stage, &todo_chat(&mission)).len()), (chats, told));
}

/// F-5, M-55, M-64: a person's message in the TODO chat goes to the lead, in a turn of its own.
/// While an agent works there, people can only read.
fn a_message_of_a_person_reaches_the_lead(backend: Backend) {
    let answer = "[[steps]]\nwhen = \"Faster, please\"\ntext = \"I will see to it.\"\n";
    let (stage, mission) = stage(backend, &[LEAD, answer], &[PLAN]);
    let chat = todo_chat(&mission);
    let post = json!({ "conversationId": chat, "text": "Faster, please." });
    let posted = stage.call("conversation_post", post.clone()).unwrap();
    assert_eq!(posted["addressee"], "lead");
    stage.work();
    let expected = ["operator:primary: Faster, please.", "lead:boss: I will see to it."];
    assert_eq!(said(&stage, &chat), expected);
    // An agent works there now.
    cycle(&stage);
    let taken = stage.work_and_take("pillar-owner");
    let refused = stage.call("conversation_post", post.clone()).unwrap_err();
    assert_eq!(refused.code(), "agent_at_work");
    assert!(said(&stage, &chat).len() > 2, "it can still be read");
    stage.report(&taken, &json!({ "result": "ts-loader only" }));
    assert!(stage.call("conversation_post", post).is_ok());
}

/// M-62: failed work is retried once; then the failure is posted in the chat, and the lead is called.
fn a_failure_lands_in_the_chat(backend: Backend) {
    let answer = "[[steps]]\nwhen = \"Worker failed TODO\"\ntext = \"I see.\"\n";
    let fails = "[[steps]]\nwhen = \"Execute this task\"\nstop = \"error\"\n";
    let (stage, mission) = stage(backend, &[LEAD, answer], &[PLAN, fails]);
    cycle(&stage);
    stage.work();
    let told = said(&stage, &todo_chat(&mission));
    let reports: Vec<&str> = told.iter().filter_map(|said| said.split('\n').next()).collect();
    let expected = [
        &format!("lead:boss: {ORDER}"),
        "worker:worker: Worker failed TODO “Profile the build”; it is tried once more.",
        "worker:worker: Worker failed TODO “Profile the build”",
        "lead:boss: I see.",
    ];
    assert_eq!(reports, expected);
    assert!(told[2].contains("is an error"), "{}", told[2]);
    assert_eq!(brief(&stage), ["Profile the build: in_progress"], "a failure settles nothing");
}

/// M-59, M-63: while delegated work is done, the lead is free: it reviews other work in the same chat and
/// starts another todo, and metrics are read.
fn other_work_goes_on_meanwhile(backend: Backend) {
    let (stage, mission) = stage(backend, &[LEAD, ANOTHER], &[PLAN]);
    cycle(&stage);
    // A worker holds the first todo for a long time.
    let first = stage.work_and_take("pillar-owner");
    stage.begin("pillar-owner", &first);
    let post = json!({ "conversationId": mission["conversationId"], "text": "Start another." });
    stage.call("conversation_post", post).unwrap();
    stage.call("metric_collect", json!({ "mission": "developer-experience" })).unwrap();
    let second = stage.work_and_take("writer");
    let expected = ["Profile the build: in_progress", "Second: in_progress"];
    assert_eq!(brief(&stage), expected, "{:#?}", stage.told());
    assert_eq!(
        said(&stage, &mission["conversationId"]).last().unwrap(),
        "lead:boss: Both are under way."
    );
    let input = json!({ "mission": "developer-experience", "metric": "local-build-time" });
    let history = stage.call("metric_history", input).unwrap();
    assert_eq!(history["readings"].as_array().unwrap().len(), 1);
    // The second is reported while the first is still in work. The report is read at once.
    stage.report(&second, &json!({ "result": "done" }));
    stage.work();
    let chat = said(&stage, &todo_chat(&mission));
    assert_eq!(chat.last().unwrap(), "lead:boss: I have read it.", "{chat:#?}");
}

/// M-56: days later, another process continues from the stored history, and repeats nothing.
fn long_work_is_resumed_from_its_history(backend: Backend) {
    let (mut stage, mission) = stage_with(backend, &[LEAD, REVIEW], &[PLAN, OWNER], SLOW);
    cycle(&stage);
    // The worker ends once the coder's delegation exists.
    stage.work_until("calls delegate", 2);
    let told = said(&stage, &todo_chat(&mission));
    assert_eq!(told.last().unwrap(), "owner:pillar-owner: I ask the coder.", "{told:#?}");
    stage.world.now = Time::parse("2026-11-18T08:00:00Z").unwrap();
    stage.reopen();
    stage.work_until("mission_todo_complete returned", 1);
    stage.work();
    assert_eq!(
        brief(&stage),
        ["Profile the build: completed", "Evaluate esbuild-loader: pending"],
        "{:#?}",
        stage.told()
    );
    let told = said(&stage, &todo_chat(&mission));
    for once in ["I ask the coder.", "Name all three.", "Completed, with a follow-up."] {
        assert_eq!(told.iter().filter(|said| said.ends_with(once)).count(), 1, "{told:#?}");
    }
}

/// M-61: a report that comes during the lead's last reply is not missed.
fn a_report_reaches_an_agent_that_is_replying(backend: Backend) {
    let answer = r#"
[[steps]]
when = "Anything new"
text = "Nothing yet."
[[steps]]
when = "Worker completed TODO"
text = "There it is."
"#;
    let (stage, mission) = stage(backend, &[LEAD, answer], &[PLAN]);
    cycle(&stage);
    let chat = todo_chat(&mission);
    let taken = stage.work_and_take("pillar-owner");
    // People can only read now, so the author is an agent.
    let (lead, system) = (stage.envelope(Role::Lead), stage.envelope(Role::System));
    let mut asks = lead;
    asks.actor.principal = "lead:other".to_owned();
    let post = json!({ "conversationId": chat, "text": "Anything new?" });
    stage.world.call_in(&asks, "conversation_post", post).unwrap();
    let begin = json!({ "agent": "boss", "conversationId": chat });
    stage.world.call_in(&system, "run_begin", begin).unwrap();
    stage.work_and("asks boss", || stage.report(&taken, &json!({ "result": "ts-loader only" })));
    let told = said(&stage, &chat);
    assert_eq!(told.last().unwrap(), "lead:boss: There it is.", "{told:#?}");
    assert_eq!(stage.call("run_list", json!({ "state": "running" })).unwrap()["runs"], json!([]));
}

/// Work on a pillar's todo that is delegated to an unconfigured type is done by the agent that plays
/// owner.
fn a_pillars_work_of_an_unconfigured_type_is_done_by_its_owner(backend: Backend) {
    let lead = LEAD.replace("input.type = \"pillar-owner\"", "input.type = \"profiler\"");
    let (stage, _) = stage(backend, &[&lead, REVIEW], &[PLAN, OWNER]);
    cycle(&stage);
    stage.work();
    assert_eq!(
        brief(&stage),
        ["Profile the build: completed", "Evaluate esbuild-loader: pending"],
        "{:#?}",
        stage.told()
    );
}

/// M-40, M-50: the todo does not make its agent an owner. A project's file that names an agent could
/// give itself the owner's rights otherwise.
fn an_agent_without_a_role_does_a_pillars_todo_as_a_worker(backend: Backend) {
    let users = "[agents.pillar-owner]\nrole = \"owner\"\nmodel = \"scripted:owner\"";
    let mut stage = Stage::new(backend, users, &[("owner", PLAN)]);
    stage.call("mission_init", developer_experience()).unwrap();
    let named = "[agents.helper]\nmodel = \"scripted:helper\"";
    let agents = stage.agents.read(named, Origin::Project).unwrap();
    stage.agents = Arc::new(agents);
    let new = |title: &str| {
        let new = json!({
            "missionSlug": "developer-experience", "pillarSlug": "build-performance",
            "title": title, "justification": "slow", "completionCriteria": "it is measured",
        });
        stage.call("mission_todo_create", new).unwrap()["todo"]["id"].as_str().unwrap().to_owned()
    };
    let (own, other) = (new("Its own"), new("Another"));
    let start = json!({ "missionSlug": "developer-experience", "todoId": own, "action": "start",
        "reason": "now" });
    stage.call("mission_todo_update", start).unwrap();
    let script = format!(
        r#"
[[steps]]
text = "I cancel another one, and delegate."
[[steps.calls]]
tool = "mission_todo_update"
input = {{ missionSlug = "developer-experience", todoId = "{other}", action = "cancel", reason = "x" }}
[[steps.calls]]
tool = "delegate"
input = {{ type = "coder", mission = "Do it for me." }}
[[steps]]
text = "Done."
"#
    );
    stage.shelf.put("scripted:helper", Arc::new(Scripted::read("helper", &script).unwrap()));
    let order = json!({ "type": "helper", "mission": "Go.", "todoId": own, "async": true });
    stage.call("delegate", order).unwrap();
    stage.work();
    let runs = stage.call("run_list", json!({})).unwrap()["runs"].clone();
    let played: Vec<_> = runs.as_array().unwrap().iter().map(|run| &run["role"]).collect();
    assert_eq!(played, ["worker"], "{:#?}", stage.told());
    assert_eq!(brief(&stage), ["Its own: in_progress", "Another: pending"]);
    let made = stage.call("delegation_list", json!({})).unwrap()["delegations"].clone();
    assert_eq!(made.as_array().unwrap().len(), 1, "it delegates nothing: {made:#}");
    assert_eq!(todos(&stage)[0]["claim"]["by"], "worker:worker", "its report is still a claim");
}

fn a_result_longer_than_a_report_is_cut(backend: Backend) {
    let script = format!("[[steps]]\ntext = \"{}\"", "é".repeat(40_000));
    let config = "[agents.coder]\nmodel = \"scripted:worker\"";
    let stage = Stage::new(backend, config, &[("worker", &script)]);
    let order = json!({ "type": "coder", "mission": "Write a lot.", "async": true });
    let made = stage.world.call_in(&stage.envelope(Role::Root), "delegate", order).unwrap();
    stage.work();
    let id = json!({ "delegationId": made["delegationId"] });
    let shown = stage.call("delegation_show", id).unwrap()["delegation"].clone();
    let result = shown["result"].as_str().unwrap();
    assert_eq!(shown["state"], "returned");
    assert!(
        result.len() <= 65_536 && result.ends_with("é\n[cut here: a report has at most 64 KiB]")
    );
}
