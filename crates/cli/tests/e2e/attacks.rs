//! Named attacks on authority, with the real binary: what each must be refused, and what must still
//! work. `ops/tests/operations/attack.rs` covers role × token × operation.

use punchlist_store::sql;
use punchlist_testkit::{Backend, TestStore, World, developer_experience, on_every_lasting_store};
use serde_json::{Value, json};

use crate::identity::{at_terminal, first_operator};
use crate::party::Party;
use crate::support::{Place, Punch};

/// A model that tries everything to reach beyond issue 1.
const GREEDY: &str = r#"
[[steps]]
[[steps.calls]]
tool = "issue"
input = { action = "view", number = 2 }
[[steps.calls]]
tool = "issue"
input = { action = "comment", number = 2, text = "I was here" }
[[steps.calls]]
tool = "issue"
input = { action = "create", title = "Something new" }
[[steps.calls]]
tool = "issue"
input = { action = "transition", number = 2, status = "triaged" }
[[steps.calls]]
tool = "plan"
input = { action = "complete", taskId = "1" }
[[steps.calls]]
tool = "issue"
input = { action = "comment", number = 1, text = "on mine" }
[[steps]]
text = "Done."
"#;

/// A place with an operator, who has two issues and a plan.
pub(crate) struct Desk {
    pub(crate) place: Place,
    pub(crate) operator: String,
}

impl Desk {
    pub(crate) fn new(backend: Backend) -> Self {
        let place = Place::new(backend);
        let operator = place.operator();
        let desk = Self { place, operator };
        desk.operator(&["issue", "new", "Alpha fails", "--criteria", "A test covers it"]);
        desk.operator(&["issue", "new", "Beta is slow", "--body", "the secret of Beta"]);
        let plan = json!({ "planFile": "p.md", "markdown": "# Plan\n- [ ] one\n" }).to_string();
        desk.operator(&["call", "plan_import", &plan]);
        desk
    }

    pub(crate) fn punch(&self, words: &[&str]) -> Punch {
        self.place.punch(words.iter().copied()).words(["--json"])
    }

    pub(crate) fn operator(&self, words: &[&str]) -> Value {
        self.punch(words).with(&self.operator).answer()
    }

    pub(crate) fn token(&self, words: &[&str]) -> String {
        let made = self.operator(&[&["token", "new"], words].concat());
        made["token"].as_str().unwrap().to_owned()
    }

    pub(crate) fn call(&self, secret: &str, operation: &str, input: &Value) -> Punch {
        self.punch(&["call", operation, &input.to_string()]).with(secret)
    }

    pub(crate) fn issue(&self, number: i64) -> Value {
        self.operator(&["issue", "show", &number.to_string()])
    }

    pub(crate) fn script(&self, name: &str, text: &str) -> String {
        let path = self.place.home().join(name);
        std::fs::write(&path, text).unwrap();
        format!("scripted:{}", path.display())
    }

    /// The configuration of the user that runs the worker.
    pub(crate) fn configure(&self, folder: &str, text: &str) {
        let folder = self.place.home().join(folder).join("punchlist");
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("punchlist.toml"), text).unwrap();
    }
}

/// 14.2: a run is limited to the reach of the actor who started it. It does not matter who executes
/// the run, or what its model tries.
fn a_run_reaches_no_further_than_its_starter(backend: Backend) {
    let desk = Desk::new(backend);
    let token = desk.token(&[
        "--role",
        "root",
        "--agent",
        "coder",
        "--only-project",
        "test",
        "--only-issue",
        "1",
    ]);
    let greedy = desk.script("greedy.toml", GREEDY);
    // An agent may not choose the model of another process.
    let chosen = json!({ "prompt": "go", "number": 1, "model": greedy });
    let refused = desk.call(&token, "run_start", &chosen).refusal(4);
    assert_eq!(refused["code"], "not_permitted");
    let other = json!({ "prompt": "go", "number": 2 });
    assert_eq!(desk.call(&token, "run_start", &other).refusal(4)["code"], "out_of_reach");
    // The operator's worker executes it, with the operator's own configuration.
    desk.configure(".config", &format!("[agents.coder]\nmodel = \"{greedy}\"\n"));
    let queued = json!({ "prompt": "go", "number": 1 });
    let run = desk.call(&token, "run_start", &queued).answer()["run"]["id"].clone();
    let worker =
        desk.punch(&["worker", "--once"]).with(&desk.operator).without_env("PUNCHLIST_NOW");
    assert_eq!(worker.run().exit, Some(0));
    let shown = desk.operator(&["runs", "show", run.as_str().unwrap()]);
    assert_eq!(shown["run"]["state"], "ended", "{shown}");
    assert_eq!(desk.issue(2)["updates"], json!([]));
    assert_eq!(desk.issue(2)["issue"]["status"], "open");
    let issues = desk.operator(&["issue", "list"]);
    assert_eq!(issues["issues"].as_array().unwrap().len(), 2, "{issues}");
    let plan = desk.operator(&["plan", "tree", "p.md"]);
    assert_eq!(plan["tasks"][0]["children"][0]["state"], "pending", "{plan}");
    // On its own issue it works.
    let comments = desk.issue(1)["updates"].to_string();
    assert!(comments.contains("on mine"), "{comments}");
}

