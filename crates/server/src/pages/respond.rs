//! From a request to a page: the session, the form, the page, and the headers of every page.

use std::sync::Arc;

use axum::RequestExt;
use axum::body::Body;
use axum::extract::{RawPathParams, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use maud::Markup;
use punchlist_core::Actor;
use punchlist_ops::explain::Fault;
use punchlist_ops::web_fault::WebFault;
use punchlist_ops::{Error, Proof};

use super::forms::{Done, Form};
use super::notice::{self, Notice};
use super::routes::Page;
use super::visit::{Asked, Visit};
use super::{change, errors, frame, sign_in};
use crate::http::body;
use crate::http::caller::{SESSION, cookie};
use crate::http::problem::{of_type, problem};
use crate::http::query;
use crate::http::state::{Shared, blocking, short};

/// Scripts, styles and requests must come from this server, and no other page may embed ours.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
                      connect-src 'self'; form-action 'self'; base-uri 'none'; \
                      frame-ancestors 'none'";

/// The reply to a request for a page.
#[derive(Debug)]
pub(crate) enum Reply {
    Page {
        status: u16,
        html: Markup,
    },
    /// Redirects to another page.
    See {
        to: String,
        notice: Option<Notice>,
    },
}

impl Reply {
    pub(crate) const fn page(status: u16, html: Markup) -> Self {
        Self::Page { status, html }
    }
}

/// The headers of every page.
fn page(status: u16, html: Markup) -> Response {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = of_type(status, "text/html; charset=utf-8", html.into_string());
    protect(response.headers_mut());
    response
}

fn protect(headers: &mut HeaderMap) {
    let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
    set(header::CONTENT_SECURITY_POLICY, POLICY);
    set(header::REFERRER_POLICY, "same-origin");
    set(header::X_FRAME_OPTIONS, "DENY");
    set(header::X_CONTENT_TYPE_OPTIONS, "nosniff");
    // The content of a page depends on the reader.
    set(header::VARY, "cookie");
}

pub(crate) fn respond(state: &Shared, reply: Reply, had_notice: bool) -> Response {
    match reply {
        Reply::Page { status, html } => {
            let mut response = page(status, html);
            if had_notice {
                set_cookie(state, &mut response, notice::COOKIE, "", 0);
            }
            response
        }
        Reply::See { to, notice } => {
            let mut response = Response::new(Body::empty());
            *response.status_mut() = StatusCode::SEE_OTHER;
            protect(response.headers_mut());
            let headers = response.headers_mut();
            headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
            headers.extend(HeaderValue::try_from(to).map(|to| (header::LOCATION, to)));
            if let Some(notice) = notice {
                set_cookie(state, &mut response, notice::COOKIE, &notice.to_cookie(), 60);
            }
            response
        }
    }
}

/// Sets one of our cookies. Scripts cannot read it, and other sites cannot make a browser send it.
pub(crate) fn set_cookie(
    state: &Shared,
    response: &mut Response,
    name: &str,
    value: &str,
    seconds: i64,
) {
    let public = state.site.public.as_deref().is_some_and(|url| url.starts_with("https:"));
    let secure = if state.site.is_tls || public { "; Secure" } else { "" };
    let cookie =
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}");
    if let Ok(cookie) = HeaderValue::try_from(cookie) {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
}

/// A request for a page.
#[derive(Debug)]
struct Incoming {
    session: Option<String>,
    asked: Asked,
    /// The posted form, if there is one.
    form: Option<Form>,
    has_notice: bool,
}

async fn read(state: &Shared, mut request: Request) -> Result<Incoming, Error> {
    let given = request.extract_parts::<RawPathParams>().await;
    let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let parts = given.map(|given| given.iter().map(owned).collect()).unwrap_or_default();
    let (head, body) = request.into_parts();
    let form = match head.method {
        Method::GET | Method::HEAD => None,
        Method::POST => Some(posted(state, &head, body).await?),
        _ => return Err(WebFault::Method { allowed: "GET, HEAD, POST" }.into()),
    };
    // A page that reloads itself leaves the notice to the page that is waiting for it.
    let sent_by = head.headers.get("punchlist-form").and_then(|path| path.to_str().ok());
    let is_live = head.headers.contains_key("punchlist-live")
        || sent_by.is_some_and(|path| path != head.uri.path());
    let carried = cookie(&head.headers, notice::COOKIE).filter(|_| !is_live && form.is_none());
    let notice = carried.as_deref().and_then(Notice::from_cookie);
    let query = query::pairs(head.uri.query().unwrap_or_default())?;
    let asked = Asked { path: head.uri.path().to_owned(), parts, query, notice };
    let session = cookie(&head.headers, SESSION);
    Ok(Incoming { session, asked, form, has_notice: carried.is_some() })
}

async fn posted(state: &Shared, head: &Parts, body: Body) -> Result<Form, Error> {
    let kind = head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let bare = kind.unwrap_or_default().split(';').next().unwrap_or_default().trim();
    if !bare.eq_ignore_ascii_case("application/x-www-form-urlencoded") {
        let found = kind.unwrap_or_default().to_owned();
        let (path, expected) = ("Content-Type".to_owned(), "a form of a page".to_owned());
        return Err(Fault::BadValue { path, found, expected }.into());
    }
    let bytes = body::bytes(head, body, &state.limiter.limits).await?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Error::from(Fault::Utf8))?;
    let fields = query::pairs(text)?;
    // Browsers send a line break as two characters.
    let plain = |(name, value): (String, String)| (name, value.replace("\r\n", "\n"));
    Ok(Form(fields.into_iter().map(plain).collect()))
}

