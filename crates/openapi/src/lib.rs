//! REST APIs as Model Context Protocol servers: tools and resources from an OpenAPI document.
#![doc = include_str!("docs/lib.md")]
#![cfg_attr(docsrs, feature(doc_cfg))]

mod api;
mod document;
mod error;
mod filter;
mod operation;
mod request;
mod response;
mod schema;
mod security;
mod send;
mod server;
mod text;

pub use api::OpenApi;
pub use couplet_auth::Secret;
pub use document::Document;
pub use error::SpecError;
pub use filter::Filter;
pub use operation::{Operation, Skipped};
pub use request::{ApiRequest, ArgumentError};
pub use security::CallerCredentials;
