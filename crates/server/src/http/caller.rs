//! The caller of a request and its context: read from the headers here, checked by `ops`.

use std::net::IpAddr;
use std::sync::Arc;

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use punchlist_core::{Actor, AgentPath, Role};
use punchlist_ops::explain::Fault;
use punchlist_ops::identity::Facts;
use punchlist_ops::remote::RemoteContext;
use punchlist_ops::web_fault::WebFault;
use punchlist_ops::{Context, Envelope, Error, Ops, Proof};

use super::guard::{Peer, is_forwarded};
use super::state::{Shared, State, short};

/// The secret that a request sends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Secret {
    #[default]
    None,
    Token(String),
    /// The cookie of a browser that signed in to the pages.
    Session(String),
}

/// The name of the cookie.
pub(crate) const SESSION: &str = "punchlist_session";

/// What a request says about its caller.
#[derive(Clone, Debug)]
pub(crate) struct Caller {
    peer: IpAddr,
    secret: Secret,
    is_forwarded: bool,
    context: RemoteContext,
}

impl Caller {
    pub(crate) fn read(parts: &Parts) -> Result<Self, Error> {
        let peer = parts.extensions.get::<Peer>();
        // Without a peer address, the request does not count as local.
        let peer = peer.map_or(IpAddr::from([0, 0, 0, 0]), |Peer(address)| address.ip());
        let headers = &parts.headers;
        let mut context = match text(headers, "punchlist-context")? {
            None => RemoteContext::default(),
            Some(json) => serde_json::from_str(&json).map_err(|error| {
                let path = "Punchlist-Context".to_owned();
                let found = format!("the given text ({error})");
                Error::from(Fault::BadValue { path, found, expected: "a context".to_owned() })
            })?,
        };
        let set = |name: &str, place: &mut Option<String>| {
            if let Some(given) = text(headers, name)? {
                *place = Some(given);
            }
            Ok::<_, Error>(())
        };
        set("punchlist-project", &mut context.project)?;
        set("punchlist-session", &mut context.session)?;
        set("punchlist-conversation", &mut context.conversation)?;
        set("punchlist-turn", &mut context.turn)?;
        set("idempotency-key", &mut context.idempotency_key)?;
        if let Some(name) = text(headers, "punchlist-agent")? {
            let agent = AgentPath::parse(&name);
            let expected = "words of letters, digits, - and _, joined by dots";
            context.agent = Some(agent.ok_or_else(|| bad("Punchlist-Agent", &name, expected))?);
        }
        if let Some(name) = text(headers, "punchlist-as")? {
            let expected = "operator, lead, owner, root, worker or system";
            let role = Role::parse(&name);
            context.r#as = Some(role.ok_or_else(|| bad("Punchlist-As", &name, expected))?);
        }
        let token = headers.get(header::AUTHORIZATION).map(|value| {
            let value = value.to_str().unwrap_or("?");
            // Another scheme than Bearer counts as an invalid token, not as a missing one.
            match value.split_once(' ') {
                Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => token.trim(),
                _ if value.eq_ignore_ascii_case("bearer") => "",
                _ => "?",
            }
            .to_owned()
        });
        let secret = token.map_or(Secret::None, Secret::Token);
        Ok(Self { peer, secret, is_forwarded: is_forwarded(headers), context })
    }

    /// Like `read`, but also accepts the cookie of the pages. Only streams and pages do so.
    pub(crate) fn read_with_session(parts: &Parts) -> Result<Self, Error> {
        let caller = Self::read(parts)?;
        let secret = match (caller.secret, cookie(&parts.headers, SESSION)) {
            (Secret::None, Some(session)) => Secret::Session(session),
            (secret, _) => secret,
        };
        Ok(Self { secret, ..caller })
    }

    pub(crate) fn facts(&self) -> Facts {
        Facts {
            agent: self.context.agent.clone(),
            carry: self.context.r#as,
            mission: self.context.mission.clone(),
            pillar: self.context.pillar.clone(),
            ..Facts::default()
        }
    }

    pub(crate) fn secret(&self) -> &Secret {
        &self.secret
    }

    pub(crate) fn token(&self) -> Option<&str> {
        match &self.secret {
            Secret::Token(token) => Some(token),
            Secret::None | Secret::Session(_) => None,
        }
    }

    /// Identifies the caller, and counts the request against the caller's limit per second.
    pub(crate) fn identify(&self, state: &State) -> Result<(Actor, Proof), Error> {
        let identified = identify(&state.ops, self.facts(), &self.secret, || {
            if self.is_forwarded {
                return Err(WebFault::Forwarded.into());
            }
            let is_near = state.site.is_loopback && self.peer.is_loopback();
            if is_near { Ok(()) } else { Err(WebFault::FromAfar.into()) }
        });
        let (actor, proof) = match identified {
            Err(error @ Error::BadToken { .. }) => {
                state.limiter.failed(self.peer)?;
                return Err(error);
            }
            identified => identified?,
        };
        state.limiter.request(proof)?;
        Ok((actor, proof))
    }

