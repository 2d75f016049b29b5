//! `GET /v1/events`: the log as server-sent events, from a cursor on, limited to what the caller
//! may see.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::http::request::Parts;
use axum::response::Response;
use bytes::{Bytes, BytesMut};
use punchlist_ops::Error;
use punchlist_ops::events::{Sight, Viewer};
use punchlist_ops::explain::{Fault, nearest};
use punchlist_ops::web_fault::WebFault;
use serde_json::json;

use super::caller::Caller;
use super::hub::{Batch, Credential, Next, PAGE};
use super::limits::Place;
use super::problem::problem;
use super::query;
use super::sse::{self, Gone, Pipe};
use super::state::{Shared, blocking};

pub(crate) async fn stream(State(state): State<Shared>, request: Request) -> Response {
    let (parts, _) = request.into_parts();
    let opened = match open(&state, &parts) {
        Ok(job) => job.await,
        Err(error) => Err(error),
    };
    match opened {
        Ok(feed) => {
            let (pipe, response) = sse::open();
            tokio::spawn(feed.run(pipe));
            response
        }
        Err(error) => problem(&error),
    }
}

/// The parameters of the query.
#[derive(Debug, Default)]
struct Wish {
    after: Option<i64>,
    project: Option<String>,
    types: Vec<String>,
}

impl Wish {
    fn read(parts: &Parts) -> Result<Self, Error> {
        let mut wish = Self::default();
        for (name, text) in query::pairs(parts.uri.query().unwrap_or_default())? {
            match name.as_str() {
                "after" => wish.after = Some(number("after", &text)?),
                "project" => wish.project = Some(text).filter(|name| !name.trim().is_empty()),
                "types" => wish.types.extend(
                    text.split(',').map(str::trim).filter(|t| !t.is_empty()).map(str::to_owned),
                ),
                _ => {
                    const KNOWN: [&str; 3] = ["after", "project", "types"];
                    let known = KNOWN.map(str::to_owned).to_vec();
                    let nearest = nearest(&name, KNOWN.into_iter()).map(str::to_owned);
                    let path = name.clone();
                    return Err(Fault::UnknownField { path, field: name, nearest, known }.into());
                }
            }
        }
        if let Some(id) = parts.headers.get("last-event-id") {
            let seen = number("Last-Event-ID", id.to_str().unwrap_or("?"))?;
            // If both are given, the later event counts, because the client has seen everything
            // before it.
            wish.after = Some(wish.after.map_or(seen, |after| after.max(seen)));
        }
        Ok(wish)
    }
}

fn number(path: &str, text: &str) -> Result<i64, Error> {
    let number = text.trim().parse().ok().filter(|number| *number >= 0);
    number.ok_or_else(|| {
        let found = format!("`{}`", text.chars().take(60).collect::<String>());
        let expected = "the number of an event, or 0".to_owned();
        Fault::BadValue { path: path.to_owned(), found, expected }.into()
    })
}

/// Checks a request. The returned future opens the stream.
fn open(
    state: &Shared,
    parts: &Parts,
) -> Result<impl Future<Output = Result<Feed, Error>> + use<>, Error> {
    if parts.method != Method::GET {
        return Err(WebFault::Method { allowed: "GET" }.into());
    }
    let (caller, wish) = (Caller::read_with_session(parts)?, Wish::read(parts)?);
    let state = Arc::clone(state);
    Ok(blocking(move || {
        let credential = state.hub.credential(caller.facts(), caller.secret());
        let envelope = caller.anywhere(&state)?;
        let proof = envelope.proof;
        state.ops.admits(proof)?;
        let viewer = Arc::new(Viewer::new(envelope, wish.project, wish.types)?);
        let place = state.limiter.stream(proof)?;
        // Read the era first, so that a later replacement of the log is noticed.
        let era = state.hub.era();
        let (cursor, missing) = match wish.after {
            None => (state.ops.log_end()?, None),
            Some(after) if state.ops.log_has(after)? => (after, None),
            Some(after) => (state.ops.log_end()?, Some(after)),
        };
        Ok(Feed { state, viewer, credential, place, cursor, era, missing })
    }))
}

/// An open stream.
struct Feed {
    state: Shared,
    viewer: Arc<Viewer>,
    credential: Arc<Credential>,
    /// Its slot among the open streams, which is freed when the stream ends.
    place: Place,
    cursor: i64,
    era: u64,
    /// The event that the client wanted to continue after, if the log no longer has it.
    missing: Option<i64>,
}

