//! Base URLs: servers of a document, with their variables.

use std::collections::BTreeMap;

use http::Uri;
use serde_json::Value;

use crate::{
    document::{Document, items, members},
    text,
};

/// The maximum numbers of servers and of variables, and the maximum length of a URL.
const MOST: usize = 50;
const LONGEST: usize = 2_000;

/// The base URL of an operation: an origin and the beginning of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Base {
    /// The scheme and the authority: `https://api.example.com`.
    pub(crate) origin: String,
    /// The path, without a slash at its end.
    pub(crate) path: String,
}

impl Base {
    /// Parses an absolute `http` or `https` URL without user information, query and fragment.
    pub(crate) fn parse(url: &str) -> Option<Self> {
        let uri: Uri = url.parse().ok()?;
        let scheme = uri.scheme_str().filter(|scheme| ["http", "https"].contains(scheme))?;
        let authority = uri.authority().map(http::uri::Authority::as_str)?;
        let is_plain = !authority.contains('@') && uri.query().is_none() && !url.contains(['#', '{', '}']);
        let has_host = uri.host().is_some_and(|host| !host.is_empty());
        // The same origin is always written in the same way.
        let authority = authority.to_ascii_lowercase();
        let authority = authority.strip_suffix(if scheme == "http" { ":80" } else { ":443" }).unwrap_or(&authority);
        (is_plain && has_host).then(|| Self {
            origin: format!("{scheme}://{authority}"),
            path: uri.path().trim_end_matches('/').to_owned(),
        })
    }

    /// Resolves a URL that may be relative to this one.
    pub(crate) fn join(&self, url: &str) -> Option<String> {
        absolute(format!("{}{}/", self.origin, self.path).parse().ok().as_ref(), url)
    }
}

/// The settings that decide on base URLs.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerSettings {
    /// Replaces all servers of the document.
    pub(crate) base: Option<Base>,
    /// The values of server variables.
    pub(crate) variables: BTreeMap<String, String>,
}

impl ServerSettings {
    /// Returns the base URL of the operations that these places of the document describe, innermost first.
    pub(crate) fn base(&self, document: &Document, places: &[&Value]) -> Result<Base, String> {
        if let Some(base) = &self.base {
            return Ok(base.clone());
        }
        let lists = places.iter().map(|place| &place["servers"]).chain([document.member("servers")]);
        let listed = lists.into_iter().find(|list| items(list).next().is_some());
        let mut first = None;
        for server in listed.into_iter().flat_map(items).take(MOST) {
            match self.server(document, server) {
                Ok(base) => return Ok(base),
                Err(why) => drop(first.get_or_insert(why)),
            }
        }
        let alone = || absolute(document.location(), "/").as_deref().and_then(Base::parse);
        match first {
            Some(why) => Err(why),
            None => alone().ok_or_else(|| "the document names no server: set a base URL".to_owned()),
        }
    }

    /// Returns the base URL of a server.
    fn server(&self, document: &Document, server: &Value) -> Result<Base, String> {
        let url = self.expanded(server)?;
        absolute(document.location(), &url).as_deref().and_then(Base::parse).ok_or_else(|| {
            let url = text::clean(&url, 200);
            format!("the server `{url}` is not a complete `http` or `https` URL: set a base URL")
        })
    }

    /// Replaces the variables of a server's URL by their values, or else by their defaults.
    fn expanded(&self, server: &Value) -> Result<String, String> {
        let mut url = text::truncated(server["url"].as_str().unwrap_or("/"), LONGEST);
        for (name, variable) in members(&server["variables"]).take(MOST) {
            let set = self.variables.get(name).map(String::as_str);
            // YAML without quotes: `default: 443`.
            let default = match &variable["default"] {
                Value::Number(number) => Some(number.to_string()),
                default => default.as_str().map(|text| text::truncated(text, LONGEST)),
            };
            let Some(value) = set.or(default.as_deref()) else {
                return Err(format!("the server variable `{}` has no value", text::clean(name, 100)));
            };
            let mut allowed = items(&variable["enum"]).filter_map(Value::as_str).peekable();
            if set.is_some() && allowed.peek().is_some() && !allowed.any(|allowed| allowed == value) {
                return Err(format!("the server variable `{}` cannot be `{value}`", text::clean(name, 100)));
            }
            url = text::truncated(&url.replace(&format!("{{{name}}}"), value), LONGEST);
        }
        Ok(url)
    }
}

/// Resolves the URL of a server, which may be relative to the document's.
fn absolute(document: Option<&Uri>, url: &str) -> Option<String> {
    if url.starts_with("http://") || url.starts_with("https://") {
        return Some(url.to_owned());
    }
    let document = document?;
    let (scheme, authority) = (document.scheme_str()?, document.authority()?);
    if let Some(rest) = url.strip_prefix("//") {
        return Some(format!("{scheme}://{rest}"));
    }
    if url.starts_with('/') {
        return Some(format!("{scheme}://{authority}{url}"));
    }
    let mut folders: Vec<&str> = document.path().split('/').collect();
    folders.pop();
    for step in url.split('/').filter(|step| !step.is_empty() && *step != ".") {
        match step {
            ".." => drop(folders.pop()),
            step => folders.push(step),
        }
    }
    let path = folders.iter().filter(|step| !step.is_empty()).map(|step| format!("/{step}")).collect::<String>();
    Some(format!("{scheme}://{authority}{path}"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn base(server: Value, location: Option<&str>, variables: &[(&str, &str)]) -> Result<String, String> {
        let document = Document::from_value(json!({ "openapi": "3.0.0", "servers": [server] })).expect("a document");
        let document = location.into_iter().fold(document, Document::located_at);
        let variables = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let settings = ServerSettings { base: None, variables };
        settings.base(&document, &[]).map(|base| base.origin + &base.path)
    }

    #[test]
    fn servers_become_base_urls() {
        let varied = json!({
            "url": "https://{region}.example.com/{version}",
            "variables": { "region": { "default": "eu", "enum": ["eu", "us"] }, "version": { "default": "v1" } },
        });
        for (server, location, variables, expected) in [
            (json!({ "url": "https://A.example.com:443/v1/" }), None, &[][..], Some("https://a.example.com/v1")),
            (
                json!({ "url": "https://x.org:{port}", "variables": { "port": { "default": 8443 } } }),
                None,
                &[],
                Some("https://x.org:8443"),
            ),
            (varied.clone(), None, &[], Some("https://eu.example.com/v1")),
            (varied.clone(), None, &[("region", "us"), ("version", "v2")], Some("https://us.example.com/v2")),
            (varied, None, &[("region", "evil.org/")], None),
            (json!({ "url": "/v1" }), Some("https://x.org/docs/api.json"), &[], Some("https://x.org/v1")),
            (json!({ "url": "../v1" }), Some("https://x.org/docs/api.json"), &[], Some("https://x.org/v1")),
            (json!({ "url": "/v1" }), None, &[], None),
            (json!({ "url": "https://user:pw@x.org" }), None, &[], None),
            (json!({ "url": "file:///etc" }), None, &[], None),
            (json!({ "url": "https://x.org/?a=b" }), None, &[], None),
        ] {
            assert_eq!(base(server.clone(), location, variables).ok().as_deref(), expected, "{server}");
        }
    }
}
