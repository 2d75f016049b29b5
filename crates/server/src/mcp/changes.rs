//! What a client has subscribed to, and which parts of it have changed.
//!
//! At every beat of the pulse, the subscribed things are read again with the caller's current
//! identity. So a client is never notified of something it may not see, and no code needs to know
//! which event affects which thing.

use std::collections::BTreeMap;
use std::time::Duration;

use punchlist_core::Role;
use punchlist_ops::catalogue::Define;
use punchlist_ops::operations::session_show::SessionShow;
use punchlist_ops::{Envelope, Error};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::asker::Asker;
use super::resources;
use super::tools::{Choice, listed};
use super::uri::Address;

/// How many resources one connection may subscribe to: as many as a session over HTTP.
pub(crate) use punchlist_ops::mcp_session::SUBSCRIPTIONS_MAX;

/// The shortest time between two reads, so that a busy store is not read at every commit.
pub(crate) const PAUSE: Duration = Duration::from_millis(200);
/// The longest time without a read, because a token may have expired.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// The names of the lists that are announced.
pub(crate) const TOOLS: &str = "tools";
pub(crate) const RESOURCES: &str = "resources";

/// A change to announce.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Tools,
    Resources,
    Resource(String),
}

/// The watched lists and resources, as they were last read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watched {
    /// `Some(None)` if a list is watched, and how it last read is unknown.
    tools: Option<Option<Read>>,
    resources: Option<Option<Read>>,
    things: BTreeMap<String, (Address, Option<Read>)>,
}

/// The digest of a thing as it was read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Read([u8; 32]);

impl Read {
    fn to_text(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn from_text(text: &str) -> Option<Self> {
        let mut read = [0; 32];
        for (index, byte) in read.iter_mut().enumerate() {
            let digits = text.get(2 * index..2 * index + 2)?;
            *byte = u8::from_str_radix(digits, 16).ok()?;
        }
        (text.len() == 64).then_some(Self(read))
    }
}

impl Watched {
    /// Watches the lists from now on.
    pub(crate) fn lists(
        &mut self,
        asker: &Asker,
        choice: Choice,
        tools: bool,
        resources: bool,
    ) -> Result<(), Error> {
        let look = Look::new(asker, choice)?;
        self.tools = tools.then(|| look.tools().map(Some)).transpose()?;
        self.resources = resources.then(|| look.list()).transpose()?;
        Ok(())
    }

    /// Watches a resource from now on. Returns false if it does not exist for the caller.
    pub(crate) fn resource(
        &mut self,
        asker: &Asker,
        choice: Choice,
        uri: &str,
    ) -> Result<bool, Error> {
        self.expect(asker, choice, uri)?;
        let is_there = self.things.get(uri).is_some_and(|(_, read)| read.is_some());
        if !is_there {
            self.things.remove(uri);
        }
        Ok(is_there)
    }

    /// Like `resource`, for a resource that may be created later.
    pub(crate) fn expect(&mut self, asker: &Asker, choice: Choice, uri: &str) -> Result<(), Error> {
        if let Some(address) = Address::parse(uri) {
            let read = Look::new(asker, choice)?.thing(&address)?;
            self.things.insert(uri.to_owned(), (address, read));
        }
        Ok(())
    }

    /// Watches both lists and exactly these resources, each as it was last announced.
    pub(crate) fn announced(
        &mut self,
        known: &[(String, String)],
        tools: Option<&(String, String)>,
        resources: Option<&(String, String)>,
    ) {
        let list = |list: Option<&(String, String)>| Read::from_text(&list?.1);
        (self.tools, self.resources) = (Some(list(tools)), Some(list(resources)));
        let thing = |(uri, read): &(String, String)| {
            Some((uri.clone(), (Address::parse(uri)?, Read::from_text(read))))
        };
        self.things = known.iter().filter_map(thing).collect();
    }

    /// How a resource was last read, as a text. Empty if it does not exist.
    pub(crate) fn read_of(&self, uri: &str) -> String {
        let read = self.things.get(uri).and_then(|(_, read)| *read);
        read.map(Read::to_text).unwrap_or_default()
    }

