//! The longest possible calls: lists at their limit, on a file. Nobody else can write during such a
//! call.

use std::time::Instant;

use anyhow::{Result, ensure};
use punchlist_core::policy::OPEN_MAX;
use punchlist_core::{Actor, AgentPath, Role};
use punchlist_ops::catalogue::find;
use punchlist_ops::{Envelope, Ops};
use punchlist_store::{Options, Target};
use serde_json::{Value, json};

use crate::table::{Line, Target as Goal, shown};
use crate::writers::envelope;

/// The longest plan that must be handled within a second.
const TASKS: usize = 10_000;

/// The highest number of items that one call of `todo` or `todo_write` accepts.
const ITEMS: usize = 1_000;

/// The number of lines that fit into the longest accepted checklist.
const LINES: usize = 30_000;

struct Bench {
    ops: Ops,
    session: Option<String>,
    longest: (f64, String),
}

impl Bench {
    /// Makes a call that must succeed or find the list full, and records the longest time.
    fn call(&mut self, role: Role, what: &str, name: &str, input: Value) -> Result<Value> {
        let mut envelope =
            Envelope { actor: Actor::new(role, AgentPath::primary()), ..envelope("t1") };
        envelope.context.session.clone_from(&self.session);
        let start = Instant::now();
        let answer = self.ops.call(find(name)?, &envelope, input);
        let micros = start.elapsed().as_secs_f64() * 1e6;
        if micros > self.longest.0 {
            self.longest = (micros, what.to_owned());
        }
        match answer {
            Err(error) if error.code() == "list_full" => Ok(json!("list_full")),
            answer => Ok(answer?),
        }
    }
}

/// Makes every call at its limit. The longest must release the writer within a second; the writer
/// is held for less time than the call takes.
pub(crate) fn longest_call() -> Result<Line> {
    let folder = tempfile::tempdir()?;
    let ops = Ops::new(Target::File(folder.path().join("punch.db")), Options::default());
    let mut bench = Bench { ops, session: None, longest: (0.0, String::new()) };
    let limit = usize::try_from(OPEN_MAX)?;
    let list = |mark: &str, count: usize, rising: bool| -> String {
        let line = |n: usize| format!("- [{mark}] Item {n} of a long list\n");
        if rising { (0..count).map(line).collect() } else { (0..count).rev().map(line).collect() }
    };
    let (operator, root) = (Role::Operator, Role::Root);
    bench.call(operator, "", "issue_create", json!({ "title": "Long" }))?;
    let import = |text: String| json!({ "number": 1, "markdown": text });
    let refused = bench.call(
        operator,
        "a checklist import that is refused",
        "issue_checklist_import",
        import(list(" ", LINES, true)),
    )?;
    ensure!(refused == "list_full", "30,000 lines are too many: {refused}");
    for (what, name, text) in [
        ("a checklist import", "issue_checklist_import", list("x", limit, true)),
        ("the same import again", "issue_checklist_import", list("x", limit, true)),
        ("a checklist edit that turns it round", "issue_checklist_edit", list(" ", limit, false)),
        ("a checklist edit that settles it", "issue_checklist_edit", list("-", limit, true)),
        ("a checklist edit that opens it again", "issue_checklist_edit", list(" ", limit, true)),
    ] {
        bench.call(operator, what, name, import(text))?;
    }
    bench.call(root, "", "session_start", json!({ "externalId": "limits" }))?;
    bench.session = Some("limits".to_owned());
    bench.call(root, "", "session_bind", json!({ "session": "limits", "number": 1 }))?;
    let texts: Vec<String> = (0..ITEMS).map(|n| format!("Another item {n}")).collect();
    let set = json!({ "action": "set", "items": texts });
    bench.call(root, "a list set anew", "todo", set)?;
    bench.session = None;
    bench.call(root, "", "session_start", json!({ "externalId": "bare" }))?;
    bench.session = Some("bare".to_owned());
    for status in ["pending", "completed"] {
        let item = |n: usize| {
            json!({ "id": n.to_string(), "content": format!("Item {n}"), "status": status,
                    "priority": "medium" })
        };
        let todos: Vec<Value> = (0..ITEMS).map(item).collect();
        let what = format!("a session's list written as {status}");
        bench.call(root, &what, "todo_write", json!({ "todos": todos }))?;
    }
    let tasks: String = (0..TASKS).map(|n| format!("- [ ] Task {n}\n")).collect();
    let plan = json!({ "planFile": "plan.md", "markdown": format!("# A plan\n\n{tasks}") });
    bench.call(root, "a plan import of 10,000 tasks", "plan_import", plan)?;
    let (longest, what) = bench.longest;
    Ok(Line {
        what: format!("the longest call at the limits: {what}"),
        ours: shown(longest),
        reference: "1 s".into(),
        value: longest / 1e6,
        target: Goal::AtMost(1.0),
    })
}
