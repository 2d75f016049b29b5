//! `punch run` and `punch runs`: agents that play scripts, in real processes.

use std::io::{Read, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use punchlist_store::rows::lists::Lock;
use punchlist_testkit::Backend;
use serde_json::{Value, json};

use crate::running::Running;
use crate::support::{Names, Place, Punch};

/// A plan of three; the agent completes the first item and stops too early.
const EARLY: &str = r#"
[[steps]]
text = "I plan."
usage = { input = 1200, output = 40 }
[[steps.calls]]
tool = "create_todo"
save = "plan"
input.items = [ { title = "look" }, { title = "write" }, { title = "ship" } ]
[[steps]]
[[steps.calls]]
tool = "complete_todo"
input.todoId = "{{plan.created.0.id}}"
input.outcome = "seen"
[[steps]]
text = "That will do."
[[steps]]
when = "incomplete tasks remaining"
[[steps.calls]]
tool = "complete_todo"
input.todoId = "{{plan.created.1.id}}"
input.outcome = "written"
[[steps.calls]]
tool = "complete_todo"
input.todoId = "{{plan.created.2.id}}"
input.status = "cancelled"
input.outcome = "nobody asked"
[[steps]]
text = "Now it is done."
usage = { input = 1300, output = 5 }
"#;

/// Slow enough to be interrupted.
const SLOW: &str = r#"
[[steps]]
text = "I plan."
[[steps.calls]]
tool = "create_todo"
save = "plan"
input.items = [ { title = "look" } ]
[[steps]]
text = "I look."
[[steps.calls]]
tool = "complete_todo"
input.todoId = "{{plan.created.0.id}}"
input.outcome = "seen"
[[steps]]
delay_ms = 60000
text = "Too late."
"#;

fn script(place: &Place, name: &str, text: &str) {
    std::fs::write(place.home().join(name), text).unwrap();
}

/// The user's own configuration.
fn configure(place: &Place, text: &str) {
    let folder = place.home().join(".config/punchlist");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("punchlist.toml"), text).unwrap();
}

/// Runs in real time, because leases and pauses are real.
fn run(place: &Place, words: &[&str]) -> Punch {
    place.punch([&["run"], words].concat()).without_env("PUNCHLIST_NOW")
}

/// Waits until only the model's slow last reply is missing. Returns the run.
fn the_last_call(place: &Place) -> String {
    let until = Instant::now() + Duration::from_secs(30);
    loop {
        let runs = place.punch(["runs", "list", "--json"]).answer();
        let run = &runs["runs"][0];
        if run["iterations"] == 2 {
            let id = run["id"].as_str().unwrap().to_owned();
            let shown = place.punch(["runs", "show", &id, "--json"]).answer();
            if shown["left"] == json!([]) {
                return id;
            }
        }
        assert!(Instant::now() < until, "{runs}");
        std::thread::yield_now();
    }
}

fn titles(items: &Value) -> Vec<String> {
    let title = |item: &Value| {
        format!("{} {}", item["title"].as_str().unwrap(), item["status"].as_str().unwrap())
    };
    items.as_array().unwrap().iter().map(title).collect()
}

/// T-32, S-6, S-20, S-26, S-37, P-9: the agent's text goes to standard output; mode, plan,
/// continuations with their reason, and the end go to standard error. A drained run is exit 0.
fn a_run_is_continued_until_it_is_drained(backend: Backend) {
    let place = Place::new(backend);
    script(&place, "early.toml", EARLY);
    let ran =
        run(&place, &["Do it", "--model", "scripted:early.toml", "--auto-complete-todos"]).run();
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "I plan.\nThat will do.\nNow it is done.\n");
    let expected = "\
primary · scripted:early.toml · auto mode: it continues while items are open (at most 10 times)
→ create_todo look, write, ship
[/] look (0 of 3)
[ ] write (0 of 3)
[ ] ship (0 of 3)
→ complete_todo seen
[x] look (1 of 3)
[/] write (1 of 3)
↻ continuation 1 of 10: You have 2 incomplete tasks remaining. Please continue working on the
  next high-priority task: 'write'. Continue until all todos are completed. If one cannot go on,
  put it on hold with a reason; if you need the person, use `ask`.
