//! What a session of an MCP client over HTTP needs between two of its requests: its subscriptions,
//! news for its streams, and the question that an answer belongs to.
//!
//! Any server over the store may get the next request, so all of it is in the store (ADR 0031). The
//! session's id proves nothing: everything is bound to the caller of the request as well.

use punchlist_core::Actor;
use punchlist_core::gate::details::Question as Asked;
use punchlist_core::gate::{Details, GateState};
use punchlist_store::rows::lists::Lock;
pub use punchlist_store::rows::mcp_entries::EntryKind;
use punchlist_store::rows::mcp_entries::Holder;
use serde_json::{Value, json};

use crate::call::Call;
use crate::catalogue::{Define, Operation};
use crate::dispatch::new_ids;
use crate::operations::ask::Ask;
use crate::operations::form::Form;
use crate::token::{digest, needs_token, random};
use crate::{Envelope, Error, Ops, Proof};

/// How many resources one session may subscribe to.
pub const SUBSCRIPTIONS_MAX: usize = 200;

/// How many messages wait for the calls of one session. Most are for calls that have ended, so when
/// there are more, the old ones are deleted.
const REPLIES_MAX: usize = 100;

/// How many of its questions a session can answer. When there are more, the oldest ones are forgotten.
const QUESTIONS_MAX: usize = 100;

/// How long a session is remembered that is not used.
const KEPT_S: i64 = 7 * 86_400;

/// A session, as one caller uses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct McpSession(Holder);

impl McpSession {
    /// The session with this id, of this caller.
    #[must_use]
    pub fn of(id: &str, actor: &Actor, proof: Proof) -> Self {
        let owner = digest(&format!("{}\n{proof}", actor.principal));
        Self(Holder { session: id.to_owned(), owner })
    }

    /// A new id that nobody can guess.
    pub fn new_id(prefix: &str) -> Result<String, Error> {
        random(prefix)
    }
}

/// What was last announced to a session: names, each with a digest of how it read then.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Announced {
    /// The resources it subscribed to.
    pub resources: Vec<(String, String)>,
    /// The lists; empty before its first stream.
    pub lists: Vec<(String, String)>,
}

/// A gate that was asked through a client, and the call that asks it again.
#[derive(Debug)]
pub struct Question {
    pub operation: &'static Operation,
    pub input: Value,
    /// The session it was asked in.
    pub session: Option<String>,
    pub is_open: bool,
    /// May the user of the asker's client answer it?
    pub is_for_user: bool,
    /// Did the user of the asker's client answer?
    pub is_by_client: bool,
}

/// What is known about a waiting call.
#[derive(Debug)]
pub struct Waiting {
    pub question: Question,
    /// What the client said instead of an answer.
    pub reply: Option<String>,
    /// Has the client ended the session?
    pub has_ended: bool,
}

impl Ops {
    /// The question behind a gate. Refuses a gate that is unknown or out of the caller's reach.
    pub fn mcp_question(&self, envelope: &Envelope, gate: &str) -> Result<Question, Error> {
        let (envelope, gate) = (envelope.clone(), gate.to_owned());
        let ids = new_ids(&envelope)?;
        self.store()?.read(move |tx| {
            needs_token(tx, envelope.proof)?;
            question(&mut Call::new(tx, &envelope, Ask::NAME, ids.clone()), &gate)
        })
    }

    /// The state of a waiting call: its gate, and what its client said under one of these names.
    pub fn mcp_waiting(
        &self,
        envelope: &Envelope,
        session: &McpSession,
        gate: &str,
        names: [&str; 2],
    ) -> Result<Waiting, Error> {
        let (envelope, McpSession(holder)) = (envelope.clone(), session.clone());
        let (gate, names) = (gate.to_owned(), names.map(digest));
        let ids = new_ids(&envelope)?;
        self.store()?.read(move |tx| {
            needs_token(tx, envelope.proof)?;
            let mut reply = None;
            for name in &names {
                reply = match reply {
                    None => tx.mcp_entry(&holder, EntryKind::Reply, name)?,
                    found => found,
                };
            }
            let has_ended = tx.mcp_entry(&holder, EntryKind::End, "")?.is_some();
            let call = &mut Call::new(tx, &envelope, Ask::NAME, ids.clone());
            Ok::<_, Error>(Waiting { question: question(call, &gate)?, reply, has_ended })
        })
    }

