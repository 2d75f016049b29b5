//! A store behind a running `punch serve`: the interface that `Ops` uses instead of a database.
//!
//! This file has the interface and what both sides agree on: the context that a caller sends, and
//! the form of an error. The transport is in `server::remote` and `server::http`.

use std::fmt::Debug;
use std::time::Duration;

use punchlist_core::gate::ClientAnswer;
use punchlist_core::{Actor, AgentPath, Refusal, Role};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::answer::Answer;
use crate::error::{Meaning, TABLE};
use crate::identity::Facts;
use crate::plan_file::bring_along;
use crate::{Envelope, Error, Located, Operation, Place, Proof};

/// A server that is used instead of a database.
pub trait Remote: Debug + Send + Sync {
    /// Asks the server who the caller is.
    fn identify(&self, facts: &Facts, token: Option<&str>) -> Result<(Actor, Proof), Error>;

    /// The name of the project at this place.
    fn project_at(&self, place: &Place, names: &[String]) -> Result<Located, Error>;

    /// Calls an operation. Returns its answer as JSON text.
    fn call(
        &self,
        operation: &Operation,
        envelope: &Envelope,
        input: &Value,
    ) -> Result<String, Error>;

    /// Watches the caller's project from now on.
    fn watch(&self, envelope: &Envelope) -> Result<Box<dyn Hints>, Error>;
}

/// Reports that something may have been written.
pub trait Hints: Debug + Send {
    /// Waits up to `timeout`. Returns false if nothing was written in that time.
    fn wait(&mut self, timeout: Duration) -> Result<bool, Error>;
}

/// Calls an operation on a server.
pub(crate) fn ask(
    remote: &dyn Remote,
    operation: &Operation,
    envelope: &Envelope,
    mut input: Value,
) -> Result<Answer, Error> {
    // A caller that may not import learns nothing about a file that cannot be read: the server
    // refuses the call.
    if let Err(error) = bring_along(operation, envelope, &mut input)
        && operation.access.allows(envelope.actor.role)
    {
        return Err(error);
    }
    Answer::kept(&remote.call(operation, envelope, &input)?, operation.read_answer)
}

/// The context that a caller on another machine sends besides its token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "camelCase")]
pub struct RemoteContext {
    pub project: Option<String>,
    pub session: Option<String>,
    pub conversation: Option<String>,
    pub turn: Option<String>,
    pub agent: Option<AgentPath>,
    pub r#as: Option<Role>,
    pub mission: Option<String>,
    pub pillar: Option<String>,
    pub idempotency_key: Option<String>,
    pub host_session: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub processes: Vec<String>,
    pub own_session: Option<String>,
    pub directory: Option<String>,
    pub branch: Option<String>,
    pub detached: bool,
    pub place: Option<Place>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<String>,
    pub issue: Option<i64>,
    pub client_answer: Option<ClientAnswer>,
    pub awaited: Option<String>,
}

impl RemoteContext {
    /// The context of a call.
    #[must_use]
    pub fn of(envelope: &Envelope) -> Self {
        let (actor, context) = (&envelope.actor, envelope.context.clone());
        Self {
            project: Some(envelope.project.clone()),
            session: context.session,
            conversation: context.conversation,
            turn: context.turn,
            agent: Some(actor.agent.clone()),
            r#as: (actor.role != actor.proved).then_some(actor.role),
            mission: actor.mission.clone(),
            pillar: actor.pillar.clone(),
            idempotency_key: envelope.idempotency_key.clone(),
            host_session: context.host_session,
            processes: context.processes.get().to_vec(),
            own_session: context.own_session,
            directory: context.directory,
            branch: context.branch,
            detached: context.detached,
            place: context.place,
            names: context.names,
            issue: context.issue,
            client_answer: context.client_answer,
            awaited: context.awaited,
        }
    }

    /// The context of a caller that asks for its identity.
    #[must_use]
    pub fn of_facts(facts: &Facts) -> Self {
        Self {
            agent: facts.agent.clone(),
            r#as: facts.carry,
            mission: facts.mission.clone(),
            pillar: facts.pillar.clone(),
            ..Self::default()
        }
    }

