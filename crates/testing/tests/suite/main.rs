//! One server, every revision.
mod smoke;