    /// Records that a question was passed on to the client of a session, in a request with this id.
    pub fn mcp_ask(&self, session: &McpSession, id: &str) -> Result<(), Error> {
        let (McpSession(holder), id) = (session.clone(), digest(id));
        Ok(self.store()?.write(move |tx| {
            let clock = tx.clock()?;
            tx.forget_mcp_entries(clock.plus_seconds(-KEPT_S))?;
            let mut asked = tx.mcp_entries(&holder, EntryKind::Question)?;
            asked.sort_by(|(_, one), (_, other)| other.cmp(one));
            for (old, _) in asked.iter().skip(QUESTIONS_MAX - 1) {
                tx.remove_mcp_entry(&holder, EntryKind::Question, old)?;
            }
            let at = clock.to_string();
            tx.put_mcp_entry(&holder, EntryKind::Question, (&id, &at), clock)
        })?)
    }

    /// Was the client of this session asked in a request with this id?
    pub fn mcp_asked(&self, session: &McpSession, id: &str) -> Result<bool, Error> {
        let (McpSession(holder), id) = (session.clone(), digest(id));
        let asked =
            self.store()?.read(move |tx| tx.mcp_entry(&holder, EntryKind::Question, &id))?;
        Ok(asked.is_some())
    }

    /// What the client said about a waiting call, if anything.
    pub fn mcp_replied(&self, session: &McpSession, name: &str) -> Result<Option<String>, Error> {
        let (McpSession(holder), name) = (session.clone(), digest(name));
        Ok(self.store()?.read(move |tx| tx.mcp_entry(&holder, EntryKind::Reply, &name))?)
    }

    /// Leaves a message for a waiting call, wherever it waits.
    pub fn mcp_reply(&self, session: &McpSession, name: &str, words: &str) -> Result<(), Error> {
        let (McpSession(holder), name, words) = (session.clone(), digest(name), words.to_owned());
        Ok(self.store()?.write(move |tx| {
            let clock = tx.clock()?;
            tx.forget_mcp_entries(clock.plus_seconds(-KEPT_S))?;
            let waiting = tx.mcp_entries(&holder, EntryKind::Reply)?;
            if waiting.len() >= REPLIES_MAX {
                for (old, _) in &waiting {
                    tx.remove_mcp_entry(&holder, EntryKind::Reply, old)?;
                }
            }
            tx.put_mcp_entry(&holder, EntryKind::Reply, (&name, &words), clock)
        })?)
    }

    /// Removes a message that the waiting call has read.
    pub fn mcp_heard(&self, session: &McpSession, names: [&str; 2]) -> Result<(), Error> {
        let (McpSession(holder), names) = (session.clone(), names.map(digest));
        Ok(self.store()?.write(move |tx| {
            for name in &names {
                tx.remove_mcp_entry(&holder, EntryKind::Reply, name)?;
            }
            Ok::<_, punchlist_store::Error>(())
        })?)
    }

    /// Subscribes to a resource that now reads like this. Returns false if there are too many.
    pub fn mcp_subscribe(
        &self,
        session: &McpSession,
        uri: &str,
        read: &str,
    ) -> Result<bool, Error> {
        let McpSession(holder) = session.clone();
        let (uri, read) = (uri.to_owned(), read.to_owned());
        Ok(self.store()?.write(move |tx| {
            let clock = tx.clock()?;
            tx.forget_mcp_entries(clock.plus_seconds(-KEPT_S))?;
            let known = tx.mcp_entries(&holder, EntryKind::Subscription)?;
            let is_known = known.iter().any(|(name, _)| *name == uri);
            if !is_known && known.len() >= SUBSCRIPTIONS_MAX {
                return Ok::<_, punchlist_store::Error>(false);
            }
            tx.put_mcp_entry(&holder, EntryKind::Subscription, (&uri, &read), clock)?;
            Ok(true)
        })?)
    }

    pub fn mcp_unsubscribe(&self, session: &McpSession, uri: &str) -> Result<(), Error> {
        let (McpSession(holder), uri) = (session.clone(), uri.to_owned());
        let kind = EntryKind::Subscription;
        Ok(self.store()?.write(move |tx| tx.remove_mcp_entry(&holder, kind, &uri))?)
    }

