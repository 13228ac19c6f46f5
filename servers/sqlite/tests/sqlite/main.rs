//! The SQLite explorer: its tools in every revision, hostile statements, changes, and both transports.

mod changes;
mod files;
mod hostile;
mod kit;
mod tools;
mod transports;
