//! Clients that log in, in a world without a network: whatever is sent is answered by a function.

#![cfg(feature = "client")]

mod attacks;
mod bound;
mod discovery;
mod door;
mod fetching;
mod grants;
mod identity;
mod patience;
mod renewal;
mod scopes;
mod stores;
mod world;
