//! What follows from what happened, as tables.

mod delegation;
mod gate;
mod mission;
mod run;
