//! Connects to a server: tries the hosts of a URL in order, opens a socket, negotiates TLS and logs
//! in, all before one deadline per host. The first server of the wanted kind is used.

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
#[cfg(unix)]
use std::os::unix::net::UnixStream;
#[cfg(unix)]
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustls::ClientConfig;
#[cfg(unix)]
use socket2::{Domain, SockAddr, Type};
use socket2::{SockRef, TcpKeepalive};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::Address;
use super::address::Kind;
use super::fault::Refused;
use super::line::Line;
use super::options::PORT;
use super::socket::{Channel, Control, Link, Plain, Socket};
use super::tls;
use crate::{Error, ErrorKind};

fn unreached(why: impl Into<String>) -> Error {
    Error::new(ErrorKind::Unreachable, why)
}

/// One of the servers that a URL names.
struct Place {
    /// Its name, for its certificate and its password.
    host: Host,
    /// The address to connect to instead of resolving the name.
    address: Option<String>,
    port: u16,
}

/// Connects to the first listed server that accepts us and is of the wanted kind. Otherwise returns
/// the errors of all.
pub(super) fn connect(address: &Address) -> Result<Line, Error> {
    let tls = match address.tls.mode() {
        tls::Mode::Disable => None,
        _ => Some(address.tls.config()?),
    };
    let places = places(address);
    let is_named = places.len() > 1 || address.is_elsewhere;
    let kinds = match address.kind {
        Kind::PreferStandby => &[Kind::Standby, Kind::Any][..],
        _ => std::slice::from_ref(&address.kind),
    };
    let mut failed = Vec::new();
    for kind in kinds {
        failed.clear();
        for place in &places {
            match admitted(address, place, tls.as_ref(), *kind) {
                Ok(line) => return Ok(line),
                Err(Refused { error, is_final }) => {
                    failed.push((place, error));
                    if is_final {
                        return Err(all(failed, is_named));
                    }
                }
            }
        }
    }
    Err(all(failed, is_named))
}

/// The errors of several servers as one. Its kind is that of the last one, unless an earlier one can
/// be retried: the next try may then succeed there.
fn all(failed: Vec<(&Place, Error)>, is_named: bool) -> Error {
    let kinds = failed.iter().map(|(_, error)| error.kind);
    let kind = kinds.reduce(|one, other| match one {
        ErrorKind::Unreachable | ErrorKind::Busy => one,
        _ => other,
    });
    let Some(kind) = kind else { return unreached("the URL names no server") };
    let said = failed.into_iter().map(|(place, error)| match is_named {
        true => format!("{place}: {}", error.detail),
        false => error.detail,
    });
    Error::new(kind, said.collect::<Vec<_>>().join("; "))
}

/// For errors: the host and the port.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.host {
            Host::Tcp(name) if name.contains(':') => write!(f, "[{name}]:{}", self.port),
            Host::Tcp(name) => write!(f, "{name}:{}", self.port),
            #[cfg(unix)]
            Host::Unix(folder) => write!(f, "{}:{}", folder.display(), self.port),
        }
    }
}

fn places(address: &Address) -> Vec<Place> {
    let (hosts, ports) = (&address.hosts, &address.ports);
    let addresses = address.config.get_hostaddrs();
    (0..hosts.len().max(addresses.len()))
        .filter_map(|n| {
            let port = ports.get(n).or(ports.first()).copied().unwrap_or(PORT);
            let address = addresses.get(n).map(ToString::to_string);
            let host = hosts.get(n).cloned().or_else(|| address.clone().map(Host::Tcp))?;
            Some(Place { host, address, port })
        })
        .collect()
}

