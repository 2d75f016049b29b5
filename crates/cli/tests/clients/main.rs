//! The real clients of other vendors against a fake model on loopback: they obey what `punch init`
//! writes. `cargo xtask test --clients` installs them and runs this.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod desk;
mod fake;
mod inspector;
mod mcp;
mod served;

use std::sync::Mutex;

use desk::{Client, Desk, Review};
use fake::{Fake, Reply};
use serde_json::{Value, json};
use served::Served;

fn say(text: &str) -> Reply {
    Reply::Say(text.to_owned())
}

fn done(step: &str) -> Reply {
    Reply::Call("todo", json!({ "action": "done", "content": step }))
}

/// The injected text arrives, the tools are listed and called, and each stop becomes a continuation
/// until the steps are done.
fn a_session_is_continued_until_its_steps_are_done(client: Client) {
    let desk = Desk::new(client);
    let replies = Mutex::new(
        [say("Here I stop."), done("One"), say("One is done."), done("Two"), say("All done.")]
            .into_iter(),
    );
    let fake = Fake::new(move |_, _| {
        replies.lock().unwrap().next().unwrap_or_else(|| say("Nothing more."))
    });
    let said = desk.drive(&fake, "Begin, please.");
    let asked = fake.asked();
    assert!(asked.len() >= 5, "{} requests\n{said}", asked.len());
    let first = asked[0].to_string();
    assert!(first.contains("Issue #1"), "the injection is not in the first request\n{said}");
    let texts: Vec<String> = asked.iter().map(Value::to_string).collect();
    let sent_on = texts.iter().any(|text| text.contains("incomplete tasks remaining"));
    assert!(sent_on, "no continuation arrived\n{said}");
    let issue = desk.punch(&["issue", "show", "1", "--json"]);
    let statuses: Vec<&Value> =
        issue["steps"].as_array().unwrap().iter().map(|step| &step["status"]).collect();
    assert_eq!(statuses, ["completed", "completed"], "{said}");
    let run = &desk.punch(&["runs", "--json"])["runs"][0];
    assert_eq!(run["model"], format!("host:{}", client.name()));
    assert_eq!(run["stopReason"], "drained", "{run}\n{said}");
    let host = desk.standing();
    assert!(host["lastFiredAt"].is_string(), "{host}");
    assert!(host["version"].as_str().is_some_and(|version| version.contains('.')), "{host}");
}

/// A model that never progresses may stop.
fn a_model_that_never_progresses_is_let_go(client: Client) {
    let desk = Desk::new(client);
    let fake = Fake::new(|count, _| say(&format!("I did nothing for the {count}. time.")));
    let said = desk.drive(&fake, "Begin, please.");
    let asked = fake.asked().len();
    assert!((2..=8).contains(&asked), "{asked} requests\n{said}");
    let run = &desk.punch(&["runs", "--json"])["runs"][0];
    assert_eq!(run["stopReason"], "no_progress", "{run}\n{said}");
}

/// A model that changes its list before each stop makes progress for ever, and may stop at our limit,
/// which is at most the host's own.
fn a_model_that_always_changes_something_stops_at_the_limit(client: Client, limit: usize) {
    let desk = Desk::new(client);
    let fake = Fake::new(|count, _| match count % 2 {
        1 => Reply::Call("todo", json!({ "action": "add", "items": [format!("Step {count}")] })),
        _ => say(&format!("I added a step, the {count}. time.")),
    });
    let said = desk.drive(&fake, "Begin, please.");
    let run = &desk.punch(&["runs", "--json"])["runs"][0];
    assert_eq!(run["stopReason"], "continuation_cap", "{run}\n{said}");
    assert_eq!(run["continuations"], limit, "{run}\n{said}");
    assert_eq!(fake.asked().len(), 2 * (limit + 1), "{said}");
}

/// A person recognises a session by what was asked first.
fn a_session_is_named_after_its_first_prompt(client: Client) {
    let desk = Desk::unbound(client);
    let fake = Fake::new(|_, _| say("Done."));
    let said = desk.run(&fake, "Rename the refunds, please.");
    let sessions = desk.punch(&["session", "list", "--json"])["sessions"].clone();
    assert_eq!(sessions[0]["title"], "Rename the refunds, please.", "{sessions}\n{said}");
}

/// Without its database the stop is allowed.
fn without_a_database_the_stop_is_allowed(client: Client) {
    let desk = Desk::new(client);
    desk.lose_store();
    let fake = Fake::new(|_, _| say("Done."));
    let said = desk.run(&fake, "Begin, please.");
    assert_eq!(fake.asked().len(), 1, "{said}");
}

