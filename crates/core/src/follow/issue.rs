//! Consequences of a change to an issue.

use super::Then;
use crate::{Actor, Issue};

/// Closing an issue leaves nothing to sign off, so its open sign-offs are closed and their sessions
/// go on. `issue`: after the move.
#[must_use]
pub fn moved(issue: &Issue, actor: &Actor) -> Option<Then> {
    let actor = || Box::new(actor.clone());
    let issue_id = issue.id;
    issue.status.is_closed().then(|| Then::CloseSignOffs { actor: actor(), issue_id })
}
