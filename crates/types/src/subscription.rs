//! Subscriptions to changes.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::{Map, Meta, RawJson, ResultType};

/// The changes to notify of (2026-07-28).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// Changes of the list of tools.
    pub tools_list_changed: Option<bool>,
    /// Changes of the list of prompts.
    pub prompts_list_changed: Option<bool>,
    /// Changes of the list of resources.
    pub resources_list_changed: Option<bool>,
    /// Changes of these resources.
    pub resource_subscriptions: Option<Vec<String>>,
    /// Members of extensions, such as `taskIds`.
    pub others: Map<RawJson>,
}

impl SubscriptionFilter {
    /// Creates an empty value.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { SubscriptionFilter {
    value {
        tools_list_changed: bool,
        prompts_list_changed: bool,
        resources_list_changed: bool,
        resource_subscriptions: Vec<String>,
    }
} }

impl Serialize for SubscriptionFilter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let flags = [
            ("toolsListChanged", self.tools_list_changed),
            ("promptsListChanged", self.prompts_list_changed),
            ("resourcesListChanged", self.resources_list_changed),
        ];
        for (key, flag) in flags {
            if let Some(flag) = flag {
                map.serialize_entry(key, &flag)?;
            }
        }
        if let Some(uris) = &self.resource_subscriptions {
            map.serialize_entry("resourceSubscriptions", uris)?;
        }
        for (key, value) in self.others.iter() {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for SubscriptionFilter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = SubscriptionFilter;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object that says what to be told about")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<SubscriptionFilter, A::Error> {
                let mut filter = SubscriptionFilter::default();
                while let Some(key) = access.next_key::<String>()? {
                    match &*key {
                        "toolsListChanged" => filter.tools_list_changed = access.next_value()?,
                        "promptsListChanged" => filter.prompts_list_changed = access.next_value()?,
                        "resourcesListChanged" => filter.resources_list_changed = access.next_value()?,
                        "resourceSubscriptions" => filter.resource_subscriptions = access.next_value()?,
                        _ => filter.others.insert(key, access.next_value()?),
                    }
                }
                Ok(filter)
            }
        }
        deserializer.deserialize_map(Members)
    }
}

/// Parameters of `subscriptions/listen` (2026-07-28).
#[doc(alias = "SubscriptionsListenRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListenParams {
    /// The changes to notify of.
    pub notifications: SubscriptionFilter,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListenParams {
    /// Creates the parameters from a filter.
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self { notifications, meta: None }
    }
}

setters! { ListenParams { into { meta: Meta } } }

/// Result of `subscriptions/listen`, sent when the server ends the subscription regularly.
#[doc(alias = "SubscriptionsListenResult")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListenResult {
    /// The kind of the result; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListenResult {
    /// Creates the result.
    pub fn new() -> Self {
        Self::default()
    }
}

setters! { ListenResult { into { meta: Meta } value { result_type: ResultType } } }

/// Parameters of `notifications/subscriptions/acknowledged` (2026-07-28).
#[doc(alias = "SubscriptionsAcknowledgedNotificationParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscriptionAckParams {
    /// The changes that the server will notify of: the requested ones, or a part of them.
    pub notifications: SubscriptionFilter,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscriptionAckParams {
    /// Creates the parameters from the honoured filter.
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self { notifications, meta: None }
    }
}

setters! { SubscriptionAckParams { into { meta: Meta } } }

/// Parameters of `resources/subscribe` (up to 2025-11-25).
#[doc(alias = "SubscribeRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct SubscribeParams {
    /// The resource.
    pub uri: String,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscribeParams {
    /// Creates the parameters for a resource.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

setters! { SubscribeParams { into { meta: Meta } } }

/// Parameters of `resources/unsubscribe` (up to 2025-11-25).
#[doc(alias = "UnsubscribeRequestParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UnsubscribeParams {
    /// The resource.
    pub uri: String,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl UnsubscribeParams {
    /// Creates the parameters for a resource.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

setters! { UnsubscribeParams { into { meta: Meta } } }

/// Parameters of `notifications/resources/updated`.
#[doc(alias = "ResourceUpdatedNotificationParams")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResourceUpdatedParams {
    /// The URI of the resource that changed, which may be a part of the one in the subscription.
    pub uri: String,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceUpdatedParams {
    /// Creates the parameters for a resource.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

setters! { ResourceUpdatedParams { into { meta: Meta } } }

has_meta!(ListenParams, ListenResult, SubscriptionAckParams, SubscribeParams, UnsubscribeParams, ResourceUpdatedParams,);