impl Feed {
    async fn run(mut self, pipe: Pipe) {
        let mut stopping = self.state.stopping.clone();
        let is_stopping = tokio::select! {
            _ = self.feed(&pipe) => false,
            stop = async { stopping.wait_for(|stop| *stop).await.is_ok() } => stop,
        };
        if is_stopping {
            let data = json!({ "after": self.cursor });
            let text = format!("retry: 500\nevent: reconnect\ndata: {data}\n\n");
            let _ = pipe.send(text.into()).await;
        }
        let Self { place, .. } = self;
        drop(place);
    }

    async fn feed(&mut self, pipe: &Pipe) -> Result<(), Gone> {
        let mut pulse = self.state.hub.pulse().subscribe();
        let mut alive = sse::alive();
        pipe.send(Bytes::from_static(b"retry: 1000\n\n")).await?;
        if let Some(after) = self.missing {
            pipe.send(reset(after, self.cursor)).await?;
        }
        loop {
            while !self.credential.is_over() && self.step(pipe).await? {}
            if self.credential.is_over() {
                return Ok(());
            }
            tokio::select! {
                () = pipe.closed() => return Err(Gone),
                changed = pulse.changed() => changed.map_err(|_| Gone)?,
                _ = alive.tick() => pipe.sign_of_life().await?,
            }
        }
    }

    /// Sends the next events. Returns false if there are none.
    async fn step(&mut self, pipe: &Pipe) -> Result<bool, Gone> {
        let batch = match self.state.hub.next(self.cursor, self.era) {
            Next::Nothing => return Ok(false),
            Next::Batch(batch) => batch,
            Next::Behind => match self.read_page().await? {
                Some(batch) => Arc::new(batch),
                // The log was cut, and the events after the cursor are gone.
                None => {
                    let head = self.log_end().await?;
                    pipe.send(reset(self.cursor, head)).await?;
                    self.cursor = head;
                    return Ok(true);
                }
            },
            Next::Reset { era, head } => {
                pipe.send(reset(self.cursor, head)).await?;
                (self.era, self.cursor) = (era, head);
                return Ok(true);
            }
        };
        let seen = self.visible(&batch).await?;
        self.cursor = batch.last();
        if let Some((bytes, count)) = seen {
            pipe.send(bytes).await?;
            self.state.metrics.sent(count);
        }
        Ok(true)
    }

    /// Reads a page of the log. Only a few streams read at once, to limit the memory.
    async fn read_page(&self) -> Result<Option<Batch>, Gone> {
        let _turn = self.state.hub.readers.acquire().await.map_err(|_| Gone)?;
        let (ops, after) = (Arc::clone(&self.state.ops), self.cursor);
        // If the store is unreachable the stream ends, and the client reconnects.
        let events = blocking(move || ops.log_after(after, PAGE)).await.map_err(|_| Gone)?;
        Ok((!events.is_empty()).then(|| Batch::new(events)))
    }

    async fn log_end(&self) -> Result<i64, Gone> {
        let ops = Arc::clone(&self.state.ops);
        blocking(move || ops.log_end()).await.map_err(|_| Gone)
    }

    /// The bytes of the batch's events that are after the cursor and visible to the client, and
    /// their number.
    async fn visible(&self, batch: &Arc<Batch>) -> Result<Option<(Bytes, usize)>, Gone> {
        let events = &batch.events;
        let first = events.partition_point(|event| event.seq <= self.cursor);
        let sights: Vec<Sight> = events[first..].iter().map(|e| self.viewer.sees(e)).collect();
        if sights.iter().all(|sight| *sight == Sight::Yes) {
            let count = sights.len();
            return Ok((count > 0).then(|| (batch.bytes(first, events.len()), count)));
        }
        let asked: Vec<_> = (first..events.len())
            .zip(&sights)
            .filter(|(_, sight)| **sight == Sight::Ask)
            .map(|(index, _)| Arc::clone(&events[index]))
            .collect();
        let mut reached = match asked.is_empty() {
            true => Vec::new(),
            false => {
                let (state, viewer) = (Arc::clone(&self.state), Arc::clone(&self.viewer));
                let reached = blocking(move || state.ops.log_reach(&viewer, asked)).await;
                reached.map_err(|_| Gone)?
            }
        }
        .into_iter();
        let (mut seen, mut count) = (BytesMut::new(), 0);
        for (index, sight) in (first..).zip(sights) {
            let shown = match sight {
                Sight::Yes => true,
                Sight::No => false,
                Sight::Ask => reached.next().unwrap_or(false),
            };
            if shown {
                seen.extend_from_slice(&batch.bytes(index, index + 1));
                count += 1;
            }
        }
        Ok((count > 0).then(|| (seen.freeze(), count)))
    }
}

/// Tells a client that the log does not continue from its cursor. The client reads the state again
/// and continues from `head`.
fn reset(after: i64, head: i64) -> Bytes {
    let data = json!({ "after": after, "lastSeq": head });
    format!("id: {head}\nevent: reset_required\ndata: {data}\n\n").into()
}
