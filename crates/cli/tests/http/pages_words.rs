//! What the pages say and where: names of agents, what waits, histories, and the words of buttons.

use serde_json::{Value, json};

use crate::browser::{Browser, Page};
use crate::serving::Served;
use crate::support::Place;

fn world() -> (Place, String) {
    let place = Place::sqlite();
    let operator = place.operator();
    (place, operator)
}

fn call(place: &Place, operator: &str, operation: &str, input: &Value) -> Value {
    place.call(operation, input).with(operator).answer()
}

/// The part of a page from one text to another.
fn between<'a>(page: &'a Page, from: &str, to: &str) -> &'a str {
    let (_, rest) = page.html.split_once(from).unwrap_or_else(|| panic!("{from}: {}", page.html));
    rest.split_once(to).map_or(rest, |(part, _)| part)
}

/// An issue, and the id of a session that is bound to it.
fn issue_in_session(place: &Place, operator: &str, title: &str) -> (i64, String) {
    let made = call(place, operator, "issue_create", &json!({ "title": title }));
    let number = made["issue"]["number"].as_i64().unwrap();
    let started = place.call("session_start", &json!({ "title": title })).answer();
    let session = started["session"]["id"].as_str().unwrap().to_owned();
    place.call("session_bind", &json!({ "session": session, "number": number })).answer();
    (number, session)
}

#[test]
fn issues_that_wait_come_first_however_old_they_are() {
    let (place, operator) = world();
    let (_, session) = issue_in_session(&place, &operator, "The oldest one");
    place.call("ask", &json!({ "question": "Which?" })).words(["--session", &session]).answer();
    let served = Served::start(&place);
    for n in 2..=120 {
        let new = json!({ "title": format!("Newer number {n}"), "forceNew": true });
        assert_eq!(served.post_as(&operator, "issue_create", &new).status, 200);
    }
    let browser = Browser::of(&served, &place, &operator);
    let board = browser.follow("/p/test/issues?view=board");
    let open = between(&board, "id=\"cards-open\"", "</ul>");
    let ids: Vec<&str> = open
        .split("<li class=\"card board-card\" id=\"")
        .skip(1)
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert_eq!((ids.len(), &ids[..3]), (20, &["issue-1", "issue-120", "issue-119"][..]));
    assert!(open.contains("Question") && board.has("Show more"), "{}", board.html);
    let waiting = browser.follow("/p/test/issues?view=board&waiting=1");
    let cards = between(&waiting, "id=\"cards-open\"", "</ul>");
    assert!(cards.contains("issue-1\"") && !cards.contains("issue-120"), "{cards}");
    for path in ["/p/test/issues", "/p/test/issues?waiting=1", "/p/test/issues?status=open"] {
        let list = browser.follow(path);
        let rows = between(&list, "id=\"rows-waiting\"", "</ul>");
        assert!(rows.contains("The oldest one") && rows.contains("Question"), "{path}: {rows}");
        assert_eq!(list.html.matches("id=\"issue-1\"").count(), 1, "{path}");
    }
    let second = browser.follow("/p/test/issues?status=open&cursor=21");
    assert!(second.has("Newer number 20") && !second.has("rows-waiting"), "{}", second.html);
}

#[test]
fn the_person_who_sends_an_issue_is_not_its_agent() {
    let (place, operator) = world();
    let new = json!({ "title": "Move the images", "criteria": ["Every image is there"] });
    call(&place, &operator, "issue_create", &new);
    let sent = call(&place, &operator, "session_send_to_agent", &json!({ "number": 1 }));
    let session = sent["session"]["id"].as_str().unwrap().to_owned();
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let path = format!("/p/test/sessions/{session}");
    let page = browser.follow(&path);
    let words = page.words();
    assert!(words.contains("No agent has started yet."), "{words}");
    assert!(words.contains("Message to the agent"), "{words}");
    let issue = browser.follow("/p/test/issues/1").words();
    assert!(issue.contains("No agent yet") && issue.contains("no agent yet"), "{issue}");
    assert!(!issue.contains("Worked on by you"), "{issue}");
    let done = json!({ "action": "done", "content": "Every image is there" });
    place.call("todo", &done).words(["--session", &session, "--agent", "coder"]).answer();
    let words = browser.follow(&path).words();
    assert!(words.contains("coder is not working at the moment."), "{words}");
    assert!(words.contains("Message to coder"), "{words}");
    let issue = browser.follow("/p/test/issues/1").words();
    assert!(issue.contains("Criterion claimed by root:coder: Every image is there"), "{issue}");
    let rows = browser.follow("/p/test/issues");
    assert!(between(&rows, "row-who", "</span>").contains("coder"), "{}", rows.html);
}

