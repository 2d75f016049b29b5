//! `todo`: the current checklist, for the agent that owns it (K-10).
//!
//! One tool with an action. The list is that of the session's issue; the caller never names it, and
//! the answers never mention it (K-60). Every answer is the whole list.

use punchlist_core::authority::Action;
use punchlist_core::command::{
    CancelTodo, CompleteTodo, CreateTodos, HoldTodo, ListedTodo, NewTodo, NoteTodo, ReplaceTodos,
    StartTodo, UnholdTodo,
};
use punchlist_core::evidence::Evidence;
use punchlist_core::issue::address::find;
use punchlist_core::issue::checklist::{markdown, shown_status};
use punchlist_core::issue::progress;
use punchlist_core::select::{next, ordered};
use punchlist_core::text::{Body, Content, Title};
use punchlist_core::todo::HoldKind;
use punchlist_core::{Command, ListKind, Snapshot, Time, TodoKind};
use punchlist_store::rows::lists::Lock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::explain::Fault;
use crate::input::{Maybe, up_to};
use crate::views::issue::{ItemStatus, texts};
use crate::views::todo::HoldView;

/// Keep your checklist. Steps are your plan: one is in progress, the next is promoted when it is
/// done. A criterion is the operator's definition of done: `done` on it is a claim. Address tasks
/// by their exact text. Every action returns the whole list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// set replaces the steps, add appends; start, done, drop, note, block, unblock name one task.
    #[serde(default)]
    pub action: Option<TodoAction>,
    /// The exact text of the task.
    #[serde(default)]
    pub content: Maybe<Content>,
    /// set, add: task texts; "# Name" opens a phase.
    #[serde(default, deserialize_with = "up_to::<10_000, _, _>")]
    #[schemars(length(max = 10_000))]
    pub items: Option<Vec<Content>>,
    /// set, add: the first phase.
    #[serde(default)]
    pub phase: Maybe<Title>,
    /// add: default step.
    #[serde(default)]
    pub kind: Option<TodoKind>,
    /// note: what to write; block: why.
    #[serde(default)]
    pub text: Maybe<Body>,
    /// done: commit:, test:, pr:, file:, url: or note: and a value.
    #[serde(default, deserialize_with = "up_to::<50, _, _>")]
    #[schemars(length(max = 50))]
    pub evidence: Option<Vec<Evidence>>,
}

/// What to do to the checklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TodoAction {
    View,
    Set,
    Add,
    Start,
    Done,
    Drop,
    Note,
    Block,
    Unblock,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub items: Vec<Item>,
    /// The list as a checklist.
    pub markdown: String,
    pub summary: Summary,
    /// A hint for the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// One task.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Item {
    pub content: String,
    pub status: ItemStatus,
    pub kind: TodoKind,
    pub phase: Option<String>,
    pub notes: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<HoldView>,
    /// The agent that added it.
    pub origin_agent: String,
}

/// The progress of the list.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Summary {
    pub total: usize,
    pub open: usize,
    pub closed: usize,
    pub held: usize,
}

#[derive(Debug)]
pub struct TodoTool;

impl Define for TodoTool {
    const NAME: &'static str = "todo";
    const ACCESS: Access = Access::List(ListKind::Issue, &[Action::Replace]);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Issue], ..Surfaces::CALL };
    const EXAMPLE: &'static str =
        r#"{"action":"set","items":["Read the code","Fix it","Test it"]}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        let action = action(input)?;
        let lock = if action == TodoAction::View { Lock::No } else { Lock::Row };
        let issue = call.target_issue(lock)?;
        let snapshot = if action == TodoAction::View {
            call.checklist(&issue)?
        } else {
            let mut snapshot = call.open_checklist(&issue)?;
            let before = next(&snapshot, call.envelope().now).map(|todo| todo.id);
            let command = command(call, &snapshot, action, input)?;
            call.decide(&mut snapshot, command).map_err(in_its_words)?;
            let moved = next(&snapshot, call.envelope().now).map(|todo| todo.id) != before;
            let mut said = message(&snapshot, call.envelope().now, moved);
            if matches!(action, TodoAction::Set | TodoAction::Add)
                && let Some(notice) = progress::removed_notice(&snapshot)
            {
                said = Some(joined(said, notice));
            }
            return answer(call, Some(&snapshot), said);
        };
        let notice = snapshot.as_ref().and_then(progress::removed_notice);
        answer(call, snapshot.as_ref(), notice)
    }
}

/// An error without ids, and with the statuses of a checklist (K-19, X-1).
fn in_its_words(error: Error) -> Error {
    match error {
        Error::Refused(refusal) => Error::Refused(Box::new(refusal.on_checklist())),
        other => other,
    }
}

/// The action: the named one, otherwise the only one that the fields allow.
fn action(input: &Input) -> Result<TodoAction, Error> {
    match (input.action, &input.items) {
        (Some(action), _) => Ok(action),
        (None, Some(items)) if !items.is_empty() => Ok(TodoAction::Add),
        (None, _) => Err(Fault::MissingField { path: "action".to_owned() }.into()),
    }
}

