//! The page beside the endpoint. It is static: what it shows, it requests from the endpoint, as any other client.

use couplet_inspector::page;
use http::{HeaderName, HeaderValue, Method, StatusCode, header, request::Parts};

use crate::server::{
    endpoint::Endpoint,
    response::{self, Reply},
};

/// The folder of the page, below the path of the endpoint.
const FOLDER: &str = "/inspector";

impl Endpoint {
    /// Serves the inspector at `inspector/` below the path of the endpoint: a page that shows the tools, resources and
    /// prompts of the server and calls them, with all messages. Off by default.
    ///
    /// The page has no rights of its own. It is an MCP client in the browser of the user, whose requests the endpoint
    /// authorizes like any other; for a server that requires a token, the page has a field for it. The page itself is
    /// public to everyone who can reach the endpoint under an allowed host.
    ///
    /// The listener of this crate serves it by itself. In axum, mount the endpoint at the folder, too: at `/mcp`, at
    /// `/mcp/inspector/` and at `/mcp/inspector/{file}`.
    ///
    /// ```
    /// use couplet_http::server::Endpoint;
    /// use couplet_server::{Server, tool};
    ///
    /// let server = Server::new("hello", "1.0.0").tool(tool("hello", || "Hello!")).build();
    /// let endpoint = Endpoint::new(server).inspector();
    /// # let _ = endpoint;
    /// ```
    #[must_use]
    pub fn inspector(self) -> Self {
        self.with(|config| {
            config.inspector = true;
            config.guard.own_pages = true;
        })
    }

    /// Returns the file of the page that a request asks for.
    pub(crate) fn inspector_page(&self, parts: &Parts) -> Option<Reply> {
        let place = place(parts.uri.path()).filter(|_| self.config.inspector)?;
        let name = &parts.uri.path()[place.len() + FOLDER.len()..];
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return Some(response::not_allowed("GET, HEAD"));
        }
        Some(match name.strip_prefix('/') {
            // Its links are relative, so it has to be a folder.
            None => moved(),
            Some("config.json") => {
                let endpoint = place.rsplit('/').next().unwrap_or_default();
                let config = page::endpoint_config(&format!("../../{endpoint}"));
                response::json(StatusCode::OK, bytes::Bytes::from(config.to_string()))
            }
            Some(name) => file(name, parts),
        })
    }
}

/// Returns the path of the endpoint whose page is at a path.
pub(crate) fn place(path: &str) -> Option<&str> {
    let at = path.rfind(FOLDER)?;
    let rest = &path[at + FOLDER.len()..];
    // The files have no folders.
    let is_file = rest.is_empty() || rest.strip_prefix('/').is_some_and(|name| !name.contains('/'));
    is_file.then(|| &path[..at])
}

fn moved() -> Reply {
    let mut reply = response::empty(StatusCode::PERMANENT_REDIRECT);
    reply.headers_mut().insert(header::LOCATION, HeaderValue::from_static("inspector/"));
    reply
}

fn file(name: &str, parts: &Parts) -> Reply {
    let Some(file) = page::file(name) else { return response::empty(StatusCode::NOT_FOUND) };
    let known = parts.headers.get(header::IF_NONE_MATCH);
    let mut reply = match known.is_some_and(|known| known.as_bytes() == file.etag.as_bytes()) {
        true => response::empty(StatusCode::NOT_MODIFIED),
        false => response::json(StatusCode::OK, file.bytes.clone()),
    };
    for (name, value) in file.headers(None) {
        if let Ok(value) = HeaderValue::from_str(&value) {
            reply.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    reply
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_the_page_are_below_the_endpoint() {
        for (path, expected) in [
            ("/mcp/inspector", Some("/mcp")),
            ("/mcp/inspector/", Some("/mcp")),
            ("/mcp/inspector/main.js", Some("/mcp")),
            ("/a/b/inspector/config.json", Some("/a/b")),
            ("/inspector/", Some("")),
            ("/inspector/inspector/", Some("/inspector")),
            ("/mcp/inspector/a/b", None),
            ("/mcp/inspectors", None),
            ("/mcp", None),
        ] {
            assert_eq!(place(path), expected, "{path}");
        }
    }
}