→ complete_todo written
[x] write (2 of 3)
→ complete_todo nobody asked, cancelled
[-] ship (cancelled: nobody asked) (3 of 3)
Done 2 of 3; 1 of 3 cancelled by the agent.
Stopped: everything on the list is done.
5 model calls, 1 continuation, 2,500 tokens in, 45 out.
";
    assert_eq!(ran.stderr, expected);
}

/// Remaining work is exit 1, with the reason and the next step. The limit of continuations is named
/// (S-20). With driving off, an early stop is only reported.
fn remaining_work_is_reported(backend: Backend) {
    let place = Place::new(backend);
    script(&place, "early.toml", EARLY);
    let model = ["--model", "scripted:early.toml"];
    let ran = run(&place, &["Do it"]).words(model).run();
    assert_eq!(ran.exit, Some(1), "{ran:?}");
    assert!(ran.stderr.contains("auto mode is off"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains(
            "Done 1 of 3.\nLeft:\n  [/] write\n  [ ] ship\n\
             Stopped: it is not set to continue by itself.\n"
        ),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.contains("next: punch run \"Go on\" --session "), "{}", ran.stderr);
    let capped = ["Do it", "--auto-complete-todos", "--max-todo-continuations=0", "--json"];
    let ran = run(&place, &capped).words(model).run();
    assert_eq!((ran.exit, &ran.json()["stopReason"]), (Some(1), &json!("continuation_cap")));
    // The environment switches it on; a flag switches it off again.
    let on = run(&place, &["Do it", "--json"]).words(model);
    let on = on.env("PUNCHLIST_AUTO_COMPLETE_TODOS", "true");
    assert_eq!(on.run().json()["stopReason"], "drained");
    let off = on.words(["--auto-complete-todos=false"]).run();
    assert_eq!((off.exit, &off.json()["stopReason"]), (Some(1), &json!("switched_off")));
}

fn item(n: u8, title: &str, status: &str, outcome: &str) -> Value {
    json!({ "id": format!("<id {n}>"), "title": title, "status": status, "outcome": outcome })
}

/// `--json` prints one object and nothing else on either stream, with the cost if there is a price.
fn a_run_is_one_object(backend: Backend) {
    let place = Place::new(backend);
    script(&place, "early.toml", EARLY);
    configure(
        &place,
        "[agents.coder]\nmodel = \"scripted:early.toml\"\ntodo_driven_execution = true\n\
         [prices.\"scripted:early.toml\"]\ninput_per_mtok = 2.0\noutput_per_mtok = 100.0\n",
    );
    let ran = run(&place, &["Do it", "--agent", "coder", "--json"]).run();
    assert_eq!((ran.exit, ran.stderr.as_str()), (Some(0), ""));
    let answer = Names::default().hide(&ran.json());
    let expected = json!({
        "runId": answer["runId"], "conversationId": answer["conversationId"],
        "turnId": answer["turnId"], "sessionId": answer["sessionId"],
        "stopReason": "drained", "text": "Now it is done.",
        "done": [
            item(5, "look", "completed", "seen"),
            item(6, "write", "completed", "written"),
            item(7, "ship", "cancelled", "nobody asked"),
        ],
        "left": [], "iterations": 5, "continuations": 1,
        "usage": { "inputTokens": 2500, "outputTokens": 45, "costUsd": 0.0095 },
    });
    assert_eq!(answer, expected);
    // An agent that is not configured is refused.
    let refused = run(&place, &["Do it", "--json"]).refusal(1);
    assert_eq!(refused["code"], "no_model");
    let refused = run(&place, &["x", "--agent", "coder", "--plan", "no.md", "--json"]).refusal(1);
    assert_eq!(refused["code"], "unknown_plan");
    let listed = place.punch(["runs", "--json"]).answer();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 1);
    let id = listed["runs"][0]["id"].as_str().unwrap();
    let shown = place.punch(["runs", "show", id]).said();
    assert!(shown.contains("ended: everything on the list is done"), "{shown}");
    assert!(shown.contains("2,500 tokens in, 45 out, $0.0095\n"), "{shown}");
    let shown = place.punch(["runs", "show", id, "--json"]).answer();
    assert_eq!(shown["run"]["usage"]["costUsd"], 0.0095, "{shown}");
    let again = run(&place, &["--resume", id, "--json"]).answer();
    assert_eq!(again["stopReason"], "drained", "what is over stays so");
}

