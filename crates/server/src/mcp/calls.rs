//! Tool calls: each calls an operation of the catalogue and returns its answer or its refusal.

use std::time::Instant;

use punchlist_ops::catalogue::find;
use punchlist_ops::operations::todo::Output;
use punchlist_ops::{Answer, Envelope, Error, Operation, Ops};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};
use serde::Deserialize;
use serde_json::Value;

use super::asker::{Asker, Begun};
use super::tree::Tree;
use super::{McpServer, brief, gates, waits};
use crate::http::state::called;

impl McpServer {
    pub(super) async fn call(
        &self,
        mut request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Ok(operation) = find(&request.name) else {
            let name: String = request.name.chars().take(60).collect();
            let message = format!("there is no tool `{name}`");
            return Err(ErrorData::invalid_params(message, None));
        };
        let call = Call {
            server: self,
            operation,
            arguments: request.arguments.take().unwrap_or_default(),
            meta: context.meta.0.0.clone(),
        };
        let answered = match gates::is_question(operation) {
            // What waits is much larger, and most calls need not carry it along.
            true => Box::pin(gates::ask(&call, &context, &request)).await,
            false => match call.make().await {
                Ok(answer) if waits::is_long(&answer) => {
                    Box::pin(waits::delegation(&call, &context, answer)).await
                }
                Ok(answer) => call.complete(&answer),
                Err(error) => Err(error),
            },
        };
        Ok(answered.unwrap_or_else(|error| refusal(&error).into()))
    }
}

/// A call of a tool.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a McpServer,
    pub(crate) operation: &'static Operation,
    pub(crate) arguments: JsonObject,
    /// What the host says about the call.
    pub(crate) meta: JsonObject,
}

impl Call<'_> {
    pub(crate) fn asker(&self) -> &Asker {
        &self.server.asker
    }

    pub(crate) fn envelope(&self) -> Result<Box<Envelope>, Error> {
        self.asker().envelope(&self.meta)
    }

    /// Calls the operation.
    pub(crate) async fn make(&self) -> Result<Answer, Error> {
        self.make_in(self.envelope()?, self.arguments.clone()).await
    }

    /// Begins to call the operation. Only for a store that is near.
    pub(crate) fn begin(self) -> Begun {
        let envelope = match self.envelope() {
            Ok(envelope) => envelope,
            Err(error) => return Begun::Answered(Err(error)),
        };
        self.server.asker.begin(envelope, self.operation, Value::Object(self.arguments))
    }

    /// Calls the operation again for the gate that it has opened: for its answer, or for its
    /// present state, and not for the stored answer.
    pub(crate) async fn for_gate(&self, gate: &str) -> Result<Answer, Error> {
        let mut envelope = self.envelope()?;
        envelope.idempotency_key = None;
        envelope.context.awaited = Some(gate.to_owned());
        self.make_in(envelope, self.arguments.clone()).await
    }

    async fn make_in(&self, envelope: Box<Envelope>, input: JsonObject) -> Result<Answer, Error> {
        let start = Instant::now();
        let answered = self.answered_in(envelope, Value::Object(input)).await;
        if let Some(metrics) = &self.server.metrics {
            metrics.called(self.operation, start, &answered);
        }
        answered
    }

    async fn answered_in(&self, envelope: Box<Envelope>, input: Value) -> Result<Answer, Error> {
        let operation = self.operation;
        if self.asker().is_request() && !envelope.project.trim().is_empty() {
            return called(&self.asker().ops, operation, *envelope, input).await;
        }
        if self.asker().is_near() {
            return self.asker().begin(envelope, operation, input).answer().await;
        }
        let answer = move |ops: &Ops, envelope: &Envelope| ops.answer(operation, envelope, input);
        self.asker().run(envelope, answer).await
    }

    pub(crate) fn complete(&self, answer: &Answer) -> Result<CallToolResponse, Error> {
        Ok(answered(self.operation, answer)?.into())
    }
}

/// The result of a call: the structure as the text of JSON, and a short text for hosts that show
/// only text. A model pays for every token and gains nothing from reading the same twice.
pub(crate) struct Told {
    pub(crate) text: String,
    pub(crate) structure: String,
}

