//! The socket: accepts connections, applies their limits, and shuts down in order.

use std::fmt;
use std::io;
use std::net::{SocketAddr, TcpListener as Listener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use punchlist_core::Time;
use punchlist_core::change::{Change, Unread};
use punchlist_ops::config::Roster;
use punchlist_ops::{Error, Ops};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, mpsc, watch};
use tokio::time::timeout;

use super::guard::{Peer, Site};
use super::hub::Hub;
use super::limits::{Limiter, Limits};
use super::progress::Progress;
use super::state::{Fixtures, State, router};
use super::tls::{Tls, TlsFiles};
use crate::mcp::fixtures;
use crate::pages::{Changes, Days};

/// How long running requests may take after the server was asked to stop.
const GRACE: Duration = Duration::from_secs(10);
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);
/// Threads that may wait for the store. There are many, because writers that wait together are
/// committed together.
const WAITING_MAX: usize = 160;

/// Reads what some commits changed in the repository of a folder. The server itself runs no program.
pub type ReadChange = fn(&Path, &[String]) -> Result<Change, Unread>;

/// The settings of a server.
#[derive(Debug)]
pub struct Settings {
    pub listen: SocketAddr,
    pub tls: Option<TlsFiles>,
    /// The address as clients see it, if a proxy is in front.
    pub public_url: Option<String>,
    /// The project for requests that name none.
    pub project: Option<String>,
    pub agents: Arc<Roster>,
    pub clock: fn() -> Time,
    pub limits: Limits,
    /// Reads what commits changed, for the pages.
    pub read_change: ReadChange,
    /// Offer the fixtures of the official MCP conformance suite.
    pub fixtures: bool,
}

