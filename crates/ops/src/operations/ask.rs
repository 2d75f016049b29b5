//! `ask`: ask a person a question.

use punchlist_core::IssueStatus;
use punchlist_core::authority::{Action, Subject};
use punchlist_core::gate::details::Question;
use punchlist_core::gate::{Details, OpenGate};
use punchlist_core::text::{Body, Title};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::access::Access;
use crate::call::Call;
use crate::catalogue::{Define, Effect, Profile, Surfaces};
use crate::input::up_to;
use crate::views::AskedView;

/// Ask the operator a question. Call it again in the same words for the answer.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The question.
    pub question: Body,
    /// Answers to choose from.
    #[serde(default, deserialize_with = "up_to::<20, _, _>")]
    #[schemars(length(max = 20))]
    pub options: Option<Vec<Title>>,
}

#[derive(Debug)]
pub struct Ask;

impl Define for Ask {
    const NAME: &'static str = "ask";
    const ACCESS: Access = Access::On(Subject::Gate, Action::Ask);
    const EFFECT: Effect = Effect::Write;
    const SURFACES: Surfaces =
        Surfaces { profiles: &[Profile::Issue, Profile::Mission], ..Surfaces::CALL };
    const EXAMPLE: &'static str = r#"{"question":"Which port?","options":["8080","8443"]}"#;

    type Input = Input;
    type Output = AskedView;

    fn run(call: &mut Call<'_, '_>, input: &Input) -> Result<AskedView, Error> {
        let options = input.options.iter().flatten().map(|option| option.as_str().to_owned());
        let asked = call.ask_through_client(&OpenGate {
            details: Details::Ask(Question { options: options.collect() }),
            purpose: None,
            text: input.question.clone(),
            end: IssueStatus::Resolved,
        })?;
        Ok(asked.into())
    }
}