/// The same if the agent's own process executes the run, with its own model.
fn an_agents_own_process_is_held_to_its_token(backend: Backend) {
    let desk = Desk::new(backend);
    let token = desk.token(&[
        "--role",
        "root",
        "--agent",
        "coder",
        "--only-project",
        "test",
        "--only-issue",
        "1",
    ]);
    let greedy = desk.script("greedy.toml", GREEDY);
    let run = desk.punch(&["run", "go", "--issue", "1", "--model", &greedy]).with(&token);
    let ran = run.without_env("PUNCHLIST_NOW").run();
    // The run ended, and the criterion is still open.
    assert_eq!(ran.json()["text"], "Done.", "{ran:?}");
    assert_eq!(desk.issue(2)["updates"], json!([]));
    let issues = desk.operator(&["issue", "list"]);
    assert_eq!(issues["issues"].as_array().unwrap().len(), 2, "{issues}");
    assert!(desk.issue(1)["updates"].to_string().contains("on mine"));
}

/// 14.2: a token for one agent starts no run as another.
fn a_token_for_one_agent_starts_no_other(backend: Backend) {
    let desk = Desk::new(backend);
    let token = desk.token(&["--role", "root", "--agent", "coder"]);
    for agent in ["deployer", "coder2", "primary"] {
        let start = json!({ "prompt": "go", "agent": agent });
        let refused = desk.call(&token, "run_start", &start).refusal(4);
        assert_eq!(refused["code"], "not_permitted", "{agent}");
    }
    for agent in ["coder", "coder.subagents.x"] {
        let start = json!({ "prompt": "go", "agent": agent });
        let started = desk.call(&token, "run_start", &start).answer();
        assert_eq!(started["run"]["agent"], agent);
    }
}

/// 15.11: a run that an agent queued with its own model is not executed by anybody else.
fn a_run_left_with_a_model_of_its_own_is_not_played(backend: Backend) {
    let desk = Desk::new(backend);
    let token = desk.token(&["--role", "root", "--agent", "coder"]);
    let greedy = desk.script("greedy.toml", GREEDY);
    let held = json!({ "prompt": "go", "number": 1, "model": greedy, "held": true });
    let run = desk.call(&token, "run_start", &held).answer()["run"]["id"].clone();
    let run = run.as_str().unwrap().to_owned();
    let resumed = desk.punch(&["run", "--resume", &run]).with(&desk.operator);
    assert_ne!(resumed.without_env("PUNCHLIST_NOW").run().exit, Some(0));
    let shown = desk.operator(&["runs", "show", &run]);
    assert_eq!(shown["run"]["stopReason"], "error", "{shown}");
    assert!(!desk.issue(1)["updates"].to_string().contains("on mine"));
}

