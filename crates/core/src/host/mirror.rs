//! The host's own list, copied into the session's list. Items that the host marks as done become
//! claims (P-22).

use crate::command::{ClaimTodo, ListedTodo};
use crate::text::{Content, Title};
use crate::todo::Priority;
use crate::{Session, Snapshot, Status, TodoId};

/// The length limit of an item's name, in characters.
const NAME_MAX: usize = 200;

/// An item of the host's list.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NativeItem {
    /// The host's id; without one, the text names the item.
    pub id: Option<Title>,
    pub content: Option<Content>,
    pub status: Option<Status>,
    pub priority: Option<Priority>,
}

impl NativeItem {
    fn name(&self) -> Option<String> {
        let named = self.id.as_ref().map(Title::as_str);
        let named = named.or_else(|| self.content.as_ref().map(Content::as_str))?;
        Some(named.chars().take(NAME_MAX).collect())
    }

    fn listed(&self) -> ListedTodo {
        ListedTodo {
            external_id: self.name(),
            title: self.content.clone(),
            // A completed item is claimed afterwards.
            status: self.status.filter(|status| *status != Status::Completed),
            priority: self.priority,
            ..ListedTodo::default()
        }
    }
}

/// Is the host's list copied? A session that works on an issue uses the issue's checklist.
#[must_use]
pub const fn is_copied(keeps_session_lists: bool, session: &Session) -> bool {
    keeps_session_lists && session.bound_issue.is_none()
}

/// The session's list after the host's. A host forgets what is done, so claims stay. It may work on
/// several items at once; of those the first is in progress here.
#[must_use]
pub fn mirrored(host: &[NativeItem], list: &Snapshot) -> Vec<ListedTodo> {
    let mut items: Vec<ListedTodo> = host.iter().map(NativeItem::listed).collect();
    let begun = items.iter_mut().filter(|item| item.status == Some(Status::InProgress));
    for other in begun.skip(1) {
        other.status = Some(Status::Pending);
    }
    let is_named = |name: &str| items.iter().any(|item| item.external_id.as_deref() == Some(name));
    let claims =
        list.todos.values().filter(|todo| todo.claim.is_some() && !todo.status.is_settled());
    let names = claims.filter_map(|todo| todo.external_id.clone());
    let forgotten: Vec<String> = names.filter(|name| !is_named(name)).collect();
    let kept = |name| ListedTodo { external_id: Some(name), ..ListedTodo::default() };
    items.extend(forgotten.into_iter().map(kept));
    items
}

/// The claims for what the host says is done. `list`: the session's list after the copy.
#[must_use]
pub fn claims(host: &[NativeItem], list: &Snapshot) -> Vec<ClaimTodo> {
    let mut claimed: Vec<TodoId> = Vec::new();
    let done = host.iter().filter(|item| item.status == Some(Status::Completed));
    for name in done.filter_map(NativeItem::name) {
        let todo = list.todos.values().find(|todo| {
            todo.external_id.as_deref() == Some(name.as_str())
                && !todo.status.is_settled()
                && todo.claim.is_none()
                && !claimed.contains(&todo.id)
        });
        claimed.extend(todo.map(|todo| todo.id));
    }
    let claim = |todo_id| ClaimTodo { todo_id, outcome: None, evidence: Vec::new(), clock: None };
    claimed.into_iter().map(claim).collect()
}
