//! The files of the page, and the headers they are served with.

use std::fmt::Write;

use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::assets::{FILES, SANDBOX};

/// An embedded file.
#[derive(Debug)]
#[non_exhaustive]
pub struct File {
    /// The name, which is also its path relative to the page.
    pub name: &'static str,
    /// The content.
    pub bytes: &'static [u8],
}

impl File {
    pub(crate) const fn new(name: &'static str, bytes: &'static [u8]) -> Self {
        Self { name, bytes }
    }

    /// Returns the value of `Content-Type`.
    pub fn content_type(&self) -> &'static str {
        content_type(self.name)
    }

    /// Returns the value of `ETag`: a digest of the content.
    pub fn etag(&self) -> String {
        etag(self.bytes)
    }
}

/// Returns all files of the page.
///
/// ```
/// let files = couplet_inspector::page::files();
/// assert!(files.iter().any(|file| file.name == "index.html"));
/// ```
pub fn files() -> &'static [File] {
    FILES
}

/// Finds a file by its path relative to the page; the empty path is `index.html`.
pub fn file(path: &str) -> Option<&'static File> {
    let name = if path.is_empty() { "index.html" } else { path };
    FILES.iter().find(|file| file.name == name)
}

/// Returns the files of the sandbox, in which views of apps run. They are served at another origin than the page.
pub fn sandbox_files() -> &'static [File] {
    SANDBOX
}

/// Returns the headers that all responses for the page have. `frames` is the origin of the sandbox, if there is one.
///
/// Scripts and styles come from the page's own origin only, strings are never made into markup, and the page can neither
/// be framed nor load or send anything elsewhere.
pub fn headers(frames: Option<&str>) -> Vec<(&'static str, String)> {
    let frames = frames.unwrap_or("'none'");
    let policy = format!(
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
         media-src 'self' data: blob:; connect-src 'self'; frame-src {frames}; base-uri 'none'; form-action 'none'; \
         frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    );
    let mut headers =
        vec![("content-security-policy", policy), ("cross-origin-opener-policy", "same-origin".to_owned())];
    headers.extend(common_headers());
    headers
}

/// The headers of every response, also of those that are not for the page.
pub(crate) fn common_headers() -> Vec<(&'static str, String)> {
    [
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cross-origin-resource-policy", "same-origin"),
        ("cache-control", "no-cache"),
    ]
    .map(|(name, value)| (name, value.to_owned()))
    .into()
}

/// Returns the document `config.json` of a page beside an endpoint; `mcp` is the path of the endpoint relative to the
/// page.
pub fn endpoint_config(mcp: &str) -> Value {
    let mut config = config("endpoint", false);
    config["mcp"] = json!(mcp);
    config
}

/// The document that tells the page what it is connected to.
pub(crate) fn config(mode: &str, all: bool) -> Value {
    let revisions: Vec<_> = ProtocolVersion::ALL.iter().map(|version| version.as_str()).collect();
    let features = ["feed", "lint", "bench", "compare", "validate", "known", "files"];
    let features: serde_json::Map<_, _> = features.iter().map(|name| ((*name).to_owned(), json!(all))).collect();
    json!({ "mode": mode, "version": env!("CARGO_PKG_VERSION"), "revisions": revisions, "features": features })
}

/// The content of a file, embedded or in a folder.
#[cfg(feature = "service")]
pub(crate) fn content(files: &[File], folder: Option<&std::path::Path>, name: &str) -> Option<bytes::Bytes> {
    let Some(folder) = folder else {
        return files.iter().find(|file| file.name == name).map(|file| bytes::Bytes::from_static(file.bytes));
    };
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let path = (is_plain && !name.starts_with('.')).then(|| folder.join(name))?;
    std::fs::read(path).ok().map(bytes::Bytes::from)
}

pub(crate) fn content_type(name: &str) -> &'static str {
    match name.rsplit_once('.').map_or("", |(_, extension)| extension) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "woff2" => "font/woff2",
        _ => "application/octet-stream",
    }
}

pub(crate) fn etag(bytes: &[u8]) -> String {
    let digest = hmac_sha256::Hash::hash(bytes);
    format!("\"{}\"", hex(&digest[..16]))
}

/// Bytes in hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    /// The largest size of the page, uncompressed.
    const MOST: usize = 300 << 10;

    #[test]
    fn each_file_is_embedded_and_the_page_is_small() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        let mut size = 0;
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let entry = entry.expect("it can be read");
            let name = entry.file_name().into_string().expect("names are plain");
            // Types are for the type checker.
            if name.ends_with(".d.ts") {
                continue;
            }
            let embedded = FILES.iter().chain(SANDBOX).find(|file| file.name == name);
            assert!(embedded.is_some(), "`{name}` is missing in `src/assets.rs`");
            size += embedded.map_or(0, |file| file.bytes.len());
        }
        assert!(size > 0 && size <= MOST, "the page has {size} bytes, and {MOST} are allowed");
    }

    #[test]
    fn each_file_has_a_type_and_only_relative_links() {
        for file in FILES.iter().chain(SANDBOX) {
            assert_ne!(file.content_type(), "application/octet-stream", "{}", file.name);
            let text = std::str::from_utf8(file.bytes).unwrap_or_default();
            for absolute in ["src=\"/", "href=\"/", "src=\"http", "href=\"http", "from \"/", "@import", "url(http"] {
                assert!(!text.contains(absolute), "{} has `{absolute}`", file.name);
            }
        }
    }

    #[test]
    fn policies_name_the_sandbox() {
        let policy = |frames| headers(frames).into_iter().find(|(name, _)| *name == "content-security-policy");
        assert!(policy(None).is_some_and(|(_, value)| value.contains("frame-src 'none';")));
        let with = policy(Some("http://127.0.0.1:2"));
        assert!(with.is_some_and(|(_, value)| value.contains("frame-src http://127.0.0.1:2;")));
    }
}
