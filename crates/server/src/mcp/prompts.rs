//! Prompts: texts of the core, filled with data that the caller may read.

use punchlist_core::briefing::{ALL, Briefing};
use punchlist_ops::catalogue::Define;
use punchlist_ops::input::Maybe;
use punchlist_ops::operations::session_context::{self, SessionContext};
use punchlist_ops::{Ancestors, Envelope, Error, Ops};
use rmcp::ErrorData;
use rmcp::model::{
    CacheScope, GetPromptResult, JsonObject, ListPromptsResult, Prompt, PromptArgument,
    PromptMessage, Role,
};
use serde_json::{Value, json};

use super::asker::Asker;
use super::resources::{self, failed, is_absent};

const FIXED_MS: u64 = 3_600_000;
/// The longest goal, in characters: as long as a title.
const GOAL_MAX: usize = 2_000;

pub(crate) fn listed(role: punchlist_core::Role) -> ListPromptsResult {
    // A prompt about an issue reads it, which not every role may.
    let may_read = SessionContext::ACCESS.allows(role);
    let needs_issue = |briefing: &Briefing| {
        briefing.arguments.iter().any(|argument| argument.name == "issue" && argument.is_required)
    };
    let offered = ALL.into_iter().filter(|briefing| may_read || !needs_issue(briefing));
    let prompts = offered.map(|briefing| {
        let arguments = briefing.arguments.iter().map(|argument| {
            PromptArgument::new(argument.name)
                .with_description(argument.about)
                .with_required(argument.is_required)
        });
        Prompt::new(briefing.name, Some(briefing.about), Some(arguments.collect()))
    });
    ListPromptsResult::with_all_items(prompts.collect())
        .with_ttl_ms(FIXED_MS)
        .with_cache_scope(CacheScope::Private)
}

/// The answer to `prompts/get`.
pub(crate) async fn prompt(
    asker: &Asker,
    name: &str,
    arguments: Option<JsonObject>,
    meta: &JsonObject,
) -> Result<GetPromptResult, ErrorData> {
    let Some(briefing) = Briefing::parse(name) else {
        let names = ALL.map(|briefing| briefing.name);
        let message = format!("there is no prompt `{}`", name.chars().take(60).collect::<String>());
        return Err(ErrorData::invalid_params(message, Some(json!({ "prompts": names }))));
    };
    let Filled { goal, issue } = Filled::read(briefing, &arguments.unwrap_or_default())?;
    let refused =
        |error: &Error| ErrorData::invalid_params(error.to_string(), Some(error.to_json()));
    let mut envelope = asker.envelope(meta).map_err(|error| refused(&error))?;
    envelope.idempotency_key = None;
    let is_named = issue.is_some();
    if issue.is_some() {
        envelope.context.issue = issue;
        // The named issue is only read, so it need not be the one that the session is bound to.
        let context = &mut envelope.context;
        (context.session, context.own_session, context.host_session) = (None, None, None);
        context.processes = Ancestors::default();
    }
    let state = asker.run(envelope, state).await;
    let state = match state {
        Ok(state) => state,
        // Without a session the prompt has no state. But a named issue must exist.
        Err(error) if is_absent(&error) && !is_named => String::new(),
        Err(error) if error.meaning().http == 401 => return Err(resources::refused(&error)),
        Err(error) if error.meaning().http < 500 => return Err(refused(&error)),
        Err(error) => return Err(failed(&error)),
    };
    let text = briefing.text(&goal, &state);
    let message = PromptMessage::new_text(Role::User, text);
    Ok(GetPromptResult::new(vec![message]).with_description(briefing.about))
}

/// The state of the work of the caller's session, or of the issue it names.
fn state(ops: &Ops, envelope: &Envelope) -> Result<String, Error> {
    let input = session_context::Input { session: Maybe(None), budget: Some(4_000) };
    Ok(ops.run::<SessionContext>(envelope, input)?.text)
}

/// The arguments of a prompt.
struct Filled {
    goal: String,
    issue: Option<i64>,
}

impl Filled {
    fn read(briefing: Briefing, given: &JsonObject) -> Result<Self, ErrorData> {
        let wrong = |message: String| {
            let names: Vec<_> = briefing.arguments.iter().map(|argument| argument.name).collect();
            ErrorData::invalid_params(message, Some(json!({ "arguments": names })))
        };
        let name = briefing.name;
        let known = |field: &str| briefing.arguments.iter().any(|known| known.name == field);
        if let Some(field) = given.keys().find(|field| !known(field)) {
            let field: String = field.chars().take(60).collect();
            return Err(wrong(format!("the prompt {name} has no argument `{field}`")));
        }
        let text = |field: &str| match given.get(field) {
            None | Some(Value::Null) => Ok(String::new()),
            Some(Value::String(text)) => Ok(text.trim().to_owned()),
            Some(Value::Number(number)) => Ok(number.to_string()),
            Some(_) => Err(wrong(format!("the argument `{field}` is not a text"))),
        };
        for argument in briefing.arguments.iter().filter(|argument| argument.is_required) {
            if text(argument.name)?.is_empty() {
                return Err(wrong(format!(
                    "the prompt {name} needs the argument `{}`",
                    argument.name
                )));
            }
        }
        let goal = text("goal")?;
        if goal.chars().count() > GOAL_MAX {
            return Err(wrong(format!("`goal` is longer than {GOAL_MAX} characters")));
        }
        let issue = match text("issue")?.as_str() {
            "" => None,
            number => {
                let number = number.strip_prefix('#').unwrap_or(number);
                let number = number.parse().ok().filter(|number: &i64| *number > 0);
                Some(number.ok_or_else(|| wrong("`issue` is the number of an issue".to_owned()))?)
            }
        };
        Ok(Self { goal, issue })
    }
}
