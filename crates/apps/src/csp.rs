//! The content security policy of a view.

use serde::{Deserialize, Serialize};

/// The origins that a view declares. Every other origin is blocked.
///
/// ```
/// use couplet_apps::Csp;
///
/// let csp = Csp::new().connect(["https://api.example.com"]);
/// assert!(csp.policy().contains("connect-src https://api.example.com;"));
/// assert!(Csp::default().policy().contains("connect-src 'none';"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Csp {
    /// Origins for requests and WebSockets (`connect-src`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub connect_domains: Vec<String>,
    /// Origins of scripts, styles, images, fonts and media.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_domains: Vec<String>,
    /// Origins that the view embeds in frames (`frame-src`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub frame_domains: Vec<String>,
    /// Origins of the document's base URI (`base-uri`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub base_uri_domains: Vec<String>,
}

impl Csp {
    /// Creates a policy without origins.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds origins for requests and WebSockets.
    #[must_use]
    pub fn connect<T: Into<String>>(mut self, origins: impl IntoIterator<Item = T>) -> Self {
        self.connect_domains.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Adds origins of scripts, styles, images, fonts and media.
    #[must_use]
    pub fn resources<T: Into<String>>(mut self, origins: impl IntoIterator<Item = T>) -> Self {
        self.resource_domains.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Adds origins that the view embeds in frames.
    #[must_use]
    pub fn frames<T: Into<String>>(mut self, origins: impl IntoIterator<Item = T>) -> Self {
        self.frame_domains.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Adds origins of the document's base URI.
    #[must_use]
    pub fn base<T: Into<String>>(mut self, origins: impl IntoIterator<Item = T>) -> Self {
        self.base_uri_domains.extend(origins.into_iter().map(Into::into));
        self
    }

    /// Returns a copy with the well-formed origins only. Every other declared string is dropped, so it cannot loosen
    /// the policy.
    #[must_use]
    pub fn sanitized(&self) -> Self {
        let only = |list: &[String], schemes: &[&str]| -> Vec<String> {
            list.iter().filter(|text| is_origin(text, schemes)).cloned().collect()
        };
        Self {
            connect_domains: only(&self.connect_domains, &["https", "http", "wss", "ws"]),
            resource_domains: only(&self.resource_domains, WEB),
            frame_domains: only(&self.frame_domains, WEB),
            base_uri_domains: only(&self.base_uri_domains, WEB),
        }
    }

    /// The first declared string that is not an origin: hosts drop it.
    #[cfg(feature = "server")]
    pub(crate) fn rejected(&self) -> Option<&str> {
        let kept = self.sanitized();
        let lists = [
            (&self.connect_domains, kept.connect_domains),
            (&self.resource_domains, kept.resource_domains),
            (&self.frame_domains, kept.frame_domains),
            (&self.base_uri_domains, kept.base_uri_domains),
        ];
        lists.into_iter().find_map(|(all, kept)| all.iter().find(|origin| !kept.contains(origin))).map(String::as_str)
    }

    /// Serializes the value of a `Content-Security-Policy` header: the declared origins, and otherwise the document
    /// itself only.
    pub fn policy(&self) -> String {
        let Self { connect_domains, resource_domains, frame_domains, base_uri_domains } = self.sanitized();
        let files = joined(&resource_domains);
        let or = |list: &[String], default: &str| if list.is_empty() { default.to_owned() } else { list.join(" ") };
        [
            "default-src 'none'".to_owned(),
            format!("script-src 'self' 'unsafe-inline'{files}"),
            format!("style-src 'self' 'unsafe-inline'{files}"),
            format!("img-src 'self' data:{files}"),
            format!("media-src 'self' data:{files}"),
            format!("font-src 'self'{files}"),
            format!("connect-src {}", or(&connect_domains, "'none'")),
            format!("frame-src {}", or(&frame_domains, "'none'")),
            "object-src 'none'".to_owned(),
            format!("base-uri {}", or(&base_uri_domains, "'self'")),
        ]
        .map(|directive| directive + ";")
        .join(" ")
    }
}

const WEB: &[&str] = &["https", "http"];

fn joined(origins: &[String]) -> String {
    origins.iter().flat_map(|origin| [" ", origin]).collect()
}

/// Whether a string is an origin, with an optional `*.` for subdomains, and nothing else that means something in a
/// policy.
fn is_origin(text: &str, schemes: &[&str]) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let (host, port) = rest.split_once(':').map_or((rest, None), |(host, port)| (host, Some(port)));
    let host = host.strip_prefix("*.").unwrap_or(host);
    let label = |label: &str| !label.is_empty() && label.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    schemes.contains(&scheme)
        && host.split('.').all(label)
        && port.is_none_or(|port| (1..=5).contains(&port.len()) && port.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_origins_count() {
        for origin in ["https://a.com", "https://*.a.com", "http://localhost:3000", "https://a-b.c.d:443"] {
            assert!(is_origin(origin, WEB), "{origin}");
        }
        for wrong in [
            "*",
            "https:",
            "https://",
            "https://*",
            "https://*.",
            "data:",
            "'unsafe-eval'",
            "'self'",
            "a.com",
            "//a.com",
            "https://a.com; script-src *",
            "https://a.com *",
            "https://a.com/path",
            "https://a.com,b",
            "https://u@a.com",
            "https://a.com:",
            "https://a.com:*",
            "https://a..com",
            "ftp://a.com",
            "wss://a.com",
            "HTTPS://a.com",
            "https://a.com\n",
            "https://*a.com",
        ] {
            assert!(!is_origin(wrong, WEB), "{wrong}");
        }
        assert_eq!(Csp::new().connect(["wss://a.com", "*"]).sanitized().connect_domains, ["wss://a.com"]);
    }
}