/// Why a server could not start.
#[derive(Debug)]
pub enum StartError {
    Listen(io::Error),
    Tls(String),
    Store(Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Listen(error) => error.fmt(f),
            Self::Tls(why) => f.write_str(why),
            Self::Store(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for StartError {}

/// A server that listens. It answers requests once `run` is called.
#[derive(Debug)]
pub struct Server {
    listener: Listener,
    address: SocketAddr,
    state: Arc<State>,
    tls: Option<Arc<Tls>>,
    stop: Arc<watch::Sender<bool>>,
}

/// Controls a running server.
#[derive(Clone, Debug)]
pub struct Handle {
    stop: Arc<watch::Sender<bool>>,
    tls: Option<Arc<Tls>>,
}

impl Handle {
    /// Accepts no more requests, finishes the running ones, and ends.
    pub fn stop(&self) {
        self.stop.send_replace(true);
    }

    /// Reads the certificate again.
    pub fn reload(&self) -> Result<(), String> {
        self.tls.as_ref().map_or(Ok(()), |tls| tls.reload())
    }
}

impl Server {
    /// Opens the store and the socket. From now on connections are accepted, and wait for [`run`].
    ///
    /// [`run`]: Self::run
    pub fn bind(ops: Arc<Ops>, settings: Settings) -> Result<Self, StartError> {
        let tls = settings.tls.map(Tls::read).transpose().map_err(StartError::Tls)?.map(Arc::new);
        let hub = Arc::new(Hub::new(&ops).map_err(StartError::Store)?);
        let listener = Listener::bind(settings.listen).map_err(StartError::Listen)?;
        listener.set_nonblocking(true).map_err(StartError::Listen)?;
        let address = listener.local_addr().map_err(StartError::Listen)?;
        let (stop, stopping) = watch::channel(false);
        let site = Site {
            is_loopback: address.ip().is_loopback(),
            is_tls: tls.is_some(),
            public: settings.public_url,
        };
        let state = Arc::new(State {
            ops,
            agents: settings.agents,
            clock: settings.clock,
            project: settings.project,
            site,
            limiter: Arc::new(Limiter::new(settings.limits)),
            metrics: Arc::default(),
            hub,
            changes: Changes::new(settings.read_change),
            days: Days::default(),
            fixtures: settings.fixtures.then(|| Fixtures(fixtures::service())),
            stopping,
        });
        Ok(Self { listener, address, state, tls, stop: Arc::new(stop) })
    }

    /// The address of the server.
    #[must_use]
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let public = self.state.site.public.clone();
        public.unwrap_or_else(|| format!("{scheme}://{}", self.address))
    }

    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle { stop: Arc::clone(&self.stop), tls: self.tls.clone() }
    }

    /// Answers requests until stopped. Fails if the log cannot be followed any more.
    pub fn run(self) -> Result<(), Error> {
        let failed = |error: io::Error| Error::Internal { detail: error.to_string() };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(std::thread::available_parallelism().map_or(2, usize::from).min(8))
            .max_blocking_threads(WAITING_MAX)
            .enable_all()
            .build()
            .map_err(failed)?;
        let (hub, ops) = (Arc::clone(&self.state.hub), Arc::clone(&self.state.ops));
        let handle = self.handle();
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                let followed = hub.follow(&ops);
                // Without the log, streams would look alive but send nothing.
                handle.stop();
                followed
            });
            let served = runtime.block_on(self.accept()).map_err(failed);
            hub.stop();
            runtime.shutdown_timeout(Duration::from_secs(1));
            let crashed = |_| Err(Error::Internal { detail: "the reader crashed".to_owned() });
            served.and(reader.join().unwrap_or_else(crashed))
        })
    }

    async fn accept(self) -> io::Result<()> {
        let listener = TcpListener::from_std(self.listener)?;
        let (router, limits) = (router(&self.state), self.state.limiter.limits);
        let room = Arc::new(Semaphore::new(limits.connections));
        let (open, mut all_closed) = mpsc::channel::<()>(1);
        let mut stopping = self.state.stopping.clone();
        loop {
            let free = Arc::clone(&room).acquire_owned();
            let connection = tokio::select! {
                connection = async { (free.await, listener.accept().await) } => connection,
                _ = stopping.wait_for(|stop| *stop) => break,
            };
            let (Ok(place), Ok((socket, peer))) = connection else {
                // Too many open files, or a connection that broke at once: go on with the next one.
                tokio::time::sleep(Duration::from_millis(10)).await;
                continue;
            };
            let _ = socket.set_nodelay(true);
            let connection = Connection {
                router: router.clone(),
                peer,
                limits,
                stopping: self.state.stopping.clone(),
            };
            let (tls, open) = (self.tls.as_ref().map(|tls| tls.acceptor()), open.clone());
            tokio::spawn(async move {
                match tls {
                    None => connection.serve(socket).await,
                    Some(acceptor) => {
                        let shaken = timeout(HANDSHAKE_MAX, acceptor.accept(socket)).await;
                        if let Ok(Ok(socket)) = shaken {
                            connection.serve(socket).await;
                        }
                    }
                }
                drop((place, open));
            });
        }
        drop((listener, open));
        let _ = timeout(GRACE, all_closed.recv()).await;
        Ok(())
    }
}

/// An accepted connection.
struct Connection {
    router: Router,
    peer: SocketAddr,
    limits: Limits,
    stopping: watch::Receiver<bool>,
}

impl Connection {
    async fn serve(mut self, socket: impl AsyncRead + AsyncWrite + Unpin) {
        let (peer, service) = (self.peer, TowerToHyperService::new(self.router));
        let service = service_fn(move |mut request: hyper::Request<Incoming>| {
            request.extensions_mut().insert(Peer(peer));
            service.call(request.map(Body::new))
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.limits.arrival)
            .max_buf_size(self.limits.headers_max)
            .serve_connection(TokioIo::new(Progress::new(socket, self.limits.progress)), service);
        let mut connection = std::pin::pin!(connection);
        // Errors on a connection concern only its client, so they are ignored here.
        let stopped = tokio::select! {
            _ = connection.as_mut() => false,
            _ = self.stopping.wait_for(|stop| *stop) => true,
        };
        if stopped {
            connection.as_mut().graceful_shutdown();
            let _ = timeout(GRACE, connection).await;
        }
    }
}
