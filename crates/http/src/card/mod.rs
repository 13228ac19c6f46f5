//! Server cards: a document that describes a remote server before anything connects to it.
//!
//! Cards are a draft (SEP-2127), so this module follows it and may change with it. A card has the identity of a server, its
//! URLs and its revisions; it deliberately lists no tools, and says nothing about authorization, which clients discover
//! from the server itself. It is advisory: a client must not base a security decision on it.
//!
//! A server serves its card with `Endpoint::card`, at [`ServerCard::location`] of its URL. `couplet card` fetches and checks
//! one.

mod check;

use couplet_types::{Icon, Implementation, Meta, RawJson};
use serde::{Deserialize, Serialize};

/// The media type of a card.
pub const MEDIA_TYPE: &str = "application/mcp-server-card+json";

/// The schema that cards conform to.
pub const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json";

/// The last segment of the reserved location.
const SEGMENT: &str = "server-card";

/// A server card.
///
/// ```
/// use couplet_http::card::ServerCard;
///
/// let card = ServerCard::new("com.example/weather", "1.0.0", "Forecasts.").remote("https://example.com/mcp");
/// assert!(card.problems().is_empty());
/// assert_eq!(ServerCard::location("https://example.com/mcp/"), "https://example.com/mcp/server-card");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct ServerCard {
    /// The URI of the schema: [`SCHEMA`].
    #[serde(rename = "$schema")]
    pub schema: String,
    /// The name in reverse-DNS notation with one slash, such as `com.example/weather`.
    pub name: String,
    /// The version.
    pub version: String,
    /// The description, at most 100 characters.
    pub description: String,
    /// The display name, at most 100 characters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The URL of the website.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub website_url: Option<String>,
    /// The source code.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub repository: Option<CardRepository>,
    /// Icons to show beside the name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub icons: Option<Vec<Icon>>,
    /// The endpoints.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remotes: Vec<CardRemote>,
    /// The `_meta` member.
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    pub meta: Option<Meta>,
}

/// An endpoint of a server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct CardRemote {
    /// The transport: `streamable-http` or `sse`.
    #[serde(rename = "type")]
    pub transport: String,
    /// The URL, perhaps with variables in braces.
    pub url: String,
    /// The headers that a client sends, each with the input that its value comes from.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Vec<RawJson>,
    /// The variables of the URL, by name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub variables: Option<RawJson>,
    /// The protocol revisions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub supported_protocol_versions: Vec<String>,
}

/// The repository with the source code of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[non_exhaustive]
pub struct CardRepository {
    /// The URL.
    pub url: String,
    /// The hosting service, such as `github`.
    pub source: String,
    /// The folder of the server in the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subfolder: Option<String>,
    /// The id that the hosting service gave the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
}

impl ServerCard {
    /// Creates a card without endpoints.
    pub fn new(name: impl Into<String>, version: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            name: name.into(),
            version: version.into(),
            description: description.into(),
            title: None,
            website_url: None,
            repository: None,
            icons: None,
            remotes: Vec::new(),
            meta: None,
        }
    }

    /// Creates the card of a server from what it says about itself and the revisions that it supports. The name has to be
    /// given: that of a server is free, that of a card is in reverse-DNS notation. A description that is missing is the
    /// display name; one that is too long is truncated.
    pub fn of(
        name: impl Into<String>,
        url: impl Into<String>,
        info: &Implementation,
        versions: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        let short = |text: &str| text.chars().take(100).collect::<String>();
        let text = info.description.as_deref().filter(|text| !text.is_empty()).unwrap_or_else(|| info.display_name());
        let mut card = Self::new(name, &info.version, short(text)).remote(url);
        card.title = info.title.as_deref().filter(|title| !title.is_empty()).map(short);
        card.website_url.clone_from(&info.website_url);
        card.icons.clone_from(&info.icons);
        let versions: Vec<String> = versions.into_iter().map(Into::into).collect();
        card.remotes.iter_mut().for_each(|remote| remote.supported_protocol_versions.clone_from(&versions));
        card
    }

    /// Adds an endpoint by its URL.
    #[must_use]
    pub fn remote(mut self, url: impl Into<String>) -> Self {
        self.remotes.push(CardRemote {
            transport: "streamable-http".to_owned(),
            url: url.into(),
            headers: Vec::new(),
            variables: None,
            supported_protocol_versions: Vec::new(),
        });
        self
    }

    /// Returns the URL that is reserved for the card of the server at a URL.
    pub fn location(server: &str) -> String {
        let server = server.split(['?', '#']).next().unwrap_or_default();
        format!("{}/{SEGMENT}", server.trim_end_matches('/'))
    }
}

impl CardRepository {
    /// Creates a repository.
    pub fn new(url: impl Into<String>, source: impl Into<String>) -> Self {
        Self { url: url.into(), source: source.into(), subfolder: None, id: None }
    }
}
