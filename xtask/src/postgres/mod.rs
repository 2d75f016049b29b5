//! A PostgreSQL server for the tests: the one named in the environment, or a throwaway one.
//!
//! `programs` installs the programs. The package `throwaway` finds them and manages a throwaway
//! server.

mod programs;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};

use crate::process;
pub(crate) use throwaway::Commits;
use throwaway::{Setup, Throwaway};

/// The variable that gives the tests the server's address.
pub(crate) const URL_VARIABLE: &str = "PUNCHLIST_TEST_POSTGRES";

/// Makes a server offer TLS with a self-signed certificate.
const TLS: &str = "cd \"$1\"; openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 \
    -nodes -keyout server.key -out server.crt -days 30 -subj /CN=throwaway; chmod 600 server.key; \
    echo 'ssl = on' >>postgresql.conf";

/// A server for tests. Dropping it stops a throwaway server and removes its files.
pub(crate) enum TestServer {
    Given(String),
    Throwaway(Throwaway),
}

impl TestServer {
    pub(crate) fn get(commits: Commits) -> Result<Self> {
        Self::get_with(commits, Setup::default())
    }

    /// A server for measurements: its commits are durable, and it offers TLS.
    pub(crate) fn to_measure() -> Result<Self> {
        Self::get_with(Commits::Durable, Setup { script: TLS, socket: false })
    }

    fn get_with(commits: Commits, setup: Setup<'_>) -> Result<Self> {
        match std::env::var(URL_VARIABLE) {
            Ok(url) if url.is_empty() => {}
            Ok(url) => return Self::given(url),
            Err(std::env::VarError::NotPresent) => {}
            Err(error) => return Err(error).context(URL_VARIABLE),
        }
        let programs = programs::find_or_install()?;
        Ok(Self::Throwaway(Throwaway::start_with(&programs, commits, setup)?))
    }

    fn given(url: String) -> Result<Self> {
        if !url.starts_with("postgres://") && !url.starts_with("postgresql://") {
            bail!("{URL_VARIABLE} must be a postgres:// URL");
        }
        Ok(Self::Given(url))
    }

    pub(crate) fn url(&self) -> String {
        match self {
            Self::Given(url) => url.clone(),
            Self::Throwaway(server) => server.url(),
        }
    }
}

/// `cargo xtask with-postgres CMD…`: returns the exit code of CMD.
pub(crate) fn run_with(args: &[String]) -> Result<ExitCode> {
    let words = args.strip_prefix(&["--".to_owned()]).unwrap_or(args);
    let Some((program, rest)) = words.split_first() else {
        bail!("say what to run: cargo xtask with-postgres CMD…");
    };
    let server = TestServer::get(Commits::Fast)?;
    let status = process::bound(program)
        .args(rest)
        .env(URL_VARIABLE, server.url())
        .status()
        .with_context(|| format!("cannot start {program}"))?;
    // A command that was ended by a signal has no exit code.
    let code = status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
    Ok(ExitCode::from(code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_given_server_is_used_as_it_is() {
        let url = "postgres://someone@db.example:5432/postgres";
        assert_eq!(TestServer::given(url.to_owned()).unwrap().url(), url);
        assert!(TestServer::given("db.example:5432".to_owned()).is_err());
    }

    #[test]
    fn with_postgres_requires_a_command() {
        assert!(run_with(&[]).is_err());
        assert!(run_with(&["--".to_owned()]).is_err());
    }
}
