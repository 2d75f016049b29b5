//! `punch serve`: the API over HTTP, with the scheduler and workers inside, until stopped.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use punchlist_core::authority::Action;
use punchlist_core::{Actor, Run};
use punchlist_engine::agent::ConfiguredTools;
use punchlist_engine::model::Shelf;
use punchlist_engine::worker::JOBS;
use punchlist_engine::{Done, Pump, Worker};
use punchlist_ops::config::Config;
use punchlist_ops::operations::sign_in_link::{self, SignInLink, link};
use punchlist_ops::sign_in::may_sign_in;
use punchlist_ops::{Envelope, Error, Ops};
use punchlist_server::http::{Handle, Limits, Server, Settings, StartError, TlsFiles};
use serde_json::json;

use super::open::browse;
use super::programs;
use crate::args::Globals;
use crate::failure::Failure;
use crate::run_folders::RunFolders;
use crate::stop::Stop;
use crate::{caller, output, settings};

pub(crate) fn command() -> Command {
    let file = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("FILE").help(help).value_parser(value_parser!(PathBuf))
    };
    let switch = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
    };
    let number = |name: &'static str, help: &'static str| {
        Arg::new(name).long(name).value_name("N").help(help).value_parser(value_parser!(u32))
    };
    Command::new("serve")
        .about("Serve the store over HTTP, and run what is due and queued, until stopped")
        .long_about(
            "Serve the store over HTTP, and run what is due and queued, until stopped.\n\n\
             Every operation is at POST /v1/OPERATION, reads also at GET; /v1/events streams what \
             happens, /openapi.json describes it all, /healthz, /readyz and /metrics are for \
             monitoring. The pages are for people; `punch open` signs your browser in. Other \
             machines use the server with --db http://HOST:PORT and a token. Without a token a \
             caller on this machine is the agent `primary`, if the store's \
             identity rule is open. An address that other machines can reach needs a certificate, or \
             --insecure behind a proxy that does TLS. SIGHUP reads the certificate again; Ctrl-C \
             finishes the running requests and ends.",
        )
        .arg(
            Arg::new("listen")
                .long("listen")
                .value_name("HOST:PORT")
                .help("The address to listen on; port 0 picks a free port")
                .default_value("127.0.0.1:7420"),
        )
        .arg(
            Arg::new("jobs")
                .long("jobs")
                .short('j')
                .value_name("N")
                .help("Maximum number of jobs at once, 0 to 256; 0: no worker [default: 8]")
                .value_parser(value_parser!(u16).range(0..=256)),
        )
        .arg(file("tls-cert", "The certificate and its chain, in PEM").requires("tls-key"))
        .arg(file("tls-key", "The certificate's private key, in PEM").requires("tls-cert"))
        .arg(switch(
            "insecure",
            "Listen beyond this machine without TLS; for use behind a TLS proxy",
        ))
        .arg(
            Arg::new("public-url")
                .long("public-url")
                .value_name("URL")
                .help("The public address of the proxy, e.g. https://punch.example.com"),
        )
        .arg(switch("open", "Open the pages in your browser, signed in"))
        .arg(number("rate", "Maximum requests per second of each principal; 0: no limit [default: 200]"))
        .arg(number("streams", "Maximum event streams of each principal [default: 100]"))
        .arg(
            switch("conformance-fixtures", "Offer the fixtures of the MCP conformance suite")
                .hide(true),
        )
        .after_help("Example: punch serve --listen 127.0.0.1:7420 --jobs 4")
}

