//! Decisions on the pages, without a script: what a form does, what it keeps, and who was first.

use serde_json::{Value, json};

use crate::browser::{Browser, Page};
use crate::serving::Served;
use crate::support::Place;

/// An issue with two claimed criteria, and an open sign-off.
fn sign_off(place: &Place, operator: &str) -> String {
    let made = json!({ "title": "Refunds", "criteria": ["It waits", "It is logged"] });
    place.call("issue_create", &made).with(operator).answer();
    let started = place.call("session_start", &json!({ "title": "Work" })).answer();
    let session = started["session"]["id"].as_str().unwrap().to_owned();
    let bound = json!({ "session": session, "number": 1 });
    place.call("session_bind", &bound).answer();
    for content in ["It waits", "It is logged"] {
        let done = json!({ "action": "done", "content": content, "evidence": ["commit:4f2a91c"] });
        place.call("todo", &done).words(["--session", &session]).answer();
    }
    let asked = json!({ "reason": "It waits now.", "purpose": "sign_off" });
    place.call("checkpoint", &asked).words(["--session", &session]).answer();
    session
}

fn show(place: &Place) -> Value {
    place.call("issue_show", &json!({ "number": 1 })).answer()
}

/// The id of the first card.
fn first(page: &Page) -> String {
    let at = page.html.find("name=\"gate\" value=\"").expect("a card");
    page.html[at + 19..].split('"').next().unwrap().to_owned()
}

#[test]
fn sign_off_on_home_accepts_the_criteria_and_the_next_decision_is_the_target() {
    let place = Place::sqlite();
    let operator = place.operator();
    let session = sign_off(&place, &operator);
    let ask = json!({ "question": "Which limit?", "options": ["500", "600"] });
    let later = place.call("ask", &ask).env("PUNCHLIST_NOW", "2026-11-15T08:00:01Z");
    let asked = later.words(["--session", &session]).answer();
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let home = browser.follow("/");
    assert!(home.has("<title>(2) punchlist</title>"), "{}", home.html);
    assert!(home.words().contains("2 decisions are waiting"));
    assert!(home.words().contains("Accepts 2 criteria. primary may then resolve #1."));
    let gate = first(&home);
    let done = browser.send(&home, &format!("answer-{gate}"), &[]);
    assert_eq!(done.status, 200, "{}", done.words());
    assert_eq!(done.at, format!("/#gate-{}", asked["gateId"].as_str().unwrap()));
    assert!(done.has("Signed off.") && done.has("role=\"status\""), "{}", done.html);
    assert!(show(&place)["criteria"][0]["acceptedAt"].is_string());
    // The notice is shown on one page only.
    assert!(!browser.follow("/").has("Signed off."));
    let key = format!("answer-{}", asked["gateId"].as_str().unwrap());
    let empty = browser.send(&done, &key, &[]);
    assert_eq!((empty.status, empty.has("Choose an answer, or write one.")), (400, true));
    let last = browser.send(&done, &key, &[("option", "\"500\"")]);
    assert_eq!(last.at, "/#nothing");
    assert!(last.has("<title>punchlist</title>") && last.words().contains("Nothing is waiting"));
}

#[test]
fn refusing_needs_a_reason_keeps_the_typed_text_and_reopens_the_chosen_criteria() {
    let place = Place::sqlite();
    let operator = place.operator();
    sign_off(&place, &operator);
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let gate = first(&browser.follow("/"));
    let key = format!("refuse-{gate}");
    let open = browser.follow(&format!("/?open={key}"));
    assert!(open.words().contains("What is missing?") && open.words().contains("Reopen"));
    let empty = browser.send(&open, &key, &[("reason", "  "), ("reopen", "It waits")]);
    assert_eq!(empty.status, 400);
    assert!(empty.has("Write what is missing") && empty.has("aria-invalid=\"true\""));
    assert!(show(&place)["criteria"][0]["claim"].is_object(), "nothing was changed");
    let typed = [("reason", "Partial refunds are missing."), ("reopen", "It waits")];
    let done = browser.send(&open, &key, &typed);
    assert!(done.has("Refused."), "{}", done.html);
    let shown = show(&place);
    assert_eq!(shown["criteria"][0]["claim"], Value::Null);
    assert!(shown["criteria"][1]["claim"].is_object());
}

