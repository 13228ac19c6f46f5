//! What the protocol says about HTTP, without HTTP: headers that mirror the body, events in a stream, and which era a
//! request belongs to.

pub mod sse;