/// Connects, logs in, and checks that the server is of the wanted kind.
fn admitted(
    address: &Address,
    place: &Place,
    tls: Option<&Arc<ClientConfig>>,
    kind: Kind,
) -> Result<Line, Refused> {
    let limit = address.connect_timeout();
    let deadline = Instant::now() + limit;
    let link = reach(place, &address.config, limit)
        .map_err(|error| unreached(format!("the server cannot be reached: {error}")))?;
    let control = Control::new(deadline, address.answer_bytes_max);
    let plain = Plain::new(link, Arc::clone(&control));
    let name = match &place.host {
        Host::Tcp(name) => name.as_str(),
        #[cfg(unix)]
        Host::Unix(_) => "",
    };
    let channel = match tls {
        Some(tls) => address.tls.negotiate(tls, name, plain)?,
        None => Channel::Plain(plain),
    };
    let binding = match &channel {
        Channel::Tls(stream) => tls::binding(&stream.conn),
        Channel::Plain(_) => None,
    };
    let socket = Socket::new(channel, Arc::clone(&control), binding);
    let mut config = address.config.clone();
    let mut no_password = None;
    if config.get_password().is_none() {
        match address.password_for(&place.host, place.port) {
            Ok(Some(password)) => drop(config.password(password)),
            Ok(None) => {}
            Err(why) => no_password = Some(why),
        }
    }
    let named = !address.is_pooler;
    let mut line = Line::open(&config, socket, Arc::clone(&control), named).map_err(|refused| {
        let Refused { error, is_final } = refused;
        if named && is_of_a_pooler(&error) {
            return Error::new(error.kind, format!("{}\nHINT: {POOLER}", error.detail)).into();
        }
        if config.get_password().is_some() || !control.is_password_wanted() {
            return Refused { error, is_final };
        }
        // The file of passwords may have one for the next host.
        let why = no_password
            .unwrap_or_else(|| "the URL, PGPASSWORD and ~/.pgpass have none for it".to_owned());
        unreached(format!("it asks for a password: {why}")).into()
    })?;
    is_of_the_kind(&mut line, kind, deadline)?;
    line.answers_within(address.answer_timeout());
    Ok(line)
}

/// How to get through a pooler that does not pass on the settings of a session.
const POOLER: &str = "add ?pooler=true to the URL, or ignore_startup_parameters = options to the \
                      settings of pgbouncer";

/// Is it pgbouncer's refusal of `options`? Its code (08P01) is that of its other errors.
fn is_of_a_pooler(error: &Error) -> bool {
    error.detail.contains("unsupported startup parameter")
}

fn reach(place: &Place, config: &Config, limit: Duration) -> io::Result<Link> {
    match (&place.host, &place.address) {
        (Host::Tcp(name), None) => tcp(name, place.port, config, limit).map(Link::Tcp),
        (_, Some(address)) => tcp(address, place.port, config, limit).map(Link::Tcp),
        #[cfg(unix)]
        (Host::Unix(folder), None) => {
            unix(&folder.join(format!(".s.PGSQL.{}", place.port)), limit).map(Link::Unix)
        }
    }
}

/// A connection to a Unix socket. While the server does not accept connections and the socket's
/// queue is full, connecting waits. The limit for writing limits that, too: socket2's
/// `connect_timeout` fails at once instead, because a full queue is not a connection in progress.
#[cfg(unix)]
fn unix(path: &Path, limit: Duration) -> io::Result<UnixStream> {
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_write_timeout(Some(limit))?;
    socket.connect(&SockAddr::unix(path)?).map_err(|error| match error.kind() {
        io::ErrorKind::WouldBlock => io::Error::new(io::ErrorKind::TimedOut, "timed out"),
        _ => error,
    })?;
    Ok(UnixStream::from(std::os::fd::OwnedFd::from(socket)))
}

/// A connection to the first address of this name that answers.
fn tcp(name: &str, port: u16, config: &Config, limit: Duration) -> io::Result<TcpStream> {
    let deadline = Instant::now() + limit;
    let addresses = match name.parse::<IpAddr>() {
        Ok(address) => vec![SocketAddr::new(address, port)],
        Err(_) => {
            let name = name.to_owned();
            let look_up = move || (name.as_str(), port).to_socket_addrs().map(Iterator::collect);
            resolved(look_up, limit)?
        }
    };
    first_of(&addresses, config, deadline)
}

/// Looks a name up. The system's resolver has no time limit that we could set, so it runs in a thread
/// that is left behind if it takes too long.
fn resolved(
    look_up: impl FnOnce() -> io::Result<Vec<SocketAddr>> + Send + 'static,
    limit: Duration,
) -> io::Result<Vec<SocketAddr>> {
    let (told, found) = mpsc::channel();
    let resolver = thread::Builder::new().name("punch-resolver".to_owned());
    // Nobody receives an answer that comes too late.
    resolver.spawn(move || drop(told.send(look_up())))?;
    let too_late = || io::Error::new(io::ErrorKind::TimedOut, "looking up its name timed out");
    found.recv_timeout(limit).unwrap_or_else(|_| Err(too_late()))
}

