//! Supervised upstream servers.
