//! How to reach a server, and how to speak of it: without its password, or not at all.

use tokio_postgres::Config;

use crate::target::shown;
use crate::{Error, ErrorKind};

/// How statements are planned: once each, through the indexes made for them. A planner that goes
/// by statistics reads a table whole while it has none, and a busy table of leases outgrows that
/// plan long before anybody analyses it.
const PLANNING: &str = "-c enable_seqscan=off -c plan_cache_mode=force_generic_plan";

/// What is said of a server whose URL may show a password. Its own words are not repeated either:
/// it was asked with what we took for a user or a database, and says so.
const HIDDEN: &str = "the server's URL is not shown: write / ? # and @ in a password as %2F, %3F, \
                      %23 and %40";

/// A server, as a URL names it.
#[derive(Debug)]
pub(super) struct Address {
    pub(super) config: Config,
    shown: Option<String>,
}

impl Address {
    pub(super) fn parse(url: &str) -> Result<Self, Error> {
        let shown = shown(url);
        // Not with what the parser says: the option it does not know may be half a password.
        let mut config: Config = url.parse().map_err(|_| {
            let named = shown.as_deref().unwrap_or(HIDDEN);
            Error::new(ErrorKind::Unreachable, format!("bad URL: {named}"))
        })?;
        if config.get_application_name().is_none() {
            config.application_name("punchlist");
        }
        let options = format!("{} {PLANNING}", config.get_options().unwrap_or_default());
        config.options(options.trim());
        Ok(Self { config, shown })
    }

    /// Why it could not be reached, with which server that is.
    pub(super) fn unreached(&self, error: Error) -> Error {
        let Error { kind, detail } = error;
        match &self.shown {
            Some(shown) => Error::new(kind, format!("{shown}: {detail}")),
            None => Error::new(kind, HIDDEN),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_url_is_named_as_far_as_it_cannot_be_a_password() {
        let hidden = format!("bad URL: {HIDDEN}");
        for (url, detail) in [
            ("postgres://ada@db/work?sslmod=none", "bad URL: postgres://ada@db/work"),
            ("postgres://ada@db/work?password=s3&cret=1", "bad URL: postgres://ada@db/work"),
            ("postgres://ada:s@3?cret=1@db/work", hidden.as_str()),
            ("postgres://ada:s3cret@db:port/work", hidden.as_str()),
        ] {
            let error = Address::parse(url).unwrap_err();
            assert_eq!(error, Error::new(ErrorKind::Unreachable, detail), "{url}");
        }
    }
}
