//! The types against examples, against the official schemas, and against broken input.

#![allow(clippy::unwrap_used, clippy::needless_pass_by_value, reason = "check functions are tests too")]

use couplet_types::from_json;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

mod build;
mod error;
mod method;
mod raw;
mod round_trip;
mod sample;
mod schema;

/// Reads a value as a type and prints it again.
fn pass<T: Serialize + DeserializeOwned>(value: &Value) -> Result<Value, String> {
    let read: T = from_json(&value.to_string()).map_err(|error| error.to_string())?;
    let text = serde_json::to_string(&read).map_err(|error| error.to_string())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}
