//! The listener for views of apps, which must have another origin than the page.

use std::path::PathBuf;

use http::{Method, Request, Response, StatusCode};

use crate::{
    body::{Body, add, failed, full, typed},
    guard::Guard,
    page::{self, sandbox_files},
};

/// What the sandbox listener serves: its two files, and nothing else.
#[derive(Debug)]
pub(crate) struct Sandbox {
    pub(crate) guard: Guard,
    /// The port of the page, which may embed the sandbox.
    pub(crate) page: u16,
    /// The folder to read the files from instead of the embedded ones.
    pub(crate) folder: Option<PathBuf>,
}

impl Sandbox {
    pub(crate) fn respond<B>(&self, request: &Request<B>) -> Response<Body> {
        if let Err((status, why)) = self.guard.check(request) {
            return failed(status, why);
        }
        if !matches!(*request.method(), Method::GET | Method::HEAD) {
            return failed(StatusCode::METHOD_NOT_ALLOWED, "use GET");
        }
        let name = match request.uri().path() {
            "/" => "sandbox.html",
            path => path.trim_start_matches('/'),
        };
        let Some(own) = sandbox_files().iter().find(|file| file.name == name) else {
            return failed(StatusCode::NOT_FOUND, "there is no such file");
        };
        let changed = self.folder.as_deref().and_then(|folder| page::read(folder, name));
        let file = changed.as_ref().unwrap_or(own);
        let mut response = typed(StatusCode::OK, file.content_type(), full(file.bytes.clone()));
        // The policy of a view is in its own document; what is here is inherited by it. Frames are here because a view could
        // otherwise leave its document, and its policy, for any other.
        let (port, frames) = (self.page, frames(request.uri().query().unwrap_or_default()));
        let policy = format!(
            "frame-ancestors http://127.0.0.1:{port} http://localhost:{port}; base-uri 'none'; frame-src {frames}"
        );
        let cross = ("cross-origin-resource-policy", "cross-origin".to_owned());
        add(&mut response, vec![("content-security-policy", policy), cross]);
        response
    }
}

/// The origins that a view may show in frames: those that the query has, with commas between them.
fn frames(query: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_' | b':' | b'*');
    let is_origin = |text: &&str| {
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        host.is_some_and(|host| !host.is_empty() && host != "*" && host.bytes().all(is_plain))
    };
    let origins: Vec<_> = query.split(',').filter(is_origin).collect();
    if origins.is_empty() { "'none'".to_owned() } else { origins.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_origins_alone() {
        assert_eq!(frames(""), "'none'");
        assert_eq!(frames("https://a.example,http://127.0.0.1:8080"), "https://a.example http://127.0.0.1:8080");
        for wrong in [
            "*",
            "https:",
            "https://",
            "https://*",
            "data:",
            "'self'",
            "https://a;script-src",
            "https://a/b",
            "https://a b",
        ] {
            assert_eq!(frames(wrong), "'none'", "{wrong}");
        }
    }
}