#[test]
fn the_second_of_two_people_sees_who_was_first_and_their_decision() {
    let place = Place::sqlite();
    let operator = place.operator();
    sign_off(&place, &operator);
    let served = Served::start(&place);
    let [anna, ben] = [(); 2].map(|()| Browser::of(&served, &place, &operator));
    let (page, other) = (anna.follow("/"), ben.follow("/"));
    let gate = first(&page);
    let key = format!("refuse-{gate}");
    let open = anna.follow(&format!("/?open={key}"));
    anna.send(&open, &key, &[("reason", "Partial refunds are missing.")]);
    let late = ben.send(&other, &format!("answer-{gate}"), &[]);
    assert_eq!(late.status, 409);
    let words = late.words();
    assert!(words.contains("decided this first, and refused it"), "{words}");
    assert!(words.contains("“Partial refunds are missing.”"), "{words}");
    assert!(show(&place)["criteria"][0]["acceptedAt"].is_null());
}

#[test]
fn a_changed_issue_is_not_signed_off_by_an_older_page() {
    let place = Place::sqlite();
    let operator = place.operator();
    sign_off(&place, &operator);
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let home = browser.follow("/");
    let gate = first(&home);
    let changed = json!({ "number": 1, "title": "Refunds and more" });
    place.call("issue_update", &changed).with(&operator).answer();
    let late = browser.send(&home, &format!("answer-{gate}"), &[]);
    assert_eq!(late.status, 409);
    assert!(late.has("Refunds and more") && late.has("role=\"alert\""), "{}", late.html);
    assert!(browser.send(&late, &format!("answer-{gate}"), &[]).has("Signed off."));
}

#[test]
fn a_form_of_another_session_is_refused_and_keeps_the_typed_text() {
    let place = Place::sqlite();
    let operator = place.operator();
    place.call("issue_create", &json!({ "title": "One" })).with(&operator).answer();
    let served = Served::start(&place);
    let old = Browser::of(&served, &place, &operator);
    let page = old.follow("/p/test/issues/1");
    let new = Browser::of(&served, &place, &operator);
    let refused = new.send(&page, "comment", &[("text", "Half a thought")]);
    assert_eq!(refused.status, 403);
    assert!(refused.has("Half a thought") && refused.has("from before you signed in"));
    assert_eq!(show(&place)["updates"], json!([]));
    // The returned page belongs to this session, and its form works.
    assert!(new.send(&refused, "comment", &[("text", "Half a thought")]).has("Commented."));
}

#[test]
fn a_stale_checklist_edit_shows_both_versions_and_loses_neither() {
    let place = Place::sqlite();
    let operator = place.operator();
    let made = json!({ "title": "One", "criteria": ["First", "Second"] });
    place.call("issue_create", &made).with(&operator).answer();
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let page = browser.follow("/p/test/issues/1?open=edit");
    let theirs = json!({ "number": 1, "markdown": "# Criteria\n- [ ] First\n- [ ] Theirs\n" });
    place.call("issue_checklist_edit", &theirs).with(&operator).answer();
    let mine = "# Criteria\n- [ ] First\n- [ ] Mine\n";
    let stale = browser.send(&page, "edit", &[("markdown", mine)]);
    assert_eq!(stale.status, 409);
    assert!(stale.words().contains("Yours") && stale.words().contains("Now"), "{}", stale.html);
    assert!(stale.has("- [ ] Mine") && stale.has("- [ ] Theirs"), "{}", stale.html);
    let both = "# Criteria\n- [ ] First\n- [ ] Theirs\n- [ ] Mine\n";
    let saved = browser.send(&stale, "edit", &[("markdown", both)]);
    assert!(saved.has("Saved the checklist."), "{}", saved.html);
    let shown = show(&place);
    let texts: Vec<&str> = shown["criteria"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["First", "Theirs", "Mine"]);
}

