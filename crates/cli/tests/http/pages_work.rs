//! The pages about the work of agents: sessions, missions, todos, plans, agents, and activity.

use serde_json::{Value, json};

use crate::browser::Browser;
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

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_else(|| panic!("{path}: {value}"))
}

fn mission(place: &Place, operator: &str) -> Vec<String> {
    let target = json!({ "operator": "<", "value": 60, "warningThreshold": 90 });
    let metric = json!({ "name": "Local build time", "slug": "build-time", "type": "duration",
        "unit": "s", "target": target });
    let unread = json!({ "name": "Cache hits", "slug": "cache", "type": "percentage" });
    let pillar = json!({ "name": "Build Performance", "slug": "build",
        "metrics": [metric, unread],
        "strategies": [{ "description": "Measure before changing anything.", "status": "active" }] });
    let input = json!({ "name": "Developer Experience", "slug": "dx", "status": "active",
        "todo": { "activeTodoLimit": 10, "backlogTodoLimit": 50 }, "pillars": [pillar] });
    call(place, operator, "mission_init", &input);
    for value in [57, 62, 72] {
        let reading = json!({ "mission": "dx", "metric": "build-time", "value": value });
        call(place, operator, "metric_record", &reading);
    }
    ["Profile the build", "Cache the modules"]
        .map(|title| {
            let input = json!({ "missionSlug": "dx", "pillarSlug": "build", "title": title,
            "description": "Look at each plugin.", "justification": "Builds are slow.",
            "completionCriteria": "A report.", "deadline": "2030-01-01" });
            let made = call(place, operator, "mission_todo_create", &input);
            text(&made, "/todo/id").to_owned()
        })
        .to_vec()
}

#[test]
fn every_empty_page_says_what_belongs_there() {
    let (place, operator) = world();
    call(&place, &operator, "issue_create", &json!({ "title": "One" }));
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    for (path, command) in [
        ("/p/test/missions", "punch mission init"),
        ("/p/test/plans", "punch plan import"),
        ("/p/test/agents", "punch run"),
    ] {
        let page = browser.follow(path);
        assert!(page.status == 200 && page.has(command), "{path}: {}", page.html);
    }
    assert!(browser.follow("/p/test/activity").has("filed"));
    for path in [
        "/p/test/missions/none",
        "/p/test/sessions/none",
        "/p/test/runs/none",
        "/p/test/todos/none",
        "/p/test/plans/none.md",
    ] {
        assert_eq!(browser.follow(path).status, 404, "{path}");
    }
}

/// S-26, S-27: a person sees whether a session continues, and can pause it, write to it and end it.
#[test]
fn a_session_can_be_read_paused_resumed_written_to_and_stopped() {
    let (place, operator) = world();
    let input = json!({ "title": "Move the images", "criteria": ["Every image is there"] });
    call(&place, &operator, "issue_create", &input);
    let sent = json!({ "number": 1, "message": "Copy <b>everything</b>." });
    let sent = call(&place, &operator, "session_send_to_agent", &sent);
    let path = format!("/p/test/sessions/{}", text(&sent, "/session/id"));
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let page = browser.follow(&path);
    assert!(page.has("#1 Move the images") && page.has("&lt;b&gt;everything"), "{}", page.html);
    let paused = browser.send(&page, "pause", &[]);
    assert!(paused.words().contains("does not continue until you resume it"), "{}", paused.html);
    let resumed = browser.send(&paused, "resume", &[]);
    assert!(resumed.has("Resumed."), "{}", resumed.html);
    let silent = browser.send(&resumed, "post", &[("text", " ")]);
    assert_eq!(silent.status, 400);
    let posted = browser.send(&resumed, "post", &[("text", "Keep the old server.")]);
    assert!(posted.has("Posted.") && posted.has("Keep the old server."), "{}", posted.html);
    let asked = browser.follow(&format!("{path}?open=stop"));
    assert!(asked.has("Ends the session."), "{}", asked.html);
    let stopped = browser.send(&asked, "stop", &[]);
    assert!(stopped.has("The session has ended."), "{}", stopped.html);
}

#[test]
fn chat_of_500_messages_is_read_in_pages_from_its_end() {
    let (place, operator) = world();
    call(&place, &operator, "issue_create", &json!({ "title": "Long" }));
    let sent = call(&place, &operator, "session_send_to_agent", &json!({ "number": 1 }));
    let (id, chat) = (text(&sent, "/session/id"), text(&sent, "/session/conversationId"));
    let served = Served::start(&place);
    for n in 0..150 {
        let input = json!({ "conversationId": chat, "text": format!("Message number {n}.") });
        let reply = served.post_as(&operator, "conversation_post", &input);
        assert_eq!(reply.status, 200);
    }
    let browser = Browser::of(&served, &place, &operator);
    let page = browser.follow(&format!("/p/test/sessions/{id}"));
    assert!(page.has("Message number 149.") && !page.has("Message number 40."), "{}", page.html);
    assert!(page.has("Message number 50."));
    let link = page.html.split("?before=").nth(1).unwrap().split('"').next().unwrap();
    let earlier = browser.follow(&format!("/p/test/sessions/{id}?before={link}"));
    assert!(earlier.has("Message number 40.") && !earlier.has("Message number 50."));
    assert!(earlier.has("Show the newest messages"));
}