/// Failures are reported: to programs with a stable code and a message, and by a worker with the
/// run, the issue and the project.
#[test]
fn a_failure_is_reported_with_its_code_and_message() {
    let place = Place::sqlite();
    let secret = place.operator();
    for (name, status, code) in [
        ("bad.toml", 400, "model_bad_request"),
        ("key.toml", 401, "model_key"),
        ("busy.toml", 529, "model_overloaded"),
    ] {
        script(&place, name, &format!("[[steps]]\nfail = {status}\nrepeat = true\n"));
        let model = format!("scripted:{name}");
        let ran = run(&place, &["Do it", "--json", "--model", &model]).run();
        let answer = ran.json();
        assert_eq!((ran.exit, &answer["stopReason"]), (Some(1), &json!("error")));
        assert_eq!(answer["error"]["code"], code);
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains(&status.to_string()), "{message}");
    }
    configure(&place, "[agents.primary]\nmodel = \"scripted:bad.toml\"\n");
    place.punch(["issue", "new", "Log in fails"]).with(&secret).said();
    place.punch(["issue", "send", "1"]).with(&secret).said();
    let list = place.punch(["session", "list", "--json"]).with(&secret).answer();
    let session = list["sessions"][0]["id"].as_str().unwrap().to_owned();
    let input = json!({ "prompt": "Begin" }).to_string();
    place.punch(["call", "run_start", &input, "--session", &session]).with(&secret).said();
    let said = place.punch(["worker", "--once"]).with(&secret).env("COLUMNS", "400").said();
    let line = said.lines().find(|line| line.starts_with("ends") && line.contains("issue #1"));
    let line = line.unwrap_or_else(|| panic!("{said}"));
    for part in ["project test", "run 01", "400"] {
        assert!(line.contains(part), "no `{part}` in: {line}");
    }
}

/// A model that cannot be called is refused before anything is written.
#[test]
fn a_run_that_cannot_start_leaves_nothing_behind() {
    let place = Place::sqlite();
    place.operator();
    let before = place.log_length();
    for (model, code) in [
        ("anthropic:claude-sonnet-5", "model_key"),
        ("antropic:x", "model_bad_request"),
        ("scripted:no/such.toml", "script_failed"),
    ] {
        let refused = run(&place, &["Do it", "--json", "--model", model]).refusal(1);
        assert_eq!(refused["code"], code, "{model}: {refused}");
    }
    assert_eq!(place.log_length(), before);
}

/// S-27: Ctrl-C ends the run itself, with nothing half done; the end is reported.
fn ctrl_c_stops_it_cleanly(backend: Backend) {
    let place = Place::new(backend);
    script(&place, "slow.toml", SLOW);
    // The caller that started it may end it, even if another agent answers.
    let words = ["Do it", "--model", "scripted:slow.toml", "--agent", "coder"];
    let running = Running::start(&run(&place, &words));
    the_last_call(&place);
    assert_eq!(running.interrupt(), Some(1));
    let runs = place.punch(["runs", "list", "--json"]).answer();
    let run = &runs["runs"][0];
    assert_eq!((&run["state"], &run["stopReason"]), (&json!("ended"), &json!("cancelled")));
    let shown = place.punch(["runs", "show", run["id"].as_str().unwrap(), "--json"]).answer();
    assert_eq!(titles(&shown["done"]), ["look completed"], "what was written stays");
    assert!(place.punch(["doctor", "--json"]).run().json()["store"]["ok"].as_bool().unwrap());
}

