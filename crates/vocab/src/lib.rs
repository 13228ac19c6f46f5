//! x
mod table;
