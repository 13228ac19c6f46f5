//! A host for the Model Context Protocol: many servers as one.
//!
//! This crate knows clients, proxies and the protocol. It must not know configuration files, HTTP or terminals.

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod audit;
pub mod catalog;
pub mod consent;
pub mod names;
pub mod pins;
pub mod policy;
mod service;
pub mod upstream;
