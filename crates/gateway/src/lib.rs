//! A gateway for the Model Context Protocol: a configuration file turned into a served host.
//!
//! This crate knows hosts, configuration files and transports. It must not know terminals.

#![cfg_attr(docsrs, feature(doc_cfg))]
