//! Names, versions and icons of peers.

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
    /// The programmatic name.
    pub name: String,
    /// The version, in any notation.
    pub version: String,
    /// The display name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// A short description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Icons to show beside the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The URL of the website.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
}

impl Implementation {
    /// Creates an implementation with a name and a version.
    pub fn new(name: impl Into<String>, version: impl Into<String>) -> Self {
        Self { name: name.into(), version: version.into(), ..Self::default() }
    }

    /// Returns the name to show to users: the title, or else the name.
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

setters! { Implementation {
    into { title: String, description: String, website_url: String }
    value { icons: Vec<Icon> }
} }

/// An icon of a peer, tool, prompt or resource.
///
/// Its source is not trusted: show it only if [`Icon::is_safe`], fetch it without credentials and with a limit of size,
/// and detect its type from the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Icon {
    /// The source: an `https:` or `data:` URI.
    pub src: String,
    /// The media type, if that of the source is missing or too general.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mime_type: Option<String>,
    /// The sizes, such as `48x48` or `any`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sizes: Option<Vec<String>>,
    /// The theme it is designed for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub theme: Option<IconTheme>,
}

impl Icon {
    /// Creates an icon with a source.
    pub fn new(src: impl Into<String>) -> Self {
        Self { src: src.into(), ..Self::default() }
    }

    /// Returns whether a client may show the icon: its source is an `https:` URL, or an image in a `data:` URI.
    ///
    /// ```
    /// use couplet_types::Icon;
    ///
    /// assert!(Icon::new("https://example.com/a.png").is_safe());
    /// assert!(Icon::new("data:image/png;base64,AAAA").is_safe());
    /// assert!(!Icon::new("javascript:alert(1)").is_safe());
    /// ```
    pub fn is_safe(&self) -> bool {
        let (scheme, rest) = self.src.split_once(':').unwrap_or_default();
        let clean = self.src.chars().all(|c| !c.is_control() && !c.is_whitespace());
        let picture = || rest.get(..6).is_some_and(|start| start.eq_ignore_ascii_case("image/"));
        clean
            && ((scheme.eq_ignore_ascii_case("https") && origin(&self.src).is_some())
                || (scheme.eq_ignore_ascii_case("data") && picture()))
    }

    /// Returns whether the icon is a `data:` URI, or has the same origin as a URL.
    ///
    /// An icon of a server, and the targets of its redirects, should have the origin of the server.
    ///
    /// ```
    /// use couplet_types::Icon;
    ///
    /// let icon = Icon::new("https://example.com/a.png");
    /// assert!(icon.shares_origin("https://example.com/mcp"));
    /// assert!(!icon.shares_origin("https://example.org/mcp"));
    /// ```
    pub fn shares_origin(&self, address: &str) -> bool {
        let is_data = self.src.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("data:"));
        is_data || origin(&self.src).is_some_and(|ours| origin(address) == Some(ours))
    }
}

/// Returns the scheme, host and port of a URL in lower case.
fn origin(address: &str) -> Option<(String, String)> {
    let (scheme, rest) = address.split_once("://")?;
    let authority = rest.split(['/', '?', '#', '\\']).next()?;
    let host = authority.rsplit('@').next()?.to_ascii_lowercase();
    let scheme = scheme.to_ascii_lowercase();
    let standard = if scheme == "https" { ":443" } else { ":80" };
    let host = host.strip_suffix(standard).unwrap_or(&host).to_owned();
    (!host.is_empty()).then_some((scheme, host))
}

setters! { Icon { into { mime_type: String } value { sizes: Vec<String>, theme: IconTheme } } }

open_strings! {
    /// The theme that an icon is designed for.
    IconTheme {
        /// For light backgrounds.
        Light = "light",
        /// For dark backgrounds.
        Dark = "dark",
    }
}
