//! Refusals before anything was done.
//!
//! The protocol has no word for it, and a status such as 503 may come from a proxy after the server did the work. So a
//! server that refuses a request before it looked at it says so in the error: `"data": {"carriedOut": false}`. A client
//! may then send anything again, a call of a tool included.

use couplet_types::{RawJson, RpcError};
use serde::Deserialize;

/// Says in an error that nothing of the request was carried out.
#[must_use]
pub fn not_carried_out(error: RpcError) -> RpcError {
    match RawJson::from_text(r#"{"carriedOut":false}"#.to_owned()) {
        Ok(data) => error.with_data(data),
        Err(_) => error,
    }
}

/// Whether an error says that nothing of the request was carried out.
pub fn is_not_carried_out(error: &RpcError) -> bool {
    #[derive(Deserialize)]
    struct Data {
        #[serde(rename = "carriedOut")]
        carried_out: bool,
    }
    error.data.as_ref().and_then(|data| data.parse::<Data>().ok()).is_some_and(|data| !data.carried_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_server_that_says_so_did_nothing() {
        let plain = || RpcError::internal("busy");
        assert!(is_not_carried_out(&not_carried_out(plain())));
        for data in ["{}", "null", "false", r#"{"carriedOut":true}"#, r#"{"carriedOut":"false"}"#] {
            let data = RawJson::from_text(data.to_owned()).expect("JSON");
            assert!(!is_not_carried_out(&plain().with_data(data)));
        }
        assert!(!is_not_carried_out(&plain()));
    }
}
