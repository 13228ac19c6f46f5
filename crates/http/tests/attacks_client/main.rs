//! What a server may do to a client: a test for each attack, named after the number it has in the list.

#![allow(clippy::unwrap_used, reason = "a test that fails should say where")]
