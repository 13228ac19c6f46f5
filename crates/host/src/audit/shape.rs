//! The names and types of arguments.
