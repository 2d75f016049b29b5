//! The servers of punchlist: for now MCP over stdio.
//!
//! A server turns its protocol into envelopes and hands them to `ops`. It holds no rule and no
//! SQL, and it never calls our own command line or HTTP.

pub mod mcp;
pub mod tools;
mod wire;
