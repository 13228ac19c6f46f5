//! The crate through its public API.