/// What a terminal shows after these bytes, as far as `punch run` uses its codes.
fn screen(bytes: &[u8]) -> Vec<String> {
    let (mut rows, mut row, mut column) = (vec![Vec::new()], 0_usize, 0_usize);
    let text = String::from_utf8_lossy(bytes).into_owned();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\r' => column = 0,
            '\n' => row += 1,
            '\u{1b}' => {
                assert_eq!(chars.next(), Some('['));
                let mut number = String::new();
                let code = chars.find(|c| {
                    !c.is_ascii_digit() && *c != ';' || {
                        number.push(*c);
                        false
                    }
                });
                match code.unwrap() {
                    'A' => row -= number.parse::<usize>().unwrap(),
                    'J' => {
                        rows.truncate(row + 1);
                        rows[row].truncate(column);
                    }
                    'm' => {}
                    other => panic!("CSI {number}{other}"),
                }
            }
            c => {
                let cells = &mut rows[row];
                cells.resize(cells.len().max(column + 1), ' ');
                cells[column] = c;
                column += 1;
            }
        }
        rows.resize(rows.len().max(row + 1), Vec::new());
    }
    rows.into_iter().map(|row| row.into_iter().collect()).collect()
}

/// Tasks below a cancelled one are dropped, so a run does not go on for them.
fn a_run_on_a_plan_leaves_out_dropped_tasks(backend: Backend) {
    let place = Place::new(backend);
    script(&place, "s.toml", "[[steps]]\ntext = \"x\"\nrepeat = true\n");
    script(&place, "plan.md", "# T\n- [ ] b\n  - [ ] a\n- [ ] c\n");
    let words = ["go", "--plan", "plan.md", "--model", "scripted:s.toml", "--until-done", "--json"];
    for command in [
        &["plan", "import", "plan.md"][..],
        &["plan", "cancel", "t2", "no"],
        &["plan", "complete", "t4"],
    ] {
        place.punch(command.iter().copied()).said();
    }
    let done = place.punch(["plan", "complete", "t1"]).said();
    assert!(done.contains("1 of 1 tasks done"), "{done}");
    let answer = run(&place, &words).answer();
    assert_eq!((&answer["stopReason"], &answer["left"]), (&json!("drained"), &json!([])));
}

/// The log shows as many events as were asked for, though it leaves out the steps of runs.
#[test]
fn the_log_after_a_run_is_full() {
    let place = Place::sqlite();
    script(&place, "early.toml", EARLY);
    let ran = run(&place, &["Do it", "--model", "scripted:early.toml", "--until-done"]).run();
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    let all = place.punch(["log", "--json"]).answer();
    let noise = ["run_stepped", "message_posted"];
    let is_kept = |event: &&Value| !noise.iter().any(|kind| event["type"] == *kind);
    let events = all["events"].as_array().unwrap();
    let seqs = |events: &[&Value]| -> Vec<i64> {
        events.iter().map(|event| event["seq"].as_i64().unwrap()).collect()
    };
    let kept = seqs(&events.iter().filter(is_kept).collect::<Vec<_>>());
    assert!(kept.len() > 8 && kept.len() + 8 < events.len(), "{kept:?}");
    let shown = |words: &[&str]| -> Vec<i64> {
        let text = place.punch(words.iter().copied()).said();
        text.lines().filter_map(|line| line.split(' ').next()?.parse().ok()).collect()
    };
    assert_eq!(shown(&["log", "--limit", "8"]), kept[kept.len() - 8..]);
    assert_eq!(shown(&["log", "--limit", "8", "--after", "0"]), kept[..8]);
    let between = ["log", "--after", &kept[1].to_string(), "--before", &kept[4].to_string()];
    assert_eq!(shown(&between), kept[2..4]);
    let brief = place.punch(["log", "--json", "--brief", "--limit", "8"]).answer();
    let brief: Vec<&Value> = brief["events"].as_array().unwrap().iter().collect();
    assert_eq!(seqs(&brief), kept[kept.len() - 8..]);
    let none = place.punch(["log", "--since", "2099-01-01T00:00:00Z"]).said();
    assert_eq!(none, "No events match.\n");
}

