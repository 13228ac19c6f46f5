//! How far a request is, and that it is no longer wanted.

use serde::{Deserialize, Serialize};

use crate::{Meta, ProgressToken, RequestId, field};

/// Parameters of `notifications/progress`.
#[doc(alias = "ProgressNotificationParams")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProgressParams {
    /// Ties the notification to the request that asked for it.
    pub progress_token: ProgressToken,
    /// How much is done; it only grows.
    #[serde(serialize_with = "field::number")]
    pub progress: f64,
    /// How much there is to do, if it is known.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub total: Option<f64>,
    /// What is going on, for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ProgressParams {
    /// So much is done.
    pub fn new(progress_token: impl Into<ProgressToken>, progress: f64) -> Self {
        Self { progress_token: progress_token.into(), progress, total: None, message: None, meta: None }
    }
}

setters! { ProgressParams { into { message: String, meta: Meta } value { total: f64 } } }

/// Parameters of `notifications/cancelled`.
#[doc(alias = "CancelledNotificationParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct CancelledParams {
    /// The request that is no longer wanted. Every revision but 2025-11-25 needs it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// Why, for the log.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelledParams {
    /// This request is no longer wanted.
    pub fn new(request_id: impl Into<RequestId>) -> Self {
        Self { request_id: Some(request_id.into()), ..Self::default() }
    }
}

setters! { CancelledParams { into { reason: String, meta: Meta } } }

has_meta!(ProgressParams, CancelledParams);
