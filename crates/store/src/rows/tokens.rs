//! Tokens: their digests, roles and reach. Secrets are never stored.

use punchlist_core::{AgentPath, Reach, Role, Time, TokenId};

use super::{opt_time, time, word};
use crate::sql::{Row, Value};
use crate::{Asked, Error, Tx, sql};

/// A token as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    pub id: TokenId,
    pub role: Role,
    pub agent: Option<AgentPath>,
    pub reach: Reach,
    pub created_by: String,
    pub created_at: Time,
    pub expires_at: Option<Time>,
    pub revoked_at: Option<Time>,
    /// For a page session: when its cookie was last used. Absent for a bearer token.
    pub used_at: Option<Time>,
}

macro_rules! columns {
    () => {
        "id, role, agent, project, mission, pillar, issue_number, plan_file, created_by, \
         created_at, expires_at, revoked_at, session, used_at"
    };
}

macro_rules! fact {
    () => {
        "SELECT value FROM facts WHERE name = $1"
    };
}

impl Tx<'_> {
    pub fn insert_token(&mut self, token: &Token, digest: &str) -> Result<(), Error> {
        let id = token.id.to_string();
        let micros = |time: Option<Time>| Value::from(time.map(Time::micros));
        self.write(
            sql!(
                "INSERT INTO tokens (",
                columns!(),
                ", digest) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, \
                 $15)"
            ),
            &[
                (&id).into(),
                token.role.name().into(),
                token.agent.as_ref().map(AgentPath::as_str).into(),
                token.reach.project.as_deref().into(),
                token.reach.mission.as_deref().into(),
                token.reach.pillar.as_deref().into(),
                token.reach.number.into(),
                token.reach.plan_file.as_deref().into(),
                (&token.created_by).into(),
                token.created_at.micros().into(),
                micros(token.expires_at),
                micros(token.revoked_at),
                token.reach.session.as_deref().into(),
                micros(token.used_at),
                digest.into(),
            ],
        )?;
        Ok(())
    }

    /// The token with this digest, even if it is revoked or expired.
    pub fn token_by_digest(&mut self, digest: &str) -> Result<Option<Token>, Error> {
        self.first(
            sql!("SELECT ", columns!(), " FROM tokens WHERE digest = $1"),
            &[digest.into()],
            read,
        )
    }

    pub fn token(&mut self, id: TokenId) -> Result<Option<Token>, Error> {
        let id = id.to_string();
        self.first(sql!("SELECT ", columns!(), " FROM tokens WHERE id = $1"), &[(&id).into()], read)
    }

    /// The tokens, newest first; with `below`, only ids less than it.
    pub fn tokens(&mut self, below: Option<&str>, limit: i64) -> Result<Vec<Token>, Error> {
        self.query(
            sql!(
                "SELECT ",
                columns!(),
                " FROM tokens WHERE CAST($1 AS TEXT) IS NULL OR id < $1 ORDER BY id DESC LIMIT $2"
            ),
            &[below.into(), limit.into()],
            read,
        )
    }

    pub fn revoke_token(&mut self, id: TokenId, at: Time) -> Result<(), Error> {
        let id = id.to_string();
        self.write(
            sql!("UPDATE tokens SET revoked_at = $2 WHERE id = $1 AND revoked_at IS NULL"),
            &[(&id).into(), at.micros().into()],
        )?;
        Ok(())
    }

    /// A fact that the store records about itself.
    pub fn fact(&mut self, name: &str) -> Result<Option<String>, Error> {
        self.first(sql!(fact!()), &[name.into()], |row| row.text(0))
    }

    /// Asks for a fact; [`Tx::asked_fact`] returns it if it is known later.
    pub fn ask_fact(&mut self, name: &str) -> Result<Asked, Error> {
        self.ask_along(sql!(fact!()), &[name.into()])
    }

    /// The fact that was asked for in this transaction.
    pub fn asked_fact(&mut self) -> Result<Option<String>, Error> {
        self.asked()
    }

    pub fn put_fact(&mut self, name: &str, value: &str) -> Result<(), Error> {
        self.write(
            sql!(
                "INSERT INTO facts (name, value) VALUES ($1, $2) \
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value"
            ),
            &[name.into(), value.into()],
        )?;
        Ok(())
    }
}

fn read(row: &Row<'_>) -> Result<Token, Error> {
    Ok(Token {
        id: word("token id", row.str(0)?, TokenId::parse)?,
        role: word("role", row.str(1)?, Role::parse)?,
        agent: row.opt_str(2)?.map(|a| word("agent path", a, AgentPath::parse)).transpose()?,
        reach: Reach {
            project: row.opt_text(3)?,
            mission: row.opt_text(4)?,
            pillar: row.opt_text(5)?,
            number: row.opt_int(6)?,
            plan_file: row.opt_text(7)?,
            session: row.opt_text(12)?,
            token: None,
        },
        created_by: row.text(8)?,
        created_at: time(row, 9)?,
        expires_at: opt_time(row, 10)?,
        revoked_at: opt_time(row, 11)?,
        used_at: opt_time(row, 13)?,
    })
}