    /// The envelope of a call. The request or the server must name a project.
    pub(crate) fn envelope(self, state: &State) -> Result<Envelope, Error> {
        let (actor, proof) = self.identify(state)?;
        let missing = || Error::MissingContext { missing: vec!["project"] };
        let given = self.context.project.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let project = given.or(state.project.as_deref()).ok_or_else(missing)?.to_owned();
        Ok(self.with(actor, proof, project, state))
    }

    /// Like `envelope`, for a task that must not block: identifying the caller is one short read.
    pub(crate) async fn judged(self, state: &Shared) -> Result<Envelope, Error> {
        let shared = Arc::clone(state);
        short(&state.ops, move || self.envelope(&shared)).await
    }

    /// Like `envelope`, but the project may be missing; then its name is empty.
    pub(crate) fn somewhere(self, state: &State) -> Result<Envelope, Error> {
        let (actor, proof) = self.identify(state)?;
        let given = self.context.project.as_deref().map(str::trim).filter(|name| !name.is_empty());
        let project = given.or(state.project.as_deref()).unwrap_or_default().to_owned();
        Ok(self.with(actor, proof, project, state))
    }

    /// Like `envelope`, for requests that are not about one project.
    pub(crate) fn anywhere(self, state: &State) -> Result<Envelope, Error> {
        let (actor, proof) = self.identify(state)?;
        let project = self.context.project.clone().unwrap_or_default();
        Ok(self.with(actor, proof, project, state))
    }

    fn with(self, actor: Actor, proof: Proof, project: String, state: &State) -> Envelope {
        let given = self.context;
        Envelope {
            actor,
            proof,
            project,
            context: Context {
                session: given.session,
                conversation: given.conversation,
                turn: given.turn,
                host_session: given.host_session,
                processes: given.processes.into(),
                own_session: given.own_session,
                directory: given.directory,
                run: None,
                executor: None,
                branch: given.branch,
                detached: given.detached,
                place: given.place,
                names: given.names,
                issue: given.issue,
                is_remote: true,
                client_answer: given.client_answer,
                awaited: given.awaited,
            },
            idempotency_key: given.idempotency_key,
            agents: Arc::clone(&state.agents),
            now: (state.clock)(),
        }
    }
}

/// Identifies a caller by its secret. Without a secret, `may_lack_it` decides whether to go on.
pub(crate) fn identify(
    ops: &Ops,
    facts: Facts,
    secret: &Secret,
    may_lack_it: impl FnOnce() -> Result<(), Error>,
) -> Result<(Actor, Proof), Error> {
    let (actor, proof) = match secret {
        Secret::None => {
            may_lack_it()?;
            ops.identify(facts, None)?
        }
        Secret::Token(token) => ops.identify(facts, Some(token))?,
        Secret::Session(session) => ops.identify_page(session)?,
    };
    Ok((actor, if proof == Proof::Nothing { Proof::Http } else { proof }))
}

/// The value of a cookie with this name.
pub(crate) fn cookie(headers: &HeaderMap, name: &str) -> Option<String> {
    let all = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let mut pairs = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let found = pairs.find(|(given, _)| given.trim() == name);
    found.map(|(_, value)| value.trim().to_owned()).filter(|value| !value.is_empty())
}

/// The longest value of one of our headers: as long as a title.
const HEADER_MAX: usize = 500;

/// The value of one of our headers. A blank value counts as absent; two values are an error.
fn text(headers: &HeaderMap, name: &str) -> Result<Option<String>, Error> {
    let mut given = headers.get_all(name).iter();
    let Some(value) = given.next() else { return Ok(None) };
    if given.next().is_some() {
        return Err(bad(name, "given twice", "given once"));
    }
    // A value that is not UTF-8 is read as Latin-1, the original encoding of HTTP.
    let text = match std::str::from_utf8(value.as_bytes()) {
        Ok(text) => text.trim().to_owned(),
        Err(_) => value.as_bytes().iter().map(|byte| char::from(*byte)).collect(),
    };
    let length = text.chars().count();
    if length > HEADER_MAX && name != "punchlist-context" {
        let (path, limit, unit) = (name.to_owned(), HEADER_MAX, "characters");
        return Err(Fault::TooLong { path, length, limit, unit }.into());
    }
    Ok((!text.is_empty()).then_some(text))
}

fn bad(path: &str, found: &str, expected: &str) -> Error {
    let found = format!("`{}`", found.chars().take(60).collect::<String>());
    Fault::BadValue { path: path.to_owned(), found, expected: expected.to_owned() }.into()
}