#[test]
fn issue_is_created_worked_on_and_closed_on_its_pages() {
    let place = Place::sqlite();
    let operator = place.operator();
    place.call("issue_create", &json!({ "title": "Before" })).with(&operator).answer();
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let new = browser.follow("/p/test/issues?open=new-issue");
    let untitled =
        browser.send(&new, "new-issue", &[("title", ""), ("criteria", "It works\nIt is tested")]);
    assert_eq!((untitled.status, untitled.has("It is tested")), (400, true));
    // Only the bad field is marked, and the error calls it what people call it.
    let marked = |html: &str| -> Vec<String> {
        let fields = html.split('<').filter(|tag| tag.contains("aria-invalid=\"true\""));
        let name = |tag: &str| tag.split(" name=\"").nth(1)?.split('"').next().map(str::to_owned);
        fields.filter_map(name).collect()
    };
    assert_eq!(marked(&untitled.html), ["title"]);
    assert!(untitled.has("<span>Title is missing or empty.</span>"), "{}", untitled.html);
    let long = format!("It works\n{}", "x".repeat(20_000));
    let long = browser.send(&new, "new-issue", &[("title", "A"), ("criteria", &long)]);
    assert_eq!((long.status, marked(&long.html)), (400, vec!["criteria".to_owned()]));
    assert!(long.has("<span>Entry 2 of criteria has 20000 "), "{}", long.html);
    let typed = [("title", "Checkout fails"), ("criteria", "It works\n\nIt is tested")];
    let issue = browser.send(&new, "new-issue", &typed);
    assert_eq!(issue.at, "/p/test/issues/2#top");
    assert!(issue.has("Created #2.") && issue.has("0 of 2 met"), "{}", issue.html);
    let issue = browser.send(&issue, "add-step", &[("content", "Find it")]);
    let issue = browser.send(&issue, "add-step", &[("content", "Fix it")]);
    assert!(issue.has("0 of 2 closed"), "{}", issue.html);
    let twice = browser.send(&issue, "add-step", &[("content", "Fix it")]);
    assert_eq!((twice.status, twice.has("value=\"Fix it\"")), (409, true));
    let id = |text: &str| {
        let shown = place.call("issue_show", &json!({ "number": 2 })).answer();
        let items =
            ["criteria", "steps"].map(|name| shown[name].as_array().unwrap().clone()).concat();
        let found = items.iter().find(|item| item["content"] == text).unwrap().clone();
        found["id"].as_str().unwrap().to_owned()
    };
    let tick = format!("tick-{}", id("Find it"));
    let done = browser.send(&issue, &tick, &[("do", &format!("done {}", id("Find it")))]);
    assert!(done.has("1 of 2 closed"), "{}", done.html);
    let up = format!("move {} {} ", id("It is tested"), id("It works"));
    let more = format!("more-{}", id("It is tested"));
    let moved = browser.send(&done, &more, &[("do", &up)]);
    assert!(moved.html.find("It is tested") < moved.html.find("It works"), "{}", moved.html);
    let held = browser.follow(&format!("/p/test/issues/2?open=hold-{}", id("Fix it")));
    let key = format!("hold-{}", id("Fix it"));
    let held = browser.send(&held, &key, &[("kind", "blocked"), ("reason", "No key")]);
    assert!(held.has("held: blocked") && held.has("Undo"), "{}", held.html);
    assert!(browser.send(&held, "undo", &[]).has("The hold is lifted."));
    let sent = browser.follow("/p/test/issues/2?open=send");
    let sent = browser.send(&sent, "send", &[("message", "Start with the tests.")]);
    assert!(sent.has("Sent to an agent.") && sent.has("1 of 1 active"), "{}", sent.html);
    // Closing first shows the unmet criteria.
    let closing = browser.follow("/p/test/issues/2?open=close-resolved");
    assert!(closing.words().contains("2 criteria are not accepted:"), "{}", closing.words());
    let closed = browser.send(&closing, "close-resolved", &[("reason", "Good enough")]);
    assert!(closed.has("#2 is resolved now."), "{}", closed.html);
    let open = browser.send(&closed, "to-open", &[("status", "open")]);
    assert!(open.has("#2 is open now."), "{}", open.html);
}

