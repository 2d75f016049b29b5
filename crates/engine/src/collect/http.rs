//! A GET with limits on time, size and redirects.

use std::sync::mpsc;
use std::time::Instant;

use ureq::Agent;
use ureq::http::Uri;

use super::{Fault, OUTPUT_MAX, Patience, TICK, flooded};
use crate::web;

/// How many redirects are followed.
const REDIRECTS_MAX: u32 = 5;

/// The call itself cannot be interrupted, so it runs on its own thread. When we stop waiting, it ends by
/// its own timeout.
pub(super) fn get(address: &str, patience: &Patience<'_>) -> Result<String, Fault> {
    let address: Uri = address.parse().map_err(|_| bad_address())?;
    let host = address.host().ok_or_else(bad_address)?.to_owned();
    let config = Agent::config_builder()
        .timeout_global(Some(patience.deadline().saturating_duration_since(Instant::now())))
        .max_redirects(REDIRECTS_MAX)
        .max_redirects_will_error(true)
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
    Call(ureq::Error),
}

fn ask(agent: &Agent, address: Uri) -> Result<String, Error> {
    let mut response = agent.get(address).call().map_err(Error::Call)?;
    if !response.status().is_success() {
        return Err(Error::Status(response.status().as_u16()));
    }
    let body = response.body_mut().with_config().limit(OUTPUT_MAX as u64);
    body.read_to_string().map_err(Error::Call)
}

/// The error without the address, which may hold a password.
fn said(error: &ureq::Error, host: &str, patience: &Patience<'_>) -> Fault {
    match error {
        ureq::Error::Timeout(_) => patience.over(),
        ureq::Error::BodyExceedsLimit(_) => flooded(),
        ureq::Error::BadUri(_) | ureq::Error::Http(_) => bad_address(),
        ureq::Error::HostNotFound => Fault::Failed(format!("there is no host {host}")),
        ureq::Error::TooManyRedirects => {
            Fault::Failed(format!("{host} sent us on more than {REDIRECTS_MAX} times"))
        }
        ureq::Error::Io(error) if error.kind() == std::io::ErrorKind::InvalidData => {
            Fault::failed("gave bytes that are no text")
        }
        error => Fault::Failed(format!("cannot reach {host}: {error}")),
    }
}

fn bad_address() -> Fault {
    Fault::failed("its address is no http or https URL")
}
