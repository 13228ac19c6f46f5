//! The cost of each step of a call: `cargo bench -p couplet-bench`.
//!
//! Everything is measured through the public API, without I/O.

mod dispatch;
mod envelope;
mod events;
mod headers;
mod kit;
mod list;
mod seal;

fn main() {
    divan::main();
}