    /// How a list was last read, as a text. Empty if that is unknown.
    pub(crate) fn read_of_list(&self, name: &str) -> String {
        let list = if name == TOOLS { self.tools } else { self.resources };
        list.flatten().map(Read::to_text).unwrap_or_default()
    }

    /// How both lists were last read.
    pub(crate) fn lists_read(&self) -> Vec<(&'static str, String)> {
        [TOOLS, RESOURCES].map(|name| (name, self.read_of_list(name))).into()
    }

    /// Takes over the watched lists of another.
    pub(crate) fn take_lists(&mut self, other: &Self) {
        (self.tools, self.resources) = (other.tools, other.resources);
    }

    /// Adds the watched resources of another.
    pub(crate) fn add(&mut self, other: Self) {
        self.things.extend(other.things);
    }

    /// Takes over the last reads of another, except for resources that were unsubscribed meanwhile.
    pub(crate) fn update(&mut self, other: Self) {
        (self.tools, self.resources) = (other.tools, other.resources);
        for (uri, read) in other.things {
            self.things.entry(uri).and_modify(|known| *known = read);
        }
    }

    pub(crate) fn forget(&mut self, uri: &str) {
        self.things.remove(uri);
    }

    pub(crate) fn count(&self) -> usize {
        self.things.len()
    }

    /// Reads everything again. Returns what has changed.
    pub(crate) fn look(&mut self, asker: &Asker, choice: Choice) -> Result<Vec<Change>, Error> {
        let look = Look::new(asker, choice)?;
        let mut changes = Vec::new();
        if let Some(before) = &mut self.tools {
            let now = Some(look.tools()?);
            if std::mem::replace(before, now) != now {
                changes.push(Change::Tools);
            }
        }
        if let Some(before) = &mut self.resources {
            let now = look.list()?;
            if std::mem::replace(before, now) != now {
                changes.push(Change::Resources);
            }
        }
        for (uri, (address, before)) in &mut self.things {
            let now = look.thing(address)?;
            if std::mem::replace(before, now) != now {
                changes.push(Change::Resource(uri.clone()));
            }
        }
        Ok(changes)
    }
}

/// One read of the store, with the caller's current rights.
struct Look<'a> {
    asker: &'a Asker,
    choice: Choice,
    role: Role,
    own: Envelope,
}

impl<'a> Look<'a> {
    fn new(asker: &'a Asker, choice: Choice) -> Result<Self, Error> {
        let mut own = asker.reading(asker.project());
        (own.actor, own.proof) = asker.judged()?;
        Ok(Self { asker, choice, role: own.actor.role, own: *own })
    }

    /// What the list of tools depends on.
    fn tools(&self) -> Result<Read, Error> {
        let tools = listed(self.role, self.choice).into_iter().map(|operation| operation.name);
        let tools: Vec<_> = tools.collect();
        Ok(digest(&json!({ "role": self.role, "tools": tools, "bound": self.bound()? })))
    }

    /// The issue that the caller's session is bound to.
    fn bound(&self) -> Result<Option<i64>, Error> {
        if self.own.project.is_empty() || !SessionShow::ACCESS.allows(self.role) {
            return Ok(None);
        }
        let own = resources::own_session(&self.asker.ops, &self.own)?;
        Ok(own.and_then(|session| session.bound_issue))
    }

    fn list(&self) -> Result<Option<Read>, Error> {
        if self.own.project.is_empty() {
            return Ok(None);
        }
        let list = resources::first_page(&self.asker.ops, &self.own)?;
        Ok(Some(digest(&json!(list))))
    }

    fn thing(&self, address: &Address) -> Result<Option<Read>, Error> {
        let mut envelope = self.asker.reading(&address.project);
        envelope.actor.clone_from(&self.own.actor);
        envelope.proof = self.own.proof;
        match resources::read(&self.asker.ops, &envelope, &address.thing) {
            Ok(content) => Ok(Some(digest(&json!(content)))),
            Err(error) if resources::is_absent(&error) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn digest(value: &Value) -> Read {
    Read(Sha256::digest(value.to_string().as_bytes()).into())
}
