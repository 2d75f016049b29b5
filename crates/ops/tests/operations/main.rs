//! Operations through dispatch: the effect of each, and what holds for all of them.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod attack;
mod attack_hooks;
mod attack_http;
mod attack_reads;
mod attention;
mod copied;
mod cursors;
mod delegations;
mod every_operation;
mod everyday;
mod explanations;
mod gates;
mod idempotency;
mod in_a_session;
mod issue_rules;
mod issues;
mod leases;
mod metrics;
mod mission_authority;
mod mission_cycle;
mod mission_desk;
mod mission_work;
mod missions;
mod own_work;
mod permissions;
mod places;
mod plan_files;
mod plan_life;
mod plan_places;
mod plan_watch;
mod plans;
mod project_merge;
mod reads;
mod reports;
mod run_calls;
mod session_lists;
mod sessions;
mod settled_work;
mod todo_tool;
mod tokens;
mod tracker;
mod turn;
