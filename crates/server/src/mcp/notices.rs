//! The stream of a session over HTTP in the handshake era: a list, or what its client subscribed to,
//! has changed.
//!
//! Lists and subscriptions are in the store, each with a digest of what was last announced. So any
//! server may have the stream, a restart loses no change, and of two streams one announces it.

use std::time::{Duration, Instant};

use axum::response::Response;
use punchlist_ops::Error;
use punchlist_ops::mcp_session::{Announced, EntryKind, McpSession};
use rmcp::ErrorData;
use serde_json::{Value, json};

use super::McpServer;
use super::asking::send;
use super::changes::{Change, PATIENCE, PAUSE, RESOURCES, SUBSCRIPTIONS_MAX, TOOLS, Watched};
use super::pulse::Beats;
use super::resources::{URI_MAX, failed, not_found, refused_or_failed};
use crate::http::sse::{self, Gone, Pipe};

/// The shortest time between two reads for a client that subscribed to nothing. Most hosts have such
/// a stream open, and only lists are announced to them.
pub(super) const LISTS_PAUSE: Duration = Duration::from_secs(2);
/// How often a session with a stream is marked as used.
const USED: Duration = Duration::from_secs(6 * 3_600);

/// Something to tell the client.
struct Notice {
    message: Value,
    undo: Undo,
}

/// What to restore if the client cannot be told: an entry, and how it read before and after.
struct Undo {
    kind: EntryKind,
    name: String,
    old: String,
    new: String,
}

impl McpServer {
    /// `resources/subscribe` in a session.
    pub(super) async fn keep(&self, session: McpSession, uri: String) -> Result<(), ErrorData> {
        if uri.len() > URI_MAX {
            return Err(not_found(&uri, None));
        }
        let name = uri.clone();
        let kept = self.look(move |server| {
            let mut new = Watched::default();
            if !new.resource(&server.asker, server.choice, &name)? {
                return Ok(None);
            }
            let read = new.read_of(&name);
            server.asker.ops.mcp_subscribe(&session, &name, &read).map(Some)
        });
        match kept.await {
            Ok(Some(true)) => Ok(()),
            Ok(Some(false)) => {
                let message = format!("at most {SUBSCRIPTIONS_MAX} resources can be subscribed to");
                Err(ErrorData::invalid_params(message, None))
            }
            Ok(None) => Err(not_found(&uri, None)),
            Err(error) => Err(refused_or_failed(&error)),
        }
    }

    /// `resources/unsubscribe` in a session.
    pub(super) async fn drop_kept(
        &self,
        session: McpSession,
        uri: String,
    ) -> Result<(), ErrorData> {
        let dropped = self.look(move |server| server.asker.ops.mcp_unsubscribe(&session, &uri));
        dropped.await.map_err(|error| failed(&error))
    }

    /// Opens the stream of a session. `None` if the client has ended the session.
    pub(super) async fn notices(self, session: McpSession) -> Result<Option<Response>, Error> {
        let beats = self.pulse.beats();
        let begun = {
            let session = session.clone();
            self.look(move |server| {
                let ops = &server.asker.ops;
                let Some(known) = ops.mcp_announced(&session)? else { return Ok(None) };
                if known != Announced::default() {
                    ops.mcp_used(&session)?;
                }
                // Before the stream begins, so that every later change is announced.
                if known.lists.is_empty() {
                    let mut now = Watched::default();
                    now.lists(&server.asker, server.choice, true, true)?;
                    match ops.mcp_follow_lists(&session, now.lists_read()) {
                        // A store that takes no writes can still be followed, without the lists.
                        Err(error) if error.meaning().http < 500 => return Err(error),
                        _ => {}
                    }
                }
                Ok(Some(()))
            })
        };
        let Some(()) = begun.await? else { return Ok(None) };
        let (pipe, response) = sse::open();
        tokio::spawn(async move {
            let _ = self.announce_in(&pipe, beats, &session).await;
        });
        Ok(Some(response))
    }

