//! Reaching a server and saying who we are.

use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;

use fallible_iterator::FallibleIterator;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use postgres_protocol::message::backend::{AuthenticationSaslBody, Message};
use postgres_protocol::message::frontend;
use socket2::{SockRef, TcpKeepalive};
use tokio_postgres::Config;
use tokio_postgres::config::{self, Host, SslMode, TargetSessionAttrs};

use super::row;
use super::wire::{Socket, Wire, unsendable};
use crate::{Error, ErrorKind};

const PORT: u16 = 5432;

/// A line to the first of the named servers that takes us; else why the last did not.
pub(super) fn connect(config: &Config) -> Result<Wire, Error> {
    if config.get_ssl_mode() == SslMode::Require
        || config.get_channel_binding() == config::ChannelBinding::Require
    {
        return Err(unreached("it is to be reached by TLS, which punchlist cannot do yet"));
    }
    let (hosts, addresses) = (config.get_hosts(), config.get_hostaddrs());
    let mut failed = unreached("the URL names no server");
    for n in 0..hosts.len().max(addresses.len()) {
        let ports = config.get_ports();
        let port = ports.get(n).or(ports.first()).copied().unwrap_or(PORT);
        let host = match (addresses.get(n), hosts.get(n)) {
            (Some(address), _) => Host::Tcp(address.to_string()),
            (None, Some(host)) => host.clone(),
            (None, None) => continue,
        };
        match reach(&host, port, config).and_then(|socket| admitted(socket, config)) {
            Ok(wire) => return Ok(wire),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn unreached(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unreachable, why)
}

fn reach(host: &Host, port: u16, config: &Config) -> Result<Socket, Error> {
    let failed = |error: io::Error| unreached(format!("the server cannot be reached: {error}"));
    match host {
        Host::Tcp(name) => tcp(name, port, config).map(Socket::Tcp).map_err(failed),
        #[cfg(unix)]
        Host::Unix(folder) => UnixStream::connect(folder.join(format!(".s.PGSQL.{port}")))
            .map(Socket::Unix)
            .map_err(failed),
    }
}

/// A connection to the first address of that name that answers.
fn tcp(name: &str, port: u16, config: &Config) -> io::Result<TcpStream> {
    let mut failed = io::Error::other("there is no address of that name");
    for address in (name, port).to_socket_addrs()? {
        match tcp_at(address, config) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn tcp_at(address: SocketAddr, config: &Config) -> io::Result<TcpStream> {
    let stream = match config.get_connect_timeout() {
        Some(timeout) => TcpStream::connect_timeout(&address, *timeout)?,
        None => TcpStream::connect(address)?,
    };
    // Whatever is sent is complete and waited for.
    stream.set_nodelay(true)?;
    if config.get_keepalives() {
        let mut keepalive = TcpKeepalive::new().with_time(config.get_keepalives_idle());
        if let Some(interval) = config.get_keepalives_interval() {
            keepalive = keepalive.with_interval(interval);
        }
        if let Some(retries) = config.get_keepalives_retries() {
            keepalive = keepalive.with_retries(retries);
        }
        SockRef::from(&stream).set_tcp_keepalive(&keepalive)?;
    }
    Ok(stream)
}

/// Says who we are, and hears that the server is ready and of the kind that was asked for.
fn admitted(socket: Socket, config: &Config) -> Result<Wire, Error> {
    let mut wire = Wire::new(socket);
    wire.keep_secret(config.get_password());
    // A server that takes the connection and then says nothing is as good as none.
    wire.wait_at_most(config.get_connect_timeout().copied())?;
    start(&mut wire, config)?;
    is_of_the_kind(&mut wire, config.get_target_session_attrs())?;
    wire.wait_at_most(None)?;
    Ok(wire)
}

fn start(wire: &mut Wire, config: &Config) -> Result<(), Error> {
    let own = std::env::var("USER").unwrap_or_default();
    let user = config.get_user().unwrap_or(&own);
    let mut parameters = vec![("client_encoding", "UTF8"), ("user", user)];
    parameters.extend(config.get_dbname().map(|name| ("database", name)));
    parameters.extend(config.get_options().map(|options| ("options", options)));
    parameters.extend(config.get_application_name().map(|name| ("application_name", name)));
    frontend::startup_message(parameters, &mut wire.out).map_err(|error| unsendable(&error))?;
    wire.send()?;
    loop {
        match wire.message()? {
            Message::AuthenticationOk | Message::BackendKeyData(_) => {}
            Message::AuthenticationCleartextPassword => tell(wire, password(config)?)?,
            Message::AuthenticationMd5Password(body) => {
                let hash = md5_hash(user.as_bytes(), password(config)?, body.salt());
                tell(wire, hash.as_bytes())?;
            }
            Message::AuthenticationSasl(body) => prove(wire, &body, password(config)?)?,
            Message::ReadyForQuery(_) => return Ok(()),
            Message::ErrorResponse(body) => return Err(wire.said(&body)),
            Message::AuthenticationGss
            | Message::AuthenticationKerberosV5
            | Message::AuthenticationScmCredential
            | Message::AuthenticationSspi => {
                return Err(unreached("it asks for a proof of who we are that is no password"));
            }
            _ => return Err(wire.unexpected()),
        }
    }
}

fn password(config: &Config) -> Result<&[u8], Error> {
    config.get_password().ok_or_else(|| unreached("it asks for a password, and the URL has none"))
}

fn tell(wire: &mut Wire, password: &[u8]) -> Result<(), Error> {
    frontend::password_message(password, &mut wire.out).map_err(|error| unsendable(&error))?;
    wire.send()
}

/// Proves that we know the password without telling it, and has the server prove the same.
fn prove(wire: &mut Wire, asked: &AuthenticationSaslBody, password: &[u8]) -> Result<(), Error> {
    let refused = |error: io::Error| unreached(format!("it could not prove who it is: {error}"));
    if !asked.mechanisms().any(|name| Ok(name == SCRAM_SHA_256)).map_err(refused)? {
        return Err(unreached("it asks for a proof of the password that punchlist cannot give"));
    }
    let mut scram = ScramSha256::new(password, ChannelBinding::unsupported());
    frontend::sasl_initial_response(SCRAM_SHA_256, scram.message(), &mut wire.out)
        .map_err(|error| unsendable(&error))?;
    wire.send()?;
    match wire.message()? {
        Message::AuthenticationSaslContinue(body) => scram.update(body.data()).map_err(refused)?,
        Message::ErrorResponse(body) => return Err(wire.said(&body)),
        _ => return Err(wire.unexpected()),
    }
    frontend::sasl_response(scram.message(), &mut wire.out).map_err(|error| unsendable(&error))?;
    wire.send()?;
    match wire.message()? {
        Message::AuthenticationSaslFinal(body) => scram.finish(body.data()).map_err(refused),
        Message::ErrorResponse(body) => Err(wire.said(&body)),
        _ => Err(wire.unexpected()),
    }
}

/// Of several servers one may be a copy that takes no writes.
fn is_of_the_kind(wire: &mut Wire, wanted: TargetSessionAttrs) -> Result<(), Error> {
    let is_copy_wanted = match wanted {
        TargetSessionAttrs::ReadWrite => false,
        TargetSessionAttrs::ReadOnly => true,
        _ => return Ok(()),
    };
    frontend::query("SHOW transaction_read_only", &mut wire.out)
        .map_err(|error| unsendable(&error))?;
    wire.send()?;
    let mut is_copy = false;
    loop {
        match wire.message()? {
            Message::DataRow(body) => is_copy = row::first_text(&body)?.as_deref() == Some("on"),
            Message::RowDescription(_) | Message::CommandComplete(_) => {}
            Message::ReadyForQuery(_) if is_copy == is_copy_wanted => return Ok(()),
            Message::ReadyForQuery(_) if is_copy => {
                return Err(Error::new(ErrorKind::ReadOnly, "the server takes no writes"));
            }
            Message::ReadyForQuery(_) => return Err(unreached("the server takes writes")),
            Message::ErrorResponse(body) => return Err(wire.said(&body)),
            _ => return Err(wire.unexpected()),
        }
    }
}
