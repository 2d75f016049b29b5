//! The socket to a server, and PostgreSQL's messages over it.
//!
//! What is to be sent is gathered and goes out at once; what comes in is read when it is asked for.

use std::io::{self, Read, Write};
use std::net::TcpStream;
#[cfg(unix)]
use std::os::unix::net::UnixStream;
use std::time::Duration;

use bytes::BytesMut;
use postgres_protocol::message::backend::{ErrorResponseBody, Message};
use postgres_protocol::message::frontend;

use super::row;
use crate::{Error, ErrorKind};

/// How much is read at once.
const READ_SIZE: usize = 16 * 1024;

/// A socket to a server's machine.
pub(super) enum Socket {
    Tcp(TcpStream),
    #[cfg(unix)]
    Unix(UnixStream),
}

impl Socket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(into),
            #[cfg(unix)]
            Self::Unix(stream) => stream.read(into),
        }
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.write_all(bytes),
            #[cfg(unix)]
            Self::Unix(stream) => stream.write_all(bytes),
        }
    }

    fn read_within(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
            #[cfg(unix)]
            Self::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }
}

/// A line to a server.
pub(super) struct Wire {
    socket: Socket,
    incoming: BytesMut,
    /// What goes out with the next [`Wire::send`].
    pub(super) out: BytesMut,
    is_broken: bool,
    /// What no error may repeat: the password.
    secret: Option<String>,
}

impl Wire {
    pub(super) fn new(socket: Socket) -> Self {
        let (incoming, out) = (BytesMut::new(), BytesMut::new());
        Self { socket, incoming, out, is_broken: false, secret: None }
    }

    /// From here on no error of this server shows the password.
    pub(super) fn keep_secret(&mut self, password: Option<&[u8]>) {
        let password = password.map(|password| String::from_utf8_lossy(password).into_owned());
        self.secret = password.filter(|password| !password.is_empty());
    }

    /// What the server says went wrong. A server, or a pooler in between, may repeat what it was
    /// told.
    pub(super) fn said(&self, body: &ErrorResponseBody) -> Error {
        let error = row::said(body);
        match &self.secret {
            Some(secret) => {
                Error::new(error.kind, error.detail.replace(secret.as_str(), "[password]"))
            }
            None => error,
        }
    }

    /// The server is gone, or says what we do not understand: the line is of no more use.
    pub(super) const fn is_broken(&self) -> bool {
        self.is_broken
    }

    pub(super) const fn give_up(&mut self) {
        self.is_broken = true;
    }

    pub(super) fn send(&mut self) -> Result<(), Error> {
        let sent = self.socket.write_all(&self.out);
        self.out.clear();
        sent.map_err(|error| self.lost(&error))
    }

    /// How long to wait when something is read; none: for ever.
    pub(super) fn wait_at_most(&mut self, timeout: Option<Duration>) -> Result<(), Error> {
        self.socket.read_within(timeout).map_err(|error| self.lost(&error))
    }

    /// The next message, waited for. What the server only mentions is passed over.
    pub(super) fn message(&mut self) -> Result<Message, Error> {
        loop {
            if let Some(message) = self.message_here()? {
                return Ok(message);
            }
            self.receive().map_err(|error| self.lost(&error))?;
        }
    }

    /// The next message if it comes in time.
    pub(super) fn message_within(&mut self, timeout: Duration) -> Result<Option<Message>, Error> {
        if let Some(message) = self.message_here()? {
            return Ok(Some(message));
        }
        if timeout.is_zero() {
            return Ok(None);
        }
        self.wait_at_most(Some(timeout))?;
        match self.receive() {
            Ok(()) => self.message_here(),
            Err(error) if is_late(&error) => Ok(None),
            Err(error) => Err(self.lost(&error)),
        }
    }

    /// The next message of those that have come already.
    fn message_here(&mut self) -> Result<Option<Message>, Error> {
        loop {
            match Message::parse(&mut self.incoming) {
                Ok(Some(Message::NoticeResponse(_) | Message::ParameterStatus(_))) => {}
                Ok(message) => return Ok(message),
                Err(error) => return Err(self.lost(&error)),
            }
        }
    }

    fn receive(&mut self) -> io::Result<()> {
        let mut chunk = [0; READ_SIZE];
        loop {
            match self.socket.read(&mut chunk) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => {
                    self.incoming.extend_from_slice(&chunk[..count]);
                    return Ok(());
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn lost(&mut self, error: &io::Error) -> Error {
        self.is_broken = true;
        let detail = match error.kind() {
            io::ErrorKind::UnexpectedEof => "the server closed the connection".to_owned(),
            _ if is_late(error) => "the server did not answer in time".to_owned(),
            _ => format!("the connection to the server was lost: {error}"),
        };
        Error::new(ErrorKind::Unreachable, detail)
    }

    /// What to say of a message that has no place where it came.
    pub(super) fn unexpected(&mut self) -> Error {
        self.is_broken = true;
        Error::new(ErrorKind::Unreachable, "what answers there does not speak as PostgreSQL does")
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        if !self.is_broken {
            self.out.clear();
            frontend::terminate(&mut self.out);
            // The server ends the session anyway when the socket closes.
            drop(self.socket.write_all(&self.out));
        }
    }
}

fn is_late(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut)
}

/// A text that is too long for a message, or has a zero byte where none may be.
pub(super) fn unsendable(error: &io::Error) -> Error {
    Error::new(ErrorKind::Backend, format!("that cannot be sent to a server: {error}"))
}
