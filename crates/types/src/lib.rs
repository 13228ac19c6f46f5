//! The messages of the Model Context Protocol as Rust types: one model for all five revisions.
//!
//! The model is the superset: a field that only some revisions have is an `Option`. What a revision lacks is taken
//! out on the way to the wire, by `couplet-core`. What the protocol does not look into (schemas, arguments,
//! structured content, `_meta`) is kept as it was written, in [`RawJson`].
//!
//! This crate knows data and nothing else: no transport, no era, no behaviour beyond constructors.

mod json;
mod jsonrpc;
mod meta;
mod version;

pub use json::RawJson;
pub use jsonrpc::{ProgressToken, RequestId, RpcError, code};
pub use meta::Meta;
pub use version::{ProtocolVersion, UnknownVersion};
