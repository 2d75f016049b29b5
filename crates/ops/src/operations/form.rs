//! `form`: ask a person to fill in a form.

use punchlist_core::IssueStatus;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::gate::{Details, OpenGate, form};
use punchlist_core::text::Body;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::views::AskedView;

/// Ask the operator to fill in a form. Call it again in the same words for the answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// What it is about.
    pub title: Body,
    /// A flat JSON Schema: an object of string, number, integer and boolean fields.
    #[schemars(schema_with = "flat_form")]
    pub schema: form::Form,
}

/// The schema of a form: an object, and what a flat form may be.
fn flat_form(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object", "additionalProperties": true, "allOf": [form::meta_schema()],
    })
}

#[derive(Debug)]
pub struct Form;

impl Define for Form {
    const NAME: &'static str = "form";
    const ACCESS: Access = Access::On(Subject::Gate, Action::Ask);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces = Surfaces { profiles: &[Profile::Issue], ..Surfaces::CALL };
    const EXAMPLE: &'static str = concat!(
        r#"{"title":"Deploy","schema":{"type":"object","required":["region"],"properties":"#,
        r#"{"region":{"type":"string","enum":["eu","us"]},"canary":{"type":"boolean"}}}}"#
    );

    type Input = Input;
    type Output = AskedView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<AskedView, Error> {
        let details = Details::Form(input.schema.clone());
        let asked = call.ask_through_client(&OpenGate {
            details,
            purpose: None,
            text: input.title.clone(),
            end: IssueStatus::Resolved,
        })?;
        Ok(asked.into())
    }
}
