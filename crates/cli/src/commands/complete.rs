//! What a shell asks while somebody types: the words of the command tree, and what is in the store.
//!
//! The shell calls `punch` with the words so far; clap's own engine finds the argument. Whatever goes
//! wrong, nothing is said: a completion that fails must not disturb the line that is being typed.

use std::ffi::OsStr;

use clap::Command;
use clap_complete::CompleteEnv;
use clap_complete::engine::{
    ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use punchlist_core::naming::short_among;
use punchlist_ops::catalogue::find;
use punchlist_store::Target;
use serde_json::{Value, json};

use super::operation::id;
use crate::args::{self, Globals};
use crate::{caller, output, settings};

/// The variable by which a shell asks.
pub(crate) const VARIABLE: &str = "PUNCH_COMPLETE";

/// How many candidates of a kind are offered.
const OFFERED_MAX: i64 = 200;

/// How many issues are looked into for their items.
const ISSUES_MAX: usize = 20;

/// What an argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Issue,
    Item,
    Task,
    Plan,
    Mission,
    Agent,
    Session,
    Question,
    Run,
    Chat,
    Delegation,
    Token,
    Permission,
}

/// Answers a shell, if one asks.
pub(crate) fn answered() -> bool {
    if std::env::var_os(VARIABLE).is_none() {
        return false;
    }
    output::be_silent();
    std::panic::set_hook(Box::new(|_| {}));
    // Not even a fault of ours may disturb the line.
    std::panic::catch_unwind(answer).unwrap_or(true)
}

fn answer() -> bool {
    let here = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(|| with_values("", args::tree(None, None)))
        .var(VARIABLE)
        .bin("punch")
        .completer("punch")
        .try_complete(std::env::args_os(), here.as_deref());
    // An unknown shell is no reason to run what is being typed.
    asked.unwrap_or(true)
}

/// The tree, in which arguments know what is in the store. The order of arguments and commands stays.
fn with_values(group: &str, command: Command) -> Command {
    let name = command.get_name().to_owned();
    let known = command.mut_args(|arg| match kind_of(group, &name, arg.get_id().as_str()) {
        Some(kind) => arg.add(completer(kind)),
        None => arg,
    });
    known.mut_subcommands(|below| with_values(&name, below))
}

/// What an argument names, by its id.
fn kind_of(group: &str, command: &str, arg: &str) -> Option<Kind> {
    let is = |field: &str| arg == field || arg == id(field);
    Some(match command {
        "link" | "unlink" if is("to") => Kind::Issue,
        "dup" if is("of") => Kind::Issue,
        "after" if is("after") => Kind::Task,
        "answer" if is("gate") => Kind::Question,
        "revoke" if is("id") && group == "token" => Kind::Token,
        "revoke" if is("id") && group == "permission" => Kind::Permission,
        "run" if arg == "resume" => Kind::Run,
        _ if is("run") => Kind::Run,
        _ if is("conversationId") => Kind::Chat,
        _ if is("delegationId") => Kind::Delegation,
        _ if is("issue") || is("number") => Kind::Issue,
        _ if is("todoId") || is("before") || is("content") => Kind::Item,
        _ if is("taskId") || is("parentId") => Kind::Task,
        _ if is("planFile") || is("plan") => Kind::Plan,
        _ if is("mission") || is("missionSlug") => Kind::Mission,
        _ if is("agent") || is("with") => Kind::Agent,
        _ if is("session") => Kind::Session,
        _ => return None,
    })
}

fn completer(kind: Kind) -> ArgValueCompleter {
    ArgValueCompleter::new(move |typed: &OsStr| {
        let begun = typed.to_string_lossy().to_lowercase();
        let fits = |value: &str| value.to_lowercase().starts_with(begun.trim_start_matches('#'));
        let mut offered: Vec<CompletionCandidate> = values(kind)
            .unwrap_or_default()
            .into_iter()
            .filter(|(value, _)| fits(value))
            .map(|(value, help)| CompletionCandidate::new(value).help(Some(help.into())))
            .collect();
        if kind == Kind::Plan {
            offered.extend(PathCompleter::file().complete(typed));
        }
        offered
    })
}

/// What there is of a kind: how it is typed, and what it is. None: nothing can be said.
fn values(kind: Kind) -> Option<Vec<(String, String)>> {
    let store = Look::new()?;
    Some(match kind {
        Kind::Issue => store.listed(
            "issue_list",
            json!({ "open": true, "limit": OFFERED_MAX }),
            "issues",
            "number",
            "title",
        ),
        Kind::Plan => store.listed("plan_list", json!({}), "plans", "planFile", "branch"),
        Kind::Mission => store.listed("mission_list", json!({}), "missions", "slug", "name"),
        Kind::Session => short(store.listed(
            "session_list",
            json!({ "state": "active" }),
            "sessions",
            "id",
            "title",
        )),
        Kind::Run => short(store.listed("run_list", json!({}), "runs", "id", "agent")),
        Kind::Chat => {
            short(store.listed("conversation_list", json!({}), "conversations", "id", "title"))
        }
        Kind::Delegation => {
            short(store.listed("delegation_list", json!({}), "delegations", "id", "mission"))
        }
        Kind::Token => short(store.listed("token_list", json!({}), "tokens", "id", "role")),
        Kind::Permission => {
            short(store.listed("permission_list", json!({}), "permissions", "id", "tool"))
        }
        Kind::Question => {
            short(store.listed("gate_list", json!({ "state": "open" }), "gates", "id", "text"))
        }
        Kind::Agent => {
            let mut agents = store.listed("agent_list", json!({}), "agents", "agent", "status");
            let configured = settings::read().map(|settings| settings.config.agents);
            for name in configured.iter().flat_map(|agents| agents.all()) {
                if agents.iter().all(|(known, _)| known != name) {
                    agents.push((name.to_owned(), "configured".to_owned()));
                }
            }
            agents
        }
        Kind::Item => store.items(),
        Kind::Task => store.tasks(),
    })
}

