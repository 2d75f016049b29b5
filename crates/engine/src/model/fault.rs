//! Creates faults: the kind of an error response, and its message. The types are in `model`.
//!
//! A message says what the server did (`answered 529: Overloaded`); the caller adds the server's
//! name. A message never contains a key.

use std::time::Duration;

use jiff::Timestamp;
use jiff::fmt::rfc2822;
use serde_json::Value;
use ureq::http::HeaderMap;

use super::{Fault, FaultKind};

/// How much of a server's own message is shown.
const QUOTED_MAX: usize = 300;

impl Fault {
    #[must_use]
    pub fn new(kind: FaultKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, retry_after: None }
    }

    #[must_use]
    pub fn cancelled() -> Self {
        Self::new(FaultKind::Cancelled, "stopped, as asked")
    }

    pub(super) fn garbled(message: impl Into<String>) -> Self {
        Self::new(FaultKind::Garbled, message)
    }

    /// The kind of an HTTP status, if nothing else is known.
    #[must_use]
    pub fn of_status(status: u16) -> Self {
        Self::of_answer(status, &HeaderMap::new(), b"")
    }

    /// The fault of an error response.
    pub(super) fn of_answer(status: u16, headers: &HeaderMap, body: &[u8]) -> Self {
        let body = Body::read(body);
        let kind = body.kind.unwrap_or_else(|| kind_of_status(status));
        let said =
            if body.message.is_empty() { String::new() } else { format!(": {}", body.message) };
        let message = format!("answered {status}{said}");
        let kind = advised(kind, status, header(headers, "x-should-retry"));
        Self { kind, message, status: Some(status), retry_after: retry_after(headers) }
    }

    /// The fault of an error in the middle of a reply.
    pub(super) fn of_error(error: &Value) -> Self {
        let message = message_of(error).unwrap_or_default();
        let kind = kind_of_error(error, &message).unwrap_or(FaultKind::Server);
        Self::new(kind, format!("broke off its reply with an error: {}", quoted(&message)))
    }
}

const fn kind_of_status(status: u16) -> FaultKind {
    match status {
        401 | 403 => FaultKind::Key,
        402 => FaultKind::Spend,
        413 => FaultKind::Context,
        408 | 409 => FaultKind::Server,
        429 | 503 | 529 => FaultKind::Busy,
        500.. => FaultKind::Server,
        _ => FaultKind::BadRequest,
    }
}

/// The provider's headers decide before the status whether a retry may help.
fn advised(kind: FaultKind, status: u16, advice: Option<&str>) -> FaultKind {
    match (advice, kind) {
        // A retry would send the same bad request.
        (_, kind) if status == 400 && kind.is_passing() => FaultKind::BadRequest,
        (Some("true"), FaultKind::BadRequest) if status != 400 => FaultKind::Server,
        (Some("false"), FaultKind::Busy) if status == 429 => FaultKind::Spend,
        (Some("false"), kind) if kind.is_passing() => FaultKind::BadRequest,
        _ => kind,
    }
}

/// The providers' error codes. They decide before the status, because a 429 may be an exhausted
/// quota.
fn kind_of_error(error: &Value, message: &str) -> Option<FaultKind> {
    let details = &error["details"]["error_code"];
    let words = [details, &error["code"], &error["type"]];
    let kind = words.into_iter().filter_map(Value::as_str).find_map(kind_of_word);
    // Both are plain `invalid_request_error`, so only their texts tell them apart.
    let too_long = message.contains("prompt is too long")
        || message.contains("exceed context limit")
        || message.contains("maximum context length");
    match kind {
        None | Some(FaultKind::BadRequest) if too_long => Some(FaultKind::Context),
        None | Some(FaultKind::BadRequest) if message.contains("credit balance is too low") => {
            Some(FaultKind::Spend)
        }
        kind => kind,
    }
}

fn kind_of_word(word: &str) -> Option<FaultKind> {
    Some(match word {
        "enforced_spend_limit_reached"
        | "billing_error"
        | "insufficient_quota"
        | "usage_limit_reached"
        | "usage_not_included"
        | "billing_hard_limit_reached" => FaultKind::Spend,
        "context_length_exceeded" | "request_too_large" => FaultKind::Context,
        "authentication_error" | "permission_error" | "invalid_api_key" => FaultKind::Key,
        "rate_limit_error"
        | "rate_limit_exceeded"
        | "overloaded_error"
        | "server_is_overloaded"
        | "slow_down" => FaultKind::Busy,
        "api_error" | "timeout_error" | "server_error" => FaultKind::Server,
        "invalid_request_error" | "not_found_error" | "invalid_prompt" | "model_not_found" => {
            FaultKind::BadRequest
        }
        _ => return None,
    })
}

