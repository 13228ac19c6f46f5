//! The client side.
