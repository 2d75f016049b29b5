//! Signs a browser in: a one-time code is exchanged for a page session, which identifies the
//! browser.
//!
//! A page session is a token of its own kind. Its secret has another prefix, so it does not work as
//! a bearer token, and a bearer token does not work as a cookie (ADR 0027).

use punchlist_core::authority::{Action, Subject};
use punchlist_core::event::TokenIssued;
use punchlist_core::{Actor, AgentPath, Role, Time, TokenId};
use punchlist_store::rows::sign_ins::SignIn;
use punchlist_store::rows::tokens::Token;
use punchlist_store::{Lead, Tx};

use crate::access::Access;
use crate::call::Call;
use crate::dispatch::{Ops, new_ids};
use crate::error::TokenFault;
use crate::identity::{Facts, prove_by};
use crate::operations::token_revoke::{self, TokenRevoke};
use crate::token::{digest, random, valid};
use crate::{Context, Envelope, Error, Proof};

/// How long a link works.
pub const LINK_S: i64 = 5 * 60;

/// How long a page session lasts without being used.
pub const IDLE_S: i64 = 30 * 86_400;

/// The last use is updated at most this often, so that most page views need no write.
const NOTED_S: i64 = 3_600;

/// How long used and expired links are kept, so that they can be told apart from unknown ones.
const REMEMBERED_S: i64 = 7 * 86_400;

const CODE: &str = "open_";
const SESSION: &str = "page_";

/// Why a link does not work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkFault {
    Unknown,
    Used,
    Expired,
}

/// Creates a code for a link. The store gets only its digest.
pub(crate) fn new_link(tx: &mut Tx<'_>, sign_in: &SignIn) -> Result<String, Error> {
    let code = random(CODE)?;
    tx.forget_sign_ins(sign_in.created_at.plus_seconds(-REMEMBERED_S))?;
    tx.insert_sign_in(&digest(&code), sign_in)?;
    Ok(code)
}

impl Ops {
    /// Exchanges a code for the secret of a new page session. Each code works once.
    pub fn sign_in(&self, code: &str, now: Time) -> Result<Result<String, LinkFault>, Error> {
        let (found, secret) = (digest(code), random(SESSION)?);
        let envelope = system(now);
        let ids = new_ids(&envelope)?;
        let kept = digest(&secret);
        let made = self.store()?.write(move |tx| {
            let clock = tx.clock()?;
            let Some(sign_in) = tx.sign_in(&found)? else { return Ok(Err(LinkFault::Unknown)) };
            if sign_in.used_at.is_some() {
                return Ok(Err(LinkFault::Used));
            }
            let is_over = sign_in.ends_at.is_some_and(|at| at <= clock);
            if is_over || sign_in.created_at.plus_seconds(LINK_S) <= clock {
                return Ok(Err(LinkFault::Expired));
            }
            tx.use_sign_in(&found, clock)?;
            begin(tx, sign_in, &kept, clock, (&envelope, ids.clone()))?;
            Ok::<_, Error>(Ok(()))
        })?;
        Ok(made.map(|()| secret))
    }

    /// Identifies the user of a page session by its cookie.
    pub fn identify_page(&self, secret: &str) -> Result<(Actor, Proof), Error> {
        let unknown = || Error::BadToken { fault: TokenFault::Unknown };
        if !secret.starts_with(SESSION) {
            return Err(unknown());
        }
        let kept = digest(secret);
        let (found, clock) = self
            .store()?
            .read(move |tx| Ok::<_, Error>((tx.token_by_digest(&kept)?, tx.clock()?)))?;
        let token = valid(found, clock)?;
        let used = token.used_at.ok_or_else(unknown)?;
        if used.plus_seconds(NOTED_S) <= clock {
            let id = token.id;
            // Nobody waits for it, because pages are read on threads that must not block. If it is
            // lost, the next visit notes itself.
            let used = move |tx: &mut Tx<'_>| tx.use_page_session(id, clock);
            self.store()?.write_then(used, Lead::Apart, drop);
        }
        let mut actor = prove_by(&token, Facts::default())?;
        actor.principal.clone_from(&token.created_by);
        actor.reach.token = Some(token.id.to_string());
        Ok((actor, Proof::Token(token.id)))
    }

    /// Ends a page session: it revokes its own token.
    pub fn end_page(&self, secret: &str, now: Time) -> Result<(), Error> {
        let (actor, proof) = self.identify_page(secret)?;
        let Proof::Token(id) = proof else { return Ok(()) };
        let projects = self.store()?.read(|tx| tx.project_names())?;
        let reached =
            projects.into_iter().find(|(_, name)| actor.reach.covers_project(name).is_ok());
        let project = reached.map(|(_, name)| name).unwrap_or_default();
        let envelope = Envelope { actor, proof, project, ..system(now) };
        self.run::<TokenRevoke>(&envelope, token_revoke::Input { id: id.to_string().into() })
            .map(drop)
    }

    /// Records the address of a server over this store.
    pub fn server_starts(&self, url: &str) -> Result<(), Error> {
        let url = url.to_owned();
        Ok(self.store()?.write(move |tx| {
            let clock = tx.clock()?;
            tx.put_server(&url, clock)
        })?)
    }

    pub fn server_ends(&self, url: &str) -> Result<(), Error> {
        let url = url.to_owned();
        Ok(self.store()?.write(move |tx| tx.remove_server(&url))?)
    }
}

/// May this caller sign in browsers? It must be proved to be the operator.
#[must_use]
pub fn may_sign_in(actor: &Actor, proof: Proof) -> bool {
    let is_sure = matches!(proof, Proof::Terminal | Proof::Token(_));
    is_sure && Access::On(Subject::Store, Action::Govern).allows(actor.role)
}

fn begin(
    tx: &mut Tx<'_>,
    sign_in: SignIn,
    digest: &str,
    clock: Time,
    (envelope, mut ids): (&Envelope, punchlist_core::Ids),
) -> Result<(), Error> {
    let role = Role::Operator;
    let token = Token {
        id: TokenId::from(ids.ulid()),
        role,
        agent: None,
        reach: sign_in.reach.without_token(),
        created_by: sign_in.created_by.clone(),
        created_at: envelope.now,
        expires_at: sign_in.ends_at,
        revoked_at: None,
        used_at: Some(clock),
    };
    tx.insert_token(&token, digest)?;
    let issued = TokenIssued {
        token_id: token.id,
        role,
        agent: None,
        reach: token.reach,
        expires_at: token.expires_at,
    };
    let actor = Actor { principal: sign_in.created_by, ..envelope.actor.clone() };
    let proof = Proof::Token(token.id);
    let own = Envelope { actor, proof, project: sign_in.project, ..envelope.clone() };
    Call::new(tx, &own, "sign_in", ids).log(&token.id.to_string(), issued)
}

/// The envelope of a browser that is not signed in yet.
fn system(now: Time) -> Envelope {
    Envelope {
        actor: Actor::new(Role::Operator, AgentPath::primary()),
        proof: Proof::Http,
        project: String::new(),
        context: Context { is_remote: true, ..Context::default() },
        idempotency_key: None,
        agents: Default::default(),
        now,
    }
}

/// When a page session ended because it was not used; `None` if it did not.
pub(crate) fn idle_since(token: &Token, clock: Time) -> Option<Time> {
    token.used_at.map(|used| used.plus_seconds(IDLE_S)).filter(|end| *end <= clock)
}
