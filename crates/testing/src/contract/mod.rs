//! The contracts of stores, as functions to call from the tests of an implementation. They panic on a violation.

mod tasks;

pub use tasks::{task_store, task_watch};