/// 14.4: with a token, nobody can start a process that acts as lead, whatever its configuration
/// says. On an open store, callers without a token can.
fn no_token_acts_as_lead_by_a_worker_of_its_own(backend: Backend) {
    let desk = Desk::new(backend);
    let secrets = [
        desk.token(&["--role", "worker", "--only-project", "elsewhere"]),
        desk.token(&["--role", "root"]),
        desk.token(&["--role", "lead"]),
        desk.token(&["--role", "operator", "--only-project", "test"]),
        desk.token(&["--role", "system", "--only-project", "test"]),
    ];
    let lead = desk.script("lead.toml", "[[steps]]\ntext = \"I lead.\"\n");
    desk.configure("mine", &format!("[agents.boss]\nrole = \"lead\"\nmodel = \"{lead}\"\n"));
    for secret in &secrets {
        let mine = desk.place.home().join("mine");
        for words in [&["worker", "--once"][..], &["backup"]] {
            let punch = desk.punch(words).with(secret).env("XDG_CONFIG_HOME", &mine);
            // On a server, backups are refused, but the caller is checked before that.
            let code = punch.refusal(4)["code"].clone();
            assert!(["not_permitted", "out_of_reach"].contains(&code.as_str().unwrap()), "{code}");
        }
    }
    let system = desk.token(&["--role", "system"]);
    for punch in [
        desk.punch(&["worker", "--once"]),
        desk.punch(&["worker", "--once"]).with(&system),
        desk.punch(&["worker", "--once"]).with(&desk.operator),
    ] {
        assert_eq!(punch.run().exit, Some(0), "{}", punch.shown());
    }
}

/// 14.4: a token cannot resume a run of a higher role or of another agent.
fn a_run_of_the_lead_is_resumed_by_no_other_token(backend: Backend) {
    let place = Place::new(backend);
    World::on(TestStore::at(place.target())).mission(developer_experience(), None);
    let operator = place.operator();
    let desk = Desk { place, operator };
    let script = desk.script("lead.toml", "[[steps]]\ntext = \"I wait.\"\n");
    desk.configure(".config", &format!("[agents.boss]\nrole = \"lead\"\nmodel = \"{script}\"\n"));
    let mission = desk.operator(&["mission", "status", "developer-experience"]);
    let chat = mission["mission"]["conversationId"].clone();
    let post = json!({ "conversationId": chat, "text": "What now?" });
    desk.call(&desk.operator, "conversation_post", &post).answer();
    let begin = json!({ "agent": "boss", "conversationId": chat });
    let system = desk.token(&["--role", "system"]);
    let begun = desk.call(&system, "run_begin", &begin).answer();
    let run = begun["run"]["id"].as_str().unwrap().to_owned();
    for words in [&["--role", "worker"][..], &["--role", "root"], &["--role", "owner"]] {
        let secret = desk.token(words);
        let resumed = desk.punch(&["run", "--resume", &run]).with(&secret);
        let ran = resumed.without_env("PUNCHLIST_NOW").run();
        assert_ne!(ran.exit, Some(0), "{words:?} {ran:?}");
        let shown = desk.operator(&["runs", "show", &run]);
        assert_eq!(shown["run"]["state"], "running", "{words:?} {shown}");
    }
}

/// 14.5: a token neither makes, lists nor revokes one that reaches further than itself.
fn a_token_makes_no_wider_one(backend: Backend) {
    let desk = Desk::new(backend);
    let lead = desk.operator(&["token", "new", "--role", "lead"]);
    let narrow = desk.token(&["--role", "operator", "--only-project", "test", "--expires", "1h"]);
    let narrowed = |words: &[&str]| desk.punch(words).with(&narrow);
    for words in [
        &["token", "new", "--role", "operator"][..],
        &["token", "new", "--role", "worker", "--only-project", "other"],
        &["token", "revoke", lead["id"].as_str().unwrap()],
    ] {
        assert_eq!(narrowed(words).refusal(4)["code"], "out_of_reach", "{words:?}");
    }
    let longer = ["token", "new", "--role", "root", "--only-project", "test", "--expires", "2h"];
    assert_eq!(narrowed(&longer).refusal(2)["code"], "bad_value");
    let listed = narrowed(&["token", "list"]).answer();
    let shown: Vec<&Value> =
        listed["tokens"].as_array().unwrap().iter().map(|t| &t["reach"]).collect();
    assert_eq!(shown, [&json!({ "project": "test" })]);
    // A token that it creates expires when it does.
    let made = narrowed(&["token", "new", "--role", "root", "--only-project", "test"]).answer();
    assert!(made["expiresAt"].is_string(), "{made}");
    assert_eq!(made["reach"], json!({ "project": "test" }));
}

