//! The card of the server, beside the endpoint.

use std::hash::{DefaultHasher, Hash, Hasher};

use http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header, request::Parts};

use crate::{
    card::{MEDIA_TYPE, ServerCard},
    server::{
        endpoint::Endpoint,
        response::{self, Reply},
    },
};

/// The part of a card that the endpoint does not know by itself.
#[derive(Clone, Debug)]
pub(crate) struct CardPlace {
    name: String,
    url: String,
    path: String,
}

impl Endpoint {
    /// Serves the [card](crate::card) of the server at `server-card` below its path: its own name, version, description,
    /// icons and revisions, under a name in reverse-DNS notation and the public URL of the endpoint. Off by default; a draft.
    ///
    /// The card is public: it needs no authorization, and any page may read it. The listener of this crate serves it by
    /// itself; in axum, mount the endpoint at that path, too.
    ///
    /// ```
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::{Server, tool};
    ///
    /// let server = Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).build();
    /// let endpoint = Endpoint::new(server).card("com.example/hello", "https://example.com/mcp");
    /// # let _ = endpoint;
    /// ```
    ///
    /// # Panics
    /// If the name is not in reverse-DNS notation, or the URL is not one: the card would be invalid.
    #[must_use]
    #[track_caller]
    pub fn card(self, name: impl Into<String>, url: impl Into<String>) -> Self {
        let (name, url) = (name.into(), url.into());
        let problems = ServerCard::new(&name, "1", "-").remote(&url).problems();
        assert!(problems.is_empty(), "the card of the server: {}", problems.join("; "));
        let path = ServerCard::location(&url).parse::<Uri>().map(|location| location.path().to_owned());
        let path = path.unwrap_or_else(|error| panic!("the card of the server: `{url}` is not a URL: {error}"));
        self.with(|config| config.card = Some(CardPlace { name, url, path }))
    }

    /// Returns whether the card is at a path.
    pub(crate) fn has_card(&self, path: &str) -> bool {
        self.config.card.as_ref().is_some_and(|card| card.path == path)
    }

    /// Returns the card, if the request asks for it.
    pub(crate) fn card_page(&self, parts: &Parts) -> Option<Reply> {
        let place = self.config.card.as_ref().filter(|_| self.has_card(parts.uri.path()))?;
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Some(response::not_allowed("GET, HEAD"));
        }
        let about = self.config.service.describe();
        let versions = about.versions.iter().map(|version| version.as_str());
        let card = ServerCard::of(&place.name, &place.url, &about.info, versions);
        let Ok(text) = serde_json::to_vec(&card) else {
            return Some(response::error(StatusCode::INTERNAL_SERVER_ERROR, "the card cannot be serialized"));
        };
        let tag = tag(&text);
        let mut reply = match is_known(&parts.headers, &tag) {
            true => response::empty(StatusCode::NOT_MODIFIED),
            false => response::json(StatusCode::OK, bytes::Bytes::from(text)),
        };
        let has_body = reply.status() == StatusCode::OK;
        let fields = reply.headers_mut();
        if has_body {
            fields.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
        }
        fields.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, HeaderValue::from_static("*"));
        fields.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            fields.insert(header::ETAG, tag);
        }
        Some(reply)
    }
}

/// The entity tag of a text. It distinguishes versions of one card, no more.
fn tag(text: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    format!("\"{:016x}\"", hasher.finish())
}

fn is_known(fields: &HeaderMap, tag: &str) -> bool {
    let known = fields.get_all(header::IF_NONE_MATCH).iter().filter_map(|known| known.to_str().ok());
    known
        .flat_map(|known| known.split(','))
        .any(|known| matches!(known.trim(), "*") || known.trim().trim_start_matches("W/") == tag)
}
