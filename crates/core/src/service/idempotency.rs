//! Idempotency keys: a tool call that is repeated with its key is executed once.
//!
//! The key is a member of `_meta`, and a server that honours it declares an experimental capability, so it works in every
//! revision. Neither is part of the specification.

use std::borrow::Cow;

use couplet_types::{Map, RawJson, RpcError};
use hmac_sha256::Hash;

use crate::{
    message::{Params, scan::JsonText},
    service::Call,
    wire::to_json,
};

/// The member of `_meta` with the idempotency key of a `tools/call`: see [`is_valid`].
pub const META_KEY: &str = "io.couplet/idempotencyKey";

/// The experimental capability of a server that honours idempotency keys.
pub const CAPABILITY: &str = "io.couplet/idempotency";

/// Returns whether a string can be an idempotency key: 1 to 128 visible ASCII characters.
///
/// ```
/// use couplet_core::idempotency;
///
/// assert!(idempotency::is_valid("order-17"));
/// assert!(!idempotency::is_valid("") && !idempotency::is_valid("order 17"));
/// ```
pub fn is_valid(key: &str) -> bool {
    (1..=128).contains(&key.len()) && key.bytes().all(|byte| byte.is_ascii_graphic())
}

/// Returns a random key of 128 bits.
///
/// # Panics
/// If the system has no source of randomness.
pub fn random() -> String {
    let mut random = [0; 16];
    getrandom::fill(&mut random).expect("the system's random source works");
    format!("{:032x}", u128::from_le_bytes(random))
}

impl Call {
    /// Returns the idempotency key of the call, if it has one.
    ///
    /// # Errors
    /// -32602 if it is [invalid](is_valid).
    pub fn idempotency_key(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        let Some(meta) = self.params.valid_meta() else { return Ok(None) };
        match meta.read_str(META_KEY) {
            Ok(None) => Ok(None),
            Ok(Some(key)) if is_valid(&key) => Ok(Some(key)),
            _ => Err(RpcError::invalid_params(format!(
                "`{META_KEY}` in `_meta` must be a string of 1 to 128 visible ASCII characters"
            ))),
        }
    }

    /// Replaces the idempotency key by one that only this caller can have, if the caller was authenticated. For gateways:
    /// the server behind one knows all callers as one principal, and must not give one the outcome of another.
    pub fn bind_idempotency_key(&mut self) {
        if let Some(params) = self.with_bound_key() {
            self.params = params;
        }
    }

    /// Returns the call with [its key bound](Call::bind_idempotency_key); `None` if that is the same call.
    pub fn with_bound_idempotency_key(&self) -> Option<Self> {
        self.with_bound_key().map(|params| self.with_params(params))
    }

    fn with_bound_key(&self) -> Option<Params> {
        let principal = self.principal()?;
        let key = self.idempotency_key().ok()??;
        let mut hash = Hash::new();
        hash.update((principal.len() as u64).to_le_bytes());
        hash.update(principal);
        hash.update(&*key);
        let bound: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        let mut meta: Map<RawJson> = self.params.read_opt("_meta").ok()??;
        meta.insert(META_KEY, RawJson::new(&bound).ok()?);
        let mut params: Map<RawJson> = self.params.text().parse().ok()?;
        params.insert("_meta", RawJson::new(&meta).ok()?);
        Params::from_text(JsonText::new(to_json(&params)).ok()?).ok()
    }
}
