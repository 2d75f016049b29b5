//! Where a store is: a file, memory, or a PostgreSQL URL.

use std::fmt;
use std::path::PathBuf;

/// What `--db` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// A SQLite file.
    File(PathBuf),
    /// A SQLite store that lives as long as its `Store`.
    Memory,
    /// A `postgres://` URL.
    Postgres(String),
}

impl Target {
    /// Reads a URL or a path; `sqlite:PATH` is a path, `:memory:` is memory.
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

/// For people: never with a password.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Memory => f.write_str(":memory:"),
            Self::Postgres(url) => {
                let (scheme, rest) = url.split_once("://").unwrap_or(("postgres", url));
                let (rest, _options) = rest.split_once('?').unwrap_or((rest, ""));
                let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
                let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
                let user = user.split(':').next().unwrap_or_default();
                let at = if user.is_empty() { "" } else { "@" };
                write!(f, "{scheme}://{user}{at}{host}/{path}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_a_path_and_memory_are_told_apart() {
        assert_eq!(Target::parse("a/b.db"), Target::File("a/b.db".into()));
        assert_eq!(Target::parse("sqlite:///a/b.db"), Target::File("/a/b.db".into()));
        assert_eq!(Target::parse(":memory:"), Target::Memory);
        assert!(matches!(Target::parse("postgresql://h/d"), Target::Postgres(_)));
    }

    #[test]
    fn a_password_is_never_shown() {
        let shown = Target::parse("postgres://ada:secret@db:5432/work?sslkey=secret").to_string();
        assert_eq!(shown, "postgres://ada@db:5432/work");
    }
}
