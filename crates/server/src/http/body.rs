//! Reads the body of a request, within the limits of size and time.

use axum::body::Body;
use axum::http::header;
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use punchlist_ops::Error;
use punchlist_ops::explain::Fault;
use punchlist_ops::web_fault::WebFault;

use super::limits::Limits;

pub(crate) async fn bytes(parts: &Parts, body: Body, limits: &Limits) -> Result<Bytes, Error> {
    let too_large = || Error::from(Fault::TooLarge { limit: limits.body_max });
    let announced = parts.headers.get(header::CONTENT_LENGTH).and_then(|n| n.to_str().ok());
    if announced.and_then(|n| n.parse().ok()).is_some_and(|n: usize| n > limits.body_max) {
        return Err(too_large());
    }
    let arrived =
        tokio::time::timeout(limits.arrival, Limited::new(body, limits.body_max).collect());
    match arrived.await {
        Err(_) => Err(WebFault::TooSlow { limit_s: limits.arrival.as_secs() }.into()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(error)) => Err(Fault::Json { detail: error.to_string() }.into()),
        Ok(Ok(body)) => Ok(body.to_bytes()),
    }
}