    /// As the value of a header: JSON in printable ASCII.
    pub fn to_header(&self) -> Result<String, Error> {
        let mut fields = match serde_json::to_value(self) {
            Ok(Value::Object(fields)) => fields,
            _ => return Err(Error::Internal { detail: "no context".to_owned() }),
        };
        fields.retain(|_, value| !value.is_null() && *value != false);
        let mut units = [0; 2];
        let mut header = String::new();
        for c in Value::Object(fields).to_string().chars() {
            match c {
                ' '..='~' => header.push(c),
                c => {
                    let escaped = c.encode_utf16(&mut units).iter();
                    escaped.for_each(|unit| header.push_str(&format!("\\u{unit:04x}")));
                }
            }
        }
        Ok(header)
    }
}

/// An error that a server answered with, in the server's words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteError {
    pub code: &'static str,
    pub message: String,
    pub hint: Option<String>,
    pub facts: Map<String, Value>,
}

impl Error {
    /// The error as problem+json (RFC 9457).
    #[must_use]
    pub fn to_problem(&self) -> Value {
        let Meaning { code, http, .. } = self.meaning();
        let mut words = code.replace('_', " ");
        words[..1].make_ascii_uppercase();
        let mut problem = json!({
            "type": format!("urn:punchlist:error:{code}"),
            "title": words,
            "status": http,
            "detail": self.to_string(),
            "code": code,
        });
        if let Some(hint) = self.hint_over_http() {
            problem["hint"] = hint.into();
        }
        let facts = self.facts();
        // A fact whose name is also a member of the problem itself is moved below `facts`.
        if facts.keys().any(|name| problem.get(name).is_some()) {
            problem["facts"] = Value::Object(facts.clone());
        }
        if let Value::Object(members) = &mut problem {
            for (name, fact) in facts {
                members.entry(name).or_insert(fact);
            }
        }
        problem
    }

    /// Parses an error from problem+json. `None` if it is not an error of punchlist.
    #[must_use]
    pub fn from_problem(problem: Value) -> Option<Self> {
        let Value::Object(mut members) = problem else { return None };
        let mut text = |name: &str| match members.shift_remove(name) {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        let (code, message, hint) = (text("code")?, text("detail")?, text("hint"));
        let known = TABLE.iter().find(|meaning| meaning.code == code);
        let Some(Meaning { code, .. }) = known else {
            let detail = format!(
                "the server answered with `{code}`, which this punch does not know: {message}"
            );
            return Some(Self::Internal { detail });
        };
        let facts = match members.shift_remove("facts") {
            Some(Value::Object(facts)) => facts,
            _ => {
                ["type", "title", "status"]
                    .into_iter()
                    .for_each(|name| drop(members.shift_remove(name)));
                members
            }
        };
        let error = RemoteError { code, message, hint, facts };
        let refusal = error.as_refusal();
        Some(refusal.unwrap_or_else(|| Self::Remote(Box::new(error.in_flags()))))
    }
}

impl RemoteError {
    /// The refusal of a rule, if this is one. Our own code handles some refusals.
    fn as_refusal(&self) -> Option<Error> {
        let facts = Value::Object(self.facts.clone());
        let tagged =
            if self.facts.is_empty() { json!(self.code) } else { json!({ self.code: facts }) };
        // From text, as stored refusals are read: another source would be another parser of all
        // refusals in the program.
        let refusal: Refusal = serde_json::from_str(&tagged.to_string()).ok()?;
        let error = Error::from(refusal);
        let is_same = error.to_string() == self.message && error.hint() == self.hint;
        is_same.then_some(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_survives_the_way_through_problem_json() {
        let refusal = Refusal::UnknownTodo { todo_id: "t12".to_owned(), list: None };
        let error = Error::from(refusal);
        let problem = error.to_problem();
        assert_eq!(problem["status"], 404);
        assert_eq!(Error::from_problem(problem), Some(error));
    }

    #[test]
    fn other_errors_keep_their_code_message_and_facts() {
        let error = Error::ResetRequired { after: 7, last_seq: Some(3) };
        let back = Error::from_problem(error.to_problem()).unwrap();
        assert_eq!((back.code(), back.to_json()), (error.code(), error.to_json()));
        assert_eq!(back.meaning(), error.meaning());
        assert_eq!(Error::from_problem(json!({ "title": "x" })), None);
    }

    #[test]
    fn a_context_with_any_text_fits_into_a_header() {
        let context = RemoteContext {
            project: Some("zażółć \u{7f}\n😀".to_owned()),
            agent: Some(AgentPath::primary()),
            ..RemoteContext::default()
        };
        let header = context.to_header().unwrap();
        assert!(header.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{header}");
        assert_eq!(serde_json::from_str::<RemoteContext>(&header).unwrap(), context);
    }
}
