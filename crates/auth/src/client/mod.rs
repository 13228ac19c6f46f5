//! The client side: logging in and sending tokens.
//!
//! Configure [`OAuth`] and pass it to [`HttpTarget::authorize`](couplet_http::client::HttpTarget::authorize). When a
//! server rejects a request with a challenge, the client discovers the authorization server, obtains a token, and
//! retries the request. Concurrent requests that need a token share one login.

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