/// A limit is refused in the words of a configuration file, and named as it is typed.
#[test]
fn limits_out_of_range_are_refused_by_their_flags() {
    let place = Place::sqlite();
    script(&place, "early.toml", EARLY);
    for (flag, given, expected) in [
        ("--max-todo-continuations", "5000", "0 to 1000"),
        ("--max-iterations", "99", "1 to 50"),
        ("--max-iterations", "0", "1 to 50"),
        ("--max-tokens", "0", "1 to 1000000000"),
    ] {
        let ran = run(&place, &["x", "--model", "scripted:early.toml", flag, given]).run();
        assert_eq!(ran.exit, Some(2), "{ran:?}");
        let said = ran.remarks();
        assert!(said.contains(flag) && said.contains(expected), "{said}");
    }
}

/// The issue of an earlier run is bound to that run's session: the hint names it.
#[test]
fn a_second_run_of_an_issue_is_told_the_session_to_continue_in() {
    let place = Place::sqlite();
    script(&place, "s.toml", "[[steps]]\ntext = \"x\"\nrepeat = true\n");
    place.call("issue_create", &json!({ "title": "Broken" })).answer();
    let words = ["go", "--issue", "1", "--model", "scripted:s.toml", "--json"];
    let first = run(&place, &words).run().json();
    let refused = run(&place, &words).refusal(1);
    let session = first["sessionId"].as_str().unwrap();
    let end = &session[session.len() - 4..];
    let hint = format!("continue in that session: `punch run … --issue 1 --session {end}`");
    assert_eq!((&refused["code"], &refused["hint"]), (&json!("issue_held"), &json!(hint)));
    let again = run(&place, &[&words[..], &["--session", end]].concat()).run().json();
    assert_eq!(again["sessionId"], first["sessionId"]);
}

/// What lifts a hold depends on the list; the end of a run names what works on a task of a plan.
#[test]
fn a_blocked_run_on_a_plan_says_how_to_end_the_hold() {
    let place = Place::sqlite();
    script(&place, "s.toml", "[[steps]]\ntext = \"x\"\nrepeat = true\n");
    script(&place, "plan.md", "# T\n- [ ] a\n");
    place.punch(["plan", "import", "plan.md"]).said();
    place.punch(["todo", "hold", "t2", "blocked", "No key"]).said();
    place.punch(["todo", "hold", "t1", "blocked", "No key"]).said();
    let ran =
        run(&place, &["x", "--plan", "plan.md", "--model", "scripted:s.toml", "--until-done"])
            .run();
    let said = ran.remarks();
    let (_, rest) = said.split_once("next: punch todo unhold ").unwrap_or_else(|| panic!("{said}"));
    let item = rest.split(',').next().unwrap();
    place.punch(["todo", "unhold", item]).said();
}

/// On a terminal, Ctrl-C leaves neither parts of the drawn plan nor the echoed ^C behind.
#[test]
fn ctrl_c_clears_what_was_drawn() {
    let place = Place::sqlite();
    script(&place, "slow.toml", SLOW);
    let words = ["Do it", "--model", "scripted:slow.toml", "--agent", "coder"];
    let mut child = run(&place, &words).env("TERM", "xterm").spawn_on_terminal();
    let mut out = child.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let mut seen = Vec::new();
        out.read_to_end(&mut seen).unwrap();
        seen
    });
    the_last_call(&place);
    child.stdin.as_mut().unwrap().write_all(b"\x03").unwrap();
    let seen = reader.join().unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    let raw = String::from_utf8_lossy(&seen);
    assert!(raw.contains('█') && raw.contains("^C"), "{raw:?}");
    let shown = screen(&seen).join("\n");
    assert!(!shown.contains(['█', '░']) && !shown.contains("^C"), "{shown}\n{raw:?}");
    assert!(shown.contains("\nStopping; press Ctrl-C again to end at once.\n"), "{shown}\n{raw:?}");
}

