//! HTTP: a small server and a small client.

use std::{collections::BTreeMap, convert::Infallible, io, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, Limited};
use hyper::{
    HeaderMap, Method, Request, Response, StatusCode, Uri, body::Incoming, client, header, server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};

use super::state::State;

/// The maximum size of a body.
const MOST: usize = 1 << 20;

/// A parsed request.
pub(super) struct Asked {
    pub(super) method: Method,
    pub(super) path: String,
    pub(super) headers: HeaderMap,
    /// The parameters of the query or the form.
    pub(super) form: BTreeMap<String, String>,
    pub(super) body: Bytes,
}

impl Asked {
    /// Returns a parameter.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.form.get(name).map(String::as_str)
    }

    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

/// A response of the server.
pub(super) struct Answer(Response<Full<Bytes>>);

impl Answer {
    fn new(status: u16, kind: &'static str, body: impl Into<Bytes>) -> Self {
        let response = Response::builder()
            .status(status)
            .header(header::CONTENT_TYPE, kind)
            .header(header::CACHE_CONTROL, "no-store");
        Self(response.body(Full::new(body.into())).expect("plain headers"))
    }

    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self::new(status, "application/json", body.to_string())
    }

    /// Creates an OAuth error.
    pub(super) fn error(status: u16, error: &str, why: &str) -> Self {
        Self::json(status, &serde_json::json!({ "error": error, "error_description": why }))
    }

    pub(super) fn text(status: u16, text: &'static str) -> Self {
        Self::new(status, "text/plain", text)
    }

    /// Creates a page that cannot be framed.
    pub(super) fn page(body: String) -> Self {
        Self::new(200, "text/html; charset=utf-8", body)
            .with("content-security-policy", "default-src 'none'; frame-ancestors 'none'")
    }

    pub(super) fn redirect(to: &str) -> Self {
        Self::new(302, "text/plain", "").with("location", to)
    }

    pub(super) fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = value.parse() {
            self.0.headers_mut().insert(name, value);
        }
        self
    }
}

/// Serves requests until it is stopped.
pub(super) async fn serve(listener: TcpListener, state: Arc<State>) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let state = state.clone();
        let answer = service_fn(move |request| {
            let state = state.clone();
            async move { Ok::<_, Infallible>(respond(&state, request).await) }
        });
        // Errors of a connection are the client's problem.
        tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
    }
}

async fn respond(state: &State, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let Ok(body) = Limited::new(body, MOST).collect().await else {
        return Answer::text(413, "that is too much").0;
    };
    let body = body.to_bytes();
    let sent = if head.method == Method::GET { head.uri.query().unwrap_or_default().as_bytes() } else { &body };
    let form = form_urlencoded::parse(sent).into_owned().collect();
    let asked = Asked { method: head.method, path: head.uri.path().to_owned(), headers: head.headers, form, body };
    log(state, &asked);
    state.answer(&asked).0
}

fn log(state: &State, asked: &Asked) {
    /// The maximum number of recorded requests.
    const MOST: usize = 10_000;
    let mut sent = asked.form.clone();
    for (name, value) in &asked.headers {
        sent.insert(format!("header:{name}"), String::from_utf8_lossy(value.as_bytes()).into_owned());
    }
    sent.insert("method".to_owned(), asked.method.to_string());
    let path = asked.path.strip_prefix(&*state.settings.path).unwrap_or(&asked.path).to_owned();
    let mut inner = state.lock();
    if inner.log.len() < MOST {
        inner.log.push((path, sent));
    }
}

