//! The end-to-end tests of `punch`: the real binary, real processes, real databases.
//!
//! One binary for all of them. A rule is tested in the crate that defines it; these tests show that
//! it takes effect outside. PostgreSQL is never skipped: run `cargo xtask test`, or `cargo xtask
//! with-postgres cargo nextest run -p punchlist-cli`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot set itself up should stop"
)]

mod attacks;
mod attacks_generated;
mod attacks_outside;
mod attacks_runs;
mod backlog;
mod backup;
mod bad_input;
mod bad_store;
mod checklist;
mod checklist_import;
mod completions;
mod config;
mod crash;
mod crowd;
mod doctor;
mod escalations;
mod first_hour;
mod follow;
mod help;
mod hosts;
mod idempotency;
mod identity;
mod inbox;
mod issue_life;
mod issues;
mod life;
mod mcp;
mod mcp_wire;
mod mission_file;
mod mission_import;
mod mission_life;
mod mission_new;
mod mission_status;
mod moving;
mod naming;
mod outside_files;
mod papercuts;
mod party;
mod permissions;
mod plan_archive;
mod plan_life;
mod plan_tree;
mod poison;
mod portable;
mod project_merge;
mod projects;
mod reports;
mod restart;
mod restored;
mod running;
mod runs;
mod session_lists;
mod sessions;
mod shells;
mod support;
mod targets;
mod terminal_text;
mod toolbox;
mod turn_over_call;
mod worker;
