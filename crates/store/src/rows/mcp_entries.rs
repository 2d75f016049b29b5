//! What the sessions of MCP clients over HTTP keep: subscriptions, and news for their streams.
//!
//! Any server over this store may get the next request of a session, so nothing of it is in memory.
//! These rows are not derived from events: they are about connections, not about work.

use punchlist_core::Time;

use crate::{Error, Tx, sql};

/// A session as one caller uses it. Another caller with the same session finds nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    pub session: String,
    /// A digest of the caller and its proof.
    pub owner: String,
}

/// What an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// The name is a resource, the value a digest of it as it was last announced.
    Subscription,
    /// The same for a list, such as that of the tools.
    List,
    /// What a waiting call must know: its client cancelled it, or answered without an answer.
    Reply,
    /// The name is a digest of the id of a request that asked the client's user; the value is when.
    Question,
    /// The client ended the session.
    End,
}

impl EntryKind {
    const fn name(self) -> &'static str {
        match self {
            Self::Subscription => "subscription",
            Self::List => "list",
            Self::Reply => "reply",
            Self::Question => "question",
            Self::End => "end",
        }
    }
}

impl Tx<'_> {
    /// Adds or replaces an entry.
    pub fn put_mcp_entry(
        &mut self,
        holder: &Holder,
        kind: EntryKind,
        (name, value): (&str, &str),
        at: Time,
    ) -> Result<(), Error> {
        self.write(
            sql!(
                "INSERT INTO mcp_entries (session, owner, kind, name, value, used_at) \
                 VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (session, owner, kind, name) \
                 DO UPDATE SET value = excluded.value, used_at = excluded.used_at"
            ),
            &[
                (&holder.session).into(),
                (&holder.owner).into(),
                kind.name().into(),
                name.into(),
                value.into(),
                at.micros().into(),
            ],
        )
    }

    /// The value of an entry.
    pub fn mcp_entry(
        &mut self,
        holder: &Holder,
        kind: EntryKind,
        name: &str,
    ) -> Result<Option<String>, Error> {
        self.first(
            sql!(
                "SELECT value FROM mcp_entries \
                 WHERE session = $1 AND owner = $2 AND kind = $3 AND name = $4"
            ),
            &[(&holder.session).into(), (&holder.owner).into(), kind.name().into(), name.into()],
            |row| row.text(0),
        )
    }

    /// The entries of a kind: names and values, in the order of the names.
    pub fn mcp_entries(
        &mut self,
        holder: &Holder,
        kind: EntryKind,
    ) -> Result<Vec<(String, String)>, Error> {
        self.query(
            sql!(
                "SELECT name, value FROM mcp_entries \
                 WHERE session = $1 AND owner = $2 AND kind = $3 ORDER BY name"
            ),
            &[(&holder.session).into(), (&holder.owner).into(), kind.name().into()],
            |row| Ok((row.text(0)?, row.text(1)?)),
        )
    }

    /// Replaces the value of an entry, if it is still `old`. Returns false if somebody else was
    /// faster.
    pub fn change_mcp_entry(
        &mut self,
        holder: &Holder,
        kind: EntryKind,
        name: &str,
        (old, new): (&str, &str),
        at: Time,
    ) -> Result<bool, Error> {
        let changed = self.execute(
            sql!(
                "UPDATE mcp_entries SET value = $6, used_at = $7 WHERE session = $1 \
                 AND owner = $2 AND kind = $3 AND name = $4 AND value = $5"
            ),
            &[
                (&holder.session).into(),
                (&holder.owner).into(),
                kind.name().into(),
                name.into(),
                old.into(),
                new.into(),
                at.micros().into(),
            ],
        )?;
        Ok(changed > 0)
    }

    pub fn remove_mcp_entry(
        &mut self,
        holder: &Holder,
        kind: EntryKind,
        name: &str,
    ) -> Result<(), Error> {
        self.write(
            sql!(
                "DELETE FROM mcp_entries \
                 WHERE session = $1 AND owner = $2 AND kind = $3 AND name = $4"
            ),
            &[(&holder.session).into(), (&holder.owner).into(), kind.name().into(), name.into()],
        )
    }

    /// Deletes everything of a session.
    pub fn remove_mcp_entries(&mut self, holder: &Holder) -> Result<(), Error> {
        self.write(
            sql!("DELETE FROM mcp_entries WHERE session = $1 AND owner = $2"),
            &[(&holder.session).into(), (&holder.owner).into()],
        )
    }

    /// Records that a session is in use.
    pub fn use_mcp_entries(&mut self, holder: &Holder, at: Time) -> Result<(), Error> {
        self.write(
            sql!("UPDATE mcp_entries SET used_at = $3 WHERE session = $1 AND owner = $2"),
            &[(&holder.session).into(), (&holder.owner).into(), at.micros().into()],
        )
    }

    /// Deletes the entries of all sessions that were last used before this time.
    pub fn forget_mcp_entries(&mut self, before: Time) -> Result<(), Error> {
        self.write(sql!("DELETE FROM mcp_entries WHERE used_at < $1"), &[before.micros().into()])
    }
}