/// The ends of ids, as people type them; longer where four characters could mean another one.
fn short(values: Vec<(String, String)>) -> Vec<(String, String)> {
    let ids: Vec<&str> = values.iter().map(|(id, _)| id.as_str()).collect();
    let end = |(id, text): &(String, String)| (short_among(id, &ids).to_owned(), text.clone());
    values.iter().map(end).collect()
}

/// Reads of the store, with the rights of the person who types.
struct Look {
    ops: punchlist_ops::Ops,
    envelope: punchlist_ops::Envelope,
    issue: Option<i64>,
}

impl Look {
    /// None: there is no store, and looking must not make one.
    fn new() -> Option<Self> {
        let typed: Vec<String> = std::env::args().skip_while(|word| word != "--").skip(1).collect();
        let flag = |name: &str| {
            let joined = format!("{name}=");
            let behind =
                typed.iter().position(|word| word == name).and_then(|at| typed.get(at + 1));
            behind
                .map(String::as_str)
                .or_else(|| typed.iter().find_map(|word| word.strip_prefix(&joined)))
        };
        let env = |name: &str| std::env::var(name).ok();
        let globals = Globals {
            db: flag("--db").map(str::to_owned).or_else(|| env("PUNCHLIST_DB")),
            project: flag("--project").map(str::to_owned).or_else(|| env("PUNCHLIST_PROJECT")),
            ..Globals::default()
        };
        let file = match globals.db.as_deref().map(Target::parse) {
            Some(Target::File(file)) => Some(file),
            Some(_) => None,
            None => Some(caller::default_store().ok()?),
        };
        if file.is_some_and(|file| !file.exists()) {
            return None;
        }
        let ops = caller::ops(&globals).ok()?;
        let envelope = caller::envelope(&ops, &globals, false).ok()?;
        let issue = flag("--issue").and_then(|number| args::issue(number).ok());
        Some(Self { ops, envelope, issue })
    }

    fn read(&self, operation: &str, input: Value) -> Option<Value> {
        self.ops.call(find(operation).ok()?, &self.envelope, input).ok()
    }

    /// The objects of a list, each by a field and another that says what it is.
    fn listed(
        &self,
        operation: &str,
        input: Value,
        list: &str,
        field: &str,
        about: &str,
    ) -> Vec<(String, String)> {
        let answer = self.read(operation, input).unwrap_or_default();
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let rows = answer[list].as_array().cloned().unwrap_or_default();
        rows.iter().map(|row| (text(&row[field]), text(&row[about]))).collect()
    }

    /// The open items of the issue that is named, else of the newest open issues.
    fn items(&self) -> Vec<(String, String)> {
        let open = json!({ "open": true, "limit": ISSUES_MAX });
        let numbers: Vec<i64> = match self.issue {
            Some(number) => vec![number],
            None => {
                let listed = self.listed("issue_list", open, "issues", "number", "title");
                listed.iter().filter_map(|(number, _)| number.parse().ok()).collect()
            }
        };
        let mut items = Vec::new();
        for number in numbers.into_iter().take(ISSUES_MAX) {
            let shown = self.read("issue_show", json!({ "number": number })).unwrap_or_default();
            for list in ["criteria", "steps"] {
                for item in shown[list].as_array().into_iter().flatten() {
                    let is_settled =
                        matches!(item["status"].as_str(), Some("completed" | "cancelled"));
                    if let (false, Some(id), Some(text)) =
                        (is_settled, item["id"].as_str(), item["content"].as_str())
                    {
                        items.push((id.to_owned(), format!("#{number} {text}")));
                    }
                }
            }
        }
        short(items)
    }

    /// The open tasks of all plans, as `t12`.
    fn tasks(&self) -> Vec<(String, String)> {
        let mut tasks = Vec::new();
        for (plan_file, branch) in
            self.listed("plan_list", json!({}), "plans", "planFile", "branch")
        {
            let tree = json!({ "planFile": plan_file, "branch": branch });
            let mut open = self.read("plan_tree", tree).unwrap_or_default()["tasks"].take();
            let mut rest: Vec<Value> = open.as_array_mut().map(std::mem::take).unwrap_or_default();
            rest.reverse();
            while let Some(mut task) = rest.pop() {
                if !matches!(task["state"].as_str(), Some("completed" | "cancelled")) {
                    let text = task["content"].as_str().unwrap_or_default().to_owned();
                    tasks.push((format!("t{}", task["seq"]), text));
                }
                let mut below =
                    task["children"].as_array_mut().map(std::mem::take).unwrap_or_default();
                below.reverse();
                rest.append(&mut below);
            }
        }
        tasks
    }
}
