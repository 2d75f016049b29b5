//! Everything with effects: step 9 of a change.
//!
//! The engine takes work from the outbox by lease, does it outside any transaction, and reports
//! back. For now it has the pump; model providers, the agent loop, delegation workers, the
//! scheduler and the metric collectors will be its handlers. No HTTP server lives here, and no
//! rule: what an effect means was decided in the core.

pub mod pump;

pub use pump::{Handler, Pump, Report};
