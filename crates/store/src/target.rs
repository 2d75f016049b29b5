//! The location of a store: a file, memory, or a PostgreSQL URL, which is never shown with its
//! password.

use std::fmt;
use std::path::PathBuf;

/// The value of `--db`.
#[derive(Clone, PartialEq, Eq)]
pub enum Target {
    /// A SQLite file.
    File(PathBuf),
    /// A SQLite store in memory, dropped with its `Store`.
    Memory,
    /// A `postgres://` URL.
    Postgres(String),
}

impl Target {
    /// Parses a URL or a path; `sqlite:PATH` is a path, `:memory:` is memory.
    #[must_use]
    pub fn parse(text: &str) -> Self {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Self::Postgres(text.to_owned());
        }
        let path = text.strip_prefix("sqlite://").or_else(|| text.strip_prefix("sqlite:"));
        match path.unwrap_or(text) {
            ":memory:" => Self::Memory,
            path => Self::File(PathBuf::from(path)),
        }
    }
}

/// Is this text meant to name a server, but in a form that [`Target::parse`] takes for a path? A
/// file of that name would be created, and its name may contain a password: `postgres:/host`, or
/// libpq's `host=db password=secret`.
#[must_use]
pub fn is_misspelt_server(text: &str) -> bool {
    if !matches!(Target::parse(text), Target::File(_)) || text.starts_with("sqlite:") {
        return false;
    }
    let scheme = text.split_once(':').map(|(scheme, _)| scheme.to_ascii_lowercase());
    let is_scheme = matches!(scheme.as_deref(), Some("postgres" | "postgresql"));
    is_scheme || text.contains("://") || is_conninfo(text)
}

/// Has it a setting of libpq that names a server? They begin the text or follow a space.
fn is_conninfo(text: &str) -> bool {
    ["host", "hostaddr", "dbname", "password"].iter().any(|name| {
        text.match_indices(name).any(|(at, _)| {
            let (before, after) = (&text[..at], &text[at + name.len()..]);
            (before.is_empty() || before.ends_with(char::is_whitespace))
                && after.trim_start().starts_with('=')
        })
    })
}

/// May this URL contain a password? Yes, if it is unclear where its parts end.
#[must_use]
pub fn has_password(url: &str) -> bool {
    let Some((_, rest)) = url.split_once("://") else { return false };
    let credentials = rest.split_once('@').map_or("", |(credentials, _)| credentials);
    credentials.contains(':') || url.contains("password=") || shown(url).is_none()
}

/// For people: never with a password.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Memory => f.write_str(":memory:"),
            Self::Postgres(url) => f.write_str(&shown(url).unwrap_or("postgres://…".to_owned())),
        }
    }
}

/// Logs and panics are read by people too, so this never shows a password either.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Target({self})")
    }
}

/// User, hosts and database of a URL. `None` if a character that should have been escaped makes it
/// unclear where the password ends; then nothing is shown.
pub(crate) fn shown(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    let (credentials, place) = rest.split_once('@').unwrap_or(("", rest));
    if credentials.contains(['/', '?', '#']) || place.contains('@') {
        return None;
    }
    let place = place.split(['?', '#']).next().unwrap_or_default();
    let hosts = place.split('/').next().unwrap_or_default();
    if !hosts.split(',').all(is_host) {
        return None;
    }
    let user = credentials.split(':').next().unwrap_or_default();
    let at = if user.is_empty() { "" } else { "@" };
    Some(format!("{scheme}://{user}{at}{place}"))
}

