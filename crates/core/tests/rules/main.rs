//! The rules of the core, from outside: tables, and any sequence of commands.

#![expect(clippy::unwrap_used, reason = "a test that cannot set itself up should stop")]

mod any_commands;
mod any_edits;
mod checklist;
mod commands;
mod commands_are_data;
mod driver;
mod edges;
mod edges_of_delegations;
mod edges_of_gates;
mod edges_of_issues;
mod edges_of_plans;
mod edges_of_sign_offs;
mod edges_of_taking;
mod edit_checklist;
mod every_kind;
mod follow;
mod forms;
mod host_brief;
mod import_mission_todos;
mod import_todos;
mod issue_life;
mod list_room;
mod mission_capacity;
mod mission_chats;
mod mission_cycle;
mod mission_init;
mod mission_prompt;
mod move_todo;
mod plan_after;
mod plan_archive;
mod plan_complete;
mod plan_import;
mod plan_parse;
mod plan_position;
mod plan_render;
mod plan_sync;
mod plan_todo_file;
mod plan_world;
mod run_begin;
mod run_limits;
mod session_lists;
mod sweep;
mod wishes;
mod world;
