//! The everything server: its contract, each of its tools in every revision, and both of its transports.

mod additions;
mod contract;
mod kit;
mod resources;
mod tools;
mod transports;
