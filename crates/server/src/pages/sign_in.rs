//! Signing in and out: a one-time link is exchanged for a cookie. Also the token that protects
//! forms.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::Method;
use axum::response::Response;
use maud::{Markup, html};
use punchlist_ops::Error;
use punchlist_ops::sign_in::{IDLE_S, LinkFault};
use punchlist_ops::web_fault::WebFault;
use sha2::{Digest, Sha256};

use super::forms::Form;
use super::notice::{self, Tone};
use super::respond::{Reply, respond, set_cookie};
use super::{errors, frame};
use crate::http::body;
use crate::http::caller::{SESSION, cookie};
use crate::http::guard::Peer;
use crate::http::query;
use crate::http::state::{Shared, blocking};

/// The token in the forms of a session. It cannot be computed without the cookie.
pub(crate) fn csrf(session: &str) -> String {
    let digest = Sha256::new().chain_update(b"punchlist form:").chain_update(session).finalize();
    digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
}

/// Does the form come from a page of this session?
pub(crate) fn is_ours(csrf: &str, form: &Form) -> bool {
    let given = form.text("csrf");
    let differing = csrf.bytes().zip(given.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    csrf.len() == given.len() && differing == 0
}

/// `/sign-in`: signs in with a code; without one, explains how to get a link.
pub(crate) async fn show(State(state): State<Shared>, request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let error = WebFault::Method { allowed: "GET, HEAD" }.into();
        return respond(&state, errors::bare(&error), false);
    }
    let pairs = query::pairs(request.uri().query().unwrap_or_default()).unwrap_or_default();
    let code = pairs.into_iter().find(|(name, _)| name == "code").map(|(_, code)| code);
    let Some(code) = code.filter(|code| !code.trim().is_empty()) else {
        return respond(&state, Reply::page(200, card(None)), false);
    };
    // A HEAD request, such as that of a link preview, must not use up the code.
    if *request.method() == Method::HEAD {
        return respond(&state, Reply::page(200, card(None)), false);
    }
    let peer = request.extensions().get::<Peer>();
    let peer = peer.map_or(IpAddr::from([0, 0, 0, 0]), |Peer(address)| address.ip());
    let shared = Arc::clone(&state);
    let signed_in = blocking(move || {
        let made = shared.ops.sign_in(code.trim(), (shared.clock)())?;
        if made == Err(LinkFault::Unknown) {
            shared.limiter.failed(peer)?;
        }
        Ok(made)
    });
    match signed_in.await {
        Ok(Ok(secret)) => {
            let home = Reply::See { to: "/".to_owned(), notice: None };
            let mut response = respond(&state, home, false);
            set_cookie(&state, &mut response, SESSION, &secret, IDLE_S);
            response
        }
        Ok(Err(fault)) => {
            let words = match fault {
                LinkFault::Used => "This link has already been used.",
                LinkFault::Expired => "This link has expired.",
                LinkFault::Unknown => "This link is not valid.",
            };
            respond(&state, Reply::page(410, card(Some(words))), false)
        }
        Err(error) => respond(&state, errors::bare(&error), false),
    }
}

/// The page that explains how to sign in; `why` says why a link did not work.
fn card(why: Option<&str>) -> Markup {
    frame::alone(
        "Sign in",
        &html! {
            h1 { "Open punchlist from your terminal" }
            @if let Some(why) = why {
                (notice::show(Tone::Refused, &html! {
                    (why) " Run " code { "punch open" } " for a new one."
                }))
            }
            p.command { code { "punch open" } }
            p.hint {
                "The link works once, for five minutes. If no server is running, "
                code { "punch serve --open" } " starts one."
            }
        },
    )
}

/// A form that arrives after its session has ended. The typed text is not lost.
pub(crate) fn ended(form: &Form) -> Reply {
    Reply::page(
        401,
        frame::alone(
            "Signed out",
            &html! {
                h1 { "You are signed out" }
                p { "Nothing was changed. Run " code { "punch open" } " in your terminal, and send it again." }
                @for (name, value) in form.typed() {
                    div.field {
                        label for={"typed-" (name)} { "You typed (" (name) ")" }
                        textarea id={"typed-" (name)} rows="4" readonly { "\n" (value) }
                    }
                }
            },
        ),
    )
}

/// `/sign-out`: revokes the token of the page session.
pub(crate) async fn end(State(state): State<Shared>, request: Request) -> Response {
    let (head, body) = request.into_parts();
    let ended = async {
        if head.method != Method::POST {
            return Err(WebFault::Method { allowed: "POST" }.into());
        }
        let session = cookie(&head.headers, SESSION);
        let bytes = body::bytes(&head, body, &state.limiter.limits).await?;
        let form = Form(query::pairs(std::str::from_utf8(&bytes).unwrap_or_default())?);
        let shared = Arc::clone(&state);
        blocking(move || {
            let Some(secret) = session else { return Ok(()) };
            if !is_ours(&csrf(&secret), &form) {
                return Err(WebFault::StaleForm.into());
            }
            sign_out(&shared, &secret)
        })
        .await
    };
    match ended.await {
        Ok(()) => {
            let to = Reply::See { to: "/sign-in".to_owned(), notice: None };
            let mut response = respond(&state, to, false);
            set_cookie(&state, &mut response, SESSION, "", 0);
            response
        }
        Err(error) => respond(&state, errors::bare(&error), false),
    }
}

fn sign_out(state: &Shared, secret: &str) -> Result<(), Error> {
    match state.ops.end_page(secret, (state.clock)()) {
        // The session had already ended.
        Err(Error::BadToken { .. }) => Ok(()),
        ended => ended,
    }
}
