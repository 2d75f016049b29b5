//! The servers: surfaces over the operation catalogue for other processes.
//!
//! MCP over stdio, HTTP with its event streams, and the pages over HTTP. `remote` is the client
//! side of HTTP, which lets the command line use a server instead of a database. A server has no
//! rule and no SQL.

pub mod http;
pub mod mcp;
mod pages;
pub mod remote;