/// 15.9: flags that look as if they narrowed a token are refused, and the answer says what the
/// token reaches.
fn flags_that_do_not_narrow_are_refused(backend: Backend) {
    let desk = Desk::new(backend);
    for (given, right) in [("--project", "--only-project"), ("--issue", "--only-issue")] {
        let words = ["token", "new", "--role", "root", given, "1"];
        let refused = desk.punch(&words).with(&desk.operator).refusal(2);
        assert!(refused["hint"].as_str().unwrap().contains(right), "{refused}");
    }
    let words = ["token", "new", "--role", "root", "--only-project", "test", "--only-issue", "1"];
    let said = desk.place.punch(words).with(&desk.operator).said();
    assert!(said.contains("It reaches issue #1 in project `test`."), "{said}");
}

/// A session of an agent on issue 1, whose criterion is claimed.
fn at_work(desk: &Desk) -> (String, Party) {
    let sent = desk.operator(&["issue", "send", "1"]);
    let session = sent["session"]["id"].as_str().unwrap().to_owned();
    let agent = Party::new(&desk.place, &["--session", &session], None);
    let claim = json!({ "action": "done", "content": "A test covers it", "evidence": ["test:it"] });
    agent.call("todo", claim);
    (session, agent)
}

fn asked(agent: &Party) -> String {
    let asked = agent.call("checkpoint", json!({ "reason": "met", "purpose": "sign_off" }));
    asked["gateId"].as_str().unwrap().to_owned()
}

/// 14.6: an agent adds and claims a criterion between the question and the acceptance.
fn a_yes_does_not_cover_what_came_after_the_question(backend: Backend) {
    let desk = Desk::new(backend);
    let (_, agent) = at_work(&desk);
    let gate = asked(&agent);
    // A sign-off does not cover steps, so they may change.
    agent.call("todo", json!({ "action": "add", "items": ["tidy up"] }));
    let add = json!({ "action": "add", "kind": "criterion", "items": ["Looks nice"] });
    agent.call("todo", add);
    agent.call("todo", json!({ "action": "done", "content": "Looks nice" }));
    let yes = json!({ "gateId": gate, "decision": "resume" });
    let refused = desk.call(&desk.operator, "gate_answer", &yes).refusal(1);
    assert_eq!(refused["code"], "changed_since_asked");
    assert_eq!(refused["changed"], json!(["criteria", "claims"]));
    assert_eq!(desk.issue(1)["criteria"][0]["acceptedAt"], Value::Null);
    let stale = json!({ "gateId": gate, "decision": "resume", "expectedRevision": 1 });
    let again = desk.call(&desk.operator, "gate_answer", &stale).refusal(1);
    assert_eq!(again["code"], "changed_since_asked");
    let seen = json!({
        "gateId": gate, "decision": "resume", "expectedRevision": refused["revision"],
    });
    let answered = desk.call(&desk.operator, "gate_answer", &seen).answer();
    assert_eq!(answered["gate"]["state"], "resumed");
}

/// 14.6: the operator adds a criterion after the question, so the old acceptance closes nothing.
fn a_criterion_added_after_the_question_is_not_passed_over(backend: Backend) {
    let desk = Desk::new(backend);
    let (_, agent) = at_work(&desk);
    let gate = asked(&agent);
    let shown = desk.issue(1);
    let markdown = format!("{}\n- [ ] And fast\n", shown["checklist"].as_str().unwrap().trim_end());
    let edit = json!({ "number": 1, "markdown": markdown });
    desk.call(&desk.operator, "issue_checklist_edit", &edit).answer();
    let revision = desk.issue(1)["issue"]["revision"].clone();
    let yes = json!({ "gateId": gate, "decision": "resume", "expectedRevision": revision });
    let refused = desk.call(&desk.operator, "gate_answer", &yes).refusal(1);
    assert_eq!(refused["code"], "unclaimed_criteria");
    assert_eq!(refused["criteria"], json!(["And fast"]));
    assert_eq!(
        agent
            .refused("issue", json!({ "action": "transition", "number": 1, "status": "resolved" })),
        "not_permitted"
    );
    let accept = json!({
        "gateId": gate, "decision": "resume", "expectedRevision": revision,
        "acceptUnclaimed": true,
    });
    desk.call(&desk.operator, "gate_answer", &accept).answer();
    agent.call("issue", json!({ "action": "transition", "number": 1, "status": "resolved" }));
    let criteria = desk.issue(1)["criteria"].clone();
    assert!(criteria.as_array().unwrap().iter().all(|c| c["acceptedAt"].is_string()), "{criteria}");
}

