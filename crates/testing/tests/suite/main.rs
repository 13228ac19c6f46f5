//! One server, every revision: what is on the wire, and what a client makes of it.

mod fixture;
mod projection;
mod rows;
mod schema;
mod shapes;
mod talk;