pub(crate) fn run(globals: &Globals, matches: &ArgMatches) -> Result<(), Failure> {
    // Before anything starts a thread.
    let running: Arc<Mutex<Option<Handle>>> = Arc::default();
    let stop = Stop::on_signals_but_hangup(Some(reload(&running)));
    programs::prepare();
    open_many_files();
    let (listen, tls) = address(matches)?;
    let public_url = matches.get_one::<String>("public-url").map(|url| origin(url)).transpose()?;
    let ops = Arc::new(caller::database(globals)?);
    let envelope = caller::envelope(&ops, globals, false)?;
    ops.may_serve(&envelope.actor, envelope.proof, Action::Serve, "serve")?;
    ops.store()?;
    let config = settings::read()?.for_all_projects(&envelope.project);
    let mut limits = Limits::default();
    if let Some(rate) = matches.get_one::<u32>("rate") {
        limits.requests_per_s = *rate;
    }
    if let Some(streams) = matches.get_one::<u32>("streams") {
        limits.streams_each = usize::try_from(*streams).unwrap_or(usize::MAX);
    }
    let project = globals.project.as_deref().map(str::trim).filter(|name| !name.is_empty());
    let server = Server::bind(
        Arc::clone(&ops),
        Settings {
            listen,
            tls,
            public_url,
            project: project.map(str::to_owned),
            agents: Arc::clone(&config.agents),
            clock: caller::ticking,
            limits,
            read_change: punchlist_engine::change::read,
            fixtures: matches.get_flag("conformance-fixtures"),
        },
    );
    let server = server.map_err(|error| cannot_start(listen, error))?;
    *running.lock().unwrap_or_else(PoisonError::into_inner) = Some(server.handle());
    let jobs = matches.get_one::<u16>("jobs").map_or(JOBS, |jobs| usize::from(*jobs));
    let url = server.url();
    let sign_in = sign_in(&ops, &envelope, &url, matches.get_flag("open"))?;
    ops.server_starts(&url)?;
    tell_ready(globals, &url, sign_in.as_deref())?;
    if let Some(sign_in) = sign_in.filter(|_| matches.get_flag("open")) {
        browse(&sign_in)?;
    }
    let worker = ServerWorker {
        ops: &ops,
        actor: &envelope.actor,
        project: &envelope.project,
        config: &config,
    };
    let served = serve(server, &stop, jobs, &worker);
    // One that cannot be removed is found to be gone when somebody asks it.
    let _ = ops.server_ends(&url);
    served
}

/// A link that signs the operator's browser in, if the operator started the server.
fn sign_in(
    ops: &Ops,
    envelope: &Envelope,
    url: &str,
    is_wanted: bool,
) -> Result<Option<String>, Failure> {
    if !is_wanted && !may_sign_in(&envelope.actor, envelope.proof) {
        return Ok(None);
    }
    let made = ops.run::<SignInLink>(envelope, sign_in_link::Input {})?;
    Ok(Some(link(url, &made.code)))
}

/// The worker inside the server.
struct ServerWorker<'a> {
    ops: &'a Ops,
    actor: &'a Actor,
    /// The project of the folder that the server was started in.
    project: &'a str,
    config: &'a Config,
}

/// Serves until asked to stop; the worker ends with the server, and the server with the worker.
fn serve(
    server: Server,
    stop: &Stop,
    jobs: usize,
    worker: &ServerWorker<'_>,
) -> Result<(), Failure> {
    let (handle, is_over) = (server.handle(), AtomicBool::new(false));
    let is_stopped = || is_over.load(Ordering::SeqCst) || stop.asked();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::SeqCst) {
                if stop.wait(Duration::from_millis(200)) {
                    handle.stop();
                    break;
                }
            }
        });
        let work = || {
            // Without its worker the server would look healthy, but do nothing that is queued.
            let _stops = StopsServer(&handle);
            let worked = worker.run(jobs, &is_stopped);
            if worked.is_err() {
                output::warn("the worker has failed, so the server stops");
            }
            worked
        };
        let working = (jobs > 0).then(|| scope.spawn(work));
        let served = server.run();
        is_over.store(true, Ordering::SeqCst);
        let worked = working.map_or(Ok(()), |working| {
            let crashed = |_| Err(Error::Internal { detail: "the worker crashed".to_owned() });
            working.join().unwrap_or_else(crashed)
        });
        Ok(served.and(worked)?)
    })
}

/// Stops the server when the worker ends, however it ends.
struct StopsServer<'a>(&'a Handle);

impl Drop for StopsServer<'_> {
    fn drop(&mut self) {
        self.0.stop();
    }
}

