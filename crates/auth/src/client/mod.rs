//! Clients that log in.
//!
//! [`OAuth`] is what a program sets up; [`HttpTarget::authorize`](couplet_http::client::HttpTarget::authorize) takes it.
//! A server that does not let a client in says how it wants to be asked; the client finds out who issues tokens for it,
//! gets one, and sends the request again. Requests that need the same token wait for one login.

mod browser;
mod challenge;
mod config;
mod device;
mod discover;
mod dpop;
mod identity;
mod key;
mod legacy;
mod listen;
mod login;
mod logout;
mod metadata;
mod oauth;
mod obtain;
mod page;
mod register;
mod send;
mod session;
mod store;
mod token;
mod words;

pub use config::Enterprise;
pub use device::DeviceCode;
pub use identity::Credential;
pub use key::SigningKey;
pub use logout::LogOut;
pub use oauth::OAuth;
#[cfg(feature = "keychain")]
pub use store::Keychain;
pub use store::{FileStore, MemoryStore, Store, StoreLock};
