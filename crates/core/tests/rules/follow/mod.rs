//! Consequences of events, as tables.

mod chat;
mod delegation;
mod gate;
mod mission;
mod run;