/// The body of an error response, as far as it can be read.
struct Body {
    kind: Option<FaultKind>,
    message: String,
}

impl Body {
    fn read(bytes: &[u8]) -> Self {
        let text = String::from_utf8_lossy(bytes);
        if let Ok(body) = serde_json::from_str::<Value>(&text) {
            let error = if body["error"].is_object() { &body["error"] } else { &body };
            let message = message_of(error).unwrap_or_default();
            return Self { kind: kind_of_error(error, &message), message: quoted(&message) };
        }
        let message = if is_page(&text) { page(&text) } else { quoted(&text) };
        Self { kind: None, message }
    }
}

fn message_of(error: &Value) -> Option<String> {
    let words = [&error["message"], &error["error"], &error["detail"], error];
    words.into_iter().find_map(Value::as_str).map(str::to_owned)
}

pub(super) fn is_page(text: &str) -> bool {
    let start: String = text.trim_start().chars().take(15).collect();
    let start = start.to_ascii_lowercase();
    start.starts_with("<!doctype") || start.starts_with("<html")
}

/// The title of a proxy's HTML page.
pub(super) fn page(text: &str) -> String {
    let title = text.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let title = title.map_or(String::new(), |(title, _)| format!(" titled `{}`", quoted(title)));
    format!("a web page{title}; is there a proxy in between?")
}

