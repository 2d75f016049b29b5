//! The options of a URL: those of libpq, and our own. The library parses most of them; those that it
//! does not know, or reads otherwise than libpq does, are parsed here and removed before the library
//! sees the URL. No message repeats a value, which may be a part of a password.

use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::percent_decode_str;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::address::Kind;
use super::tls;

/// The port of a server unless the URL names another.
pub(super) const PORT: u16 = 5432;

/// The options that the library does not parse.
#[derive(Default)]
pub(super) struct Own {
    pub(super) tls: tls::Wanted,
    pub(super) kind: Kind,
    pub(super) is_pooler: bool,
    pub(super) statement_timeout: Option<Duration>,
    pub(super) pool_size: Option<usize>,
    pub(super) passwords: Option<PathBuf>,
    /// These replace the hosts and ports before the `?`. The library would add them.
    pub(super) hosts: Option<Vec<Host>>,
    pub(super) ports: Option<Vec<u16>>,
    keepalives_count: Option<u32>,
    tcp_user_timeout: Option<Duration>,
}

impl Own {
    /// Takes our options from a URL and returns the rest of the URL. An error names the option but
    /// not its value, which may be a part of a password.
    pub(super) fn take_from(&mut self, url: &str) -> Result<String, String> {
        // Like the library: user and password end at the first @.
        let start = url.find('@').unwrap_or_default();
        let Some(mark) = url.get(start..).and_then(|rest| rest.find('?')).map(|n| n + start) else {
            return Ok(url.to_owned());
        };
        let (before, query) = url.split_at(mark);
        let mut rest = Vec::new();
        let options = query.trim_start_matches('?').split('&');
        for option in options.filter(|option| !option.is_empty()) {
            if !is_escaped(option) {
                let why = "% is followed by two hexadecimal digits in an option; write % as %25";
                return Err(why.to_owned());
            }
            let (name, value) = option.split_once('=').unwrap_or((option, ""));
            let [name, value] =
                [name, value].map(|text| percent_decode_str(text).decode_utf8_lossy());
            if !self.take(&name, &value)? {
                check(&name, &value)?;
                rest.push(option);
            }
        }
        self.tls.check()?;
        Ok(if rest.is_empty() { before.to_owned() } else { format!("{before}?{}", rest.join("&")) })
    }

    /// Sets what the library keeps, too.
    pub(super) fn settle(&self, config: &mut Config) {
        if let Some(count) = self.keepalives_count {
            config.keepalives_retries(count);
        }
        if let Some(timeout) = self.tcp_user_timeout {
            config.tcp_user_timeout(timeout);
        }
    }

