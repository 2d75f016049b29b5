//! Runs, from the message to the end of what follows from it, with scripted models on every store.

mod stage;

mod behaviours;
mod drain;
mod waits;