/// The fields of an output that its short text is made of.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Shown {
    tasks: Value,
    markdown: Value,
    message: Value,
}

impl Told {
    pub(crate) fn new(operation: &Operation, answer: &Answer) -> Result<Self, Error> {
        let structure = answer.to_text()?;
        // The operation is done: an output that cannot be shortened is shown as it is.
        let text = short(operation, answer, &structure).unwrap_or_else(|_| structure.clone());
        Ok(Self { text, structure })
    }
}

fn short(operation: &Operation, answer: &Answer, output: &str) -> serde_json::Result<String> {
    // The most frequent call: the text need not be read for it.
    if let Some(Output { markdown, message, .. }) = answer.output::<Output>()
        && !markdown.is_empty()
    {
        return Ok(listed(markdown, message.as_deref().unwrap_or_default()));
    }
    if let Some(words) = gates::words(operation, answer).or_else(|| waits::words(answer)) {
        return Ok(words);
    }
    let shown: Shown = match output.contains("\"markdown\":") {
        true => serde_json::from_str(output)?,
        false => Shown::default(),
    };
    let markdown = shown.markdown.as_str().unwrap_or_default();
    // Tasks are named by their ids, which the markdown of a plan does not have.
    let has_tasks = shown.tasks.as_array().is_some_and(|tasks| !tasks.is_empty());
    if !has_tasks && !markdown.trim_end().is_empty() {
        return Ok(listed(markdown, shown.message.as_str().unwrap_or_default()));
    }
    let mut tree: Tree<'_> = serde_json::from_str(output)?;
    if has_tasks && let Tree::Object(fields) = &mut tree {
        fields.retain(|(name, _)| name != "markdown");
    }
    Ok(brief::text(&tree))
}

/// A checklist, and what is said about it.
fn listed(markdown: &str, message: &str) -> String {
    let list = markdown.trim_end();
    match message.is_empty() {
        true => list.to_owned(),
        false => format!("{list}\n\n{message}"),
    }
}

/// The result of a call, for the library.
pub(crate) fn answered(operation: &Operation, answer: &Answer) -> Result<CallToolResult, Error> {
    let Told { text, structure } = Told::new(operation, answer)?;
    let structure: Value = structure.parse().map_err(punchlist_store::Error::from)?;
    let mut result = CallToolResult::success(vec![ContentBlock::text(text)]);
    result.structured_content = Some(structure);
    Ok(result)
}

/// A refusal is a result, not a protocol error, so that the model reads what to do next.
pub(crate) fn refusal(error: &Error) -> CallToolResult {
    let mut text = format!("{}: {error}", error.code());
    let mut structure = error.to_json();
    if let Some(hint) = hint(error) {
        text.push_str(". Next: ");
        text.push_str(&hint);
        structure["error"]["hint"] = hint.into();
    }
    let mut result = CallToolResult::structured_error(structure);
    result.content = vec![ContentBlock::text(text)];
    result
}

/// What to do next. A context comes from the host, which has neither flags nor, in most cases, headers.
fn hint(error: &Error) -> Option<String> {
    let missing: Vec<&str> = match error {
        Error::MissingContext { missing } => missing.clone(),
        // A server has refused it; by default its hint is in the words of the command line.
        Error::Remote(error) if error.code == "missing_context" => {
            let missing = error.facts.get("missing").and_then(Value::as_array);
            missing.into_iter().flatten().filter_map(Value::as_str).collect()
        }
        _ => return error.hint(),
    };
    let given = missing.into_iter().map(|name| match name {
        "project" => "the header Punchlist-Project: NAME".to_owned(),
        name => format!("punchlist/{name}Id in the _meta of the request"),
    });
    Some(format!("the host of this agent sends {}", given.collect::<Vec<_>>().join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_context_is_asked_of_the_host_also_if_a_server_misses_it() {
        let local = Error::MissingContext { missing: vec!["project", "turn"] };
        let remote = Error::from_problem(local.to_problem()).unwrap();
        assert!(matches!(remote, Error::Remote(_)));
        let said = "the host of this agent sends the header Punchlist-Project: NAME and \
                    punchlist/turnId in the _meta of the request";
        for error in [local, remote] {
            assert_eq!(hint(&error).as_deref(), Some(said));
        }
    }
}
