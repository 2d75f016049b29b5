//! `todo_read`: the current list of a session.

use punchlist_core::ListKind;
use punchlist_core::authority::Action;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::views::SessionListView;

/// Read the todo list of this session.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

#[derive(Debug)]
pub struct TodoRead;

impl Define for TodoRead {
    const NAME: &'static str = "todo_read";
    const ACCESS: Access = Access::List(ListKind::Session, &[Action::View]);
    const EFFECT: Effect = Effect::Read;
    const SURFACES: Surfaces = Surfaces {
        profiles: &[Profile::Session],
        command: &["session", "todos"],
        ..Surfaces::CALL
    };
    const EXAMPLE: &'static str = "{}";

    type Input = Input;
    type Output = SessionListView;

    fn run(call: &mut Call<'_, '_>, _: &Input) -> Result<SessionListView, Error> {
        let Some(session) = call.session_to_read()? else { return Ok(SessionListView::default()) };
        let snapshot = call.session_list(&session)?;
        Ok(snapshot.map_or_else(SessionListView::default, |list| SessionListView::of(&list, &[])))
    }
}
