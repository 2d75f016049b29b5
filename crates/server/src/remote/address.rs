//! The address of a server, as given to `--db`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use punchlist_store::outside;
use ureq::Agent;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, TlsProvider, parse_pem};

/// The largest certificate file, in bytes.
const CA_FILE_MAX: usize = 4 << 20;
const CONNECT_MAX: Duration = Duration::from_secs(10);
/// The time limit of a call. It is long, because the store may be busy.
const ANSWER_WITHIN: Duration = Duration::from_secs(120);

/// Is the value of `--db` an HTTP address?
#[must_use]
pub fn is_remote(db: &str) -> bool {
    let begins =
        |scheme: &str| db.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme));
    begins("http://") || begins("https://")
}

/// The address of a server, and the certificates to trust.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Scheme, host and port, without a trailing slash.
    pub(super) base: String,
    host: String,
    ca_file: Option<PathBuf>,
}

impl Address {
    /// Parses `http(s)://HOST[:PORT][/][?cafile=FILE]`.
    pub fn parse(url: &str) -> Result<Self, String> {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let address = address.trim_end_matches('/');
        let (scheme, host) = address.split_once("://").unwrap_or_default();
        if host.is_empty() || host.contains(['/', '#', ' ']) {
            return Err("a server is named as http://HOST:PORT or https://HOST:PORT".to_owned());
        }
        if host.contains('@') {
            return Err("the token of a server goes into PUNCHLIST_TOKEN, not into --db".to_owned());
        }
        let mut ca_file = None;
        for part in query.split('&').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("cafile", file)) if !file.is_empty() => ca_file = Some(PathBuf::from(file)),
                _ => {
                    return Err(format!(
                        "`{part}` is unknown in the address of a server; there is cafile=FILE"
                    ));
                }
            }
        }
        let name = match host.strip_prefix('[') {
            Some(rest) => rest.split(']').next().unwrap_or_default(),
            None => host.split(':').next().unwrap_or_default(),
        };
        let base = format!("{}://{host}", scheme.to_ascii_lowercase());
        Ok(Self { base, host: name.to_owned(), ca_file })
    }

    /// Builds the HTTP client. `fallback` is the certificate file that the environment names.
    pub(super) fn agent(&self, fallback: Option<&PathBuf>) -> Result<Agent, String> {
        let mut tls = TlsConfig::builder().provider(TlsProvider::Rustls);
        if let Some(file) = self.ca_file.as_ref().or(fallback)
            && self.base.starts_with("https:")
        {
            let shown = file.display();
            let bytes = outside::beginning(file, CA_FILE_MAX);
            let bytes = bytes.map_err(|error| format!("{shown}: {error}"))?;
            let mut trusted: Vec<Certificate<'static>> = Vec::new();
            for item in parse_pem(&bytes) {
                let item = item.map_err(|error| format!("{shown}: {error}"))?;
                if let PemItem::Certificate(certificate) = item {
                    trusted.push(certificate);
                }
            }
            if trusted.is_empty() {
                return Err(format!("{shown}: there is no certificate in it"));
            }
            tls = tls.root_certs(RootCerts::Specific(Arc::new(trusted)));
        }
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .timeout_connect(Some(CONNECT_MAX))
            .timeout_recv_response(Some(ANSWER_WITHIN))
            .user_agent(concat!("punch/", env!("CARGO_PKG_VERSION")))
            .tls_config(tls.build());
        // A server on this machine is never behind a proxy.
        let address = self.host.parse::<std::net::IpAddr>();
        if self.host == "localhost" || address.is_ok_and(|address| address.is_loopback()) {
            config = config.proxy(None);
        }
        Ok(config.build().into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_parsed_and_anything_else_is_refused() {
        let address = Address::parse("HTTPS://[::1]:7420/?cafile=/etc/ca.pem").unwrap();
        assert_eq!(address.base, "https://[::1]:7420");
        assert_eq!((address.host.as_str(), address.ca_file), ("::1", Some("/etc/ca.pem".into())));
        for bad in
            ["http://", "http://a/b", "http://user:secret@a", "http://a?x=1", "http://a?cafile="]
        {
            let why = Address::parse(bad).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
        assert!(is_remote("http://a") && is_remote("Https://a"));
        assert!(!is_remote("a.db") && !is_remote("postgres://a"));
    }
}
