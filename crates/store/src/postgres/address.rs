//! The options of a URL: those of libpq, and our own. The library parses most of them; the others are
//! parsed here and removed before the library sees the URL. Messages name a server without its
//! password, or not at all.

use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode, SslNegotiation};

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
        let rest = own.take_from(url).map_err(|why| bad(&format!(": {why}")))?;
        // The parser's message is dropped: the unknown option may be a part of a password.
        let mut config: Config = rest.parse().map_err(|_| bad(""))?;
        if config.get_application_name().is_none() {
            config.application_name("punchlist");
        }
        if config.get_user().is_none() {
            config.user(std::env::var("USER").unwrap_or_default());
        }
        let statement_timeout = own.statement_timeout.unwrap_or(STATEMENT_TIMEOUT);
        if !own.is_pooler {
            let set = format!("-c statement_timeout={}", statement_timeout.as_millis());
            let options = format!("{set} {}", config.get_options().unwrap_or_default());
            config.options(options.trim());
        }
        own.tls.is_direct = config.get_ssl_negotiation() == SslNegotiation::Direct;
        // The socket that the library gets is already encrypted if it should be.
        config.ssl_mode(SslMode::Require).ssl_negotiation(SslNegotiation::Direct);
        Ok(Self {
            config,
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

    /// The password for one host from the password file. An error says why the file is ignored.
    pub(super) fn password_for(&self, host: &Host, port: u16) -> Result<Option<String>, String> {
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

/// The options that the library does not know.
#[derive(Default)]
struct Own {
    tls: tls::Wanted,
    kind: Kind,
    is_pooler: bool,
    statement_timeout: Option<Duration>,
    pool_size: Option<usize>,
    passwords: Option<PathBuf>,
}

impl Own {
    /// Takes our options from a URL and returns the rest of the URL. An error names the option but
    /// not its value, which may be a part of a password.
    fn take_from(&mut self, url: &str) -> Result<String, &'static str> {
        // Like the library: user and password end at the first @.
        let start = url.find('@').unwrap_or_default();
        let Some(mark) = url.get(start..).and_then(|rest| rest.find('?')).map(|n| n + start) else {
            return Ok(url.to_owned());
        };
        let (before, query) = url.split_at(mark);
        let mut rest = Vec::new();
        for option in query.trim_start_matches('?').split('&') {
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let value = percent_decode_str(value).decode_utf8_lossy();
            if !self.take(name, &value)? {
                rest.push(option);
            }
        }
        Ok(if rest.is_empty() { before.to_owned() } else { format!("{before}?{}", rest.join("&")) })
    }

    fn take(&mut self, name: &str, value: &str) -> Result<bool, &'static str> {
        match name {
            "sslmode" => {
                self.tls.mode = tls::Mode::parse(value)
                    .ok_or("sslmode is disable, prefer, require, verify-ca or verify-full")?;
            }
            "sslrootcert" => self.tls.root = Some(value.to_owned()),
            "sslcert" => self.tls.certificate = Some(PathBuf::from(value)),
            "sslkey" => self.tls.key = Some(PathBuf::from(value)),
            "passfile" => self.passwords = Some(PathBuf::from(value)),
            "target_session_attrs" => {
                self.kind = match value {
                    "any" => Kind::Any,
                    "read-write" => Kind::ReadWrite,
                    "read-only" => Kind::ReadOnly,
                    "primary" => Kind::Primary,
                    "standby" => Kind::Standby,
                    "prefer-standby" => Kind::PreferStandby,
                    _ => {
                        return Err(
                            "target_session_attrs is any, read-write, read-only, primary, \
                                    standby or prefer-standby",
                        );
                    }
                };
            }
            "pooler" => {
                self.is_pooler = match value {
                    "true" | "1" => true,
                    "false" | "0" => false,
                    _ => return Err("pooler is true or false"),
                };
            }
            "statement_timeout" => {
                let limit = duration(value);
                self.statement_timeout =
                    Some(limit.ok_or("statement_timeout is a time such as 500ms, 30s or 5min")?);
            }
            "pool_size" => {
                let size = value.parse().ok().filter(|size| (1..=1_000).contains(size));
                self.pool_size = Some(size.ok_or("pool_size is a number from 1 to 1000")?);
            }
            // The library would accept this option, and nothing would follow from it.
            "load_balance_hosts" if value != "disable" => {
                return Err("load_balance_hosts is not supported: hosts are tried in their order");
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

/// Parses a duration as PostgreSQL writes it: milliseconds, or a number with a unit.
fn duration(text: &str) -> Option<Duration> {
    let digits = text.find(|sign: char| !sign.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "" | "ms" => 1,
        "s" => 1_000,
        "min" => 60_000,
        "h" => 3_600_000,
        _ => return None,
    };
    let millis = number.parse::<u64>().ok()?.checked_mul(scale)?;
    // PostgreSQL's own limit.
    (millis <= 2_147_483_647).then(|| Duration::from_millis(millis))
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
            ("postgres://ada@db/work?sslmod=none", "bad URL: postgres://ada@db/work"),
            ("postgres://ada@db/work?sslmode=s3cret", bad_mode),
            ("postgres://ada@db/work?password=s3&cret=1", "bad URL: postgres://ada@db/work"),
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
        assert_eq!(address.tls.mode, tls::Mode::VerifyFull);
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
        assert_eq!(config.get_ports(), [1, 2]);
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
    fn durations_are_parsed_as_the_server_parses_them() {
        for (text, millis) in [("1500", 1_500), ("500ms", 500), ("30s", 30_000), ("5min", 300_000)]
        {
            assert_eq!(duration(text), Some(Duration::from_millis(millis)), "{text}");
        }
        for text in ["", "s", "-1", "1 day", "1.5s", "9999999999"] {
            assert_eq!(duration(text), None, "{text}");
        }
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