/// A process that is killed, or asked to end by the system, leaves the run to the next process,
/// which repeats nothing.
fn a_run_is_resumed(backend: Backend, signal: &str) {
    let place = Place::new(backend);
    script(&place, "slow.toml", SLOW);
    let mut child = run(&place, &["Do it", "--model", "scripted:slow.toml"]).spawn();
    let run_id = the_last_call(&place);
    let id = child.id().to_string();
    assert!(Command::new("kill").args([signal, &id]).status().unwrap().success());
    child.wait().unwrap();
    let left = place.punch(["runs", "list", "--json"]).answer();
    assert_eq!(left["runs"][0]["state"], "running");
    let resumed = Running::start(&run(&place, &["--resume", &run_id]));
    // It takes the run as soon as the dead process's lease has expired, and waits for the model
    // again.
    let store = place.open();
    let id = punchlist_core::RunId::parse(&run_id).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    let epoch = move |tx: &mut punchlist_store::Tx<'_>| {
        let (project, _) = tx.home_of_run(id)?.unwrap();
        Ok::<_, punchlist_store::Error>(tx.run(project, id, Lock::No)?.unwrap().1)
    };
    while store.read(epoch).unwrap() < 2 {
        assert!(Instant::now() < until, "nobody took it over");
        std::thread::yield_now();
    }
    assert_eq!(resumed.interrupt(), Some(1));
    let shown = place.punch(["runs", "show", &run_id, "--json"]).answer();
    assert_eq!(titles(&shown["done"]), ["look completed"]);
    assert_eq!(shown["run"]["stopReason"], "cancelled");
    assert_eq!(shown["run"]["iterations"], json!(2), "nothing was done twice");
}

/// A question suspends the run if nobody can answer; at a terminal it is asked at once.
fn a_question_is_asked_at_the_terminal_or_waits(backend: Backend) {
    let place = Place::new(backend);
    let asks = r#"
[[steps]]
[[steps.calls]]
tool = "ask"
input.question = "Which port?"
input.options = ["8080", "9090"]
[[steps]]
when = "9090"
text = "It is 9090."
"#;
    script(&place, "asks.toml", asks);
    let model = ["--model", "scripted:asks.toml"];
    let ran = run(&place, &["Which?", "--json"]).words(model).run();
    let answer = ran.json();
    assert_eq!((ran.exit, &answer["stopReason"]), (Some(1), &json!("gate_open")));
    let told = run(&place, &["--resume", answer["runId"].as_str().unwrap()]).run();
    assert_eq!(told.exit, Some(1));
    assert!(told.stderr.contains("next: punch inbox answer, then"), "{}", told.stderr);
    let answered = ["inbox", "answer", "--resume", "--response", "9090"];
    let said = place.punch(answered).with(&place.operator()).said();
    let how = format!("punch run --resume {}\n", &answer["runId"].as_str().unwrap()[22..]);
    assert!(said.ends_with(&how), "{said}");
    let resumed = run(&place, &["--resume", answer["runId"].as_str().unwrap()]).run();
    assert_eq!((resumed.exit, resumed.stdout.as_str()), (Some(0), "It is 9090.\n"));
    let here = run(&place, &["Which?"]).words(model).stdin("2\n").on_terminal();
    assert_eq!(here.exit, Some(0), "{here:?}");
    assert!(here.stdout.contains("It is 9090."), "{here:?}");
}

