//! The listener for views of apps, which must have another origin than the page.

use std::path::PathBuf;

use http::{Method, Request, Response, StatusCode};

use crate::{
    body::{Body, add, failed, full, typed},
    guard::Guard,
    page::{content, content_type, sandbox_files},
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
        let is_own = sandbox_files().iter().any(|file| file.name == name);
        let Some(bytes) = content(sandbox_files(), self.folder.as_deref(), name).filter(|_| is_own) else {
            return failed(StatusCode::NOT_FOUND, "there is no such file");
        };
        let mut response = typed(StatusCode::OK, content_type(name), full(bytes));
        // The policy of a view is in its own document; what is here would be inherited by it.
        let page = self.page;
        let policy = format!("frame-ancestors http://127.0.0.1:{page} http://localhost:{page}; base-uri 'none'");
        let cross = ("cross-origin-resource-policy", "cross-origin".to_owned());
        add(&mut response, vec![("content-security-policy", policy), cross]);
        response
    }
}