impl ServerWorker<'_> {
    fn run(&self, jobs: usize, is_stopped: &(dyn Fn() -> bool + Sync)) -> Result<(), Error> {
        let (models, telemetry) = (Shelf::default(), caller::telemetry());
        let places = RunFolders::new(self.ops, self.project);
        let folders = |project: &str, run: &Run| places.folder(project, run);
        let tools = ConfiguredTools::new(self.ops, self.config, &folders, &caller::ticking);
        let observer = telemetry.beside(|_| {});
        let worker = Worker {
            executor: Some(self.actor),
            ops: self.ops,
            agents: Arc::clone(&self.config.agents),
            models: &models,
            outside: &tools,
            pump: Pump::default(),
            jobs,
            observer: &observer,
            clock: &caller::ticking,
            is_stopped,
            report: &report,
        };
        worker.run()
    }
}

/// Reports only what needs attention.
fn report(done: Done) {
    if let Done::StoreTrouble { error } = done {
        output::warn(&format!("{}; trying again", output::line(&error)));
    }
}

fn tell_ready(globals: &Globals, url: &str, sign_in: Option<&str>) -> Result<(), Failure> {
    if globals.json {
        return Ok(output::print_json_line(&json!({ "url": url, "signIn": sign_in }))?);
    }
    if globals.quiet {
        return Ok(());
    }
    let pages =
        sign_in.map(|link| format!("; to sign in to the pages once: {link}")).unwrap_or_default();
    Ok(output::print(&format!("Serving at {url}{pages}\n"))?)
}

pub(super) fn cannot_start(listen: SocketAddr, error: StartError) -> Failure {
    match error {
        StartError::Store(error) => error.into(),
        StartError::Tls(why) => Failure::usage(format!("the certificate cannot be used: {why}")),
        StartError::Listen(error) => {
            Failure::NotListening(format!("cannot listen at {listen}: {error}"))
        }
    }
}

/// Where to listen, and with which certificate.
fn address(matches: &ArgMatches) -> Result<(SocketAddr, Option<TlsFiles>), Failure> {
    let named = matches.get_one::<String>("listen").map_or("127.0.0.1:7420", String::as_str);
    let listen = named.to_socket_addrs().ok().and_then(|mut found| found.next());
    let listen = listen.ok_or_else(|| Failure::Usage {
        message: format!("`{named}` is not an address to listen on"),
        hint: Some("give HOST:PORT, e.g. 127.0.0.1:7420".to_owned()),
    })?;
    let path = |name: &str| matches.get_one::<PathBuf>(name).cloned();
    let tls = path("tls-cert").zip(path("tls-key"));
    let tls = tls.map(|(certificate, key)| TlsFiles { certificate, key });
    if !listen.ip().is_loopback() && tls.is_none() && !matches.get_flag("insecure") {
        let message = format!("{listen} can be reached from other machines, and there is no TLS");
        let hint = "give --tls-cert and --tls-key, or --insecure behind a proxy that does TLS";
        return Err(Failure::Usage { message, hint: Some(hint.to_owned()) });
    }
    Ok((listen, tls))
}

/// Scheme, host and port of a URL that has nothing else.
fn origin(url: &str) -> Result<String, Failure> {
    let bare = url.trim().trim_end_matches('/');
    let host = bare.strip_prefix("https://").or_else(|| bare.strip_prefix("http://"));
    match host {
        Some(host) if !host.is_empty() && !host.contains(['/', '@', '?', '#', ' ']) => {
            Ok(bare.to_ascii_lowercase())
        }
        _ => Err(Failure::Usage {
            message: format!("`{url}` is not the address of a server"),
            hint: Some("give scheme and host, e.g. https://punch.example.com".to_owned()),
        }),
    }
}

/// What SIGHUP does.
fn reload(running: &Arc<Mutex<Option<Handle>>>) -> Box<dyn Fn() + Send> {
    let running = Arc::clone(running);
    Box::new(move || {
        let handle = running.lock().unwrap_or_else(PoisonError::into_inner).clone();
        match handle.map(|handle| handle.reload()) {
            Some(Err(why)) => output::warn(&format!("the old certificate stays in use: {why}")),
            Some(Ok(())) => output::warn("the certificate was read again"),
            None => {}
        }
    })
}

/// A stream is an open file; the system's first limit is often a thousand.
fn open_many_files() {
    #[cfg(unix)]
    {
        use nix::sys::resource::{Resource, getrlimit, setrlimit};
        if let Ok((_, hard)) = getrlimit(Resource::RLIMIT_NOFILE) {
            let _ = setrlimit(Resource::RLIMIT_NOFILE, hard.min(65_536), hard);
        }
    }
}