/// Is this `name`, `name:5432` or `[::1]:5432`? After a colon only a number is valid: if somebody
/// forgot the host, a password would be there.
fn is_host(text: &str) -> bool {
    let port = match text.strip_prefix('[') {
        Some(address) => address.split_once(']').map(|(_, port)| port),
        None => Some(text.find(':').map_or("", |colon| &text[colon..])),
    };
    let is_number = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    port.is_some_and(|port| port.is_empty() || port.strip_prefix(':').is_some_and(is_number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_without_a_host_is_not_shown_as_one() {
        for url in ["postgres://ada:s3cret", "postgres://ada:s3/cret", "postgres://[::1/s3cret"] {
            assert_eq!(Target::parse(url).to_string(), "postgres://…");
        }
    }

    #[test]
    fn a_url_with_a_password_is_recognised() {
        for url in [
            "postgres://ada:secret@db/work",
            "postgres://ada:s3/cret@db/work",
            "postgres://db/work?user=ada&password=secret",
            "postgres://ada:s3cret",
        ] {
            assert!(has_password(url), "{url}");
        }
        for db in
            ["postgres://ada@db:5432/work?sslmode=require", "http://h:7420", "a/b.db", ":memory:"]
        {
            assert!(!has_password(db), "{db}");
        }
    }

    #[test]
    fn a_server_that_is_not_written_as_a_url_is_not_taken_for_a_path() {
        for db in [
            "postgres:/ada:s3cret@db/work",
            "postgres:ada:s3cret@db/work",
            "PostgreSQL:/db/work",
            "Postgres://ada:s3cret@db/work",
            "mysql://ada:s3cret@db/work",
            "host=db user=ada password=s3cret dbname=work",
            "user=ada password = 's3 cret'",
            "user=ada\tdbname=work",
            "hostaddr=127.0.0.1",
        ] {
            assert!(is_misspelt_server(db), "{db}");
        }
        for db in [
            "postgres://ada@db/work",
            "postgresql:///work?host=/run&password=x",
            "postgres.db",
            "/srv/postgres/a.db",
            "a/host=b.db",
            "the host of work.db",
            "ghost=1.db",
            "sqlite:host=b.db",
            "sqlite:postgres:x",
            ":memory:",
        ] {
            assert!(!is_misspelt_server(db), "{db}");
        }
    }

    #[test]
    fn a_url_a_path_and_memory_are_told_apart() {
        assert_eq!(Target::parse("a/b.db"), Target::File("a/b.db".into()));
        assert_eq!(Target::parse("sqlite:///a/b.db"), Target::File("/a/b.db".into()));
        assert_eq!(Target::parse(":memory:"), Target::Memory);
        assert!(matches!(Target::parse("postgresql://h/d"), Target::Postgres(_)));
    }

    #[test]
    fn a_password_is_never_shown() {
        for (url, expected) in [
            ("postgres://ada:secret@db:5432/work?sslkey=secret", "postgres://ada@db:5432/work"),
            ("postgresql://ada@db/work", "postgresql://ada@db/work"),
            ("postgres://:secret@db/work#secret", "postgres://db/work"),
            ("postgres://ada:sec:ret@db", "postgres://ada@db"),
            ("postgres://ada:se%2Fcret@a:1,b:2/work", "postgres://ada@a:1,b:2/work"),
            ("postgres://ada:secret@[::1]:5432/work", "postgres://ada@[::1]:5432/work"),
            ("postgres://db:5432/work?user=ada&password=secret", "postgres://db:5432/work"),
            ("postgres:///work?host=/run/postgresql", "postgres:///work"),
        ] {
            assert_eq!(Target::parse(url).to_string(), expected, "{url}");
        }
    }

    /// If a character that should have been escaped makes it unclear where the password ends,
    /// nothing is shown, not even in a debug print.
    #[test]
    fn a_password_with_unescaped_url_characters_is_not_shown_in_part() {
        let signs = ["/", "?", "#", "@", "//", "@/", "?@", "/@#?", "@db/work?x=", "?password="];
        for sign in signs {
            for url in [
                format!("postgres://ada:s3c{sign}ret@db:5432/work"),
                format!("postgres://ada:{sign}s3cret@db/work?sslmode=disable"),
                format!("postgres://ada:s3cret{sign}@db"),
                format!("postgres://s3c{sign}ret@db:5432/work"),
                format!("postgres://db/work?password=s3c{sign}ret"),
                format!("postgres://ada@db/work?user=ada&password=s3c{sign}ret@x"),
            ] {
                let target = Target::parse(&url);
                for shown in [target.to_string(), format!("{target:?}")] {
                    let leaks = shown.contains("s3c") || shown.contains("ret");
                    assert!(!leaks, "{url} is shown as {shown}");
                }
            }
        }
    }
}
