//! The server's side of one connection, and what its calls share.
//!
//! | file | subject |
//! |---|---|
//! | `connection` | messages in, messages out: the state machine that transports drive |
//! | `session` | what the handshake agreed on, and what a session remembers |
//! | `running`, `pending`, `batch` | calls that run, requests that wait for the client, batches of answers |
//! | `queue`, `outbound`, `outbox` | messages that wait to be sent, where they go, and how a call sends them |
//! | `backchannel`, `input`, `replay`, `question`, `seal` | asking the client: as a request, or in rounds |
//! | `hub`, `relay` | changes, and the subscriptions to them |
//! | `bus` | changes between the replicas of one server |

pub(crate) mod backchannel;
pub(crate) mod batch;
pub(crate) mod bus;
pub(crate) mod connection;
pub(crate) mod hub;
pub(crate) mod input;
pub(crate) mod outbound;
pub(crate) mod outbox;
pub(crate) mod pending;
pub(crate) mod question;
pub(crate) mod queue;
pub(crate) mod relay;
pub(crate) mod replay;
pub(crate) mod running;
pub(crate) mod seal;
mod seal_id;
pub(crate) mod session;
pub(crate) mod union;
