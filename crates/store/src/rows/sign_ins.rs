//! Signing browsers in: one-time links, the use of page sessions, and the addresses of servers.
//!
//! A page session itself is a token (`tokens`), with the time of its last use.

use punchlist_core::{Reach, Time, TokenId};

use super::{opt_time, reach, reach_text, time};
use crate::{Error, Tx, sql};

/// A link that signs a browser in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignIn {
    /// The creator of the link, for whom the browser acts.
    pub created_by: String,
    pub project: String,
    pub reach: Reach,
    pub created_at: Time,
    /// When the token that created the link expires.
    pub ends_at: Option<Time>,
    pub used_at: Option<Time>,
}

impl Tx<'_> {
    pub fn insert_sign_in(&mut self, digest: &str, sign_in: &SignIn) -> Result<(), Error> {
        let reach = reach_text(&sign_in.reach)?;
        self.write(
            sql!(
                "INSERT INTO sign_ins (digest, created_by, project, reach, created_at, ends_at, \
                 used_at) VALUES ($1, $2, $3, $4, $5, $6, $7)"
            ),
            &[
                digest.into(),
                (&sign_in.created_by).into(),
                (&sign_in.project).into(),
                reach.as_deref().into(),
                sign_in.created_at.micros().into(),
                sign_in.ends_at.map(Time::micros).into(),
                sign_in.used_at.map(Time::micros).into(),
            ],
        )
    }

    pub fn sign_in(&mut self, digest: &str) -> Result<Option<SignIn>, Error> {
        let statement = self.dialect().pick(
            sql!(
                "SELECT created_by, project, reach, created_at, ends_at, used_at FROM sign_ins \
                 WHERE digest = $1"
            ),
            sql!(
                "SELECT created_by, project, reach, created_at, ends_at, used_at FROM sign_ins \
                 WHERE digest = $1 FOR UPDATE"
            ),
        );
        self.first(statement, &[digest.into()], |row| {
            Ok(SignIn {
                created_by: row.text(0)?,
                project: row.text(1)?,
                reach: reach(row, 2)?,
                created_at: time(row, 3)?,
                ends_at: opt_time(row, 4)?,
                used_at: opt_time(row, 5)?,
            })
        })
    }

    pub fn use_sign_in(&mut self, digest: &str, at: Time) -> Result<(), Error> {
        self.write(
            sql!("UPDATE sign_ins SET used_at = $2 WHERE digest = $1"),
            &[digest.into(), at.micros().into()],
        )
    }

    /// Deletes links that were created before this time.
    pub fn forget_sign_ins(&mut self, before: Time) -> Result<(), Error> {
        self.write(sql!("DELETE FROM sign_ins WHERE created_at < $1"), &[before.micros().into()])
    }

    /// Records that the cookie of a page session was used.
    pub fn use_page_session(&mut self, id: TokenId, at: Time) -> Result<(), Error> {
        let id = id.to_string();
        self.write(
            sql!("UPDATE tokens SET used_at = $2 WHERE id = $1"),
            &[(&id).into(), at.micros().into()],
        )
    }

    /// Records the address of a server.
    pub fn put_server(&mut self, url: &str, at: Time) -> Result<(), Error> {
        self.write(
            sql!(
                "INSERT INTO servers (url, started_at) VALUES ($1, $2) \
                 ON CONFLICT (url) DO UPDATE SET started_at = excluded.started_at"
            ),
            &[url.into(), at.micros().into()],
        )
    }

    pub fn remove_server(&mut self, url: &str) -> Result<(), Error> {
        self.write(sql!("DELETE FROM servers WHERE url = $1"), &[url.into()])
    }

    /// The addresses of servers, latest start first. Crashed servers are included.
    pub fn servers(&mut self, limit: i64) -> Result<Vec<String>, Error> {
        self.query(
            sql!("SELECT url FROM servers ORDER BY started_at DESC, url LIMIT $1"),
            &[limit.into()],
            |row| row.text(0),
        )
    }
}
