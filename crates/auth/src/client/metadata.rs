//! Metadata of servers.

use http::Uri;
use serde::Deserialize;

use crate::{
    fetch::{parse, same_origin},
    places::origin,
};

/// Protected resource metadata (RFC 9728).
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ResourceMetadata {
    pub(crate) resource: String,
    #[serde(default)]
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) dpop_bound_access_tokens_required: bool,
}

/// Authorization server metadata (RFC 8414, OpenID Connect Discovery).
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct ServerMetadata {
    pub(crate) issuer: String,
    pub(crate) authorization_endpoint: Option<String>,
    pub(crate) token_endpoint: Option<String>,
    pub(crate) registration_endpoint: Option<String>,
    pub(crate) device_authorization_endpoint: Option<String>,
    pub(crate) revocation_endpoint: Option<String>,
    pub(crate) scopes_supported: Option<Vec<String>>,
    pub(crate) token_endpoint_auth_methods_supported: Option<Vec<String>>,
    pub(crate) code_challenge_methods_supported: Option<Vec<String>>,
    #[serde(default)]
    pub(crate) client_id_metadata_document_supported: bool,
    #[serde(default)]
    pub(crate) authorization_response_iss_parameter_supported: bool,
    pub(crate) dpop_signing_alg_values_supported: Option<Vec<String>>,
}

impl ServerMetadata {
    /// Metadata with nothing but the issuer.
    pub(crate) fn bare(issuer: &str) -> Self {
        Self {
            issuer: issuer.to_owned(),
            authorization_endpoint: None,
            token_endpoint: None,
            registration_endpoint: None,
            device_authorization_endpoint: None,
            revocation_endpoint: None,
            scopes_supported: None,
            token_endpoint_auth_methods_supported: None,
            code_challenge_methods_supported: None,
            client_id_metadata_document_supported: false,
            authorization_response_iss_parameter_supported: false,
            dpop_signing_alg_values_supported: None,
        }
    }

    pub(crate) fn knows_pkce(&self) -> bool {
        lists(&self.code_challenge_methods_supported, "S256")
    }

    pub(crate) fn binds_tokens(&self) -> bool {
        lists(&self.dpop_signing_alg_values_supported, "ES256")
    }

    pub(crate) fn knows_scope(&self, scope: &str) -> bool {
        lists(&self.scopes_supported, scope)
    }
}

fn lists(list: &Option<Vec<String>>, wanted: &str) -> bool {
    list.as_ref().is_some_and(|list| list.iter().any(|one| one == wanted))
}

/// The metadata URLs of a resource: with its path, then at the root.
pub(crate) fn resource_places(server: &Uri) -> Vec<String> {
    let root = format!("{}/.well-known/oauth-protected-resource", origin(server));
    match server.path().trim_end_matches('/') {
        "" => vec![root],
        path => vec![format!("{root}{path}"), root],
    }
}

/// Whether a token for this resource is valid for the server: for the same URL, or for a parent of it.
pub(crate) fn covers(resource: &str, server: &Uri) -> bool {
    let Some(named) = parse(resource).filter(|_| !resource.contains('#')) else { return false };
    if !same_origin(&named, server) || named.query().is_some_and(|q| server.query() != Some(q)) {
        return false;
    }
    let (outer, inner) = (named.path().trim_end_matches('/'), server.path());
    inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_covers_what_lies_below() {
        let server: Uri = "https://a.example/team/mcp?x=1".parse().expect("an address");
        for (resource, expected) in [
            ("https://a.example/team/mcp", true),
            ("https://a.example/team/mcp/", true),
            ("https://a.example/team", true),
            ("https://a.example/team/", true),
            ("https://a.example", true),
            ("HTTPS://A.example:443/", true),
            ("https://a.example/team/mcp?x=1", true),
            ("https://a.example/team/mcp?x=2", false),
            ("https://a.example/tea", false),
            ("https://a.example/team/mcp/more", false),
            ("http://a.example/team/mcp", false),
            ("https://a.example:8443/team/mcp", false),
            ("https://evil.example/team/mcp", false),
            ("https://a.example.evil.example/", false),
            ("https://a.example@evil.example/", false),
            ("https://a.example/team/mcp#x", false),
            ("not an address", false),
        ] {
            assert_eq!(covers(resource, &server), expected, "{resource}");
        }
    }
}