/// The command for an action on this list.
fn command(
    call: &Call<'_, '_>,
    snapshot: &Snapshot,
    action: TodoAction,
    input: &Input,
) -> Result<Command, Error> {
    let missing = |path: &str| Error::from(Fault::MissingField { path: path.to_owned() });
    let precision = call.precision();
    let target = || {
        let content = input.content.0.as_ref().ok_or_else(|| missing("content"))?;
        find(snapshot, content.as_str(), precision).map_err(Error::from)
    };
    let text = || input.text.0.clone().ok_or_else(|| missing("text"));
    let items = || match &input.items {
        Some(items) if !items.is_empty() => phased(items, input.phase.0.as_ref()),
        _ => Err(missing("items")),
    };
    Ok(match action {
        TodoAction::View => return Err(missing("action")),
        // `set` replaces steps and never touches criteria (K-33); an agent proposes one with `add`
        // (Q-K2).
        TodoAction::Set if input.kind == Some(TodoKind::Criterion) => {
            let (path, found) = ("kind".to_owned(), "criterion".to_owned());
            let expected = "step with set; propose criteria with add".to_owned();
            return Err(Fault::BadValue { path, found, expected }.into());
        }
        TodoAction::Set => {
            let listed = |(phase, title): (Option<Title>, Content)| ListedTodo {
                phase,
                ..ListedTodo::titled(title)
            };
            ReplaceTodos { items: items()?.into_iter().map(listed).collect() }.into()
        }
        TodoAction::Add => {
            let kind = input.kind.unwrap_or_default();
            let new = |(phase, title): (Option<Title>, Content)| NewTodo {
                kind,
                phase,
                ..NewTodo::titled(title)
            };
            CreateTodos { items: items()?.into_iter().map(new).collect() }.into()
        }
        TodoAction::Start => StartTodo { todo_id: target()?, reason: None }.into(),
        TodoAction::Done => CompleteTodo {
            todo_id: target()?,
            outcome: None,
            evidence: input.evidence.clone().unwrap_or_default(),
            metrics_impacted: Vec::new(),
        }
        .into(),
        TodoAction::Drop => {
            let outcome = input.text.0.clone().map(Body::into_string);
            CancelTodo { todo_id: target()?, outcome }.into()
        }
        TodoAction::Note => NoteTodo { todo_id: target()?, text: text()? }.into(),
        TodoAction::Block => {
            let (todo_id, kind) = (target()?, HoldKind::Blocked);
            HoldTodo { todo_id, kind, reason: text()?, until: None }.into()
        }
        TodoAction::Unblock => UnholdTodo { todo_id: target()? }.into(),
    })
}

/// Items with the phases that their headings open (D-21).
fn phased(
    items: &[Content],
    first: Option<&Title>,
) -> Result<Vec<(Option<Title>, Content)>, Error> {
    let mut phase = first.cloned();
    let mut found = Vec::new();
    for (n, item) in items.iter().enumerate() {
        match item.as_str().strip_prefix("# ") {
            None => found.push((phase.clone(), item.clone())),
            Some(name) => {
                let title = Title::new(name).map_err(|fault| {
                    let (path, found) = (format!("items[{n}]"), format!("a heading that {fault}"));
                    let expected = "\"# Name\" of at most 500 characters".to_owned();
                    Error::from(Fault::BadValue { path, found, expected })
                })?;
                phase = Some(title);
            }
        }
    }
    if found.is_empty() {
        return Err(Fault::MissingField { path: "items".to_owned() }.into());
    }
    Ok(found)
}

fn answer(
    call: &mut Call<'_, '_>,
    snapshot: Option<&Snapshot>,
    message: Option<String>,
) -> Result<Output, Error> {
    let Some(snapshot) = snapshot else {
        let summary = Summary { total: 0, open: 0, closed: 0, held: 0 };
        let message = Some("The list is empty.".to_owned());
        return Ok(Output { items: Vec::new(), markdown: String::new(), summary, message });
    };
    let notes = call.notes(snapshot)?;
    let items: Vec<Item> = ordered(snapshot)
        .into_iter()
        .map(|todo| Item {
            content: todo.title.clone(),
            status: shown_status(todo).into(),
            kind: todo.kind,
            phase: todo.phase.clone(),
            notes: texts(&notes, todo),
            hold: todo.hold.as_deref().filter(|_| !todo.status.is_settled()).map(HoldView::from),
            origin_agent: todo.origin_agent.to_string(),
        })
        .collect();
    // As the items say it: a claimed step is shown as open, a claimed criterion as completed.
    let is_closed =
        |item: &&Item| matches!(item.status, ItemStatus::Completed | ItemStatus::Abandoned);
    let (total, closed) = (items.len(), items.iter().filter(is_closed).count());
    let held = progress::of(snapshot).held;
    let summary = Summary { total, open: total - closed, closed, held };
    Ok(Output { items, markdown: markdown(snapshot, &notes), summary, message })
}

/// Two sentences. The first may end with the words of an item.
fn joined(said: Option<String>, notice: String) -> String {
    match said {
        Some(said) if said.ends_with('.') => format!("{said} {notice}"),
        Some(said) => format!("{said}. {notice}"),
        None => notice,
    }
}

/// A message on the state of the list after a change.
fn message(snapshot: &Snapshot, now: Time, moved: bool) -> Option<String> {
    let progress = progress::of(snapshot);
    if let Some(todo) = next(snapshot, now) {
        return moved.then(|| format!("In progress: {}", todo.title));
    }
    let met = progress.criteria_met + progress.criteria_claimed;
    let waiting = progress.criteria - met;
    Some(match (progress.open, progress.held) {
        (0, _) if progress.criteria > 0 => {
            "Everything is closed or claimed. Ask for sign-off with checkpoint.".to_owned()
        }
        (0, _) => "Everything is closed.".to_owned(),
        (_, held) if held > 0 => format!("No step is ready: {held} held."),
        _ if waiting == 1 => "All steps are closed; 1 criterion is open.".to_owned(),
        _ => format!("All steps are closed; {waiting} criteria are open."),
    })
}
