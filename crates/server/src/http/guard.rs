//! Checks around every request, before the caller is identified: refuses headers that are too long,
//! a foreign `Host`, and pages of other sites, and adds the request's id to every response.
//!
//! Not here: `caller` identifies the caller and decides whether a proxied request needs a token;
//! `limits` counts requests.

use std::net::{IpAddr, SocketAddr};

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;
use punchlist_ops::web_fault::WebFault;
use punchlist_ops::{Error, clock};

use super::problem::problem;
use super::state::Shared;
use crate::pages;

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// The address of the client.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Peer(pub(crate) SocketAddr);

/// The names under which this server is known.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    /// Does it listen only on loopback?
    pub(crate) is_loopback: bool,
    pub(crate) is_tls: bool,
    /// `scheme://host[:port]` as clients see it, if a proxy is in front.
    pub(crate) public: Option<String>,
}

impl Site {
    /// May a request use this host name? A page of another site could make its own name resolve to
    /// this machine. Beyond loopback every request needs a token, so the name does not matter
    /// there.
    fn is_ours(&self, host: &str) -> bool {
        let public = self.public.as_deref().and_then(|url| url.split_once("://"));
        let by_proxy = public.is_some_and(|(_, name)| name.eq_ignore_ascii_case(host));
        match (self.is_loopback, public) {
            (true, _) => by_proxy || is_loopback_name(host),
            (false, Some(_)) => by_proxy || name_of(host).parse::<IpAddr>().is_ok(),
            (false, None) => true,
        }
    }

    /// Does a page of this origin belong to this server?
    fn is_origin(&self, origin: &str, host: &str) -> bool {
        let scheme = if self.is_tls { "https" } else { "http" };
        let own = format!("{scheme}://{host}");
        own.eq_ignore_ascii_case(origin)
            || self.public.as_deref().is_some_and(|public| public.eq_ignore_ascii_case(origin))
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), WebFault> {
        let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
        let host = text(header::HOST).unwrap_or_default();
        if headers.get_all(header::HOST).iter().count() != 1 || !self.is_ours(host) {
            return Err(WebFault::ForeignHost { host: host.to_owned() });
        }
        if let Some(origin) = text(header::ORIGIN)
            && !self.is_origin(origin, host)
        {
            return Err(WebFault::CrossSite { origin: origin.to_owned() });
        }
        match text(HeaderName::from_static("sec-fetch-site")) {
            None | Some("same-origin" | "none") => Ok(()),
            Some(site) => Err(WebFault::CrossSite { origin: site.to_owned() }),
        }
    }
}

/// Did a proxy forward this request?
pub(crate) fn is_forwarded(headers: &HeaderMap) -> bool {
    headers.contains_key("x-forwarded-for") || headers.contains_key(header::FORWARDED)
}

/// The name in a `Host` header, without the port.
fn name_of(host: &str) -> &str {
    match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

fn is_loopback_name(host: &str) -> bool {
    let name = name_of(host);
    name.eq_ignore_ascii_case("localhost")
        || name.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Assigns the request's id, and refuses bad requests before routing.
pub(crate) async fn around(
    State(state): State<Shared>,
    mut request: Request,
    next: Next,
) -> Response {
    let id = request_id(request.headers());
    let is_probe = matches!(request.uri().path(), "/healthz" | "/readyz");
    let limit = state.limiter.limits.headers_max;
    let checked = match length(request.headers()) > limit {
        true => Err(WebFault::HeadersTooLarge { limit }),
        false if is_probe => Ok(()),
        false => state.site.check(request.headers()),
    };
    let mut response = match checked {
        Ok(()) => {
            request.headers_mut().extend(id.clone().map(|id| (REQUEST_ID, id)));
            next.run(request).await
        }
        Err(fault) if is_page(request.uri().path()) => pages::refused(&Error::from(fault)),
        Err(fault) => problem(&Error::from(fault)),
    };
    response.headers_mut().extend(id.map(|id| (REQUEST_ID, id)));
    let nosniff = HeaderValue::from_static("nosniff");
    response.headers_mut().insert(header::X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// Is this the path of a page for people?
fn is_page(path: &str) -> bool {
    path == "/" || ["/p/", "/sign-"].iter().any(|start| path.starts_with(start))
}

/// The total size of all headers, in bytes.
fn length(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}

/// The request id that the caller gave, or a new one.
fn request_id(headers: &HeaderMap) -> Option<HeaderValue> {
    let given = headers.get(REQUEST_ID).filter(|id| {
        let is_plain = |id: &str| id.bytes().all(|byte| byte.is_ascii_graphic());
        (1..=128).contains(&id.len()) && id.to_str().is_ok_and(is_plain)
    });
    given.cloned().or_else(|| {
        let made = clock::ids(clock::now()).ok()?.ulid().to_string();
        HeaderValue::try_from(made).ok()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(site: &Site, given: &[(&'static str, &str)]) -> Option<&'static str> {
        let mut headers = HeaderMap::new();
        for (name, value) in given {
            headers.append(*name, HeaderValue::from_str(value).unwrap());
        }
        site.check(&headers).err().map(|fault| fault.code())
    }

    const LOCAL: Site = Site { is_loopback: true, is_tls: false, public: None };

    #[test]
    fn only_our_own_names_are_answered() {
        for host in ["127.0.0.1:7420", "localhost", "LOCALHOST:1", "[::1]:7420", "127.0.0.2"] {
            assert_eq!(checked(&LOCAL, &[("host", host)]), None, "{host}");
        }
        for host in ["evil.example", "localhost.evil.example:7420", "10.0.0.1", "", "[::2]:1"] {
            assert_eq!(checked(&LOCAL, &[("host", host)]), Some("foreign_host"), "{host}");
        }
        assert_eq!(checked(&LOCAL, &[]), Some("foreign_host"));
        let two = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(checked(&LOCAL, &two), Some("foreign_host"));
    }

    #[test]
    fn behind_a_proxy_the_public_name_counts() {
        let public = Some("https://punch.example".to_owned());
        let site = Site { public, ..LOCAL };
        let host = ("host", "punch.example");
        assert_eq!(checked(&site, &[host, ("origin", "https://punch.example")]), None);
        let other = checked(&site, &[host, ("origin", "https://other.example")]);
        assert_eq!(other, Some("cross_site"));
        let outside = Site { is_loopback: false, ..site };
        assert_eq!(checked(&outside, &[("host", "other.example")]), Some("foreign_host"));
        assert_eq!(checked(&outside, &[("host", "10.0.0.1:7420")]), None);
    }

    #[test]
    fn pages_of_other_sites_and_ports_are_refused() {
        let host = ("host", "127.0.0.1:7420");
        for origin in
            ["http://127.0.0.1:3000", "https://evil.example", "null", "http://localhost:7420"]
        {
            assert_eq!(
                checked(&LOCAL, &[host, ("origin", origin)]),
                Some("cross_site"),
                "{origin}"
            );
        }
        assert_eq!(checked(&LOCAL, &[host, ("origin", "http://127.0.0.1:7420")]), None);
        for (site, expected) in [
            ("none", None),
            ("same-origin", None),
            ("same-site", Some("cross_site")),
            ("cross-site", Some("cross_site")),
        ] {
            assert_eq!(checked(&LOCAL, &[host, ("sec-fetch-site", site)]), expected, "{site}");
        }
    }
}
