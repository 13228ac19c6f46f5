//! HTTP requests and JSON responses: no sessions, no event streams.

use std::{convert::Infallible, io::Result};

use axum::{Router, extract::DefaultBodyLimit, routing::post};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, Request, Response, StatusCode, body::Incoming, header::HeaderValue, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;

use crate::answer::answer;

/// Plain hyper.
#[tokio::main]
pub(crate) async fn with_hyper(port: &str) -> Result<()> {
    let listener = listen(port).await?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service_fn(|request: Request<Incoming>| async {
            let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
            Ok::<_, Infallible>(respond(&body))
        });
        tokio::spawn(hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service));
    }
}

/// The same handler under axum.
#[tokio::main]
pub(crate) async fn with_axum(port: &str) -> Result<()> {
    let handler = post(|body: Bytes| async move { respond(&body) });
    let router = Router::new().route("/mcp", handler.layer(DefaultBodyLimit::disable()));
    axum::serve(listen(port).await?, router).await
}

async fn listen(port: &str) -> Result<TcpListener> {
    TcpListener::bind(format!("127.0.0.1:{port}")).await
}

fn respond(body: &[u8]) -> Response<Full<Bytes>> {
    let mut out = Vec::with_capacity(256);
    if answer(body, &mut out).is_none() {
        let mut accepted = Response::default();
        *accepted.status_mut() = StatusCode::ACCEPTED;
        return accepted;
    }
    let mut response = Response::new(Full::new(Bytes::from(out)));
    let headers: &mut HeaderMap = response.headers_mut();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    headers.insert("mcp-session-id", HeaderValue::from_static("00000000-0000-0000-0000-000000000000"));
    response
}
