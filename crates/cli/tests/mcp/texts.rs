//! The text beside the structure of each result: short, and with all that the model needs next.

use punchlist_core::Role;
use punchlist_ops::tools::{Choice, listed};
use serde_json::{Value, json};

use crate::serving::token;
use crate::support::Place;
use crate::talk::{Era, Talk, operate};

/// No text of this small world is longer, in characters.
const TEXT_MAX: usize = 2_000;
/// A sentence that says what to do next may be longer than a small structure.
const SENTENCE_MAX: usize = 200;

/// Issues with long bodies, a plan with an assigned task, a mission with todos, an open question.
struct World {
    place: Place,
    operator: String,
    session: String,
    task: String,
    criterion: String,
}

impl World {
    fn new() -> Self {
        let place = Place::sqlite();
        let operator = place.operator();
        let done = |operation: &str, input: &Value| operate(&place, &operator, operation, input);
        for title in ["Slow build", "Flaky test", "Old docs"] {
            let body = "It takes ten minutes. ".repeat(20);
            let issue = json!({ "title": title, "body": body, "criteria": ["Under a minute"] });
            done("issue_create", &issue);
        }
        let criteria = done("issue_show", &json!({ "number": 2 }));
        let criterion = criteria["criteria"][0]["id"].as_str().unwrap().to_owned();
        let plan =
            json!({ "planFile": "plan.md", "markdown": "# Ship\n- [ ] Measure\n- [ ] Fix\n" });
        let imported = done("plan_import", &plan);
        let task = imported["tasks"][0]["id"].as_str().unwrap().to_owned();
        done("agent_register", &json!({ "agent": "primary.coder" }));
        done("task_assign", &json!({ "taskId": task, "agent": "primary.coder" }));
        let pillar = json!({ "name": "Build" });
        done("mission_init", &json!({ "name": "Speed", "pillars": [pillar] }));
        let started = done("session_start", &json!({ "title": "Work" }));
        let session = started["session"]["id"].as_str().unwrap().to_owned();
        done("session_bind", &json!({ "session": session, "number": 1 }));
        Self { place, operator, session, task, criterion }
    }

    /// A client with a token, whose server is started with these words.
    fn talk(&self, token_words: &[&str], words: &[&str]) -> Talk {
        let secret = token(&self.place, &self.operator, token_words);
        let punch = self.place.punch(["mcp"]).words(words.iter().copied()).with(&secret);
        Talk::with(&punch, Era::Handshake, json!({}))
    }
}

/// A conversation in which every tool that the role lists is called.
struct Spoken {
    talk: Talk,
    role: Role,
    used: Vec<String>,
}

impl Spoken {
    fn new(talk: Talk, role: Role) -> Self {
        Self { talk, role, used: Vec::new() }
    }

    /// Calls a tool. Its text has these words, and is shorter than the structure.
    fn call(&mut self, tool: &str, input: &Value, words: &[&str]) -> Value {
        let mut result = self.talk.tool(tool, input);
        assert_ne!(result["isError"], true, "{tool} {input}: {result}");
        let structure = result["structuredContent"].take();
        let text = result["content"][0]["text"].as_str().unwrap();
        let (short, long) = (text.chars().count(), structure.to_string().chars().count());
        let is_short = short < long || short <= SENTENCE_MAX;
        assert!(is_short, "{tool} {input}: {short} is not less than {long}: {text}");
        assert!(short <= TEXT_MAX, "{tool} {input}: {short}: {text}");
        for word in words {
            let is_there = text.contains(word);
            assert!(is_there, "{tool} {input}: `{word}` is not in {text}\n{structure}");
        }
        self.used.push(tool.to_owned());
        structure
    }

    fn end(mut self) {
        self.used.sort_unstable();
        self.used.dedup();
        let mut tools: Vec<&str> =
            listed(self.role, Choice::Default).iter().map(|operation| operation.name).collect();
        tools.sort_unstable();
        assert_eq!(self.used, tools, "{}: every tool of its list", self.role);
        self.talk.end();
    }
}

fn id(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("no id: {value}"))
}

