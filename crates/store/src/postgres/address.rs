//! A server, as a URL describes it. The library parses the user, the hosts and the database; `options`
//! parses what follows them. Messages name a server without its password, or not at all.

use std::path::PathBuf;
use std::time::Duration;

use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};

use super::options::Own;
use super::tls;
use crate::target::shown;
use crate::{Error, ErrorKind, Options, outside};

/// How long a statement may run unless the URL says otherwise.
const STATEMENT_TIMEOUT: Duration = Duration::from_secs(60);
/// How much longer than `statement_timeout` we wait for the server's response.
const GRACE: Duration = Duration::from_secs(2);
/// How long connecting may take unless the URL says otherwise.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest time that the URL may give for connecting. A later deadline may not even be a time.
const CONNECT_TIMEOUT_MAX: Duration = Duration::from_secs(3600);
/// How long to wait for a response if statements have no time limit.
const ANSWER_TIMEOUT_MAX: Duration = Duration::from_secs(24 * 3600);
/// The largest password file, in bytes.
const PASSWORDS_MAX: usize = 1 << 20;

/// Shown instead of a URL that may contain a password. The server's own message is not shown
/// either, because it may repeat a part of the password that we took for a user or a database.
const HIDDEN: &str = "the server's URL is not shown: write / ? # and @ in a password as %2F, %3F, \
                      %23 and %40";

/// Which kind of server is wanted (`target_session_attrs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    #[default]
    Any,
    ReadWrite,
    ReadOnly,
    Primary,
    Standby,
    PreferStandby,
}

/// A server, as described by a URL.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) config: Config,
    /// The hosts and ports of `config`, unless options replace them.
    pub(super) hosts: Vec<Host>,
    pub(super) ports: Vec<u16>,
    /// Do options replace them? Then an error has to name the server: the URL as it is shown does not.
    pub(super) is_elsewhere: bool,
    pub(super) tls: tls::Wanted,
    pub(super) kind: Kind,
    /// There is a pooler in transaction mode in between: no named statements, no session settings,
    /// and no LISTEN.
    pub(super) is_pooler: bool,
    /// Zero: unlimited.
    pub(super) statement_timeout: Duration,
    pub(super) pool_size: Option<usize>,
    pub(super) answer_bytes_max: usize,
    /// The password file (`passfile`), if it is not the default one.
    passwords: Option<PathBuf>,
    shown: Option<String>,
}

impl Address {
    pub(super) fn parse(url: &str, options: Options) -> Result<Self, Error> {
        let shown = shown(url);
        let bad = |why: &str| {
            let named = shown.as_deref().unwrap_or(HIDDEN);
            Error::new(ErrorKind::Unreachable, format!("bad URL: {named}{why}"))
        };
        let mut own = Own::default();
        let rest = own.take_from(url).map_err(|why| match shown {
            Some(_) => bad(&format!(": {why}")),
            // What was taken for options may be a part of the password.
            None => bad(""),
        })?;
        // The parser's message is dropped for the same reason.
        let mut config: Config = rest.parse().map_err(|_| bad(""))?;
        if config.get_application_name().is_none() {
            config.application_name("punchlist");
        }
        if config.get_user().is_none() {
            let user = std::env::var("USER").ok().filter(|user| !user.is_empty());
            let user = user.or_else(|| whoami::username().ok());
            config.user(user.unwrap_or_default());
        }
        let statement_timeout = own.statement_timeout.unwrap_or(STATEMENT_TIMEOUT);
        if !own.is_pooler {
            let set = format!("-c statement_timeout={}", statement_timeout.as_millis());
            let options = format!("{set} {}", config.get_options().unwrap_or_default());
            config.options(options.trim());
        }
        own.settle(&mut config);
        let is_elsewhere = own.hosts.is_some() || own.ports.is_some();
        let hosts = own.hosts.unwrap_or_else(|| config.get_hosts().to_owned());
        let mut ports = own.ports.unwrap_or_else(|| config.get_ports().to_owned());
        // The library gives every host of the URL a port, also one that an option replaces.
        if ports.windows(2).all(|pair| pair[0] == pair[1]) {
            ports.truncate(1);
        }
        if ports.len() > 1 && ports.len() != hosts.len().max(config.get_hostaddrs().len()) {
            return Err(bad(": port names one port, or one for each host"));
        }
        own.tls.is_direct = config.get_ssl_negotiation() == SslNegotiation::Direct;
        // The socket that the library gets is already encrypted if it should be.
        config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
        Ok(Self {
            config,
            hosts,
            ports,
            is_elsewhere,
            tls: own.tls,
            kind: own.kind,
            is_pooler: own.is_pooler,
            statement_timeout,
            pool_size: own.pool_size,
            answer_bytes_max: options.answer_bytes_max,
            passwords: own.passwords,
            shown,
        })
    }

    /// How long to wait for a response before the server counts as lost.
    pub(super) fn answer_timeout(&self) -> Duration {
        match self.statement_timeout {
            Duration::ZERO => ANSWER_TIMEOUT_MAX,
            limit => limit.saturating_add(GRACE),
        }
    }

