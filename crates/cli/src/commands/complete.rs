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
use punchlist_core::gate::GateState;
use punchlist_core::naming::short_among;
use punchlist_core::plan::State;
use punchlist_core::session::SessionState;
use punchlist_core::text::Title;
use punchlist_ops::catalogue::Define;
use punchlist_ops::input::{Cursor, Limit, Maybe};
use punchlist_ops::operations::agent_list::{self, AgentList};
use punchlist_ops::operations::conversation_list::{self, ConversationList};
use punchlist_ops::operations::delegation_list::{self, DelegationList};
use punchlist_ops::operations::gate_list::{self, GateList};
use punchlist_ops::operations::issue_list::{self, IssueList};
use punchlist_ops::operations::issue_show::{self, IssueShow};
use punchlist_ops::operations::mission_list::{self, MissionList};
use punchlist_ops::operations::permission_list::{self, PermissionList};
use punchlist_ops::operations::plan_list::{self, PlanList, PlanRow};
use punchlist_ops::operations::plan_tree::{self, PlanTree};
use punchlist_ops::operations::run_list::{self, RunList};
use punchlist_ops::operations::session_list::{self, SessionList};
use punchlist_ops::operations::token_list::{self, TokenList};
use punchlist_ops::views::IssueView;
use punchlist_ops::views::issue::ItemStatus;
use punchlist_store::Target;

use super::operation::id;
use crate::args::{self, Globals};
use crate::{caller, output, settings};

/// The variable by which a shell asks.
pub(crate) const VARIABLE: &str = "PUNCH_COMPLETE";

/// How many candidates of a kind are offered.
const OFFERED_MAX: i64 = 200;

/// How many issues are looked into for their items.
const ISSUES_MAX: i64 = 20;

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
    let (store, limit) = (Look::new()?, Limit::default());
    Some(match kind {
        Kind::Issue => {
            let issues = store.issues(OFFERED_MAX)?.into_iter();
            issues.map(|issue| (issue.number.to_string(), issue.title)).collect()
        }
        Kind::Plan => {
            store.plans()?.into_iter().map(|plan| (plan.plan_file, plan.branch)).collect()
        }
        Kind::Mission => {
            let missions = store.read::<MissionList>(mission_list::Input::MOST)?.missions;
            missions.into_iter().map(|mission| (mission.slug, mission.name)).collect()
        }
        Kind::Session => {
            let state = Some(SessionState::Active);
            let input = session_list::Input { state, limit, cursor: Cursor::FIRST };
            let sessions = store.read::<SessionList>(input)?.sessions;
            short(sessions.into_iter().map(|session| (session.id, session.title)).collect())
        }
        Kind::Run => {
            let (state, session) = (None, Maybe(None));
            let input = run_list::Input { state, session, limit, cursor: Cursor::FIRST };
            let runs = store.read::<RunList>(input)?.runs;
            short(runs.into_iter().map(|run| (run.id.to_string(), run.agent)).collect())
        }
        Kind::Chat => {
            let (mission, pillar, session) = (Maybe(None), Maybe(None), Maybe(None));
            let (channel, cursor) = (None, Cursor::FIRST);
            let input =
                conversation_list::Input { mission, pillar, channel, session, limit, cursor };
            let chats = store.read::<ConversationList>(input)?.conversations;
            short(chats.into_iter().map(|chat| (chat.id, chat.title)).collect())
        }
        Kind::Delegation => {
            let (state, kind, todo_id) = (None, Maybe(None), Maybe(None));
            let cursor = Cursor::FIRST;
            let input = delegation_list::Input { state, kind, todo_id, limit, cursor };
            let found = store.read::<DelegationList>(input)?.delegations;
            short(found.into_iter().map(|work| (work.id.to_string(), work.mission)).collect())
        }
        Kind::Token => {
            let input = token_list::Input { limit, cursor: Cursor::FIRST };
            let tokens = store.read::<TokenList>(input)?.tokens;
            short(tokens.into_iter().map(|token| (token.id, token.role.to_string())).collect())
        }
        Kind::Permission => {
            let input = permission_list::Input { tool: Maybe(None), limit, cursor: Cursor::FIRST };
            let found = store.read::<PermissionList>(input)?.permissions;
            short(found.into_iter().map(|permission| (permission.id, permission.tool)).collect())
        }
        Kind::Question => {
            let input = gate_list::Input {
                state: Some(GateState::Open),
                kind: None,
                session: Maybe(None),
                number: None,
                limit: Limit::default(),
                cursor: Cursor::FIRST,
            };
            let gates = store.read::<GateList>(input)?.gates;
            short(gates.into_iter().map(|gate| (gate.id, gate.text)).collect())
        }
        Kind::Agent => {
            let known = store.read::<AgentList>(agent_list::Input::MOST);
            let known = known.map_or_else(Vec::new, |list| list.agents).into_iter();
            let mut agents: Vec<(String, String)> =
                known.map(|known| (known.agent, known.status.to_string())).collect();
            let configured = settings::read().map(|settings| settings.config.agents);
            for name in configured.iter().flat_map(|agents| agents.all()) {
                if agents.iter().all(|(known, _)| known != name) {
                    agents.push((name.to_owned(), "configured".to_owned()));
                }
            }
            agents
        }
        Kind::Item => store.items()?,
        Kind::Task => store.tasks()?,
    })
}