/// Answers a request for a page.
pub(crate) async fn answer(state: Shared, to: &'static Page, request: Request) -> Response {
    let incoming = match read(&state, request).await {
        Ok(incoming) => incoming,
        Err(error) => return respond(&state, errors::bare(&error), false),
    };
    let (shared, has_notice) = (Arc::clone(&state), incoming.has_notice);
    // Reading a change runs git, which may take long.
    let is_read = incoming.form.is_none() && !change::is_asked(&incoming.asked);
    let job = move || reply(&shared, Some(to), incoming);
    let replied = if is_read { short(&state.ops, job).await } else { blocking(job).await };
    let reply = replied.unwrap_or_else(|error| errors::bare(&error));
    respond(&state, reply, has_notice)
}

/// Answers unknown paths: with a page for a browser, with a problem for a program.
pub(crate) async fn unknown(State(state): State<Shared>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    let is_program = ["/v1", "/mcp", "/remote"].iter().any(|start| path.starts_with(start));
    let accepts = request.headers().get(header::ACCEPT).and_then(|accepts| accepts.to_str().ok());
    let is_browser = accepts.is_some_and(|accepts| accepts.contains("text/html"));
    if is_program || !(is_browser || path.starts_with("/p/")) {
        return problem(&WebFault::UnknownPath { path }.into());
    }
    let incoming = match read(&state, request).await {
        Ok(incoming) => incoming,
        Err(error) => return respond(&state, errors::bare(&error), false),
    };
    let shared = Arc::clone(&state);
    let replied = short(&state.ops, move || reply(&shared, None, incoming)).await;
    respond(&state, replied.unwrap_or_else(|error| errors::bare(&error)), false)
}

/// The page for a refused request.
pub(crate) fn refused(error: &Error) -> Response {
    let Reply::Page { status, html } = errors::bare(error) else { return problem(error) };
    page(status, html)
}

fn reply(state: &Shared, page: Option<&Page>, incoming: Incoming) -> Result<Reply, Error> {
    let Incoming { session, asked, form, .. } = incoming;
    let known = match session.as_deref().map(|secret| who(state, secret)) {
        None => None,
        Some(Ok(known)) => Some(known),
        Some(Err(error)) if matches!(error.meaning().http, 401 | 403) => None,
        Some(Err(error)) => return Err(error),
    };
    let (Some(known), Some(secret)) = (known, session) else {
        return Ok(match form {
            None => Reply::See { to: "/sign-in".to_owned(), notice: None },
            Some(form) => sign_in::ended(&form),
        });
    };
    state.limiter.request(known.1)?;
    let visit = Visit::begin(Arc::clone(state), known, sign_in::csrf(&secret), asked)?;
    let Some(page) = page else { return Ok(errors::no_page(&visit)) };
    if visit.is_of_project() && !visit.has_project() {
        return Ok(errors::no_project(&visit));
    }
    match form {
        None => Ok(show(&visit, page, 200)),
        Some(form) => act(visit, page, form),
    }
}

fn who(state: &Shared, secret: &str) -> Result<(Actor, Proof), Error> {
    let (actor, proof) = state.ops.identify_page(secret)?;
    state.ops.admits(proof)?;
    Ok((actor, proof))
}

fn show(visit: &Visit, page: &Page, status: u16) -> Reply {
    match (page.show)(visit) {
        Ok(shown) => Reply::page(status, frame::draw(visit, shown)),
        Err(error) => errors::in_frame(visit, &error),
    }
}

fn act(visit: Visit, page: &Page, form: Form) -> Result<Reply, Error> {
    if !sign_in::is_ours(&visit.csrf, &form) {
        let visit = visit.refusing(form, Error::from(WebFault::StaleForm));
        return Ok(show(&visit, page, 403));
    }
    match (page.act)(&visit, &form) {
        Ok(Done { notice, anchor, to }) => {
            let to = to.unwrap_or_else(|| visit.here(&[]));
            let to = if anchor.is_empty() { to } else { format!("{to}#{anchor}") };
            Ok(Reply::See { to, notice: Some(notice) })
        }
        Err(error) if error.meaning().http >= 500 => Err(error),
        Err(error) => {
            let status = error.meaning().http;
            let visit = visit.refusing(form, error);
            Ok(show(&visit, page, status))
        }
    }
}