/// A delegation is done in this process if an agent is configured for it, whether it is waited for
/// or not.
fn delegations_are_done_in_this_process(backend: Backend) {
    let place = Place::new(backend);
    configure(
        &place,
        "[agents.primary]\nmodel = \"scripted:boss.toml\"\nsubagents = [\"coder\"]\n\
         [agents.coder]\nmodel = \"scripted:coder.toml\"\n",
    );
    let boss = r#"
[[steps]]
[[steps.calls]]
tool = "delegate"
save = "made"
input.type = "coder"
input.mission = "Count."
[[steps]]
when = "returned"
text = "It says {{made.result}}."
[[steps.calls]]
tool = "delegate"
input.type = "coder"
input.mission = "Count again."
input.async = true
[[steps]]
when = "queued"
text = "I wait."
[[steps]]
when = "came back"
text = "Both are back."
"#;
    script(&place, "boss.toml", boss);
    script(&place, "coder.toml", "[[steps]]\ntext = \"three\"\n");
    let ran = run(&place, &["Count"]).run();
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "It says three.\nI wait.\nBoth are back.\n");
    assert!(ran.stderr.contains("  coder: three\n"), "{}", ran.stderr);
}

/// The plan is drawn in place, at the available width.
#[test]
fn a_terminal_shows_the_plan_at_the_bottom() {
    let place = Place::sqlite();
    script(&place, "early.toml", EARLY);
    let words = ["Do it", "--model", "scripted:early.toml", "--auto-complete-todos"];
    let ran = run(&place, &words).env("TERM", "xterm").env("COLUMNS", "40").on_terminal();
    assert_eq!(ran.exit, Some(0), "{ran:?}");
    assert!(ran.stdout.contains("\u{1b}[4A\u{1b}[0J"), "{ran:?}");
    assert!(ran.stdout.contains("3 of 3"), "{ran:?}");
    assert!(ran.stdout.contains("; 1 of 3 cancelled by the agent."), "{ran:?}");
}

/// A worker executes queued runs, and reports them line by line.
fn a_worker_executes_runs(backend: Backend) {
    let place = Place::new(backend);
    script(&place, "early.toml", EARLY);
    let start =
        json!({ "prompt": "Do it", "model": "scripted:early.toml", "autoCompleteTodos": true });
    place.punch(["call", "run_start", &start.to_string(), "--json"]).answer();
    let said = place.punch(["worker", "--once", "--jobs", "2"]).said();
    let words: Vec<&str> = said.lines().filter_map(|line| line.split("  ").next()).collect();
    let expected = ["begins", "calls", "calls", "continues", "calls", "calls", "ends"];
    assert_eq!(words.iter().map(|word| word.trim()).collect::<Vec<_>>(), expected, "{said}");
}

/// The whole demo: in a pipe, within a minute, with the expected results in the store it names.
#[test]
fn the_demo_carries_a_todo_from_plan_to_completed() {
    let place = Place::sqlite();
    let demo = |words: &[&str]| place.bare([&["demo"], words].concat()).env("TMPDIR", place.home());
    let ran = demo(&["--json"]).run();
    assert_eq!((ran.exit, ran.remarks().as_str()), (Some(0), ""), "{ran:?}");
    let lines: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let last = lines.last().unwrap();
    assert_eq!(last["happened"], "closed");
    assert!(last["ms"].as_u64().unwrap() < 60_000, "{last}");
    let figures: Vec<&Value> = lines
        .iter()
        .filter(|line| line["metric"] == "modules")
        .map(|line| &line["value"])
        .collect();
    assert_eq!(figures, ["120", "40"]);
    let store = last["store"].as_str().unwrap();
    let folder = last["folder"].as_str().unwrap();
    let list = std::fs::read_to_string(Path::new(folder).join("build.list")).unwrap();
    assert_eq!(list.lines().count(), 40, "a tool really changed the file");
    let on = ["--db", store, "--project", "demo"];
    let look = |words: &[&str]| place.bare(words.iter().copied()).words(on);
    assert_eq!(look(&["doctor", "--json"]).answer()["store"]["ok"], true);
    let runs = look(&["runs", "list", "--json"]).answer();
    let reasons: Vec<&str> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|r| r["stopReason"].as_str().unwrap())
        .collect();
    assert_eq!(reasons.len(), 10);
    assert!(reasons.iter().all(|reason| ["drained", "no_plan"].contains(reason)), "{reasons:?}");
    // For people, also on a narrow terminal.
    let told = demo(&[]).env("COLUMNS", "40").run();
    assert_eq!((told.exit, told.remarks().as_str()), (Some(0), ""));
    assert!(!told.stdout.contains('\u{1b}'));
    let commands = told.stdout.split("\nTry next\n").nth(1).unwrap();
    let story = told.stdout.strip_suffix(commands).unwrap();
    let wide: Vec<&str> = story
        .lines()
        .filter(|line| line.chars().count() > 40 && !line.contains("punchlist-demo-"))
        .collect();
    assert!(wide.is_empty(), "{wide:#?}");
    assert!(story.contains("80 is not under 50"), "{story}");
    // A strategy is not an open todo, and looks different.
    assert!(story.contains("→ strategy (active): Build each module"), "{story}");
    for line in commands.lines().filter(|line| line.trim().starts_with("punch ")) {
        let words: Vec<&str> = line.split('#').next().unwrap().split_whitespace().skip(1).collect();
        if words[0] != "run" {
            assert_eq!(look(&words).run().exit, Some(0), "{line}");
        }
    }
}

