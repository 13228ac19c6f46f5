//! From a request to its response.

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use serde_json::json;

use crate::{
    Inspector, api,
    body::{Body, add, failed, full, json, typed},
    page,
};

/// Answers a request: the page without a token, the rest with it.
pub(crate) async fn respond(inspector: Inspector, request: Request<Incoming>) -> Response<Body> {
    let guard = &inspector.0.guard;
    if let Err((status, why)) = guard.check(&request) {
        return failed(status, why);
    }
    let path = request.uri().path().trim_start_matches('/').to_owned();
    let is_private = path.starts_with("api/") || path.starts_with("mcp/");
    if is_private && let Err((status, why)) = guard.check_token(request.headers()) {
        return failed(status, why);
    }
    match path.split_once('/') {
        Some(("api", rest)) => api::respond(&inspector, request, rest).await,
        Some(("mcp", id)) => mcp(&inspector, request, id).await,
        _ => page(&inspector, &request, &path),
    }
}

/// A request to the server behind a target.
async fn mcp(inspector: &Inspector, request: Request<Incoming>, id: &str) -> Response<Body> {
    let Some(target) = inspector.target(id) else {
        return failed(StatusCode::NOT_FOUND, &format!("there is no target `{id}`"));
    };
    match target.mounted_soon().await {
        Some(mounted) => {
            let mut response = mounted.respond(request).await;
            add(&mut response, page::common_headers());
            response
        }
        None => {
            let why = format!("not connected: {}", target.state().detail);
            let error = json!({ "jsonrpc": "2.0", "id": null, "error": { "code": -32603, "message": why }});
            typed(StatusCode::SERVICE_UNAVAILABLE, "application/json", full(error.to_string()))
        }
    }
}

/// A file of the page, or its configuration.
fn page(inspector: &Inspector, request: &Request<Incoming>, path: &str) -> Response<Body> {
    let frames = &inspector.0.frames;
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return failed(StatusCode::METHOD_NOT_ALLOWED, "use GET");
    }
    if path == "config.json" {
        let mut config = page::config("inspect", true);
        config["frames"] = json!(format!("{frames}/"));
        return json(&config);
    }
    let read;
    let file = match &inspector.0.folder {
        None => page::file(path),
        Some(folder) => {
            read = page::read(folder, if path.is_empty() { "index.html" } else { path });
            read.as_ref()
        }
    };
    let Some(file) = file else {
        return failed(StatusCode::NOT_FOUND, "there is no such file");
    };
    let known = request.headers().get(header::IF_NONE_MATCH);
    let is_known = known.is_some_and(|known| known.as_bytes() == file.etag.as_bytes());
    let (status, bytes) =
        if is_known { (StatusCode::NOT_MODIFIED, Bytes::new()) } else { (StatusCode::OK, file.bytes.clone()) };
    let mut response = typed(status, file.content_type(), full(bytes));
    add(&mut response, file.headers(Some(frames)));
    response
}
