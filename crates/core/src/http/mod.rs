//! What the protocol says about HTTP, without HTTP: headers that mirror the body, events in a stream, and which era a
//! request belongs to.

pub mod accept;
pub mod headers;
pub mod sse;

mod carried_out;

pub use carried_out::{is_not_carried_out, not_carried_out};

pub use crate::wire::http::{
    Field, Fields, Placement, Refusal, has_sessions, no_session, place, refuse, session, session_version, status,
    unreadable,
};
pub use crate::wire::modern::Checked;
