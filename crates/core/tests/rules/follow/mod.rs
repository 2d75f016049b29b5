//! Consequences of events, as tables.

mod delegation;
mod gate;
mod mission;
mod run;
