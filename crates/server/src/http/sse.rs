//! Server-sent events: a response whose body is written while the client reads it.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::Body;
use axum::http::{HeaderValue, header};
use axum::response::Response;
use bytes::Bytes;
use hyper::body::Frame;
use tokio::sync::mpsc;
use tokio::time::{Interval, MissedTickBehavior, interval, timeout};

/// How often an idle stream sends a sign of life.
const ALIVE: Duration = Duration::from_secs(15);
/// A client that accepts nothing for this long is disconnected.
const STUCK: Duration = Duration::from_secs(60);
/// How many chunks may wait for a client.
const WAITING: usize = 2;

/// The client has disconnected, or accepts nothing.
#[derive(Debug)]
pub(crate) struct Gone;

/// The writing end of a stream. The stream ends when it is dropped.
#[derive(Debug)]
pub(crate) struct Pipe(mpsc::Sender<Bytes>);

/// A new stream: its writing end, and the response.
pub(crate) fn open() -> (Pipe, Response) {
    let (send, frames) = mpsc::channel(WAITING);
    let mut response = Response::new(Body::new(Frames(frames)));
    let headers = response.headers_mut();
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_TYPE, "text/event-stream");
    set(header::CACHE_CONTROL, "no-store");
    // A buffering proxy would delay events.
    headers.insert("x-accel-buffering", HeaderValue::from_static("no"));
    (Pipe(send), response)
}

/// Ticks when it is time for a sign of life.
pub(crate) fn alive() -> Interval {
    let mut alive = interval(ALIVE);
    alive.set_missed_tick_behavior(MissedTickBehavior::Delay);
    alive
}

impl Pipe {
    pub(crate) async fn send(&self, bytes: Bytes) -> Result<(), Gone> {
        match timeout(STUCK, self.0.send(bytes)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) | Err(_) => Err(Gone),
        }
    }

    pub(crate) async fn sign_of_life(&self) -> Result<(), Gone> {
        self.send(Bytes::from_static(b": alive\n\n")).await
    }

    /// Returns when the client has disconnected.
    pub(crate) async fn closed(&self) {
        self.0.closed().await;
    }
}

/// The body of the response.
struct Frames(mpsc::Receiver<Bytes>);

impl hyper::body::Body for Frames {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        self.0.poll_recv(context).map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }
}