/// Tries the addresses in turn. Each gets its share of the time that is left, so that one that does
/// not answer leaves time for the next.
fn first_of(addresses: &[SocketAddr], config: &Config, deadline: Instant) -> io::Result<TcpStream> {
    let mut failed = io::Error::other("there is no address of that name");
    for (n, address) in addresses.iter().enumerate() {
        let left = deadline.saturating_duration_since(Instant::now());
        let share = left / u32::try_from(addresses.len() - n).unwrap_or(u32::MAX);
        // A limit of zero is not accepted.
        match tcp_at(*address, config, share.max(Duration::from_millis(1))) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed)
}

fn tcp_at(address: SocketAddr, config: &Config, limit: Duration) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, limit)?;
    // Every message is sent whole and waited for, so it must not be delayed.
    stream.set_nodelay(true)?;
    let socket = SockRef::from(&stream);
    if config.get_keepalives() {
        let mut keepalive = TcpKeepalive::new().with_time(config.get_keepalives_idle());
        if let Some(interval) = config.get_keepalives_interval() {
            keepalive = keepalive.with_interval(interval);
        }
        if let Some(retries) = config.get_keepalives_retries() {
            keepalive = keepalive.with_retries(retries);
        }
        socket.set_tcp_keepalive(&keepalive)?;
    }
    #[cfg(target_os = "linux")]
    if let Some(timeout) = config.get_tcp_user_timeout() {
        socket.set_tcp_user_timeout(Some(*timeout))?;
    }
    Ok(stream)
}

/// Checks that a server is of the wanted kind, because one of several may be a read-only replica.
fn is_of_the_kind(line: &mut Line, wanted: Kind, deadline: Instant) -> Result<(), Error> {
    if wanted == Kind::Any {
        return Ok(());
    }
    let asked = "SELECT pg_is_in_recovery(), current_setting('transaction_read_only')";
    let answer = line.ask(asked, deadline)?;
    let [is_standby, is_read_only] = ["t", "on"].map(|yes| answer.iter().any(|text| text == yes));
    match wanted {
        // As for the other kinds, it may become the wanted one: during a failover it does.
        Kind::ReadWrite if is_standby || is_read_only => {
            Err(unreached("the server takes no writes"))
        }
        Kind::ReadOnly if !is_standby && !is_read_only => Err(unreached("the server takes writes")),
        Kind::Primary if is_standby => Err(unreached("the server is a standby")),
        Kind::Standby if !is_standby => Err(unreached("the server is not a standby")),
        _ => Ok(()),
    }
}

// Elsewhere, an address whose queue is full refuses the connection.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn looking_up_a_name_has_a_time_limit() {
        let (_open, never) = mpsc::channel::<Vec<SocketAddr>>();
        let blocked = move || never.recv().map_err(io::Error::other);
        let failed = resolved(blocked, Duration::from_millis(10)).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        assert_eq!(failed.to_string(), "looking up its name timed out");

        let here = SocketAddr::from(([127, 0, 0, 1], 5432));
        assert_eq!(resolved(move || Ok(vec![here]), Duration::from_secs(60)).unwrap(), [here]);
    }

    #[test]
    fn all_addresses_of_a_name_share_one_time_limit_and_each_is_tried() {
        let stream = || socket2::Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        let full = stream();
        full.bind(&SockAddr::from(SocketAddr::from(([127, 0, 0, 1], 0)))).unwrap();
        full.listen(0).unwrap();
        let address = full.local_addr().unwrap();
        let first = stream();
        first.connect(&address).unwrap();
        let silent = address.as_socket().unwrap();

        let limit = Duration::from_secs(1);
        let start = Instant::now();
        let failed = first_of(&[silent; 8], &Config::new(), start + limit).unwrap_err();
        assert_eq!(failed.kind(), io::ErrorKind::TimedOut);
        assert!(start.elapsed() < 4 * limit, "{:?}", start.elapsed());

        let open = TcpListener::bind("127.0.0.1:0").unwrap();
        let addresses = [silent, open.local_addr().unwrap()];
        first_of(&addresses, &Config::new(), Instant::now() + limit).unwrap();
    }
}
