//! Recorded payloads of real clients.
