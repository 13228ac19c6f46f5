//! The host as a service.
