//! Answers and errors as HTTP responses.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::Response;
use punchlist_ops::Error;
use punchlist_ops::web_fault::WebFault;
use sha2::{Digest, Sha256};

/// A JSON response.
pub(crate) fn json(text: String) -> Response {
    of_type(StatusCode::OK, "application/json", text)
}

/// Like `json`, for GET: a client that already has this version gets no body.
pub(crate) fn json_or_unchanged(text: String, headers: &HeaderMap) -> Response {
    let tag = tag(text.as_bytes());
    let mut response = match headers.get(header::IF_NONE_MATCH) {
        Some(known) if names(known, &tag) => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::NOT_MODIFIED;
            response
        }
        _ => json(text),
    };
    let headers = response.headers_mut();
    headers.extend(HeaderValue::try_from(tag).map(|tag| (header::ETAG, tag)));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
    headers.insert(header::VARY, HeaderValue::from_static("authorization, punchlist-project"));
    response
}

/// A weak tag, because the same response may be sent compressed or not.
fn tag(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let hex: String = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    format!("W/\"{hex}\"")
}

/// Does an `If-None-Match` header contain this tag?
fn names(known: &HeaderValue, tag: &str) -> bool {
    let known = known.to_str().unwrap_or_default();
    let bare = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    known.split(',').any(|one| one.trim() == "*" || bare(one) == bare(tag))
}

/// An error as problem+json, with the headers that its status requires.
pub(crate) fn problem(error: &Error) -> Response {
    let meaning = error.meaning();
    let status = StatusCode::from_u16(meaning.http).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let text = error.to_problem().to_string();
    let mut response = of_type(status, "application/problem+json", text);
    let headers = response.headers_mut();
    let mut set = |name, value: &'static str| {
        headers.insert(name, HeaderValue::from_static(value));
    };
    match meaning.http {
        401 => set(header::WWW_AUTHENTICATE, "Bearer realm=\"punchlist\""),
        429 | 503 => set(header::RETRY_AFTER, "1"),
        _ => {}
    }
    if let Error::Web(fault) = error {
        match **fault {
            WebFault::Method { allowed } => set(header::ALLOW, allowed),
            WebFault::TooManyFailures => set(header::RETRY_AFTER, "60"),
            // Close the connection, so that the rest of the request is not read.
            WebFault::TooSlow { .. } => set(header::CONNECTION, "close"),
            _ => {}
        }
    }
    response
}

pub(crate) fn of_type(status: StatusCode, kind: &'static str, text: String) -> Response {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_known_tag_is_found_in_a_list_whether_weak_or_strong() {
        let tag = tag(b"{}");
        let is_known = |text: &str| names(&HeaderValue::from_str(text).unwrap(), &tag);
        assert!(is_known(&tag) && is_known("*") && is_known(&format!("\"a\", {tag}")));
        assert!(is_known(tag.trim_start_matches("W/")));
        assert!(!is_known("\"a\"") && !is_known(""));
    }
}
