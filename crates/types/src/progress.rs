//! Progress and cancellation of requests.

use serde::{Deserialize, Serialize};

use crate::{Meta, ProgressToken, RequestId, field};

/// Parameters of `notifications/progress`.
#[doc(alias = "ProgressNotificationParams")]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ProgressParams {
    /// The token of the request.
    pub progress_token: ProgressToken,
    /// The progress so far; it only increases.
    #[serde(serialize_with = "field::number")]
    pub progress: f64,
    /// The total, if it is known.
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "field::optional_number")]
    pub total: Option<f64>,
    /// A description for users.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ProgressParams {
    /// Creates a progress notification.
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
    /// The id of the request to cancel. Required in every revision but 2025-11-25.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_id: Option<RequestId>,
    /// The reason, for logs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl CancelledParams {
    /// Creates the parameters to cancel a request.
    pub fn new(request_id: impl Into<RequestId>) -> Self {
        Self { request_id: Some(request_id.into()), ..Self::default() }
    }
}

setters! { CancelledParams { into { reason: String, meta: Meta } } }

has_meta!(ProgressParams, CancelledParams);
