//! The blocking socket that the library reads from and writes to, with a deadline.
//!
//! The library is written for an async runtime but does not need one: it only uses this type. A
//! read blocks only if the caller allows it ([`Control::wait`]), so one thread sends, waits and
//! continues. `frames` checks every message before the library sees it. `reach` connects the
//! socket, and `tls` encrypts it.

use std::io::{self, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use rustls::{ClientConnection, StreamOwned};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsConnect, TlsStream};

use super::frames::Frames;

/// A timeout is not set again if it would change by less than this.
const TIMEOUT_SLACK: Duration = Duration::from_millis(100);

/// A connection to a server's machine.
#[derive(Debug)]
pub(super) enum Link {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

/// A socket whose reads and writes fail with `TimedOut` when the deadline of its control has passed.
/// TLS reads from it as often as it needs for a whole record, so the limit cannot be set above it.
#[derive(Debug)]
pub(super) struct Plain {
    link: Link,
    control: Arc<Control>,
    read_timeout: Duration,
    write_timeout: Duration,
}

impl Plain {
    pub(super) const fn new(link: Link, control: Arc<Control>) -> Self {
        let none = Duration::ZERO;
        Self { link, control, read_timeout: none, write_timeout: none }
    }

    /// Is the other end a process on this machine? Then the traffic cannot be intercepted.
    pub(super) const fn is_local(&self) -> bool {
        match self.link {
            Link::Tcp(_) => false,
            #[cfg(unix)]
            Link::Unix(_) => true,
        }
    }

    /// The timeout to set, which is the time left; `None` if `current` is close enough to it.
    fn timeout(&self, current: Duration) -> io::Result<Option<Duration>> {
        let mut state = self.control.state();
        let left = state.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            state.is_late = true;
            return Err(io::ErrorKind::TimedOut.into());
        }
        // A timeout of zero would mean forever.
        let left = left.max(Duration::from_millis(1));
        let is_unset = current.is_zero();
        Ok((is_unset || left.abs_diff(current) > TIMEOUT_SLACK).then_some(left))
    }
}

impl Read for Plain {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            if let Some(timeout) = self.timeout(self.read_timeout)? {
                match &self.link {
                    Link::Tcp(stream) => stream.set_read_timeout(Some(timeout))?,
                    #[cfg(unix)]
                    Link::Unix(stream) => stream.set_read_timeout(Some(timeout))?,
                }
                self.read_timeout = timeout;
            }
            let read = match &mut self.link {
                Link::Tcp(stream) => stream.read(into),
                #[cfg(unix)]
                Link::Unix(stream) => stream.read(into),
            };
            match read {
                Err(error) if is_again(&error) => {}
                read => return read,
            }
        }
    }
}

impl Write for Plain {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        loop {
            if let Some(timeout) = self.timeout(self.write_timeout)? {
                match &self.link {
                    Link::Tcp(stream) => stream.set_write_timeout(Some(timeout))?,
                    #[cfg(unix)]
                    Link::Unix(stream) => stream.set_write_timeout(Some(timeout))?,
                }
                self.write_timeout = timeout;
            }
            let written = match &mut self.link {
                Link::Tcp(stream) => stream.write(bytes),
                #[cfg(unix)]
                Link::Unix(stream) => stream.write(bytes),
            };
            match written {
                Err(error) if is_again(&error) => {}
                written => return written,
            }
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The traffic of the socket: plain or encrypted.
pub(super) enum Channel {
    Plain(Plain),
    Tls(Box<StreamOwned<ClientConnection, Plain>>),
}

impl Channel {
    const fn plain(&self) -> &Plain {
        match self {
            Self::Plain(plain) => plain,
            Self::Tls(tls) => &tls.sock,
        }
    }