/// Shortens a message to one line.
pub(super) fn quoted(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    match line.char_indices().nth(QUOTED_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

/// Removes a key from a server's message, because providers repeat it, whole or in part. A short
/// key may be an ordinary word, so it is removed only as a whole word.
pub(super) fn without_key(message: &str, key: Option<&str>) -> String {
    let key = key.unwrap_or_default();
    let message = if key.len() < 8 { message.to_owned() } else { message.replace(key, "[key]") };
    let beginning = key.get(..8).filter(|_| key.len() >= 16);
    let is_key = |word: &str| {
        let word = word.trim_matches(|sign: char| !sign.is_alphanumeric());
        let is_part = beginning.is_some_and(|beginning| word.contains(beginning));
        is_part || word.starts_with("sk-") || (!word.is_empty() && word == key)
    };
    let words = message.split(' ').map(|word| if is_key(word) { "[key]" } else { word });
    words.collect::<Vec<_>>().join(" ")
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let number = |name| header(headers, name)?.parse::<f64>().ok();
    let seconds = number("retry-after-ms").map(|ms| ms / 1000.0).or_else(|| number("retry-after"));
    match seconds {
        Some(seconds) => Duration::try_from_secs_f64(seconds).ok(),
        None => until(header(headers, "retry-after")?),
    }
}

fn until(date: &str) -> Option<Duration> {
    let date = rfc2822::DateTimeParser::new().parse_timestamp(date).ok()?;
    Some(date.duration_since(Timestamp::now()).try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use ureq::http::{HeaderName, HeaderValue};

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let pair = |(name, value): &(&'static str, &str)| {
            (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())
        };
        pairs.iter().map(pair).collect()
    }

    #[test]
    fn every_answer_has_its_kind() {
        use FaultKind::{BadRequest, Busy, Context, Key, Server, Spend};
        let cases = [
            (400, r#"{"error":{"type":"invalid_request_error","message":"no"}}"#, BadRequest),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}}"#,
                Context,
            ),
            (
                400,
                r#"{"error":{"type":"invalid_request_error","message":"Your credit balance is too low"}}"#,
                Spend,
            ),
            (400, r#"{"error":{"code":"context_length_exceeded","message":"too long"}}"#, Context),
            (400, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#, BadRequest),
            (400, r#"{"error":{"type":"rate_limit_error","message":"slow"}}"#, BadRequest),
            (400, r#"{"error":{"code":"server_error","message":"try again"}}"#, BadRequest),
            (400, r#"{"error":{"type":"timeout_error"}}"#, BadRequest),
            (401, r#"{"error":{"type":"authentication_error","message":"no"}}"#, Key),
            (401, "", Key),
            (402, "", Spend),
            (403, "", Key),
            (404, r#"{"error":"model 'x' not found"}"#, BadRequest),
            (408, "", Server),
            (409, "", Server),
            (413, "", Context),
            (422, r#"{"detail":"no"}"#, BadRequest),
            (429, r#"{"error":{"type":"rate_limit_error","message":"slow"}}"#, Busy),
            (429, r#"{"error":{"type":"insufficient_quota","code":"insufficient_quota"}}"#, Spend),
            (
                429,
                r#"{"error":{"type":"rate_limit_error","details":{"error_code":"enforced_spend_limit_reached"}}}"#,
                Spend,
            ),
            (500, "<html><title>oops</title></html>", Server),
            (502, "", Server),
            (503, r#"{"error":{"code":"slow_down"}}"#, Busy),
            (504, r#"{"error":{"type":"timeout_error"}}"#, Server),
            (529, r#"{"error":{"type":"overloaded_error","message":"Overloaded"}}"#, Busy),
            (302, "", BadRequest),
        ];
        for (status, body, kind) in cases {
            let fault = Fault::of_answer(status, &HeaderMap::new(), body.as_bytes());
            assert_eq!((fault.kind, fault.status), (kind, Some(status)), "{status} {body}");
            assert!(fault.message.starts_with(&format!("answered {status}")), "{fault}");
        }
    }

    #[test]
    fn headers_decide_whether_and_when_to_retry() {
        fn of(status: u16, pairs: &[(&'static str, &str)]) -> Fault {
            Fault::of_answer(status, &headers(pairs), b"")
        }
        fn seconds(pairs: &[(&'static str, &str)]) -> Option<f64> {
            of(429, pairs).retry_after.map(|pause| pause.as_secs_f64())
        }
        assert_eq!(seconds(&[("retry-after", "7")]), Some(7.0));
        assert_eq!(seconds(&[("retry-after-ms", "250"), ("retry-after", "7")]), Some(0.25));
        assert_eq!(seconds(&[("retry-after", "Wed, 21 Oct 2015 07:28:00 GMT")]), Some(0.0));
        assert!(seconds(&[("retry-after", "Mon, 21 Oct 2115 07:28:00 GMT")]).unwrap() > 1e9);
        for nonsense in ["-1", "soon", "NaN", "inf", "1e400", ""] {
            assert_eq!(seconds(&[("retry-after", nonsense)]), None, "{nonsense}");
        }
        assert_eq!(of(400, &[("x-should-retry", "true")]).kind, FaultKind::BadRequest);
        assert_eq!(of(404, &[("x-should-retry", "true")]).kind, FaultKind::Server);
        assert_eq!(of(401, &[("x-should-retry", "true")]).kind, FaultKind::Key);
        assert_eq!(of(429, &[("x-should-retry", "false")]).kind, FaultKind::Spend);
        assert_eq!(of(500, &[("x-should-retry", "false")]).kind, FaultKind::BadRequest);
    }

    #[test]
    fn messages_are_quoted_in_one_line_and_pages_by_their_title() {
        let of = |body: &str| Fault::of_answer(502, &HeaderMap::new(), body.as_bytes()).message;
        assert_eq!(of("bad\n  gateway"), "answered 502: bad gateway");
        let page = "\n<!DOCTYPE html><html><head><title>502 Bad\nGateway</title></head>";
        let expected =
            "answered 502: a web page titled `502 Bad Gateway`; is there a proxy in between?";
        assert_eq!(of(page), expected);
        assert_eq!(of(&"é".repeat(400)), format!("answered 502: {}…", "é".repeat(300)));
    }

    #[test]
    fn a_key_is_never_repeated_whole_or_in_part() {
        let key = "xyz-0123456789abcdef";
        let cases = [
            ("bad key xyz-0123456789abcdef.", "bad key [key]."),
            ("bad key `xyz-0123****cdef` given", "bad key [key] given"),
            (
                "Incorrect API key provided: sk-proj-****abcd. Find",
                "Incorrect API key provided: [key] Find",
            ),
            ("a task-list", "a task-list"),
        ];
        for (message, expected) in cases {
            assert_eq!(without_key(message, Some(key)), expected);
        }
        assert_eq!(without_key("a - b", Some("")), "a - b");
        assert_eq!(without_key("no no, none", Some("no")), "[key] [key] none");
    }
}
