//! Log messages of a server.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Meta, RawJson};

/// The severity of a log message, after RFC 5424, from `Debug` up to `Emergency`.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with OpenTelemetry,
/// instead.
///
/// ```
/// use couplet_types::LoggingLevel;
///
/// assert!(LoggingLevel::Debug < LoggingLevel::Error);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggingLevel {
    /// Information for debugging.
    Debug,
    /// General information.
    Info,
    /// A normal but significant event.
    Notice,
    /// A warning condition.
    Warning,
    /// An error condition.
    Error,
    /// A critical condition, such as a failed component.
    Critical,
    /// Action is required immediately.
    Alert,
    /// The system is unusable.
    Emergency,
}

impl LoggingLevel {
    /// Returns the level as it is on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Info => "info",
            Self::Notice => "notice",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
            Self::Alert => "alert",
            Self::Emergency => "emergency",
        }
    }
}

impl fmt::Display for LoggingLevel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Parameters of `logging/setLevel` (up to 2025-11-25).
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with OpenTelemetry,
/// instead.
#[doc(alias = "SetLevelRequestParams")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SetLevelParams {
    /// The minimum level to send.
    pub level: LoggingLevel,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SetLevelParams {
    /// Creates the parameters for messages of this level and above.
    pub fn new(level: LoggingLevel) -> Self {
        Self { level, meta: None }
    }
}

setters! { SetLevelParams { into { meta: Meta } } }

/// Parameters of `notifications/message`.
///
/// Deprecated since 2026-07-28 (SEP-2577), not removed before 2027-07-28: log to standard error, or with OpenTelemetry,
/// instead.
#[doc(alias = "LoggingMessageNotificationParams")]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct LogParams {
    /// The severity.
    pub level: LoggingLevel,
    /// The name of the logger.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub logger: Option<String>,
    /// The message: any JSON value, often a string.
    pub data: RawJson,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl LogParams {
    /// Creates a log message.
    pub fn new(level: LoggingLevel, data: impl Into<RawJson>) -> Self {
        Self { level, logger: None, data: data.into(), meta: None }
    }
}

setters! { LogParams { into { logger: String, meta: Meta } } }

has_meta!(SetLevelParams, LogParams);