/// 14.6: a granted sign-off is valid for its session and its status, and only once.
fn a_sign_off_is_used_once_and_for_what_was_asked(backend: Backend) {
    let desk = Desk::new(backend);
    let (_, agent) = at_work(&desk);
    let gate = asked(&agent);
    desk.call(&desk.operator, "gate_answer", &json!({ "gateId": gate, "decision": "resume" }))
        .answer();
    let close = |status: &str| json!({ "action": "transition", "number": 1, "status": status });
    assert_eq!(agent.refused("issue", close("rejected")), "not_permitted");
    let other = Party::new(&desk.place, &[], None);
    assert_eq!(other.refused("issue", close("resolved")), "not_permitted");
    // Steps may still change; the sign-off covers the criteria that were judged.
    agent.call("todo", json!({ "action": "add", "items": ["tidy up"] }));
    agent.call("issue", close("resolved"));
    desk.operator(&["issue", "transition", "1", "open"]);
    assert_eq!(agent.refused("issue", close("resolved")), "not_permitted");
}

/// 14.7: if the store requires tokens, leaving the token out gives no rights. An empty, garbled or
/// revoked token is an error, and does not count as absent. The log shows the proof of each actor.
fn removing_a_token_is_no_promotion(backend: Backend) {
    let place = Place::new(backend);
    let operator = first_operator(&place);
    let desk = Desk { place, operator };
    if backend != Backend::Postgres {
        // Stores in files stay open until the operator changes that.
        assert_eq!(desk.punch(&["status"]).answer()["role"], "root");
        assert_eq!(desk.operator(&["store", "identity", "tokens"])["rule"], "tokens");
    }
    let greedy = desk.script("greedy.toml", GREEDY);
    for words in [
        &["status"][..],
        &["issue", "list"],
        &["issue", "new", "x"],
        &["worker", "--once"],
        &["doctor"],
        &["export", "store", "-"],
        &["backup"],
        &["call", "token_new", "{\"role\":\"operator\"}"],
        &["log"],
        &["wait", "--timeout", "1s"],
        &["run", "go", "--model", &greedy],
    ] {
        assert_eq!(desk.punch(words).refusal(4)["code"], "token_required", "{words:?}");
    }
    let (exit, answer) = at_terminal(&desk.punch(&["status"]));
    assert_eq!((exit, &answer["error"]["code"]), (Some(4), &json!("token_required")));
    let agent = Party::new(&desk.place, &[], None);
    assert_eq!(agent.refused("issue", json!({ "action": "list" })), "token_required");
    for bad in ["", "  ", "punch_x", "hunter2"] {
        let refused = desk.punch(&["status"]).with(bad).refusal(4);
        assert_eq!(refused["code"], "token_invalid", "{bad:?}");
    }
    let worker = desk.operator(&["token", "new", "--role", "worker"]);
    assert_eq!(
        desk.punch(&["status"]).with(worker["token"].as_str().unwrap()).answer()["role"],
        "worker"
    );
    desk.operator(&["issue", "new", "Proved"]);
    desk.place.wait_for_log();
    let log = desk.operator(&["log"]);
    let last = log["events"].as_array().unwrap().last().unwrap();
    assert!(last["proof"].as_str().unwrap().starts_with("token:"), "{last}");
}

/// 14.7: the SQL statement in SECURITY.md for a lost operator's token.
fn a_lost_operators_token_is_recovered_by_sql(backend: Backend) {
    let place = Place::new(backend);
    let operator = first_operator(&place);
    let desk = Desk { place, operator };
    desk.operator(&["store", "identity", "tokens"]);
    assert_eq!(desk.punch(&["status"]).refusal(4)["code"], "token_required");
    let statement =
        sql!("DELETE FROM facts WHERE name IN ('identity', 'identity_to_come', 'operator')");
    desk.place.open().write(move |tx| tx.execute(statement, &[])).unwrap();
    let secret = desk.punch(&["token", "new", "--role", "operator"]).answer();
    let again = desk.punch(&["status"]).with(secret["token"].as_str().unwrap());
    assert_eq!(again.answer()["role"], "operator");
}