#[test]
fn a_form_of_a_hundred_fields_is_shown_validated_and_answered() {
    let place = Place::sqlite();
    let operator = place.operator();
    let mut fields = serde_json::Map::new();
    for n in 0..100 {
        fields.insert(
            format!("field{n}"),
            json!({ "type": "integer", "title": format!("Field {n}") }),
        );
    }
    let schema = json!({ "type": "object", "properties": fields, "required": ["field7"] });
    let asked = place.call("form", &json!({ "title": "Fill in", "schema": schema })).answer();
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let home = browser.follow("/");
    assert!(home.words().contains("Field 99"));
    let key = format!("answer-{}", asked["gateId"].as_str().unwrap());
    let bad = browser.send(&home, &key, &[("value.field8", "many"), ("value.field9", "9")]);
    assert_eq!(bad.status, 400);
    assert!(bad.has("value=\"many\"") && bad.has("value=\"9\"") && bad.has("This is required."));
    let done = browser.send(&bad, &key, &[("value.field7", "7"), ("value.field9", "9")]);
    assert!(done.has("Answered."), "{}", done.html);
    let gates = place.call("gate_list", &json!({})).env("PUNCHLIST_TOKEN", &operator).answer();
    assert_eq!(gates["gates"][0]["response"], json!({ "field7": 7, "field9": 9 }));
}

/// The two ways in which only the operator closes and reopens: a criterion that nobody claimed, and
/// what is settled. A refusal is shown in the row.
#[test]
fn rows_are_accepted_without_a_claim_and_reopened() {
    let place = Place::sqlite();
    let operator = place.operator();
    sign_off(&place, &operator);
    let add = json!({ "action": "add", "items": ["Find it", "Fix it"] });
    place.call("todo", &add).words(["--issue", "1"]).with(&operator).answer();
    let unclaimed = json!({ "action": "add", "items": ["It is fast"], "kind": "criterion" });
    place.call("todo", &unclaimed).words(["--issue", "1"]).with(&operator).answer();
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let item = |text: &str| {
        let shown = show(&place);
        let items =
            ["criteria", "steps"].map(|name| shown[name].as_array().unwrap().clone()).concat();
        items.into_iter().find(|item| item["content"] == text).unwrap()
    };
    let id = |text: &str| item(text)["id"].as_str().unwrap().to_owned();
    let press = |form: &str, action: &str, text: &str| {
        let page = browser.follow("/p/test/issues/1");
        let done = format!("{action} {}", id(text));
        browser.send(&page, &format!("{form}-{}", id(text)), &[("do", &done)])
    };
    // A criterion that nobody claimed: the page says so before it is accepted.
    let key = format!("accept-{}", id("It is fast"));
    let asked = browser.follow(&format!("/p/test/issues/1?open={key}"));
    assert!(asked.has("Nobody has claimed it."), "{}", asked.html);
    let accepted = browser.send(&asked, &key, &[]);
    assert!(accepted.has("Accepted."), "{}", accepted.html);
    assert!(item("It is fast")["acceptedAt"].is_string());
    assert!(press("more", "reopen", "It is fast").has("Reopened."));
    assert_eq!(
        (&item("It is fast")["acceptedAt"], &item("It is fast")["status"]),
        (&Value::Null, &json!("pending"))
    );
    // A claimed one is accepted in its row, and reopened with its claim gone.
    assert!(press("decide", "accept", "It waits").has("Accepted."));
    assert!(press("more", "reopen", "It waits").has("Reopened."));
    assert_eq!(item("It waits")["claim"], Value::Null);
    // A step: ticked, and reopened by the notice's own button.
    let ticked = press("tick", "done", "Find it");
    assert!(ticked.has("Completed.") && ticked.has("1 of 2 closed"), "{}", ticked.html);
    let undone = browser.send(&ticked, "undo", &[]);
    assert!(undone.has("Reopened.") && undone.has("0 of 2 closed"), "{}", undone.html);
    // A refusal is shown in the row whose button was pressed.
    let (page, tick) = (browser.follow("/p/test/issues/1"), format!("tick-{}", id("Fix it")));
    let gone = browser.send(&page, &tick, &[("do", "reopen none")]);
    assert!(gone.status == 404 && gone.has(&format!("id=\"{tick}-fault\"")), "{}", gone.html);
}

