//! Metadata of tools and views, under `_meta.ui`.

#[cfg(any(feature = "server", feature = "client"))]
use couplet_types::Meta;
use couplet_types::{Map, RawJson, Tool};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::csp::Csp;

/// The MIME type of a view.
pub const MIME_TYPE: &str = "text/html;profile=mcp-app";

/// The URI scheme of views.
pub(crate) const SCHEME: &str = "ui://";

/// The member of `_meta`, and its deprecated predecessor.
const KEY: &str = "ui";
const OLD_KEY: &str = "ui/resourceUri";

/// The callers that may use a tool.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// The model and the server's views.
    #[default]
    Both,
    /// The model only.
    Model,
    /// The server's views only.
    App,
    /// Neither: the declared visibility is empty or malformed.
    Neither,
}

/// The metadata of a tool about its view.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolUi {
    /// The `ui://` URI of the view.
    pub resource_uri: Option<String>,
    /// The callers that may use the tool.
    pub visibility: Visibility,
}

impl ToolUi {
    /// Parses the metadata of a listed tool. A URI with another scheme than `ui://` is ignored; a malformed visibility
    /// hides the tool from the model and from views.
    ///
    /// ```
    /// use couplet_apps::{ToolUi, Visibility};
    /// use couplet_types::{Meta, RawJson, Tool};
    /// use serde_json::json;
    ///
    /// let ui = json!({ "resourceUri": "ui://weather", "visibility": ["app"] });
    /// let tool = Tool::new("refresh", RawJson::empty_object()).meta(Meta::new().with("ui", ui));
    /// assert_eq!(ToolUi::of(&tool).visibility, Visibility::App);
    /// ```
    pub fn of(tool: &Tool) -> Self {
        let Some(meta) = &tool.meta else { return Self::default() };
        let text = |raw: &RawJson| raw.parse::<String>().ok().filter(|uri| uri.starts_with(SCHEME));
        let old = meta.get(OLD_KEY).and_then(text);
        let Some(ui) = meta.get(KEY) else { return Self { resource_uri: old, ..Self::default() } };
        let Ok(members) = ui.parse::<Map<RawJson>>() else {
            return Self { resource_uri: old, visibility: Visibility::Neither };
        };
        let visibility = members.get("visibility").map_or(Visibility::Both, |list| {
            let words = list.parse::<Vec<Value>>().unwrap_or_default();
            Visibility::from_words(words.iter().filter_map(Value::as_str))
        });
        Self { resource_uri: members.get("resourceUri").and_then(text).or(old), visibility }
    }

    /// Writes the metadata into a tool's `_meta`.
    #[cfg(feature = "server")]
    pub(crate) fn add_to(&self, meta: &mut Meta) {
        let mut ui = serde_json::json!({});
        if let Some(uri) = &self.resource_uri {
            ui["resourceUri"] = serde_json::json!(uri);
        }
        if self.visibility != Visibility::Both {
            ui["visibility"] = serde_json::json!(self.visibility.words());
        }
        meta.insert(KEY, ui.into());
    }
}

impl Visibility {
    /// Returns whether the model may see the tool.
    pub fn for_model(self) -> bool {
        matches!(self, Self::Both | Self::Model)
    }

    /// Returns whether a view of the same server may call the tool.
    pub fn for_app(self) -> bool {
        matches!(self, Self::Both | Self::App)
    }

    fn from_words<'a>(words: impl Iterator<Item = &'a str>) -> Self {
        let (mut model, mut app) = (false, false);
        for word in words {
            model |= word == "model";
            app |= word == "app";
        }
        match (model, app) {
            (true, true) => Self::Both,
            (true, false) => Self::Model,
            (false, true) => Self::App,
            (false, false) => Self::Neither,
        }
    }

    #[cfg(feature = "server")]
    fn words(self) -> Vec<&'static str> {
        let (model, app) = (self.for_model().then_some("model"), self.for_app().then_some("app"));
        model.into_iter().chain(app).collect()
    }
}

/// The metadata of a view.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct ViewMeta {
    /// The origins that the view loads from and connects to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub csp: Option<Csp>,
    /// The permissions that the view requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permissions: Option<Permissions>,
    /// The dedicated origin that the view requests, in the format that the host documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// Whether the view prefers a visible border.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefers_border: Option<bool>,
}

