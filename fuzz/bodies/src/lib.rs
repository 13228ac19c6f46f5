//! What the fuzz targets do with their input, and inputs to begin with.
//!
//! A target panics if a property does not hold. libFuzzer runs the targets by coverage (`cargo xtask fuzz`); [`replay`]
//! runs them over the [`seeds`] and over mutations of these, the same every time (`cargo xtask corpus`, and a test).

mod envelope;
mod ledger;
mod lock;
mod mutate;
mod names;
mod replay;
pub mod seeds;
mod server;
mod service;

pub use envelope::envelope;
pub use lock::lock;
pub use mutate::Mutator;
pub use names::names;
pub use replay::{Broken, Target, replay};
pub use server::server;