/// `--remove` leaves nothing behind.
fn nothing_is_left_after_remove(client: Client) {
    let desk = Desk::new(client);
    assert_ne!(desk.files(), desk.before);
    desk.punch(&["init", "--host", client.name(), "--remove", "--json"]);
    assert_eq!(desk.files(), desk.before);
}

macro_rules! of_client {
    ($client:ident = $which:expr; $($test:ident),* $(,)?) => {
        mod $client {
            $(
                #[test]
                fn $test() {
                    super::$test($which);
                }
            )*
        }
    };
}

of_client! { claude = super::Client::Claude;
    a_session_is_continued_until_its_steps_are_done,
    a_model_that_never_progresses_is_let_go,
    a_session_is_named_after_its_first_prompt,
    without_a_database_the_stop_is_allowed,
    nothing_is_left_after_remove,
}

of_client! { claude_plugin = super::Client::ClaudePlugin;
    a_session_is_continued_until_its_steps_are_done,
    without_a_database_the_stop_is_allowed,
    nothing_is_left_after_remove,
}

#[test]
fn claude_code_stops_at_the_limit() {
    a_model_that_always_changes_something_stops_at_the_limit(Client::Claude, 7);
}

#[test]
fn codex_stops_at_the_limit() {
    a_model_that_always_changes_something_stops_at_the_limit(Client::Codex, 10);
}

#[test]
fn opencode_stops_at_the_limit() {
    a_model_that_always_changes_something_stops_at_the_limit(Client::Opencode, 10);
}

/// The tasks that Claude Code keeps for itself are in the session's list, as claims where it says
/// completed.
#[test]
fn the_tasks_of_claude_code_are_mirrored() {
    let desk = Desk::unbound(Client::Claude);
    let create = |subject: &str| {
        Reply::Call("TaskCreate", json!({ "subject": subject, "description": "All of it" }))
    };
    let update =
        |status: &str| Reply::Call("TaskUpdate", json!({ "taskId": "1", "status": status }));
    let replies = Mutex::new(
        [create("Read"), create("Write"), update("in_progress"), update("completed"), say("So.")]
            .into_iter(),
    );
    let fake = Fake::new(move |_, _| {
        replies.lock().unwrap().next().unwrap_or_else(|| say("Nothing more."))
    });
    let said = desk.run(&fake, "Begin, please.");
    let session = desk.punch(&["session", "list", "--json"])["sessions"][0]["id"].clone();
    let session = session.as_str().unwrap().to_owned();
    let list = desk.punch(&["call", "todo_read", "{}", "--session", &session, "--json"]);
    let titles: Vec<&Value> =
        list["todos"].as_array().unwrap().iter().map(|todo| &todo["content"]).collect();
    assert_eq!(titles, ["Read", "Write"], "{said}");
    let texts: Vec<String> = fake.asked().iter().map(Value::to_string).collect();
    let left = texts.iter().any(|text| text.contains("1 incomplete tasks remaining"));
    assert!(left, "the completed one is claimed, the other is open\n{said}");
}

of_client! { codex = super::Client::Codex;
    a_session_is_continued_until_its_steps_are_done,
    a_model_that_never_progresses_is_let_go,
    a_session_is_named_after_its_first_prompt,
    without_a_database_the_stop_is_allowed,
    nothing_is_left_after_remove,
}

/// Codex runs a hook only while it is as a person reviewed it, and the doctor knows when it is not:
/// it computes the hash that Codex keeps.
#[test]
fn the_doctor_and_codex_agree_about_reviewed_hooks() {
    let desk = Desk::new(Client::Codex);
    let fake = Fake::new(|_, _| say("Here I stop."));
    let hint = || desk.standing()["hint"].as_str().unwrap_or_default().to_owned();
    let run = |review: Review| desk.run_codex(&fake, review, "Begin, please.");
    let said = run(Review::None);
    assert!(hint().starts_with("Codex skips hooks that nobody has reviewed"), "{}", hint());
    assert!(desk.standing()["lastFiredAt"].is_null(), "{said}");
    let said = run(Review::Wrong);
    assert!(hint().starts_with("the stop hook has changed since it was reviewed"), "{}", hint());
    assert!(desk.standing()["lastFiredAt"].is_null(), "{said}");
    let said = run(Review::Right);
    assert_eq!(desk.standing()["verdict"], "governed", "{}\n{said}", hint());
}

/// This version of Codex offers no `update_plan`, so it has no list that could be mirrored. If this
/// fails, it has one again: show then that the hook after the tool fires.
#[test]
fn codex_offers_no_list_of_its_own() {
    let desk = Desk::new(Client::Codex);
    let fake = Fake::new(|_, _| say("Here I stop."));
    let said = desk.run(&fake, "Begin, please.");
    let tools = fake.asked()[0]["tools"].to_string();
    assert!(tools.contains("exec_command") && !tools.contains("update_plan"), "{tools}\n{said}");
}

