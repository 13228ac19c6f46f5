//! Being told about changes.

use std::fmt;

use serde::{
    Deserialize, Deserializer, Serialize, Serializer,
    de::{MapAccess, Visitor},
    ser::SerializeMap,
};

use crate::{Map, Meta, RawJson, ResultType};

/// What to be told about (2026-07-28).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SubscriptionFilter {
    /// When the list of tools changes.
    pub tools_list_changed: Option<bool>,
    /// When the list of prompts changes.
    pub prompts_list_changed: Option<bool>,
    /// When the list of resources changes.
    pub resources_list_changed: Option<bool>,
    /// When one of these resources changes.
    pub resource_subscriptions: Option<Vec<String>>,
    /// What extensions add, such as `taskIds`.
    pub others: Map<RawJson>,
}

impl SubscriptionFilter {
    /// Nothing yet.
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
    /// What to be told about.
    pub notifications: SubscriptionFilter,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListenParams {
    /// Asks to be told about something.
    pub fn new(notifications: SubscriptionFilter) -> Self {
        Self { notifications, meta: None }
    }
}

setters! { ListenParams { into { meta: Meta } } }

/// The answer to `subscriptions/listen`, sent when the server ends the subscription in good order.
#[doc(alias = "SubscriptionsListenResult")]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ListenResult {
    /// What kind of answer this is; absent in revisions before 2026-07-28.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result_type: Option<ResultType>,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ListenResult {
    /// The subscription is over.
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
    /// What the server will tell about: all of what was asked for, or less.
    pub notifications: SubscriptionFilter,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl SubscriptionAckParams {
    /// The server will tell about this.
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
    /// Asks to be told when a resource changes.
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
    /// Asks to be told no longer.
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
    /// The resource that changed, which may be a part of the one that was subscribed to.
    pub uri: String,
    /// The open `_meta` map.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

impl ResourceUpdatedParams {
    /// A resource changed.
    pub fn new(uri: impl Into<String>) -> Self {
        Self { uri: uri.into(), meta: None }
    }
}

setters! { ResourceUpdatedParams { into { meta: Meta } } }

has_meta!(ListenParams, ListenResult, SubscriptionAckParams, SubscribeParams, UnsubscribeParams, ResourceUpdatedParams,);
