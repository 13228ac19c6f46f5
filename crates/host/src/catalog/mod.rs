//! The definitions of an upstream: all pages, last known good.
