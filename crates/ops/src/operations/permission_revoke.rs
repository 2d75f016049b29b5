//! `permission_revoke`: revoke a permanent permission, so that the operator is asked again.

use punchlist_core::authority::{Action, Subject};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::permission_list::PermissionView;
use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Surfaces};
use crate::input::Name;

/// Revoke a permission given always: from now on you are asked again.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Its id, as the list of permissions shows it.
    pub id: Name,
}

#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct Output {
    pub permission: PermissionView,
}

#[derive(Debug)]
pub struct PermissionRevoke;

impl Define for PermissionRevoke {
    const NAME: &'static str = "permission_revoke";
    const ACCESS: Access = Access::On(Subject::Permission, Action::Revoke);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { command: &["permission", "revoke"], positional: &["id"], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"id":"01JCQ0000000000000000000AB"}"#;

    type Input = Input;
    type Output = Output;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<Output, Error> {
        Ok(Output { permission: call.revoke_permission(&input.id)?.into() })
    }
}