/// M-81: a mission shows its metrics, its capacity and its claims; a claim is decided in place.
#[test]
fn mission_shows_charts_and_capacity_and_a_claim_is_decided_on_it() {
    let (place, operator) = world();
    let todos = mission(&place, &operator);
    for id in &todos {
        let start =
            json!({ "missionSlug": "dx", "todoId": id, "action": "start", "reason": "now" });
        call(&place, &operator, "mission_todo_update", &start);
        let claim = json!({ "todoId": id, "outcome": "Done <i>so</i>", "evidence": ["file:a.md"] });
        call(&place, &operator, "todo_claim", &claim);
    }
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let page = browser.follow("/p/test/missions/dx");
    let words = page.words();
    for said in [
        "Developer Experience",
        "2 of 10",
        "72 s",
        "Warning",
        "Target: under 60 s",
        "No reading yet",
        "Measure before changing anything.",
    ] {
        assert!(words.contains(said), "{said}: {words}");
    }
    assert!(page.has("&lt;i&gt;so") && page.has("<path class=\"readings\""), "{}", page.html);
    let accept = format!("answer-{}", todos[0]);
    let accepted = browser.send(&page, &accept, &[]);
    assert!(accepted.has("Accepted."), "{}", accepted.html);
    assert_eq!(accepted.at, format!("/p/test/missions/dx#gate-{}", todos[1]));
    let todo = browser.follow(&format!("/p/test/todos/{}", todos[1]));
    assert!(todo.has("Builds are slow.") && todo.has("A report."), "{}", todo.html);
    let returning = browser.follow(&format!("/p/test/todos/{}?open=refuse-{}", todos[1], todos[1]));
    let key = format!("refuse-{}", todos[1]);
    let returned = browser.send(&returning, &key, &[("reason", "Say which plugin.")]);
    assert!(returned.has("Returned."), "{}", returned.html);
    let paused = browser.send(&browser.follow("/p/test/missions/dx"), "pause", &[]);
    assert!(paused.has("Paused.") && paused.has("Resume"), "{}", paused.html);
}

/// O-28: the current task is marked on one leaf, and a finished branch is folded.
#[test]
fn plan_shows_its_tree_and_the_current_task() {
    let (place, operator) = world();
    let markdown = "# New checkout\n\n## Foundation\n- [x] Draw\n\n\
        ## Payment\n- [x] Choose\n- [ ] Ask <b>\n- [ ] Test\n";
    let input = json!({ "planFile": "docs/a plan.md", "markdown": markdown, "branch": "checkout" });
    call(&place, &operator, "plan_import", &input);
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let list = browser.follow("/p/test/plans");
    assert!(list.has("/p/test/plans/docs/a%20plan.md?branch=checkout"), "{}", list.html);
    let page = browser.follow("/p/test/plans/docs/a%20plan.md?branch=checkout");
    let words = page.words();
    assert!(words.contains("New checkout") && words.contains("2 of 4 tasks completed"), "{words}");
    assert_eq!(page.html.matches("current-tag").count(), 1, "{}", page.html);
    assert!(page.has("Ask &lt;b&gt;"), "{}", page.html);
    let folds: Vec<bool> = page
        .html
        .split("<details class=\"branch\"")
        .skip(1)
        .map(|rest| rest.split('>').next().unwrap().contains(" open"))
        .collect();
    assert_eq!(folds, [false, true]);
}

#[test]
fn agents_and_what_they_did_are_listed() {
    let (place, operator) = world();
    let todos = mission(&place, &operator);
    call(
        &place,
        &operator,
        "agent_register",
        &json!({ "agent": "primary.coder", "type": "coder" }),
    );
    let failed = json!({ "agent": "primary.coder", "status": "failed", "note": "No <key>" });
    call(&place, &operator, "agent_status", &failed);
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let page = browser.follow("/p/test/agents");
    assert!(page.has("Failed or silent") && page.has("No &lt;key&gt;"), "{}", page.html);
    let all = browser.follow("/p/test/activity");
    assert!(all.words().contains("recorded 3 readings"), "{}", all.words());
    assert!(all.words().contains("recorded build-time: 72"), "{}", all.words());
    let one = browser.follow(&format!("/p/test/activity?item={}", todos[0]));
    let words = one.words();
    assert!(words.contains("Profile the build") && !words.contains("Cache the modules"), "{words}");
    let none = browser.follow("/p/test/activity?agent=nobody");
    assert!(none.has("Nothing that fits these filters"), "{}", none.html);
}