of_client! { opencode = super::Client::Opencode;
    a_session_is_continued_until_its_steps_are_done,
    a_model_that_never_progresses_is_let_go,
    a_session_is_named_after_its_first_prompt,
    without_a_database_the_stop_is_allowed,
    nothing_is_left_after_remove,
}

/// The hooks in the log, as `happened reason`.
fn hooks(desk: &Desk) -> Vec<String> {
    let log = desk.punch(&["call", "event_list", r#"{"after":0,"limit":1000}"#, "--json"]);
    let events = log["events"].as_array().unwrap().clone();
    let hooks = events.iter().filter(|event| event["type"] == "hook_answered");
    let words = |event: &Value| {
        let word = |name: &str| event["data"][name].as_str().unwrap().to_owned();
        format!("{} {}", word("happened"), word("reason"))
    };
    hooks.map(words).collect()
}

/// opencode gives a subagent a session of its own; punchlist does not. The subagent learns what its
/// parent works on, opens no turn, adopts nothing, and may stop.
#[test]
fn a_subagent_of_opencode_belongs_to_the_session_of_its_parent() {
    const TASK: &str = "Look for the words.";
    let desk = Desk::new(Client::Opencode);
    let task = json!({ "description": "Look", "prompt": TASK, "subagent_type": "general" });
    let replies = Mutex::new(
        [Reply::Call("task", task), done("One"), done("Two"), say("All done.")].into_iter(),
    );
    let is_subagent = |body: &Value| {
        let messages = body["messages"].as_array().unwrap();
        let first = messages.iter().find(|message| message["role"] == "user").unwrap();
        first["content"].to_string().contains(TASK)
    };
    let fake = Fake::new(move |_, body| match is_subagent(body) {
        true => say("I found them."),
        false => replies.lock().unwrap().next().unwrap_or_else(|| say("Nothing more.")),
    });
    let said = desk.drive(&fake, "Begin, please.");
    let asked = fake.asked();
    let of_subagent: Vec<&Value> = asked.iter().filter(|body| is_subagent(body)).collect();
    assert_eq!(of_subagent.len(), 1, "it is not prompted again\n{said}");
    let told = of_subagent[0]["messages"].to_string();
    assert!(told.contains("This work is part of issue #1"), "{told}");
    let expected = [
        "start injected",
        "prompt turn_opened",
        "subagent_start injected",
        "subagent_stop subagent",
        "stop drained",
    ];
    assert_eq!(hooks(&desk), expected, "{said}");
    let sessions = desk.punch(&["session", "list", "--json"])["sessions"].clone();
    assert_eq!(sessions.as_array().unwrap().len(), 1, "{sessions}");
}

/// The model's service fails: opencode reports it, the step is held for a while, and the session is
/// not prompted again.
#[test]
fn a_failure_of_opencodes_model_holds_the_step() {
    let desk = Desk::new(Client::Opencode);
    let fake = Fake::new(|_, _| Reply::Fail(400));
    let said = desk.drive(&fake, "Begin, please.");
    assert_eq!(
        hooks(&desk),
        ["start injected", "prompt turn_opened", "stop_failure error"],
        "{said}"
    );
    assert_eq!(fake.asked().len(), 1, "{said}");
    let run = &desk.punch(&["runs", "--json"])["runs"][0];
    assert_eq!((&run["stopReason"], &run["stopCode"]), (&json!("error"), &json!("model_failed")));
    let step = &desk.punch(&["issue", "show", "1", "--json"])["steps"][0];
    assert_eq!(step["hold"]["kind"], "failed", "{step}\n{said}");
    assert!(step["hold"]["until"].is_string(), "{step}");
}

/// A person interrupts the model: the session is not prompted again, although steps are open.
#[test]
fn an_interrupted_session_of_opencode_is_left_alone() {
    let desk = Desk::new(Client::Opencode);
    let (end, ended) = std::sync::mpsc::channel::<()>();
    let ended = Mutex::new(ended);
    let fake = Fake::new(move |_, _| {
        drop(ended.lock().unwrap().recv());
        say("Too late.")
    });
    let served = Served::new(&desk, &fake, "Begin, please.");
    served.wait(|| fake.asked().len() == 1);
    served.post("abort", &json!({}));
    let stop = || hooks(&desk).into_iter().find(|hook| hook.starts_with("stop "));
    served.wait(|| stop().is_some());
    assert_eq!(stop().unwrap(), "stop interrupted", "{}", served.said());
    assert_eq!(fake.asked().len(), 1, "{}", served.said());
    drop(end);
}
