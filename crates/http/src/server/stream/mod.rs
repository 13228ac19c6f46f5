//! Response bodies, event streams, and what is stored of them.

pub(crate) mod body;
pub(crate) mod chunks;
pub(crate) mod event_queue;
pub(crate) mod event_store;
pub(crate) mod memory_events;
pub(crate) mod open_streams;
pub(crate) mod session_stream;
pub(crate) mod unsent;
