//! The servers: readers of the operation catalogue that other processes talk to.
//!
//! MCP over stdio, HTTP with its event streams, and the pages over it; `remote` is the client side of the latter, which
//! lets the command line use a server in place of a database. A server holds no rule and no SQL.

pub mod http;
pub mod mcp;
mod pages;
pub mod remote;
