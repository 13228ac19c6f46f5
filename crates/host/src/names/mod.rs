//! Server ids, and names of tools and prompts that are unique over all servers.
//!
//! A name is a pure function of the server's id and the name that the server gave: it depends on neither the other servers
//! nor the order in which they connected. Calls are routed by [`NameTable`], never by splitting a name. Policies, pins and
//! audit records use the id, the [`Kind`] and the server's own name.
//!
//! This module must not know policies, catalogs or the protocol.

mod duplicate;
mod exposed;
mod id;
mod kind;
mod table;
#[cfg(test)]
mod tests;

pub use duplicate::Duplicate;
pub use exposed::exposed_name;
pub use id::{NameError, ServerId};
pub(crate) use id::{hex, push_hex};
pub use kind::Kind;
pub use table::{Collision, Entry, NameTable, Naming};
