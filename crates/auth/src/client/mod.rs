//! Clients that log in.
