//! The inspector over HTTP.