    pub(super) fn connect_timeout(&self) -> Duration {
        let asked = self.config.get_connect_timeout().copied();
        let asked = asked.filter(|timeout| !timeout.is_zero()).unwrap_or(CONNECT_TIMEOUT);
        asked.min(CONNECT_TIMEOUT_MAX)
    }

    /// How long to wait for a connection of the pool: as long as a new connection, or one statement
    /// of the job that has it, may take.
    pub(super) fn pool_timeout(&self) -> Duration {
        let statement = match self.statement_timeout {
            Duration::ZERO => ANSWER_TIMEOUT_MAX,
            limit => limit,
        };
        self.connect_timeout().max(statement)
    }

    /// Settings that go with every BEGIN, because a pooler does not keep session settings.
    pub(super) fn settings(&self) -> Option<String> {
        let limit = self.statement_timeout.as_millis();
        self.is_pooler.then(|| format!("SET LOCAL statement_timeout = {limit}"))
    }

    /// Adds the server's name to a connection error.
    pub(super) fn unreached(&self, error: Error) -> Error {
        let Error { kind, detail } = error;
        match &self.shown {
            Some(shown) => Error::new(kind, format!("{shown}: {detail}")),
            None => Error::new(kind, HIDDEN),
        }
    }

    /// The password for one host: from `PGPASSWORD`, else from the password file. An error says why
    /// the file is ignored.
    pub(super) fn password_for(&self, host: &Host, port: u16) -> Result<Option<String>, String> {
        if let Ok(password) = std::env::var("PGPASSWORD")
            && !password.is_empty()
        {
            return Ok(Some(password));
        }
        let named = self.passwords.clone();
        let named = named.or_else(|| std::env::var_os("PGPASSFILE").map(PathBuf::from));
        let usual = || std::env::home_dir().map(|home| home.join(".pgpass"));
        let Some(file) = named.or_else(usual).filter(|file| file.is_file()) else {
            return Ok(None);
        };
        let name = file.display();
        if !tls::is_private(&file) {
            return Err(format!(
                "{name} is ignored because others may read it; chmod 600 '{name}'"
            ));
        }
        let text = outside::text(&file, PASSWORDS_MAX)
            .map_err(|error| format!("{name} is ignored: {error}"))?;
        let hosts = match host {
            Host::Tcp(host) => vec![host.clone()],
            #[cfg(unix)]
            Host::Unix(folder) => vec!["localhost".to_owned(), folder.display().to_string()],
        };
        let user = self.config.get_user().unwrap_or_default();
        let database = self.config.get_dbname().unwrap_or(user);
        let port = port.to_string();
        Ok(text.lines().find_map(|line| {
            let fields = fields(line)?;
            let [its_host, its_port, its_database, its_user, password] = fields.as_slice() else {
                return None;
            };
            let is = |field: &String, wanted: &str| field == "*" || field == wanted;
            (hosts.iter().any(|host| is(its_host, host))
                && is(its_port, &port)
                && is(its_database, database)
                && is(its_user, user))
            .then(|| password.clone())
        }))
    }
}

