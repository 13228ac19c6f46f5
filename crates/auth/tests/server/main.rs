//! The server's half, with a real authorization server beside it: `line_NNN` names the line of `docs/checklist.md` that a
//! test is for, and `attack_…` something that was done to other implementations.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]

mod attacks;
mod combined;
mod inline;
mod issuers;
mod lines;
mod login;
mod opaque;
mod proofs;
mod replicas;
mod support;
mod tokens;
mod vouch;