    fn take(&mut self, name: &str, value: &str) -> Result<bool, &'static str> {
        match name {
            "sslmode" => {
                let mode = tls::Mode::parse(value)
                    .ok_or("sslmode is disable, prefer, require, verify-ca or verify-full")?;
                self.tls.mode = Some(mode);
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
            "host" => {
                let hosts: Option<Vec<Host>> = value.split(',').map(host).collect();
                self.hosts = Some(hosts.ok_or("host names a host, or several with commas")?);
            }
            "port" => {
                let ports: Option<Vec<u16>> = value.split(',').map(port).collect();
                self.ports = Some(ports.ok_or("port is a number, or several with commas")?);
            }
            // The library's own name for it is the second one.
            "keepalives_count" | "keepalives_retries" => {
                let count = value.parse().map_err(|_| "keepalives_count is a number")?;
                self.keepalives_count = Some(count);
            }
            // The library reads it as seconds.
            "tcp_user_timeout" => {
                let millis: u32 =
                    value.parse().map_err(|_| "tcp_user_timeout is a number of milliseconds")?;
                self.tcp_user_timeout = (millis > 0).then(|| Duration::from_millis(millis.into()));
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

/// Do two hexadecimal digits follow each `%`? The library would keep any other one as it is.
fn is_escaped(option: &str) -> bool {
    option
        .split('%')
        .skip(1)
        .all(|rest| rest.len() >= 2 && rest.bytes().take(2).all(|digit| digit.is_ascii_hexdigit()))
}

/// Checks an option that the library parses. The library's own message would repeat the option.
fn check(name: &str, value: &str) -> Result<(), String> {
    // The library ignores a negative number.
    let is_number = || value.parse::<i64>().is_ok_and(|number| number >= 0);
    let (is_good, expected) = match name {
        "user" | "password" | "dbname" | "options" | "application_name" | "load_balance_hosts" => {
            return Ok(());
        }
        "connect_timeout" => (is_number(), "connect_timeout is a number of seconds"),
        "keepalives" => (matches!(value, "0" | "1"), "keepalives is 0 or 1"),
        "keepalives_idle" => (is_number(), "keepalives_idle is a number of seconds"),
        "keepalives_interval" => (is_number(), "keepalives_interval is a number of seconds"),
        "hostaddr" => (
            value.split(',').all(|address| address.parse::<IpAddr>().is_ok()),
            "hostaddr is an IP address, or several with commas",
        ),
        "sslnegotiation" => {
            (matches!(value, "postgres" | "direct"), "sslnegotiation is postgres or direct")
        }
        "channel_binding" => (
            matches!(value, "disable" | "prefer" | "require"),
            "channel_binding is disable, prefer or require",
        ),
        _ => return Err(unknown(name)),
    };
    if is_good { Ok(()) } else { Err(expected.to_owned()) }
}

/// Every option that is known.
const KNOWN: [&str; 27] = [
    "application_name",
    "channel_binding",
    "connect_timeout",
    "dbname",
    "host",
    "hostaddr",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "keepalives_retries",
    "load_balance_hosts",
    "options",
    "passfile",
    "password",
    "pool_size",
    "pooler",
    "port",
    "sslcert",
    "sslkey",
    "sslmode",
    "sslnegotiation",
    "sslrootcert",
    "statement_timeout",
    "target_session_attrs",
    "tcp_user_timeout",
    "user",
];

/// Names the known option that is most like an unknown one, which may be a part of a password.
fn unknown(wrong: &str) -> String {
    let likeness = |name: &&str| strsim::jaro_winkler(wrong, name);
    let nearest = KNOWN.iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)));
    match nearest.filter(|name| likeness(name) >= 0.85) {
        Some(name) => format!("an option is unknown; did you mean {name}?"),
        None => "an option is unknown; docs/postgres.md lists the known ones".to_owned(),
    }
}

/// Parses a host: a name, an address, or the folder of a Unix socket.
fn host(text: &str) -> Option<Host> {
    #[cfg(unix)]
    if text.starts_with('/') {
        return Some(Host::Unix(PathBuf::from(text)));
    }
    (!text.is_empty()).then(|| Host::Tcp(text.to_owned()))
}

/// Parses a port; an empty one is the usual one.
fn port(text: &str) -> Option<u16> {
    if text.is_empty() { Some(PORT) } else { text.parse().ok() }
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
    fn every_known_option_is_parsed_or_passed_on() {
        for name in KNOWN {
            let url = format!("postgres://db/work?{name}=%00");
            let refused = Own::default().take_from(&url).err().unwrap_or_default();
            assert!(!refused.contains("unknown"), "{name}: {refused}");
        }
    }

    #[test]
    fn a_negative_time_and_a_wrong_escape_are_refused() {
        let refused = |option: &str| {
            let url = format!("postgres://db/work?{option}");
            Own::default().take_from(&url).err().unwrap_or_default()
        };
        for name in ["connect_timeout", "keepalives_idle", "keepalives_interval"] {
            assert_eq!(refused(&format!("{name}=-1")), format!("{name} is a number of seconds"));
            assert_eq!(refused(&format!("{name}=0")), "");
        }
        let why = "% is followed by two hexadecimal digits in an option; write % as %25";
        for wrong in ["%zz", "%", "%4", "a%2", "%%41", "%é"] {
            assert_eq!(refused(&format!("application_name={wrong}")), why, "{wrong}");
        }
        assert_eq!(refused("application_name=100%25%C3%A9"), "");
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
}