    fn stream(&mut self) -> &mut dyn ReadWrite {
        match self {
            Self::Plain(plain) => plain,
            Self::Tls(tls) => tls.as_mut(),
        }
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// May a read wait for the server?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// No: nothing is read at all.
    Never,
    /// Until something has arrived.
    Once,
    /// At every read: during the login.
    Always,
}

/// Lets the owner of a connection control the socket that the library holds.
#[derive(Debug)]
pub(super) struct Control(Mutex<State>);

#[derive(Debug)]
struct State {
    wait: Wait,
    deadline: Instant,
    /// Has the library used up what was read, and asked for more?
    wants_more: bool,
    is_late: bool,
    answer_bytes: usize,
    answer_bytes_max: usize,
    is_password_wanted: bool,
}

impl Control {
    /// `answer_bytes_max`: how many bytes are read at most in response to one batch of requests.
    pub(super) fn new(deadline: Instant, answer_bytes_max: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(State {
            wait: Wait::Always,
            deadline,
            wants_more: false,
            is_late: false,
            answer_bytes: 0,
            answer_bytes_max,
            is_password_wanted: false,
        })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a new response, which must be complete before the deadline.
    pub(super) fn begin(&self, deadline: Instant) {
        let mut state = self.state();
        (state.deadline, state.answer_bytes, state.is_late) = (deadline, 0, false);
    }

    pub(super) fn wait(&self, wait: Wait) {
        let mut state = self.state();
        (state.wait, state.wants_more) = (wait, false);
    }

    pub(super) fn wants_more(&self) -> bool {
        self.state().wants_more
    }

    /// Did the deadline pass before anything arrived?
    pub(super) fn is_late(&self) -> bool {
        self.state().is_late
    }

    /// Has the server asked for a password?
    pub(super) fn is_password_wanted(&self) -> bool {
        self.state().is_password_wanted
    }
}

/// A connection to a server, as the library reads and writes it.
pub(super) struct Socket {
    channel: Channel,
    control: Arc<Control>,
    frames: Frames,
    binding: Option<Vec<u8>>,
}

impl Socket {
    /// `binding` ties the password's proof to the certificate of the server.
    pub(super) fn new(channel: Channel, control: Arc<Control>, binding: Option<Vec<u8>>) -> Self {
        let is_private = matches!(channel, Channel::Tls(_)) || channel.plain().is_local();
        let frames = Frames::new(is_private);
        Self { channel, control, frames, binding }
    }

    /// Reads what is available, waiting until the deadline. `None` if it passed.
    fn read(&mut self, into: &mut [u8]) -> io::Result<Option<usize>> {
        match self.channel.stream().read(into) {
            Err(error) if error.kind() == io::ErrorKind::TimedOut => Ok(None),
            read => read.map(Some),
        }
    }
}

/// Should the call be repeated? Systems report the end of a socket's own timeout in two ways; whether
/// the deadline has passed is decided before the next try.
fn is_again(error: &io::Error) -> bool {
    use io::ErrorKind::{Interrupted, TimedOut, WouldBlock};
    matches!(error.kind(), Interrupted | TimedOut | WouldBlock)
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let wait = {
            let mut state = this.control.state();
            state.wants_more = true;
            let wait = state.wait;
            if wait == Wait::Once {
                state.wait = Wait::Never;
            }
            wait
        };
        if wait == Wait::Never {
            return Poll::Pending;
        }
        let into = buffer.initialize_unfilled();
        let Some(count) = this.read(into)? else {
            this.control.state().is_late = true;
            return Poll::Pending;
        };
        this.frames.look(into.get(..count).unwrap_or_default())?;
        let mut state = this.control.state();
        state.answer_bytes = state.answer_bytes.saturating_add(count);
        state.is_password_wanted |= this.frames.is_password_wanted();
        if state.answer_bytes > state.answer_bytes_max {
            let limit = state.answer_bytes_max;
            let detail = format!("the server's answer is longer than {limit} bytes");
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, detail)));
        }
        buffer.advance(count);
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Poll::Ready(self.get_mut().channel.stream().write(bytes))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(self.get_mut().channel.stream().flush())
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        if let Channel::Tls(tls) = &mut self.get_mut().channel {
            tls.conn.send_close_notify();
            return Poll::Ready(tls.flush());
        }
        Poll::Ready(Ok(()))
    }
}

impl TlsStream for Socket {
    fn channel_binding(&self) -> ChannelBinding {
        let binding = self.binding.clone();
        binding.map_or_else(ChannelBinding::none, ChannelBinding::tls_server_end_point)
    }
}

/// Tells the library that the socket needs no further encryption.
pub(super) struct AsItIs;

impl TlsConnect<Socket> for AsItIs {
    type Stream = Socket;
    type Error = io::Error;
    type Future = std::future::Ready<Result<Socket, io::Error>>;

    fn connect(self, socket: Socket) -> Self::Future {
        std::future::ready(Ok(socket))
    }
}
