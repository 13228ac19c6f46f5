//! x
pub mod check;
pub mod log;
pub mod schema;
mod table;
pub mod validate;
