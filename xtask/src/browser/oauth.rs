//! A server that requires a login, with its authorization server: the least that a client needs.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{Ipv4Addr, TcpListener, TcpStream},
    thread,
    time::Duration,
};

use serde_json::{Value, json};

use super::http;
use crate::Failure;

/// The token that it issues.
const TOKEN: &str = "a-secret-token";

/// A server at a port of this machine. It serves as long as this process lives.
pub(super) struct Guarded {
    port: u16,
}

impl Guarded {
    pub(super) fn start() -> Result<Self, Failure> {
        let failed = |e: std::io::Error| format!("a server cannot be started: {e}");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                thread::spawn(move || answer(stream, port));
            }
        });
        Ok(Self { port })
    }

    /// The URL of the server.
    pub(super) fn url(&self) -> String {
        format!("{}/mcp", origin(self.port))
    }

    /// Visits the page of a login as a browser does: the redirect leads back to the client.
    pub(super) fn visit(&self, page: &str) -> Result<(), Failure> {
        let mut url = page.to_owned();
        for _ in 0..2 {
            let (port, path) = split(&url)?;
            let response = http::send(port, &format!("GET {path}"), &[("Host", &format!("127.0.0.1:{port}"))], "")?;
            match header(&response.head, "location") {
                Some(next) => url = next,
                None if response.status == 200 => return Ok(()),
                None => return Err(format!("`{url}` has the status {}: {}", response.status, response.body)),
            }
        }
        Ok(())
    }
}

fn origin(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

/// The port and the path of a URL of this machine.
fn split(url: &str) -> Result<(u16, &str), Failure> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let slash = rest.find('/').unwrap_or(rest.len());
    let port = rest[..slash].rsplit(':').next().and_then(|port| port.parse().ok());
    Ok((port.ok_or_else(|| format!("`{url}` has no port"))?, &rest[slash..]))
}

/// The value of a header in a head.
fn header(head: &str, name: &str) -> Option<String> {
    let lines = head.lines().filter_map(|line| line.split_once(':'));
    lines.into_iter().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim().to_owned())
}

/// Answers one request.
fn answer(mut stream: TcpStream, port: u16) -> Option<()> {
    stream.set_read_timeout(Some(Duration::from_secs(30))).ok()?;
    let mut reader = BufReader::new(stream.try_clone().ok()?);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).ok()? == 0 {
            return None;
        }
    }
    let length = header(&head, "content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let mut words = head.split(' ');
    let (method, target) = (words.next()?, words.next()?);
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let (status, more, content) = match (method, path) {
        (_, "/mcp") => protocol(method, &head, &body, port),
        ("GET", "/authorize") => redirect(query),
        _ => document(path, &body, port),
    };
    let text = content.map_or(String::new(), |content| content.to_string());
    let rest = format!("Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close", text.len());
    write!(stream, "HTTP/1.1 {status}\r\n{more}{rest}\r\n\r\n{text}").ok()
}

/// A status, further headers, and a body.
type Reply = (&'static str, String, Option<Value>);

/// The documents and endpoints of the authorization server.
fn document(path: &str, body: &[u8], port: u16) -> Reply {
    let origin = origin(port);
    let content = match path {
        _ if path.starts_with("/.well-known/oauth-protected-resource") => {
            json!({ "resource": format!("{origin}/mcp"), "authorization_servers": [origin] })
        }
        "/.well-known/oauth-authorization-server" => json!({
            "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"),
            "token_endpoint": format!("{origin}/token"), "registration_endpoint": format!("{origin}/register"),
            "response_types_supported": ["code"], "grant_types_supported": ["authorization_code"],
            "token_endpoint_auth_methods_supported": ["none"], "code_challenge_methods_supported": ["S256"],
        }),
        "/register" => {
            let mut client: Value = serde_json::from_slice(body).unwrap_or_default();
            client["client_id"] = json!("the-client");
            return ("201 Created", String::new(), Some(client));
        }
        "/token" => json!({ "access_token": TOKEN, "token_type": "Bearer", "expires_in": 3600 }),
        _ => return ("404 Not Found", String::new(), None),
    };
    ("200 OK", String::new(), Some(content))
}

/// The page of the login, whose user agrees at once.
fn redirect(query: &str) -> Reply {
    let of = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='));
    let back = of("redirect_uri").unwrap_or_default().replace("%3A", ":").replace("%2F", "/");
    let location = format!("Location: {back}?code=a-secret-code&state={}\r\n", of("state").unwrap_or_default());
    ("302 Found", location, None)
}

/// The server itself, in a revision with sessions.
fn protocol(method: &str, head: &str, body: &[u8], port: u16) -> Reply {
    if header(head, "authorization").as_deref() != Some(&format!("Bearer {TOKEN}")) {
        let metadata = format!("{}/.well-known/oauth-protected-resource/mcp", origin(port));
        let challenge = format!("WWW-Authenticate: Bearer resource_metadata=\"{metadata}\"\r\n");
        return ("401 Unauthorized", challenge, None);
    }
    let request: Value = serde_json::from_slice(body).unwrap_or_default();
    let result = match (method, request["method"].as_str()) {
        ("POST", Some("initialize")) => json!({
            "protocolVersion": request["params"]["protocolVersion"], "capabilities": { "tools": {} },
            "serverInfo": { "name": "vault", "version": "1" },
        }),
        ("POST", Some("tools/list")) => json!({ "tools": [{ "name": "open", "inputSchema": { "type": "object" } }] }),
        ("POST", Some(_)) if request["id"].is_null() => return ("202 Accepted", String::new(), None),
        ("POST", Some(_)) => json!({}),
        _ => return ("405 Method Not Allowed", String::new(), None),
    };
    ("200 OK", String::new(), Some(json!({ "jsonrpc": "2.0", "id": request["id"], "result": result })))
}
