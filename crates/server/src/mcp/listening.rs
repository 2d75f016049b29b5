//! Notifies clients of changes: on a connection with a handshake, and in `subscriptions/listen`.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};

use punchlist_ops::Error;
use rmcp::model::{ResourceUpdatedNotificationParam, SubscriptionFilter};
use rmcp::service::{Peer, SubscriptionContext};
use rmcp::{ErrorData, RoleServer};

use super::McpServer;
use super::changes::{Change, PATIENCE, PAUSE, SUBSCRIPTIONS_MAX, Watched};
use super::notices::LISTS_PAUSE;
use super::pulse::Beats;
use super::resources::{failed, not_found, refused_or_failed};
use crate::http::state::blocking;

impl McpServer {
    fn watched(&self) -> MutexGuard<'_, Watched> {
        self.watched.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the store for announcements, on a thread that may block.
    pub(super) async fn look<T: Send + 'static>(
        &self,
        job: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let server = self.clone();
        blocking(move || job(&server)).await
    }

    /// Announces changes on a connection with a handshake, until it ends.
    pub(super) fn announce(&self, peer: Peer<RoleServer>) {
        if self.is_announcing.swap(true, Ordering::SeqCst) {
            return;
        }
        let server = self.clone();
        tokio::spawn(async move {
            let mut beats = None;
            let first = server.look(|server| {
                let mut lists = Watched::default();
                lists.lists(&server.asker, server.choice, true, true)?;
                server.watched().take_lists(&lists);
                Ok(())
            });
            drop(first.await);
            loop {
                server.next_look(&mut beats).await;
                if peer.is_transport_closed() {
                    return;
                }
                let looked = server.look(|server| {
                    let mut seen = server.watched().clone();
                    let changes = seen.look(&server.asker, server.choice)?;
                    server.watched().update(seen);
                    Ok(changes)
                });
                // A caller that lost its rights is not notified any more; its next call says why.
                for change in looked.await.unwrap_or_default() {
                    let told = match change {
                        Change::Tools => peer.notify_tool_list_changed().await,
                        Change::Resources => peer.notify_resource_list_changed().await,
                        Change::Resource(uri) => {
                            let params = ResourceUpdatedNotificationParam::new(uri);
                            peer.notify_resource_updated(params).await
                        }
                    };
                    if told.is_err() {
                        return;
                    }
                }
                tokio::time::sleep(PAUSE).await;
            }
        });
    }

    /// Returns when it is time to look for changes.
    async fn next_look(&self, beats: &mut Option<Beats>) {
        if let Some(beats) = beats {
            return beats.next(PATIENCE).await;
        }
        // Following a PostgreSQL server takes a connection of its own, which the server cannot spare
        // for every idle agent. So until the client subscribes, the lists are read at intervals.
        let ops = &self.asker.ops;
        let is_costly = !ops.is_local() && ops.remote().is_none();
        if is_costly && self.watched().count() == 0 {
            tokio::select! {
                () = tokio::time::sleep(LISTS_PAUSE) => {}
                () = self.subscribed.notified() => {}
            }
        } else {
            // Something may have changed since the last read, so look at once.
            *beats = self.look(|server| Ok(server.pulse.beats())).await.ok();
        }
    }

    /// `resources/subscribe` on a connection.
    pub(super) async fn watch(&self, uri: String) -> Result<(), ErrorData> {
        if self.watched().count() >= SUBSCRIPTIONS_MAX {
            let message = format!("at most {SUBSCRIPTIONS_MAX} resources can be subscribed to");
            return Err(ErrorData::invalid_params(message, None));
        }
        let name = uri.clone();
        let watched = self.look(move |server| {
            let mut new = Watched::default();
            let is_there = new.resource(&server.asker, server.choice, &name)?;
            server.watched().add(new);
            Ok(is_there)
        });
        match watched.await {
            Ok(true) => {
                self.subscribed.notify_one();
                Ok(())
            }
            Ok(false) => Err(not_found(&uri, None)),
            Err(error) => Err(refused_or_failed(&error)),
        }
    }

    pub(super) fn unwatch(&self, uri: &str) {
        self.watched().forget(uri);
    }

    /// Reads the subscribed things before the subscription is acknowledged, so that every later
    /// change is announced. Must not be called on a thread that may not block.
    pub(super) fn prepare(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        let filter = accepted(requested);
        let beats = self.pulse.beats();
        let watched = self.begin(&filter);
        let mut waiting = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
        waiting.push(Accepted { filter: filter.clone(), beats, watched });
        filter
    }

    /// The filter that `prepare` accepted.
    pub(super) fn prepared(&self, requested: &SubscriptionFilter) -> SubscriptionFilter {
        accepted(requested)
    }

    /// `subscriptions/listen`: runs until it is cancelled, the server stops, or the token becomes
    /// invalid.
    pub(super) async fn listen_to(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let prepared = {
            let mut waiting = self.accepted.lock().unwrap_or_else(PoisonError::into_inner);
            let index = waiting.iter().position(|one| is_same(&one.filter, context.accepted()));
            index.map(|index| waiting.swap_remove(index))
        };
        let Some(Accepted { mut beats, watched, .. }) = prepared else {
            return Err(ErrorData::internal_error("the subscription was not prepared", None));
        };
        let mut watched = watched.map_err(|error| failed(&error))?;
        loop {
            tokio::select! {
                () = beats.next(PATIENCE) => {}
                () = context.cancelled() => return Ok(()),
                () = self.stopped() => return Ok(()),
            }
            let looked = self.look(move |server| {
                let changes = watched.look(&server.asker, server.choice);
                Ok((watched, changes))
            });
            let (seen, changes) = looked.await.map_err(|error| failed(&error))?;
            watched = seen;
            let changes = match changes {
                Ok(changes) => changes,
                Err(error) if matches!(error.meaning().http, 401 | 403) => return Ok(()),
                // The store is unreachable: wait for it.
                Err(_) => Vec::new(),
            };
            for change in changes {
                let sink = context.sink();
                let told = match change {
                    Change::Tools => sink.notify_tool_list_changed().await,
                    Change::Resources => sink.notify_resource_list_changed().await,
                    Change::Resource(uri) => sink.notify_resource_updated(uri).await,
                };
                if told.is_err() {
                    return Ok(());
                }
            }
            tokio::select! {
                () = tokio::time::sleep(PAUSE) => {}
                () = context.cancelled() => return Ok(()),
            }
        }
    }

    fn begin(&self, wish: &SubscriptionFilter) -> Result<Watched, Error> {
        let mut watched = Watched::default();
        let is_wanted = |wanted: Option<bool>| wanted == Some(true);
        let (tools, resources) =
            (is_wanted(wish.tools_list_changed), is_wanted(wish.resources_list_changed));
        watched.lists(&self.asker, self.choice, tools, resources)?;
        for uri in wish.resource_subscriptions.iter().flatten() {
            watched.expect(&self.asker, self.choice, uri)?;
        }
        Ok(watched)
    }
}

/// An accepted subscription, with the state at that time.
#[derive(Debug)]
pub(super) struct Accepted {
    filter: SubscriptionFilter,
    beats: Beats,
    watched: Result<Watched, Error>,
}

fn is_same(one: &SubscriptionFilter, other: &SubscriptionFilter) -> bool {
    let wanted = |filter: &SubscriptionFilter| {
        let flags = [filter.tools_list_changed, filter.resources_list_changed];
        flags.map(|flag| flag == Some(true))
    };
    let uris =
        |filter: &SubscriptionFilter| filter.resource_subscriptions.clone().unwrap_or_default();
    wanted(one) == wanted(other) && uris(one) == uris(other)
}

/// The part of a requested filter that we announce: our own addresses, up to the limit. Prompts
/// never change.
fn accepted(requested: &SubscriptionFilter) -> SubscriptionFilter {
    let mut accepted = requested.clone();
    accepted.prompts_list_changed = None;
    if let Some(uris) = &mut accepted.resource_subscriptions {
        uris.retain(|uri| super::uri::Address::parse(uri).is_some());
        uris.truncate(SUBSCRIPTIONS_MAX);
    }
    accepted
}