impl ViewMeta {
    /// Parses the metadata of a view; malformed metadata is the default, which is the strictest.
    #[cfg(feature = "client")]
    pub(crate) fn of(meta: Option<&Meta>) -> Self {
        meta.and_then(|meta| meta.get(KEY)?.parse().ok()).unwrap_or_default()
    }

    /// The mistake in the metadata of a listed view, which hosts would not report but ignore.
    #[cfg(feature = "server")]
    pub(crate) fn fault(meta: Option<&Meta>) -> Option<String> {
        match meta?.get(KEY)?.parse::<Self>() {
            Ok(read) => {
                let csp = read.csp?;
                csp.rejected().map(|origin| format!("`{origin}` in its `_meta.{KEY}.csp` is not an origin"))
            }
            Err(e) => Some(format!("its `_meta.{KEY}` is invalid: {e}")),
        }
    }

    #[cfg(feature = "server")]
    pub(crate) fn to_meta(&self) -> Option<Meta> {
        (*self != Self::default()).then(|| Meta::new().with(KEY, serde_json::json!(self)))
    }
}

/// The permissions that a view requests. Whether to ask the user is the host's decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Permissions {
    /// The camera.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub camera: Option<RawJson>,
    /// The microphone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub microphone: Option<RawJson>,
    /// The location of the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub geolocation: Option<RawJson>,
    /// Writing to the clipboard.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clipboard_write: Option<RawJson>,
}

/// A permission that a view can request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Permission {
    /// The camera.
    Camera,
    /// The microphone.
    Microphone,
    /// The location of the user.
    Geolocation,
    /// Writing to the clipboard.
    ClipboardWrite,
}

impl Permissions {
    /// Adds a permission.
    #[must_use]
    pub fn with(mut self, permission: Permission) -> Self {
        *self.place(permission) = Some(RawJson::empty_object());
        self
    }

    /// Serializes the `allow` attribute of a frame that grants all of them.
    ///
    /// ```
    /// use couplet_apps::{Permission, Permissions};
    ///
    /// let wanted = Permissions::default().with(Permission::Camera).with(Permission::ClipboardWrite);
    /// assert_eq!(wanted.allow(), "camera; clipboard-write");
    /// ```
    pub fn allow(&self) -> String {
        let all = [
            ("camera", &self.camera),
            ("microphone", &self.microphone),
            ("geolocation", &self.geolocation),
            ("clipboard-write", &self.clipboard_write),
        ];
        let granted = all.into_iter().filter(|(_, wanted)| wanted.as_ref().is_some_and(RawJson::is_object));
        granted.map(|(name, _)| name).collect::<Vec<_>>().join("; ")
    }

    fn place(&mut self, permission: Permission) -> &mut Option<RawJson> {
        match permission {
            Permission::Camera => &mut self.camera,
            Permission::Microphone => &mut self.microphone,
            Permission::Geolocation => &mut self.geolocation,
            Permission::ClipboardWrite => &mut self.clipboard_write,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(meta: Value) -> Tool {
        let mut tool = Tool::new("t", RawJson::empty_object());
        tool.meta = serde_json::from_value(meta).expect("a map");
        tool
    }

    #[test]
    fn what_a_tool_says_is_taken_strictly() {
        for (meta, uri, visibility) in [
            (json!({}), None, Visibility::Both),
            (json!({ "ui": {} }), None, Visibility::Both),
            (json!({ "ui": { "resourceUri": "ui://a" } }), Some("ui://a"), Visibility::Both),
            (json!({ "ui/resourceUri": "ui://old" }), Some("ui://old"), Visibility::Both),
            (
                json!({ "ui/resourceUri": "ui://old", "ui": { "resourceUri": "ui://a" } }),
                Some("ui://a"),
                Visibility::Both,
            ),
            (json!({ "ui": { "resourceUri": "https://a" } }), None, Visibility::Both),
            (json!({ "ui": { "resourceUri": 7, "visibility": ["model"] } }), None, Visibility::Model),
            (json!({ "ui": { "visibility": ["app", "model", "later"] } }), None, Visibility::Both),
            (json!({ "ui": { "visibility": [] } }), None, Visibility::Neither),
            (json!({ "ui": { "visibility": "model" } }), None, Visibility::Neither),
            (json!({ "ui": { "visibility": [7, "app"] } }), None, Visibility::App),
            (json!({ "ui": "ui://a" }), None, Visibility::Neither),
        ] {
            let found = ToolUi::of(&tool(meta.clone()));
            assert_eq!((found.resource_uri.as_deref(), found.visibility), (uri, visibility), "{meta}");
        }
    }
}
