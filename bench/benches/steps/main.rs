//! What the steps of a call cost, one by one: `cargo bench -p couplet-bench`.
//!
//! Everything is measured through the public interface and without input or output.

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
