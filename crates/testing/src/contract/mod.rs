//! The contracts of stores, as functions to call from the tests of an implementation. They panic on a violation.

mod events;
mod sessions;

pub use events::event_store;
pub use sessions::session_store;