#[test]
fn every_tool_of_every_default_list_has_a_short_text_with_what_is_needed_next() {
    let world = World::new();
    let mut root =
        Spoken::new(world.talk(&["--role", "root"], &["--session", &world.session]), Role::Root);
    root.call("todo", &json!({ "action": "add", "items": ["Profile it"] }), &["Profile it"]);
    let titles = ["#1", "#2", "#3", "Slow build", "Flaky test", "Old docs", "[open]"];
    root.call("issue", &json!({ "action": "list" }), &titles);
    let view = json!({ "action": "view", "number": 1 });
    root.call("issue", &view, &["#1", "Slow build", "Under a minute", "Profile it", "minutes."]);
    let made = json!({ "action": "create", "title": "Another" });
    root.call("issue", &made, &["#4", "Another", "[open]"]);
    let said = json!({ "action": "comment", "number": 4, "text": "Seen twice" });
    root.call("issue", &said, &["#4", "Another"]);
    let link = json!({ "action": "link", "number": 4, "kind": "relates_to", "to": 1 });
    root.call("issue", &link, &["#4"]);
    let asked = root.call("ask", &json!({ "question": "Which port?" }), &["operator"]);
    let schema = json!({ "type": "object", "properties": { "region": { "type": "string" } } });
    root.call("form", &json!({ "title": "Deploy", "schema": schema }), &["operator"]);
    root.call("checkpoint", &json!({ "reason": "Done" }), &["operator"]);
    let work = json!({ "type": "coder", "mission": "Fix it", "async": true });
    let delegated = root.call("delegate", &work, &["queued"]);
    assert!(id(&delegated["delegationId"]).len() == 26);
    root.end();

    let mut worker = Spoken::new(
        world.talk(&["--role", "worker", "--agent", "primary.coder"], &[]),
        Role::Worker,
    );
    let file = |action: &str| json!({ "action": action, "planFile": "plan.md" });
    worker.call("plan", &file("tree"), &[&world.task, "Measure", "Fix"]);
    let current = worker.call("plan", &file("current"), &["Measure", "[pending]"]);
    worker.call("plan", &file("current"), &[id(&current["current"]["id"])]);
    worker.call("plan", &file("render"), &["Ship"]);
    let below = json!({ "action": "add", "taskId": world.task, "content": "Read the log" });
    let added = worker.call("plan", &below, &["Read the log"]);
    let below = added["tasks"][0]["children"].as_array().unwrap();
    let subtask = id(&below.iter().find(|task| task["content"] == "Read the log").unwrap()["id"]);
    let done = json!({ "action": "complete", "taskId": subtask, "outcome": "Read" });
    worker.call("plan", &done, &[subtask]);
    let claim = json!({ "todoId": world.task, "outcome": "61 s" });
    worker.call("todo_claim", &claim, &[&world.task, "Ship", "61 s"]);
    worker.end();

    let slugs = json!({ "missionSlug": "speed", "pillarSlug": "build" });
    let with = |more: Value| {
        let mut input = slugs.clone();
        input.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        input
    };
    // A lead has no session, and its questions need none.
    let mut lead = Spoken::new(world.talk(&["--role", "lead"], &[]), Role::Lead);
    let new = |title: &str| with(json!({ "title": title, "description": "Look. ".repeat(30) }));
    let first = lead.call("mission_todo_create", &new("Profile"), &["Profile", "[pending]"]);
    let first = id(&first["todo"]["id"]).to_owned();
    let second = lead.call("mission_todo_create", &new("Cache"), &["Cache"]);
    let second = id(&second["todo"]["id"]).to_owned();
    let all = json!({ "missionSlug": "speed" });
    lead.call("mission_todo_list", &all, &[&first, &second, "Profile", "Cache", "[pending]"]);
    let start =
        json!({ "missionSlug": "speed", "todoId": first, "action": "start", "reason": "Now" });
    lead.call("mission_todo_update", &start, &[&first, "[in_progress]"]);

    let owned = ["--mission", "speed", "--pillar", "build"];
    let talk = world.talk(&["--role", "owner", "--agent", "builder"], &owned);
    let mut owner = Spoken::new(talk, Role::Owner);
    owner.call("mission_status", &json!({ "mission": "speed" }), &["speed", "build"]);
    owner.call("mission_todo_list", &all, &[&first, &second]);
    owner.call("mission_todo_create", &new("Measure"), &["Measure"]);
    let start =
        json!({ "missionSlug": "speed", "todoId": second, "action": "start", "reason": "Now" });
    owner.call("mission_todo_update", &start, &[&second]);
    let claim = json!({ "todoId": first, "outcome": "Linking takes 61 %" });
    owner.call("todo_claim", &claim, &[&first, "Profile", "61 %"]);
    owner.call("delegate", &work, &["queued"]);

    let status = json!({ "mission": "speed", "open": true });
    lead.call("mission_status", &status, &["Speed", "build", &first, "Profile", "61 %"]);
    let back = json!({ "todoId": first, "feedback": "Which part?" });
    lead.call("todo_return", &back, &[&first, "Profile"]);
    let again = json!({ "todoId": first, "outcome": "The linker" });
    owner.call("todo_claim", &again, &[&first, "The linker"]);
    owner.end();
    lead.call("todo_accept", &json!({ "todoId": first }), &[&first, "[completed]"]);
    lead.call("mission_todo_update", &start, &[&second, "[in_progress]"]);
    let complete = json!({ "missionSlug": "speed", "todoId": second, "outcome": "Cached" });
    lead.call("mission_todo_complete", &complete, &[&second, "[completed]"]);
    lead.call("ask", &json!({ "question": "Go on?" }), &["operator"]);
    lead.call("delegate", &work, &["queued"]);
    lead.end();

    let talk =
        Talk::with(&world.place.punch(["mcp"]).with(&world.operator), Era::Handshake, json!({}));
    let mut operator = Spoken::new(talk, Role::Operator);
    let gate = id(&asked["gateId"]).to_owned();
    operator.call("gate_list", &json!({}), &[&gate, "Which port?", "Deploy", "[open]"]);
    let answer = json!({ "gateId": gate, "decision": "resume", "response": "8080" });
    operator.call("gate_answer", &answer, &[&gate, "8080"]);
    operator.call("issue_list", &json!({}), &titles);
    operator.call("issue_show", &json!({ "number": 1 }), &["#1", "Slow build", "Under a minute"]);
    operator.call("mission_status", &json!({ "mission": "speed" }), &["Speed", "build"]);
    let claim = json!({ "todoId": world.criterion, "outcome": "Green" });
    operate(&world.place, &world.operator, "todo_claim", &claim);
    let back = json!({ "todoId": world.criterion, "feedback": "Not on Windows" });
    operator.call("todo_return", &back, &[&world.criterion, "Under a minute"]);
    let claim = json!({ "todoId": world.criterion, "outcome": "Green everywhere" });
    operate(&world.place, &world.operator, "todo_claim", &claim);
    operator.call("todo_accept", &json!({ "todoId": world.criterion }), &[&world.criterion]);
    operator.end();
}
