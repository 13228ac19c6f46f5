//! The files of the page, and the headers they are served with.

use std::{borrow::Cow, fmt::Write, sync::LazyLock};

use bytes::Bytes;
use couplet_types::ProtocolVersion;
use serde_json::{Value, json};

use crate::{
    assets::{SANDBOX, text},
    join,
};

/// A file as it is served.
#[derive(Debug)]
#[non_exhaustive]
pub struct File {
    /// The name, which is also its path relative to the page.
    pub name: Cow<'static, str>,
    /// The content.
    pub bytes: Bytes,
    /// The value of `ETag`: a digest of the content.
    pub etag: String,
}

impl File {
    pub(crate) fn new(name: impl Into<Cow<'static, str>>, bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self { name: name.into(), etag: format!("\"{}\"", digest(&bytes)), bytes }
    }

    /// A file whose name has a digest of its content, so that it never changes.
    fn hashed(name: &str, text: String) -> Self {
        let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
        Self::new(format!("{stem}.{}.{extension}", digest(text.as_bytes())), text)
    }

    /// Returns the value of `Content-Type`.
    pub fn content_type(&self) -> &'static str {
        match self.name.rsplit_once('.').map_or("", |(_, extension)| extension) {
            "html" => "text/html; charset=utf-8",
            "css" => "text/css; charset=utf-8",
            "js" => "text/javascript; charset=utf-8",
            "svg" => "image/svg+xml",
            _ => "application/octet-stream",
        }
    }

    /// Returns the value of `Cache-Control`: files with a digest in their names are cached for good, others are
    /// compared by their `ETag`.
    pub fn cache_control(&self) -> &'static str {
        if self.name.matches('.').count() > 1 { "max-age=31536000, immutable" } else { "no-cache" }
    }

    /// Returns the headers of the file, [those of the page](headers) among them.
    pub fn headers(&self, frames: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = headers(frames);
        headers.retain(|(name, _)| *name != "cache-control");
        headers.push(("cache-control", self.cache_control().to_owned()));
        headers.push(("content-type", self.content_type().to_owned()));
        headers.push(("etag", self.etag.clone()));
        headers
    }
}

/// The page as it is served: the document, its icon, one style sheet and one script. It is made when it is first needed.
static PAGE: LazyLock<Vec<File>> = LazyLock::new(|| {
    let document = text("index.html");
    let script = File::hashed("page.js", join::modules("main.js", &text));
    let styles = document.lines().filter_map(style_sheet);
    let style = File::hashed("page.css", styles.clone().map(text).collect());
    let mut page = String::new();
    for line in document.lines() {
        if style_sheet(line).is_none() {
            page += &line.replace("main.js", &script.name);
            page.push('\n');
        } else if line.contains(styles.clone().next().unwrap_or_default()) {
            page += &format!("<link rel=\"stylesheet\" href=\"{}\">\n", style.name);
        }
    }
    vec![File::new("index.html", page), File::new("icon.svg", text("icon.svg")), style, script]
});

/// The files of the sandbox.
static SANDBOX_FILES: LazyLock<Vec<File>> =
    LazyLock::new(|| SANDBOX.iter().map(|(name, text)| File::new(*name, *text)).collect());

/// The name of the style sheet that a line of the document links to.
fn style_sheet(line: &str) -> Option<&str> {
    line.strip_prefix("<link rel=\"stylesheet\" href=\"")?.strip_suffix("\">")
}

/// Returns all files of the page.
///
/// ```
/// let files = couplet_inspector::page::files();
/// assert!(files.iter().any(|file| file.name == "index.html"));
/// ```
pub fn files() -> &'static [File] {
    &PAGE
}

/// Finds a file by its path relative to the page; the empty path is `index.html`.
pub fn file(path: &str) -> Option<&'static File> {
    let name = if path.is_empty() { "index.html" } else { path };
    files().iter().find(|file| file.name == name)
}

/// Returns the files of the sandbox, in which views of apps run. They are served at another origin than the page.
pub fn sandbox_files() -> &'static [File] {
    &SANDBOX_FILES
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

/// A file of a folder, for those who change the page: as it is there, without digests.
#[cfg(feature = "service")]
pub(crate) fn read(folder: &std::path::Path, name: &str) -> Option<File> {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_'));
    let path = (is_plain && !name.starts_with('.')).then(|| folder.join(name))?;
    std::fs::read(path).ok().map(|bytes| File::new(name.to_owned(), bytes))
}

/// A digest of a content.
fn digest(bytes: &[u8]) -> String {
    hex(&hmac_sha256::Hash::hash(bytes)[..16])
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
    use crate::assets::FILES;

    /// The largest size of the page as it is served, uncompressed, with the sandbox.
    const MOST: usize = 285_000;

    #[test]
    fn each_file_is_embedded_and_the_page_is_small() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("page");
        for entry in fs::read_dir(folder).expect("the folder is there") {
            let entry = entry.expect("it can be read");
            let name = entry.file_name().into_string().expect("names are plain");
            // Types are for the type checker.
            if name.ends_with(".d.ts") {
                continue;
            }
            let embedded = FILES.iter().chain(SANDBOX).find(|(file, _)| *file == name);
            assert!(embedded.is_some(), "`{name}` is missing in `src/assets.rs`");
        }
        let size: usize = files().iter().chain(sandbox_files()).map(|file| file.bytes.len()).sum();
        assert!(size <= MOST, "the page has {size} bytes, and {MOST} are allowed");
    }

    #[test]
    fn each_file_has_a_type_and_only_relative_links() {
        for file in files().iter().chain(sandbox_files()) {
            assert_ne!(file.content_type(), "application/octet-stream", "{}", file.name);
            let text = std::str::from_utf8(&file.bytes).unwrap_or_default();
            for absolute in ["src=\"/", "href=\"/", "src=\"http", "href=\"http", "from \"/", "@import", "url(http"] {
                assert!(!text.contains(absolute), "{} has `{absolute}`", file.name);
            }
        }
    }

    #[test]
    fn the_document_names_one_script_and_one_style_sheet() {
        let document = file("").expect("there is a document");
        let text = std::str::from_utf8(&document.bytes).expect("it is text");
        assert_eq!(document.cache_control(), "no-cache");
        for (extension, tag, has) in [
            ("js", "<script type=\"module\" src=\"", "bindKeys"),
            ("css", "<link rel=\"stylesheet\" href=\"", ".palette"),
        ] {
            let found: Vec<_> = text.lines().filter_map(|line| line.strip_prefix(tag)?.split('"').next()).collect();
            let [name] = found.as_slice() else { panic!("one is expected: {found:?}") };
            let linked = file(name).expect("it is served");
            assert!(name.starts_with("page.") && name.ends_with(extension), "{name}");
            assert!(linked.cache_control().contains("immutable"), "{name}");
            assert!(std::str::from_utf8(&linked.bytes).is_ok_and(|text| text.contains(has)), "{name}");
            assert!(linked.headers(None).contains(&("etag", linked.etag.clone())), "{name}");
        }
        assert!(file("main.js").is_none());
    }

    #[test]
    fn policies_name_the_sandbox() {
        let policy = |frames| headers(frames).into_iter().find(|(name, _)| *name == "content-security-policy");
        assert!(policy(None).is_some_and(|(_, value)| value.contains("frame-src 'none';")));
        let with = policy(Some("http://127.0.0.1:2"));
        assert!(with.is_some_and(|(_, value)| value.contains("frame-src http://127.0.0.1:2;")));
    }
}
