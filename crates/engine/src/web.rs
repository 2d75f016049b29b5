//! Shared by all our HTTP calls.

pub(crate) const USER_AGENT: &str = concat!("punchlist/", env!("CARGO_PKG_VERSION"));

/// Is this host an address of this machine? Those are never called through a proxy.
pub(crate) fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    let address = host.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}
