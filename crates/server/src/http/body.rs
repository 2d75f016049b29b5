//! Reads the body of a request, within the limits of size and time.

use std::time::Duration;

use axum::body::Body;
use axum::http::header;
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use punchlist_ops::Error;
use punchlist_ops::explain::Fault;
use punchlist_ops::web_fault::WebFault;
use tokio::time::timeout;

use super::limits::Limits;

/// How much of a body that is too large is read, in multiples of the limit.
const DISCARDED_MAX: usize = 8;
/// How long a client may pause before it counts as done with sending.
const PAUSE: Duration = Duration::from_millis(500);

pub(crate) async fn bytes(parts: &Parts, mut body: Body, limits: &Limits) -> Result<Bytes, Error> {
    let too_large = || Error::from(Fault::TooLarge { limit: limits.body_max });
    let announced = parts.headers.get(header::CONTENT_LENGTH).and_then(|n| n.to_str().ok());
    if announced.and_then(|n| n.parse().ok()).is_some_and(|n: usize| n > limits.body_max) {
        // A client that waits to be told sends nothing.
        if !parts.headers.contains_key(header::EXPECT) {
            discard(&mut body, limits).await;
        }
        return Err(too_large());
    }
    let limited = Limited::new(&mut body, limits.body_max);
    match timeout(limits.arrival, limited.collect()).await {
        Err(_) => Err(WebFault::TooSlow { limit_s: limits.arrival.as_secs() }.into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            discard(&mut body, limits).await;
            Err(too_large())
        }
        Ok(Err(error)) => Err(Fault::Json { detail: error.to_string() }.into()),
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}

/// Reads the rest of a body and keeps nothing. Many clients send all of it before they read, and a
/// connection that is closed under them takes the answer with it.
async fn discard(body: &mut Body, limits: &Limits) {
    let mut left = limits.body_max.saturating_mul(DISCARDED_MAX);
    let reading = async {
        while let Ok(Some(Ok(frame))) = timeout(PAUSE, body.frame()).await {
            let length = frame.data_ref().map_or(0, Bytes::len);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => break,
            }
        }
    };
    // Only the answer counts, whatever became of the rest.
    let _ = timeout(limits.arrival, reading).await;
}