/// The ends of ids, as people type them; longer where four characters could mean another one.
fn short(values: Vec<(String, String)>) -> Vec<(String, String)> {
    let ids: Vec<String> = values.iter().map(|(id, _)| id.clone()).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    values.into_iter().map(|(id, text)| (short_among(&id, &ids).to_owned(), text)).collect()
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

    /// What an operation answers. None: it fails, and nothing is offered.
    fn read<D: Define>(&self, input: D::Input) -> Option<D::Output> {
        self.ops.run::<D>(&self.envelope, input).ok()
    }

    /// The newest open issues.
    fn issues(&self, most: i64) -> Option<Vec<IssueView>> {
        let input = issue_list::Input::open(Limit::of(most), Cursor::FIRST);
        Some(self.read::<IssueList>(input)?.issues)
    }

    fn plans(&self) -> Option<Vec<PlanRow>> {
        Some(self.read::<PlanList>(plan_list::Input::MOST)?.plans)
    }

    /// The open items of the issue that is named, else of the newest open issues.
    fn items(&self) -> Option<Vec<(String, String)>> {
        let numbers: Vec<i64> = match self.issue {
            Some(number) => vec![number],
            None => self.issues(ISSUES_MAX)?.iter().map(|issue| issue.number).collect(),
        };
        let mut items = Vec::new();
        for number in numbers {
            let Some(shown) = self.read::<IssueShow>(issue_show::Input { number }) else {
                continue;
            };
            let is_open = |status| matches!(status, ItemStatus::Pending | ItemStatus::InProgress);
            let all = shown.criteria.into_iter().chain(shown.steps);
            let open = all.filter(|item| is_open(item.status));
            items.extend(open.map(|item| (item.id, format!("#{number} {}", item.content))));
        }
        Some(short(items))
    }

    /// The open tasks of all plans, as `t12`.
    fn tasks(&self) -> Option<Vec<(String, String)>> {
        let mut tasks = Vec::new();
        for plan in self.plans()? {
            let input = plan_tree::Input {
                plan_file: Title::new(&plan.plan_file).ok()?,
                branch: Maybe(Title::new(&plan.branch).ok()),
                include_archived: None,
            };
            let Some(tree) = self.read::<PlanTree>(input) else { continue };
            let mut rest = tree.tasks;
            rest.reverse();
            while let Some(task) = rest.pop() {
                if let (Some(seq), false) =
                    (task.seq, matches!(task.state, State::Completed | State::Cancelled))
                {
                    tasks.push((format!("t{seq}"), task.content));
                }
                rest.extend(task.children.into_iter().rev());
            }
        }
        Some(tasks)
    }
}