/// Nobody can lock everybody out: the rule needs a valid token that can reset it.
#[test]
fn a_store_is_not_closed_without_a_token_that_opens_it() {
    let place = Place::sqlite();
    let (exit, answer) = at_terminal(&place.punch(["store", "identity", "tokens", "--json"]));
    assert_eq!((exit, &answer["error"]["code"]), (Some(1), &json!("no_operator_token")));
    let refused = place.punch(["store", "identity", "tokens", "--json"]).refusal(4);
    assert_eq!(refused["code"], "not_permitted");
}

/// Contract, "Terminals": if only some streams are a terminal, a read has the operator's view, and
/// a write is refused with a hint how to run it.
#[test]
fn a_write_whose_writer_is_unclear_is_refused() {
    let place = Place::sqlite();
    let on_half = |words: &[&str]| {
        // The output is a pipe; input and errors stay at the terminal.
        let punch = place.punch(words.iter().copied());
        punch.piped_on_terminal()
    };
    let read = on_half(&["status", "--json"]);
    assert!(
        read.stdout.contains("\"role\":\"operator\"")
            || read.stdout.contains("\"role\": \"operator\""),
        "{read:?}"
    );
    let write = on_half(&["issue", "new", "x", "--json"]);
    assert!(write.stdout.contains("identity_unclear"), "{write:?}");
    let named = on_half(&["issue", "new", "x", "--json", "--agent", "primary"]);
    assert!(named.stdout.contains("\"number\""), "{named:?}");
    let listed = place.punch(["issue", "list", "--json"]).answer();
    assert_eq!(listed["issues"].as_array().unwrap().len(), 1);
}

/// A token for one agent cannot act as another agent, whatever its role. The operator's token may
/// name any agent.
fn a_token_of_any_role_is_its_own_agent(backend: Backend) {
    let desk = Desk::new(backend);
    for role in ["lead", "owner", "root", "worker", "system"] {
        let token = desk.token(&["--role", role, "--agent", "ag"]);
        let refused = desk.punch(&["status", "--agent", "boss"]).with(&token).refusal(4);
        assert_eq!(refused["code"], "not_permitted", "{role}");
    }
    let operator = desk.token(&["--role", "operator", "--agent", "ada"]);
    let named = desk.punch(&["status", "--agent", "own1", "--as", "worker"]).with(&operator);
    assert_eq!(named.answer()["role"], "worker");
}

/// 15.3: a pause by the operator cannot be lifted by an agent.
fn an_agent_lifts_no_operators_pause(backend: Backend) {
    let desk = Desk::new(backend);
    let (session, agent) = at_work(&desk);
    let pause = json!({ "session": session });
    desk.call(&desk.operator, "drive_pause", &pause).answer();
    let refused = desk.punch(&["call", "drive_resume", &pause.to_string()]).refusal(4);
    assert_eq!(refused["code"], "not_permitted");
    let shown = desk.operator(&["session", "show", &session]);
    assert_eq!(shown["session"]["state"], "paused");
    desk.call(&desk.operator, "drive_resume", &pause).answer();
    // An agent's own pause can be lifted by an agent.
    desk.punch(&["call", "drive_pause", &pause.to_string()]).answer();
    desk.punch(&["call", "drive_resume", &pause.to_string()]).answer();
    agent.end();
}

on_every_lasting_store!(
    a_run_reaches_no_further_than_its_starter,
    an_agents_own_process_is_held_to_its_token,
    a_token_for_one_agent_starts_no_other,
    a_run_left_with_a_model_of_its_own_is_not_played,
    no_token_acts_as_lead_by_a_worker_of_its_own,
    a_run_of_the_lead_is_resumed_by_no_other_token,
    a_token_makes_no_wider_one,
    flags_that_do_not_narrow_are_refused,
    a_yes_does_not_cover_what_came_after_the_question,
    a_criterion_added_after_the_question_is_not_passed_over,
    a_sign_off_is_used_once_and_for_what_was_asked,
    removing_a_token_is_no_promotion,
    a_lost_operators_token_is_recovered_by_sql,
    an_agent_lifts_no_operators_pause,
    a_token_of_any_role_is_its_own_agent,
);
