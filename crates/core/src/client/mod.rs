//! The client's side of one connection.
//!
//! | file | subject |
//! |---|---|
//! | `channel` | the traits between a client and its transport |
//! | `connection` | messages in, messages out: the state machine that message transports drive |
//! | `exchange` | one request and everything that comes back for it |
//! | `mailbox` | the events of one request |
//! | `outgoing` | a request that is ready to be sent |
//! | `requests` | the server's requests that are being answered |
//! | `router` | the rules for incoming messages, for every transport |
//! | `waiting` | the table of requests that wait for their answers |

pub(crate) mod channel;
pub(crate) mod connection;
pub(crate) mod exchange;
pub(crate) mod mailbox;
pub(crate) mod outgoing;
pub(crate) mod requests;
pub(crate) mod router;
mod waiting;
