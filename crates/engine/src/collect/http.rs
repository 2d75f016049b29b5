//! A GET with limits on time, size and redirects.

use std::sync::mpsc;
use std::time::Instant;

use ureq::Agent;
use ureq::http::{Uri, header};

use super::{Fault, OUTPUT_MAX, Patience, TICK, flooded};
use crate::web;

/// How many redirects are followed.
const REDIRECTS_MAX: u32 = 5;

/// Gets a page. The call cannot be interrupted, so it runs on its own thread. When we stop waiting,
/// the thread ends by its own timeout.
pub(super) fn get(address: &str, patience: &Patience<'_>) -> Result<String, Fault> {
    let address: Uri = address.parse().map_err(|_| bad_address())?;
    let host = address.host().ok_or_else(bad_address)?.to_owned();
    let config = Agent::config_builder()
        .timeout_global(Some(patience.deadline().saturating_duration_since(Instant::now())))
        // Redirects are followed here, because only the same host may be called.
        .max_redirects(0)
        .http_status_as_error(false)
        .user_agent(web::USER_AGENT);
    let config = if web::is_loopback(&host) { config.proxy(None) } else { config };
    let agent: Agent = config.build().into();
    let (answer, answered) = mpsc::channel();
    std::thread::spawn(move || drop(answer.send(ask(&agent, address))));
    loop {
        match answered.recv_timeout(TICK) {
            Ok(Ok(text)) => return Ok(text),
            Ok(Err(Error::Status(code))) => {
                return Err(Fault::Failed(format!("{host} answered with HTTP {code}")));
            }
            Ok(Err(Error::Elsewhere)) => {
                let words = format!("{host} redirects to another host, which is not followed");
                return Err(Fault::Failed(words));
            }
            Ok(Err(Error::Round)) => {
                let words = format!("{host} sent us on more than {REDIRECTS_MAX} times");
                return Err(Fault::Failed(words));
            }
            Ok(Err(Error::Call(error))) => return Err(said(&error, &host, patience)),
            Err(mpsc::RecvTimeoutError::Timeout) => patience.check()?,
            Err(mpsc::RecvTimeoutError::Disconnected) => {
                return Err(Fault::Failed(format!("the call to {host} broke off")));
            }
        }
    }
}

enum Error {
    Status(u16),
    /// A redirect to another host, or to another port of it.
    Elsewhere,
    /// Too many redirects.
    Round,
    Call(ureq::Error),
}

fn ask(agent: &Agent, mut address: Uri) -> Result<String, Error> {
    for _ in 0..=REDIRECTS_MAX {
        let mut response = agent.get(&address).call().map_err(Error::Call)?;
        if response.status().is_success() {
            let body = response.body_mut().with_config().limit(OUTPUT_MAX as u64);
            return body.read_to_string().map_err(Error::Call);
        }
        let location = response.headers().get(header::LOCATION);
        let (true, Some(location)) = (response.status().is_redirection(), location) else {
            return Err(Error::Status(response.status().as_u16()));
        };
        let location = location.to_str().map_err(|_| Error::Elsewhere)?;
        address = next(&address, location).ok_or(Error::Elsewhere)?;
    }
    Err(Error::Round)
}

/// The target of a redirect. `None` if it leads to another host, because only the operator chooses
/// hosts.
fn next(from: &Uri, location: &str) -> Option<Uri> {
    let scheme = from.scheme_str()?;
    let place = from.authority()?.as_str();
    let path = from.path();
    let whole = match location {
        path if path.starts_with("//") => format!("{scheme}:{path}"),
        path if path.starts_with('/') => format!("{scheme}://{place}{path}"),
        query if query.starts_with('?') => format!("{scheme}://{place}{path}{query}"),
        whole if whole.contains("://") => whole.to_owned(),
        beside => {
            let folder = path.rfind('/').map_or("", |end| &path[..end]);
            format!("{scheme}://{place}{folder}/{beside}")
        }
    };
    let next: Uri = whole.split('#').next()?.parse().ok()?;
    let same_host = next.host()?.eq_ignore_ascii_case(from.host()?);
    let same_service = port(&next)? == port(from)?;
    // The usual redirect to the same host's https.
    let upgraded = (port(from)?, port(&next)?) == (80, 443);
    (same_host && (same_service || upgraded)).then_some(next)
}

fn port(address: &Uri) -> Option<u16> {
    address.port_u16().or(match address.scheme_str()? {
        "http" => Some(80),
        "https" => Some(443),
        _ => None,
    })
}

/// The error without the address, which may contain a password.
fn said(error: &ureq::Error, host: &str, patience: &Patience<'_>) -> Fault {
    match error {
        ureq::Error::Timeout(_) => patience.over(),
        ureq::Error::BodyExceedsLimit(_) => flooded(),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => bad_address(),
        ureq::Error::HostNotFound => Fault::Failed(format!("there is no host {host}")),
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Fault::failed("gave bytes that are not text")
        }
        error => Fault::Failed(format!("cannot reach {host}: {error}")),
    }
}

fn bad_address() -> Fault {
    Fault::failed("its address is not an http or https URL")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_redirect_leads_to_the_same_host_or_nowhere() {
        let from: Uri = "http://a.example/x/y?q=1".parse().unwrap();
        for (location, to) in [
            ("/z", Some("http://a.example/z")),
            ("z?r=2#part", Some("http://a.example/x/z?r=2")),
            ("?r=2", Some("http://a.example/x/y?r=2")),
            ("http://A.example:80/z", Some("http://a.example:80/z")),
            ("https://a.example/z", Some("https://a.example/z")),
            ("//a.example/z", Some("http://a.example/z")),
            ("http://a.example:81/z", None),
            ("http://b.example/z", None),
            ("//b.example/z", None),
            ("http://a.example@b.example/z", None),
            ("http://127.0.0.1/", None),
            ("ftp://a.example/z", None),
            ("http://", None),
        ] {
            let found = next(&from, location).map(|uri| uri.to_string().to_lowercase());
            assert_eq!(found.as_deref(), to, "{location}");
        }
    }
}
