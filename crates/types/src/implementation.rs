//! Who a peer is, and the icons that it shows.

use serde::{Deserialize, Serialize};

/// The name and version of a client or server.
///
/// ```
/// use couplet_types::Implementation;
///
/// let server = Implementation::new("weather", "1.2.0").title("Weather");
/// assert_eq!(server.display_name(), "Weather");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Implementation {
    /// The name for programs.
    pub name: String,
    /// The version, in any notation.
    pub version: String,
    /// The name for people.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What it does, in a sentence or two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Pictures to show beside the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// Where to read more about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
}

impl Implementation {
    /// A peer with a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }

    /// What to show to people: the title, or else the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

setters! { Implementation {
    into { title: String, description: String, website_url: String }
    value { icons: Vec<Icon> }
} }

/// A picture for a peer, tool, prompt or resource.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// Where the picture is: an `https:` or `data:` URI.
    pub src: String,
    /// Its media type, where the source's own one is missing or too general.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes it suits, such as `48x48` or `any`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The background it is made for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

impl Icon {
    /// An icon at an address.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), ..Self::default() }
    }
}

setters! { Icon { into { mime_type: String } value { sizes: Vec<String>, theme: IconTheme } } }

open_strings! {
    /// The background that an icon is made for.
    IconTheme {
        /// For light backgrounds.
        Light = "light",
        /// For dark backgrounds.
        Dark = "dark",
    }
}
