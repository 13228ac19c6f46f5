//! A host with several servers, in every revision downstream and in both eras upstream.

mod kit;
mod table;