/// A proposal shows the list as it will be: what is new, at its place, and what is there already.
#[test]
fn a_proposal_is_shown_in_the_list_it_is_for() {
    let place = Place::sqlite();
    let operator = place.operator();
    let session = sign_off(&place, &operator);
    let steps = json!({ "action": "set", "items": ["Copy", "# Later", "Remove the disk"] });
    place.call("todo", &steps).words(["--session", &session]).answer();
    let delegate =
        json!({ "type": "researcher", "mission": "Find what is missing.", "async": true });
    place.call("delegate", &delegate).words(["--session", &session]).answer();
    let worker = ["--as", "worker", "--agent", "primary.researcher"];
    let take = json!({ "types": ["researcher"] });
    let taken = place.call("delegation_take", &take).words(worker).with(&operator).answer();
    let items = json!([
        { "content": "Count the files", "phase": "Later" },
        { "content": "Copy" },
        { "content": "Nothing is slower", "kind": "criterion" },
        { "content": "Tell everybody", "phase": "Last" },
    ]);
    let report = json!({ "delegationId": taken["delegation"]["id"], "epoch": taken["epoch"],
        "result": "Found it.", "proposal": { "items": items } });
    place.call("delegation_report", &report).words(worker).with(&operator).answer();
    let served = Served::start(&place);
    let browser = Browser::of(&served, &place, &operator);
    let delegation = taken["delegation"]["id"].as_str().unwrap();
    // On Home the sign-off is older: the proposal is folded, and unfolds by an address.
    let home = browser.follow("/");
    assert!(
        home.has(&format!("open=list-{delegation}")) && !home.has("class=\"after\""),
        "{}",
        home.html
    );
    let open = browser.follow(&format!("/?open=list-{delegation}"));
    let (_, after) = open.html.split_once("class=\"after\"").unwrap();
    let at = |text: &str| after.find(text).unwrap_or_else(|| panic!("{text}: {after}"));
    let order = [
        "It is logged",
        "Nothing is slower",
        "Copy",
        "already on the list",
        "Remove the disk",
        "Count the files",
        "Last",
        "new phase",
        "Tell everybody",
        "Nothing is removed or changed",
    ];
    for pair in order.windows(2) {
        assert!(at(pair[0]) < at(pair[1]), "{pair:?}: {after}");
    }
    assert_eq!(after.matches(">new<").count(), 3, "{after}");
    // Lines without a phase come first, so that none of them slips into one.
    let lines = "Copy\n# Later\nCount the files\n# Last\nTell everybody\n";
    assert!(open.has(lines), "{}", open.html);
    let typed = [("steps", lines), ("criteria", "Nothing is slower\n")];
    let done = browser.send(&open, &format!("answer-{delegation}"), &typed);
    assert!(done.has("Accepted."), "{}", done.html);
    let contents: Vec<Value> = show(&place)["steps"]
        .as_array()
        .unwrap()
        .iter()
        .map(|step| step["content"].clone())
        .collect();
    assert_eq!(
        json!(contents),
        json!(["Copy", "Remove the disk", "Count the files", "Tell everybody"])
    );
}
