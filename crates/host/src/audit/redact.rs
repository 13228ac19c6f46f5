//! Redaction of values.
