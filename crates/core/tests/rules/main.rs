//! The rules of the core, from outside: tables, and any sequence of commands.

mod any_commands;
mod commands;
mod world;