#[test]
fn the_history_of_a_todo_tells_claims_and_returns_with_words_and_actors() {
    let (place, operator) = world();
    let pillar = json!({ "name": "Build", "slug": "build" });
    let mission = json!({ "name": "DX", "slug": "dx", "status": "active", "pillars": [pillar] });
    call(&place, &operator, "mission_init", &mission);
    let new = json!({ "missionSlug": "dx", "pillarSlug": "build", "title": "Profile",
        "description": "d", "justification": "j", "completionCriteria": "c",
        "deadline": "2030-01-01" });
    let made = call(&place, &operator, "mission_todo_create", &new);
    let id = made["todo"]["id"].as_str().unwrap().to_owned();
    let start = json!({ "missionSlug": "dx", "todoId": id, "action": "start", "reason": "now" });
    call(&place, &operator, "mission_todo_update", &start);
    let claim = |said: &str| json!({ "todoId": id, "outcome": said, "evidence": ["file:a.md"] });
    call(&place, &operator, "todo_claim", &claim("The first report"));
    let back = json!({ "todoId": id, "feedback": "Name the plugins." });
    call(&place, &operator, "todo_return", &back);
    call(&place, &operator, "todo_claim", &claim("The second report"));
    call(&place, &operator, "todo_accept", &json!({ "todoId": id }));
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let page = browser.follow(&format!("/p/test/todos/{id}"));
    let words = page.words();
    let (_, history) = words.split_once("History").unwrap();
    let mut at = 0;
    for said in [
        "added it",
        "started it",
        "claimed that it is done",
        "The first report",
        "returned it",
        "Name the plugins.",
        "claimed that it is done",
        "The second report",
        "completed it",
    ] {
        at += history[at..].find(said).unwrap_or_else(|| panic!("{said}: {history}"));
    }
    assert!(!history.contains("It was"), "{history}");
}

#[test]
fn activity_tells_comments_and_kinds_of_links() {
    let (place, operator) = world();
    for title in ["One", "Another"] {
        call(&place, &operator, "issue_create", &json!({ "title": title }));
    }
    call(&place, &operator, "issue_comment", &json!({ "number": 1, "text": "hello there" }));
    let link = json!({ "number": 1, "to": 2, "kind": "blocked_by" });
    call(&place, &operator, "issue_link", &link);
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let words = browser.follow("/p/test/activity").words();
    assert!(words.contains("commented on #1") && words.contains("hello there"), "{words}");
    assert!(words.contains("linked #1 as blocked by #2"), "{words}");
    let only = browser.follow("/p/test/activity?item=1&kind=issues").words();
    assert!(only.contains("hello there"), "{only}");
}

#[test]
fn a_permission_is_asked_for_by_the_agent_that_needs_it() {
    let (place, operator) = world();
    let asked = json!({ "tool": "keep_copy", "input": { "from": "a" }, "run": "r", "call": "c",
        "definition": { "command": ["cp", "a", "b"] } });
    place.call("permission_ask", &asked).words(["--agent", "tester"]).answer();
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let words = browser.follow("/").words();
    assert!(words.contains("asked by tester"), "{words}");
    assert!(words.contains("tester wants to run cp a b in test"), "{words}");
    let words = browser.follow("/p/test/activity").words();
    assert!(words.contains("tester asked for permission to call “keep_copy”"), "{words}");
}

/// The attack: a command that looks harmless because parts of it are reordered or hidden.
#[test]
fn a_permission_shows_the_exact_command() {
    let (place, operator) = world();
    let command = "cargo test \u{202e}\u{2066}; rm -rf build\u{2069}\u{2066}# checks \u{2069}";
    let asked = json!({ "tool": "shell", "input": { "cmd": command }, "run": "r", "call": "c",
        "definition": { "command": ["sh", "-c", command] } });
    place.call("permission_ask", &asked).words(["--agent", "tester"]).answer();
    let served = Served::start(&place);
    let page = Browser::of(&served, &place, &operator).follow("/");
    assert!(!page.html.contains(['\u{202e}', '\u{2066}', '\u{2069}']), "{}", page.html);
    let shown = "cargo test <span class=\"odd\">U+202E</span><span class=\"odd\">U+2066</span>; rm \
                 -rf build<span class=\"odd\">U+2069</span><span class=\"odd\">U+2066</span># checks ";
    assert_eq!(page.html.matches(shown).count(), 3, "title, input and definition: {}", page.html);
}

#[test]
fn a_question_is_refused_with_a_reason_and_its_agent_gets_the_answer() {
    let (place, operator) = world();
    let (number, session) = issue_in_session(&place, &operator, "Refunds");
    let ask = json!({ "question": "Which limit?" });
    let asked = place.call("ask", &ask).words(["--session", &session]).answer();
    let key = format!("refuse-{}", asked["gateId"].as_str().unwrap());
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let words = browser.follow("/").words();
    assert!(words.contains("primary gets your answer."), "{words}");
    assert!(!words.contains("The run continues"), "{words}");
    let open = browser.follow(&format!("/?open={key}"));
    assert!(open.has("Why?") && !open.has("What is missing?"), "{}", open.html);
    let empty = browser.send(&open, &key, &[("reason", " ")]);
    assert!(empty.has("Write why"), "{}", empty.html);
    // A page has one primary button, whatever is unfolded on it.
    for open in ["", "?open=send", "?open=details", "?open=defer-issue"] {
        let page = browser.follow(&format!("/p/test/issues/{number}{open}"));
        assert_eq!(page.html.matches("class=\"button primary\"").count(), 1, "{open}");
    }
}

#[test]
fn names_in_errors_are_code_and_held_items_have_a_place() {
    let (place, operator) = world();
    let (_, session) = issue_in_session(&place, &operator, "Refunds");
    let set = json!({ "action": "set", "items": ["Review it with Ann"] });
    place.call("todo", &set).words(["--session", &session]).answer();
    let shown = call(&place, &operator, "issue_show", &json!({ "number": 1 }));
    let hold =
        json!({ "todoId": shown["steps"][0]["id"], "kind": "blocked", "reason": "Ann is away" });
    call(&place, &operator, "todo_hold", &hold);
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let missing = browser.follow("/p/test/plans/none.md");
    assert!(missing.has("<code>none.md</code>") && !missing.has("`"), "{}", missing.html);
    let home = browser.follow("/").words();
    assert!(home.contains("test #1 · Ann is away"), "{home}");
}
