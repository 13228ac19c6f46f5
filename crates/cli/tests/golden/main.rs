//! The output of the commands, in a pipe and on a terminal, compared with files.
//!
//! `UPDATE_GOLDEN=1` writes the files anew. The server is the example `shop` (or `mill`, to be
//! measured), started by the command itself.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that fails says so")]

mod allowed;
mod bench;
mod bridge;
mod card;
mod checks;
mod collections;
mod completion;
mod configuration;
mod configured;
mod consent;
mod demo;
mod explain;
mod failures;
mod gateway;
mod generate;
mod hostile;
mod inspect;
mod kit;
mod login;
mod manual;
mod new;
mod odd;
mod openapi;
mod pins;
mod piped;
#[cfg(unix)]
mod readme;
mod record;
#[cfg(unix)]
#[path = "../../../testing/tests/common/replicas.rs"]
mod replicas;
mod screens;
#[cfg(unix)]
mod shared;
mod signals;
#[cfg(unix)]
#[path = "../../../testing/tests/common/skipped.rs"]
mod skipped;
mod terminal;
mod threads;
mod tls;
mod vocabulary;