impl State {
    fn answer(&self, asked: &Asked) -> Answer {
        if let Some(metadata) = self.metadata_at(&asked.path) {
            return metadata;
        }
        let Some(path) = asked.path.strip_prefix(&*self.settings.path) else { return Answer::text(404, "not here") };
        match (&asked.method, path) {
            (&Method::GET, "/jwks") => self.jwks(),
            (&Method::GET, "/authorize") => self.page(asked),
            (&Method::POST, "/decide") => self.decide(asked),
            (&Method::POST, "/token") => self.grant(asked),
            (&Method::POST, "/register") if self.settings.registration => self.register(asked),
            (&Method::POST, "/introspect") => self.introspect(asked),
            (&Method::POST, "/device_authorization") => self.device_authorization(asked),
            (&Method::POST, "/revoke") => self.revoke(asked),
            _ => Answer::text(404, "not here"),
        }
    }
}

/// The response of a page or a client.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebReply {
    /// The status.
    pub status: StatusCode,
    /// The headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: String,
}

impl WebReply {
    /// Returns the body as JSON; `null` if it is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

/// Sends a GET request to a local server, without following redirects.
///
/// # Errors
/// If the URL is not local, or if the server does not answer.
pub async fn fetch(url: &str) -> io::Result<WebReply> {
    send(Method::GET, url, &[], String::new()).await
}

/// Sends a form to a local server, with headers, without following redirects.
///
/// # Errors
/// If the server does not answer.
pub async fn post_form(url: &str, headers: &[(&str, &str)], form: &[(&str, &str)]) -> io::Result<WebReply> {
    let form = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
    let kind = [("content-type", "application/x-www-form-urlencoded")];
    send(Method::POST, url, &[headers, &kind].concat(), form).await
}

/// Sends JSON to a local server, without following redirects.
///
/// # Errors
/// If the server does not answer.
pub async fn post_json(url: &str, body: &Value) -> io::Result<WebReply> {
    send(Method::POST, url, &[("content-type", "application/json")], body.to_string()).await
}

/// Opens a page, submits a decision, and returns the redirect.
pub(super) async fn visit(url: &str, decision: &str) -> io::Result<String> {
    let page = fetch(url).await?;
    if let Some(to) = page.headers.get(header::LOCATION) {
        return to.to_str().map(str::to_owned).map_err(io::Error::other);
    }
    let between = |before: &str| page.body.split_once(before)?.1.split_once('"').map(|(text, _)| text.to_owned());
    let (Some(to), Some(ticket)) = (between("action=\""), between("name=\"ticket\" value=\"")) else {
        return Err(io::Error::other(format!("there is nothing to approve: {} {}", page.status, page.body)));
    };
    let answer = post_form(&to, &[], &[("ticket", &ticket), ("decision", decision)]).await?;
    let to = answer.headers.get(header::LOCATION).and_then(|to| to.to_str().ok());
    to.map(str::to_owned).ok_or_else(|| io::Error::other(format!("no way back: {} {}", answer.status, answer.body)))
}

async fn send(method: Method, url: &str, headers: &[(&str, &str)], body: String) -> io::Result<WebReply> {
    let uri: Uri = url.parse().map_err(io::Error::other)?;
    let authority = uri.authority().ok_or_else(|| io::Error::other("that is not a whole address"))?.clone();
    let local = uri.scheme_str() == Some("http") && matches!(authority.host(), "127.0.0.1" | "localhost" | "[::1]");
    if !local {
        return Err(io::Error::other(format!("`{authority}` is not on this machine")));
    }
    let address = (authority.host().trim_matches(['[', ']']), authority.port_u16().unwrap_or(80));
    let stream = TcpStream::connect(address).await?;
    let (mut sender, connection) =
        client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(io::Error::other)?;
    let driving = tokio::spawn(connection);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let mut request = Request::builder().method(method).uri(path).header(header::HOST, authority.as_str());
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(Full::new(Bytes::from(body))).map_err(io::Error::other)?;
    let reply = sender.send_request(request).await.map_err(io::Error::other)?;
    let (head, body) = reply.into_parts();
    let body = Limited::new(body, MOST).collect().await.map_err(io::Error::other)?.to_bytes();
    driving.abort();
    Ok(WebReply { status: head.status, headers: head.headers, body: String::from_utf8_lossy(&body).into_owned() })
}
