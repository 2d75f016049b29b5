//! The differences between the two databases, as a value.

use crate::sql;
use crate::sql::Sql;

/// The kind of database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Sqlite,
    Postgres,
}

impl Dialect {
    /// Returns the statement of this dialect, for the places where the two must differ.
    #[must_use]
    pub const fn pick(self, sqlite: &'static Sql, postgres: &'static Sql) -> &'static Sql {
        match self {
            Self::Sqlite => sqlite,
            Self::Postgres => postgres,
        }
    }

    /// The database's own clock in microseconds, which decides about leases and expiry.
    #[must_use]
    pub const fn clock(self) -> &'static Sql {
        match self {
            Self::Sqlite => sql!("SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER)"),
            Self::Postgres => {
                sql!("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint")
            }
        }
    }

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
        }
    }
}