    async fn announce_in(
        &self,
        pipe: &Pipe,
        mut beats: Beats,
        session: &McpSession,
    ) -> Result<(), Gone> {
        let mut watched = Watched::default();
        let (mut alive, mut used) = (sse::alive(), Instant::now());
        loop {
            let (own, is_used) = (session.clone(), used.elapsed() >= USED);
            let looked = self.look(move |server| {
                let notices = server.news(&own, &mut watched, is_used);
                Ok((watched, notices))
            });
            let Ok((seen, notices)) = looked.await else { return Ok(()) };
            watched = seen;
            if is_used {
                used = Instant::now();
            }
            match notices {
                Ok(Some(notices)) => self.tell(pipe, session, notices).await?,
                Ok(None) => return Ok(()),
                Err(error) if matches!(error.meaning().http, 401 | 403) => return Ok(()),
                // The store is unreachable: wait for it.
                Err(_) => {}
            }
            let pause = if watched.count() == 0 { LISTS_PAUSE } else { PAUSE };
            let next = async {
                tokio::time::sleep(pause).await;
                beats.next(PATIENCE).await;
            };
            tokio::select! {
                () = pipe.closed() => return Err(Gone),
                () = self.stopped() => return Ok(()),
                () = next => {}
                _ = alive.tick() => pipe.sign_of_life().await?,
            }
        }
    }

    async fn tell(
        &self,
        pipe: &Pipe,
        session: &McpSession,
        notices: Vec<Notice>,
    ) -> Result<(), Gone> {
        let mut notices = notices.into_iter();
        while let Some(notice) = notices.next() {
            if send(pipe, &notice.message).await.is_err() {
                // The next stream of this session announces the rest.
                let lost: Vec<_> = [notice].into_iter().chain(notices).collect();
                let session = session.clone();
                let restored = self.look(move |server| {
                    for Undo { kind, name, old, new } in lost.into_iter().map(|notice| notice.undo)
                    {
                        server.asker.ops.mcp_announce(&session, (kind, &name), (&new, &old))?;
                    }
                    Ok(())
                });
                drop(restored.await);
                return Err(Gone);
            }
        }
        Ok(())
    }

    /// What has changed since it was last announced. `None` if the client has ended the session.
    fn news(
        &self,
        session: &McpSession,
        watched: &mut Watched,
        is_used: bool,
    ) -> Result<Option<Vec<Notice>>, Error> {
        let ops = &self.asker.ops;
        if is_used {
            ops.mcp_used(session)?;
        }
        let Some(known) = ops.mcp_announced(session)? else { return Ok(None) };
        let list = |name: &str| known.lists.iter().find(|(known, _)| known == name);
        watched.announced(&known.resources, list(TOOLS), list(RESOURCES));
        let mut notices = Vec::new();
        for change in watched.look(&self.asker, self.choice)? {
            let (method, kind, name) = match change {
                Change::Tools => {
                    ("notifications/tools/list_changed", EntryKind::List, TOOLS.to_owned())
                }
                Change::Resources => {
                    ("notifications/resources/list_changed", EntryKind::List, RESOURCES.to_owned())
                }
                Change::Resource(uri) => {
                    ("notifications/resources/updated", EntryKind::Subscription, uri)
                }
            };
            let (old, new) = match kind {
                EntryKind::List => (list(&name), watched.read_of_list(&name)),
                _ => (known.resources.iter().find(|(uri, _)| *uri == name), watched.read_of(&name)),
            };
            let Some((_, old)) = old.cloned() else { continue };
            if !ops.mcp_announce(session, (kind, &name), (&old, &new))? {
                continue;
            }
            let mut message = json!({ "jsonrpc": "2.0", "method": method });
            if kind == EntryKind::Subscription {
                message["params"] = json!({ "uri": name });
            }
            notices.push(Notice { message, undo: Undo { kind, name, old, new } });
        }
        Ok(Some(notices))
    }
}
