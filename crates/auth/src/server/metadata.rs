//! Protected resource metadata (RFC 9728).

use bytes::Bytes;
use couplet_core::{Error, ErrorKind};
use http::{Uri, uri::Scheme};
use serde::Serialize;

use super::algorithm::Algorithm;
use crate::fetch::{is_local, parse};

const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// Protected resource metadata.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Metadata {
    /// The resource identifier: the server's URL, as clients use it.
    pub(crate) resource: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) authorization_servers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) scopes_supported: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) resource_documentation: Option<String>,
    pub(crate) dpop_signing_alg_values_supported: Vec<Algorithm>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) dpop_bound_access_tokens_required: bool,
}

impl Metadata {
    /// # Errors
    /// Fails if the URL is not https, or http on a loopback address.
    pub(crate) fn new(resource: String) -> Result<(Self, Uri), Error> {
        let wrong = |why| Err(Error::new(ErrorKind::Config, format!("`{resource}` cannot be the server's URL: {why}")));
        let Some(uri) = parse(&resource) else { return wrong("expected an `https` URL") };
        if resource.contains('#') {
            return wrong("it must not have a fragment");
        }
        if uri.scheme() != Some(&Scheme::HTTPS) && !is_local(&uri) {
            return wrong("it must use https");
        }
        let metadata = Self {
            resource,
            authorization_servers: Vec::new(),
            scopes_supported: Vec::new(),
            bearer_methods_supported: ["header"],
            resource_name: None,
            resource_documentation: None,
            dpop_signing_alg_values_supported: Vec::new(),
            dpop_bound_access_tokens_required: false,
        };
        Ok((metadata, uri))
    }

    /// Serializes the document.
    pub(crate) fn to_json(&self) -> Bytes {
        serde_json::to_vec(self).expect("strings serialize to JSON").into()
    }
}

/// The paths at which clients look for the metadata.
pub(crate) fn paths(resource: &Uri) -> [String; 2] {
    let own = resource.path().trim_end_matches('/');
    [format!("{WELL_KNOWN}{own}"), WELL_KNOWN.to_owned()]
}

/// The URL of the metadata.
pub(crate) fn address(resource: &Uri) -> String {
    let [path, _] = paths(resource);
    let query = resource.query().map(|query| format!("?{query}")).unwrap_or_default();
    let (scheme, authority) = (resource.scheme_str().unwrap_or_default(), resource.authority());
    format!("{scheme}://{}{path}{query}", authority.map_or("", |authority| authority.as_str()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_the_document_is() {
        for (resource, want) in [
            ("https://a.example/mcp", "https://a.example/.well-known/oauth-protected-resource/mcp"),
            ("https://a.example", "https://a.example/.well-known/oauth-protected-resource"),
            ("https://a.example/", "https://a.example/.well-known/oauth-protected-resource"),
            ("http://127.0.0.1:8080/a/b?c=d", "http://127.0.0.1:8080/.well-known/oauth-protected-resource/a/b?c=d"),
        ] {
            let (_, uri) = Metadata::new(resource.to_owned()).expect("a server");
            assert_eq!(address(&uri), want);
        }
    }

    #[test]
    fn servers_that_cannot_be() {
        for resource in
            ["http://a.example/mcp", "https://a.example/#x", "ftp://a.example", "mcp", "https://u:p@a.example"]
        {
            assert!(Metadata::new(resource.to_owned()).is_err(), "{resource}");
        }
    }
}