/// Ctrl-C ends the demo, and it reports where it was.
#[test]
fn the_demo_ends_on_request() {
    let place = Place::sqlite();
    let demo = place.bare(["demo", "--json"]).env("TMPDIR", place.home());
    let running = Running::start(&demo);
    assert_eq!(running.event()["happened"], "opened");
    let ended = running.interrupt();
    assert!(matches!(ended, Some(130 | 0)), "{ended:?}");
}

macro_rules! on_both {
    ($($name:ident $(($($given:expr),*))?),* $(,)?) => {
        mod sqlite {
            $(#[test] fn $name() { super::$name(super::Backend::SqliteFile $($(, $given)*)?); })*
        }
        mod postgres {
            $(#[test] fn $name() { super::$name(super::Backend::Postgres $($(, $given)*)?); })*
        }
    };
}

fn a_killed_run_is_resumed(backend: Backend) {
    a_run_is_resumed(backend, "-KILL");
}

fn a_run_whose_machine_goes_down_is_resumed(backend: Backend) {
    a_run_is_resumed(backend, "-TERM");
}

on_both!(
    a_run_on_a_plan_leaves_out_dropped_tasks,
    a_run_is_continued_until_it_is_drained,
    remaining_work_is_reported,
    a_run_is_one_object,
    ctrl_c_stops_it_cleanly,
    a_killed_run_is_resumed,
    a_run_whose_machine_goes_down_is_resumed,
    a_question_is_asked_at_the_terminal_or_waits,
    delegations_are_done_in_this_process,
    a_worker_executes_runs,
);

/// With `--serve` the demo stays open: a server answers, and agents continue until Ctrl-C.
#[test]
fn the_demo_stays_open_until_it_is_stopped() {
    let place = Place::sqlite();
    let demo = place.bare(["demo", "--serve", "--json"]).env("TMPDIR", place.home());
    let running = Running::start(&demo);
    let until = |wanted: &dyn Fn(&Value) -> bool| {
        std::iter::repeat_with(|| running.event()).find(wanted).unwrap()
    };
    let serving = until(&|event| event["happened"] == "serving");
    let address = serving["url"].as_str().unwrap().strip_prefix("http://").unwrap();
    let healthy = || {
        let mut socket = std::net::TcpStream::connect(address).unwrap();
        socket.write_all(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = String::new();
        socket.read_to_string(&mut answer).unwrap();
        answer.starts_with("HTTP/1.0 200")
    };
    assert!(healthy(), "also while the story is told");
    until(&|event| event["happened"] == "closed");
    let at_work = until(&|event| event["happened"] == "tool_called");
    assert_eq!(at_work["agent"], "builder");
    assert!(healthy());
    assert_eq!(running.interrupt(), Some(0));
    let store = serving["store"].as_str().unwrap();
    let look = place.bare(["doctor", "--json", "--db", store, "--project", "demo"]);
    assert_eq!(look.answer()["store"]["ok"], true);
}
