//! The client's side of one connection.
//!
//! | file | subject |
//! |---|---|
//! | `connection` | messages in, messages out: the state machine that transports drive |
//! | `exchange` | one request and everything that comes back for it |

pub(crate) mod connection;
pub(crate) mod exchange;