    /// What was last announced to a session. `None` if the client has ended it.
    pub fn mcp_announced(&self, session: &McpSession) -> Result<Option<Announced>, Error> {
        let McpSession(holder) = session.clone();
        Ok(self.store()?.read(move |tx| {
            if tx.mcp_entry(&holder, EntryKind::End, "")?.is_some() {
                return Ok::<_, punchlist_store::Error>(None);
            }
            let resources = tx.mcp_entries(&holder, EntryKind::Subscription)?;
            Ok(Some(Announced { resources, lists: tx.mcp_entries(&holder, EntryKind::List)? }))
        })?)
    }

    /// Records how the lists read when the first stream of a session begins.
    pub fn mcp_follow_lists(
        &self,
        session: &McpSession,
        lists: Vec<(&'static str, String)>,
    ) -> Result<(), Error> {
        let McpSession(holder) = session.clone();
        Ok(self.store()?.write(move |tx| {
            let clock = tx.clock()?;
            tx.forget_mcp_entries(clock.plus_seconds(-KEPT_S))?;
            for (name, read) in &lists {
                // Another first stream may have begun at the same time.
                if tx.mcp_entry(&holder, EntryKind::List, name)?.is_none() {
                    tx.put_mcp_entry(&holder, EntryKind::List, (name, read), clock)?;
                }
            }
            Ok::<_, punchlist_store::Error>(())
        })?)
    }

    /// Has the client ended the session?
    pub fn mcp_has_ended(&self, session: &McpSession) -> Result<bool, Error> {
        let McpSession(holder) = session.clone();
        let end = self.store()?.read(move |tx| tx.mcp_entry(&holder, EntryKind::End, ""))?;
        Ok(end.is_some())
    }

    /// Records that a resource or a list now reads differently. Returns false if another stream has
    /// announced it, or the subscription has ended.
    pub fn mcp_announce(
        &self,
        session: &McpSession,
        (kind, name): (EntryKind, &str),
        reads: (&str, &str),
    ) -> Result<bool, Error> {
        let (McpSession(holder), name) = (session.clone(), name.to_owned());
        let (old, new) = (reads.0.to_owned(), reads.1.to_owned());
        Ok(self.store()?.write(move |tx| {
            let clock = tx.clock()?;
            tx.change_mcp_entry(&holder, kind, &name, (&old, &new), clock)
        })?)
    }

    /// Records that the session is in use.
    pub fn mcp_used(&self, session: &McpSession) -> Result<(), Error> {
        let McpSession(holder) = session.clone();
        Ok(self.store()?.write(move |tx| {
            let clock = tx.clock()?;
            tx.use_mcp_entries(&holder, clock)
        })?)
    }

    /// Ends a session: its subscriptions are deleted, its streams end, and its id stops working.
    pub fn mcp_end(&self, session: &McpSession) -> Result<(), Error> {
        let McpSession(holder) = session.clone();
        Ok(self.store()?.write(move |tx| {
            let clock = tx.clock()?;
            tx.forget_mcp_entries(clock.plus_seconds(-KEPT_S))?;
            tx.remove_mcp_entries(&holder)?;
            tx.put_mcp_entry(&holder, EntryKind::End, ("", ""), clock)
        })?)
    }
}

fn question(call: &mut Call<'_, '_>, gate: &str) -> Result<Question, Error> {
    let gate = call.gate(gate, Lock::No)?;
    // A gate that is neither a question nor a form is asked as a question: the core refuses an
    // answer to it, and logs the try.
    let (operation, input) = match &gate.details {
        Details::Form(schema) => {
            let operation = const { &Operation::of::<Form>() };
            (operation, json!({ "title": gate.text, "schema": schema }))
        }
        asked => {
            let mut input = json!({ "question": gate.text });
            if let Details::Ask(Asked { options }) = asked
                && !options.is_empty()
            {
                input["options"] = json!(options);
            }
            (const { &Operation::of::<Ask>() }, input)
        }
    };
    Ok(Question {
        operation,
        input,
        session: gate.session_id.map(|id| id.to_string()),
        is_open: gate.state == GateState::Open,
        is_for_user: matches!(gate.details, Details::Ask(_) | Details::Form(_)),
        is_by_client: gate.answered_by.as_ref().is_some_and(|by| by.starts_with("client:")),
    })
}
