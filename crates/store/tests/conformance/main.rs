//! The conformance suite for every store: a SQLite file, memory, and PostgreSQL; and faults that
//! only one of them can have.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod answers;
mod copies;
mod core_agrees;
mod counts_agree;
mod doctor;
mod events;
mod fixture;
mod fold;
mod issue_search;
mod issues;
mod mcp_entries;
mod migrations;
mod missions;
mod moving;
mod outbox;
mod portable;
mod postgres_line;
mod restored_log;
mod rights;
mod rows;
mod rows_agree;
mod silence;
mod sqlite_file;
mod task_view;
mod transactions;
mod turn_view;
mod watch;
