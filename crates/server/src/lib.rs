//! The servers: readers of the operation catalogue that other processes talk to.
//!
//! MCP over stdio, and HTTP with its event streams; `remote` is the client side of the latter, which
//! lets the command line use a server in place of a database. A server holds no rule and no SQL.

pub mod http;
pub mod mcp;
pub mod remote;
