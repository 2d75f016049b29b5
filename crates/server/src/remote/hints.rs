//! The event stream of a server as a watch: every line means that there may be something new.

use std::io::{BufRead, BufReader};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TrySendError, sync_channel};
use std::time::Duration;

use punchlist_ops::Error;
use punchlist_ops::remote::Hints;

use super::Line;

/// How long a lost hint can stay unnoticed.
const HINTS_LOST_MAX: Duration = Duration::from_secs(5);
/// The pause before a stream is reopened.
const PAUSE: Duration = Duration::from_millis(200);
/// The pause if no stream can be opened.
const NO_STREAM_PAUSE: Duration = Duration::from_secs(1);

/// A stream that is read by a thread.
#[derive(Debug)]
pub(super) struct Stream {
    hints: Receiver<()>,
}

impl Stream {
    pub(super) fn open(line: Line, context: String, project: &str) -> Self {
        let (send, hints) = sync_channel(1);
        let path = match project.is_empty() {
            true => "/v1/events".to_owned(),
            false => format!("/v1/events?project={}", encoded(project)),
        };
        std::thread::spawn(move || while follow(&line, &context, &path, &send).is_ok() {});
        Self { hints }
    }
}

/// Nobody waits for hints any more.
struct Done;

fn hint(send: &SyncSender<()>) -> Result<(), Done> {
    match send.try_send(()) {
        Ok(()) | Err(TrySendError::Full(())) => Ok(()),
        Err(TrySendError::Disconnected(())) => Err(Done),
    }
}

/// Reads one stream to its end.
fn follow(line: &Line, context: &str, path: &str, send: &SyncSender<()>) -> Result<(), Done> {
    let mut request = line.agent.get(format!("{}{path}", line.base));
    request = request.header("Punchlist-Context", context);
    if let Some(token) = &line.token {
        request = request.header("Authorization", format!("Bearer {token}"));
    }
    let pause = match request.call() {
        Ok(response) if response.status().as_u16() == 200 => {
            let body = response.into_body().into_with_config().limit(u64::MAX).reader();
            // Something may have been written before the stream was open, so send a hint now.
            hint(send)?;
            for line in BufReader::new(body).lines() {
                match line {
                    Ok(line) if line.starts_with("id:") || line.starts_with(':') => hint(send)?,
                    Ok(_) => {}
                    Err(_) => break,
                }
            }
            PAUSE
        }
        Ok(_) => NO_STREAM_PAUSE,
        Err(_) => PAUSE,
    };
    std::thread::sleep(pause);
    hint(send)
}

impl Hints for Stream {
    fn wait(&mut self, timeout: Duration) -> Result<bool, Error> {
        match self.hints.recv_timeout(timeout.min(HINTS_LOST_MAX)) {
            Ok(()) => Ok(true),
            Err(RecvTimeoutError::Timeout) => Ok(timeout > HINTS_LOST_MAX),
            Err(RecvTimeoutError::Disconnected) => {
                std::thread::sleep(timeout.min(NO_STREAM_PAUSE));
                Ok(true)
            }
        }
    }
}

fn encoded(text: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().fold(String::new(), |mut out, byte| {
        match is_plain(byte) {
            true => out.push(char::from(byte)),
            false => out.push_str(&format!("%{byte:02X}")),
        }
        out
    })
}