/// The five fields of a line, separated by colons; a backslash escapes the next character.
fn fields(line: &str) -> Option<Vec<String>> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut signs = line.chars();
    while let Some(sign) = signs.next() {
        let last = fields.len();
        match sign {
            ':' if last < 5 => fields.push(String::new()),
            '\\' => fields.last_mut()?.extend(signs.next()),
            other => fields.last_mut()?.push(other),
        }
    }
    (fields.len() == 5).then_some(fields)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_about_a_url_shows_nothing_that_may_be_a_password() {
        let hidden = format!("bad URL: {HIDDEN}");
        let bad_mode = "bad URL: postgres://ada@db/work: sslmode is disable, prefer, require, \
                        verify-ca or verify-full";
        for (url, detail) in [
            (
                "postgres://ada@db/work?sslmod=none",
                "bad URL: postgres://ada@db/work: an option is unknown; did you mean sslmode?",
            ),
            (
                "postgres://ada@db/work?connect_timeout=s3cret",
                "bad URL: postgres://ada@db/work: connect_timeout is a number of seconds",
            ),
            (
                "postgres://ada@db/work?channel_binding=s3cret",
                "bad URL: postgres://ada@db/work: channel_binding is disable, prefer or require",
            ),
            ("postgres://ada@db/work?sslmode=s3cret", bad_mode),
            (
                "postgres://ada@db/work?password=s3&cret=1",
                "bad URL: postgres://ada@db/work: an option is unknown; docs/postgres.md lists the \
                 known ones",
            ),
            (
                "postgres://ada@a,b/work?load_balance_hosts=random",
                "bad URL: postgres://ada@a,b/work: load_balance_hosts is not supported: hosts are \
                 tried in their order",
            ),
            ("postgres://ada:s@3?cret=1@db/work", hidden.as_str()),
            ("postgres://ada:s3cret@db:port/work", hidden.as_str()),
        ] {
            let error = Address::parse(url, Options::default()).unwrap_err();
            assert_eq!(error, Error::new(ErrorKind::Unreachable, detail), "{url}");
        }
    }

    #[test]
    fn our_own_options_are_read_and_the_others_left_to_the_library() {
        let address = Address::parse(
            "postgres://ada:a%3Fb@db:1,[::1]:2/work?pooler=true&sslmode=verify-full&\
             sslrootcert=%2Fetc%2Fca.pem&connect_timeout=3&statement_timeout=90s&pool_size=4&\
             target_session_attrs=primary&application_name=mine",
            Options::default(),
        )
        .unwrap();
        assert!(address.is_pooler);
        assert_eq!(address.tls.mode(), tls::Mode::VerifyFull);
        assert_eq!(address.tls.root.as_deref(), Some("/etc/ca.pem"));
        assert_eq!(address.connect_timeout(), Duration::from_secs(3));
        assert_eq!(address.answer_timeout(), Duration::from_secs(92));
        assert_eq!((address.pool_size, address.kind), (Some(4), Kind::Primary));
        assert_eq!(address.settings().unwrap(), "SET LOCAL statement_timeout = 90000");
        let config = &address.config;
        assert_eq!(config.get_password(), Some(&b"a?b"[..]));
        assert_eq!(config.get_application_name(), Some("mine"));
        // A pooler does not keep session settings.
        assert_eq!(config.get_options(), None);
        assert_eq!(address.ports, [1, 2]);
    }

    /// As in libpq, what is named after the `?` replaces what is named before it.
    #[test]
    fn host_and_port_as_options_replace_those_of_the_url() {
        let tcp = |name: &str| Host::Tcp(name.to_owned());
        for (url, hosts, ports) in [
            ("postgres://u@127.0.0.1/db?port=55419", vec![tcp("127.0.0.1")], vec![55419]),
            ("postgres://u@a,b/db?port=7", vec![tcp("a"), tcp("b")], vec![7]),
            ("postgres:///db?host=a,b&port=1,2", vec![tcp("a"), tcp("b")], vec![1, 2]),
            ("postgres://u@a:9/db?host=b", vec![tcp("b")], vec![9]),
            ("postgres://u@a,b,c/db?host=d,e", vec![tcp("d"), tcp("e")], vec![5432]),
            ("postgres://u@a:1,b:1,c:2/db", vec![tcp("a"), tcp("b"), tcp("c")], vec![1, 1, 2]),
            #[cfg(unix)]
            ("postgres:///db?host=%2Frun%2Fpg", vec![Host::Unix("/run/pg".into())], vec![]),
        ] {
            let address = Address::parse(url, Options::default()).unwrap();
            assert_eq!((address.hosts, address.ports), (hosts, ports), "{url}");
        }
        for (url, why) in [
            ("postgres://u@a/db?host=", "host names a host, or several with commas"),
            ("postgres://u@a/db?port=x", "port is a number, or several with commas"),
            ("postgres://u@a/db?port=1,2", "port names one port, or one for each host"),
            ("postgres://u@a:1,b:2/db?host=c", "port names one port, or one for each host"),
        ] {
            let error = Address::parse(url, Options::default()).unwrap_err();
            assert!(error.detail.ends_with(&format!(": {why}")), "{error:?}");
        }
    }

    #[test]
    fn the_limits_of_a_socket_have_the_names_and_units_of_libpq() {
        for count in ["keepalives_count", "keepalives_retries"] {
            let url = format!("postgres://u@a/db?{count}=4&tcp_user_timeout=1500");
            let config = Address::parse(&url, Options::default()).unwrap().config;
            assert_eq!(config.get_keepalives_retries(), Some(4));
            assert_eq!(config.get_tcp_user_timeout(), Some(&Duration::from_millis(1500)));
        }
    }

    #[test]
    fn connecting_takes_an_hour_at_most_whatever_the_url_says() {
        for (asked, limit) in [("0", 15), ("3600", 3600), ("9223372036854775807", 3600)] {
            let url = format!("postgres://ada@db/work?connect_timeout={asked}");
            let address = Address::parse(&url, Options::default()).unwrap();
            assert_eq!(address.connect_timeout(), Duration::from_secs(limit), "{asked}");
        }
    }

    #[test]
    fn a_direct_connection_has_its_limit_from_the_start_and_the_callers_options_after_it() {
        let url = "postgres://ada@db/work?options=-csearch_path%3Dx";
        let address = Address::parse(url, Options::default()).unwrap();
        let options = address.config.get_options();
        assert_eq!(options, Some("-c statement_timeout=60000 -csearch_path=x"));
        assert_eq!(address.settings(), None);
    }

    #[test]
    fn a_line_of_passwords_has_five_fields_and_escapes() {
        assert_eq!(
            fields(r"db:5432:*:ada:a\:b\\c:d"),
            Some(["db", "5432", "*", "ada", r"a:b\c:d"].map(str::to_owned).to_vec())
        );
        assert_eq!(fields("# db:5432:*:ada:x"), None);
        assert_eq!(fields("db:5432:*:ada"), None);
    }
}
