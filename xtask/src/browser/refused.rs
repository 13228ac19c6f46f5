//! Requests that are not those of the page: without the token, from another origin, to another name.

use serde_json::json;

use super::{
    cdp::{Page, REBOUND},
    http::{self, Site},
    inspector::{Inspector, program},
};
use crate::Failure;

pub(super) const SCENARIOS: &[super::hostile::Scenario] = &[
    ("requests over HTTP without the token, from another origin, to another name", over_http),
    ("a page of another origin", other_origin),
    ("a name that leads to this machine", rebound),
    ("a page without the token", no_token),
];

fn start() -> Result<Inspector, Failure> {
    Inspector::start(&[&program("couplet-everything")?])
}

/// A request: its line, host, token and origin, and the status of its response.
type Case<'a> = (&'a str, &'a str, Option<&'a str>, Option<&'a str>, u16);

fn over_http(_: &Page) -> Result<(), Failure> {
    let inspector = start()?;
    let port = inspector.port;
    let (own, token) = (format!("127.0.0.1:{port}"), format!("Bearer {}", inspector.token));
    let (origin, rebound) = (inspector.origin(), format!("{REBOUND}:{port}"));
    let wrong = "Bearer 0123456789abcdef0123456789abcdef";
    let cases: &[Case] = &[
        ("GET /api/targets", &own, Some(&token), None, 200),
        ("GET /api/targets", &own, Some(&token), Some(&origin), 200),
        ("GET /api/targets", &own, None, None, 401),
        ("GET /api/targets", &own, Some(wrong), None, 401),
        ("GET /api/export?format=jsonl", &own, None, None, 401),
        ("POST /api/targets", &own, None, None, 401),
        ("POST /mcp/t1", &own, None, None, 401),
        ("GET /api/targets", &own, Some(&token), Some("https://evil.example"), 403),
        ("GET /api/targets", &own, Some(&token), Some("null"), 403),
        ("POST /mcp/t1", &own, Some(&token), Some("https://evil.example"), 403),
        ("GET /api/targets", &rebound, Some(&token), None, 403),
        ("GET /", &rebound, None, None, 403),
        ("GET /", "evil.example", None, None, 403),
        ("GET /", &own, None, Some("https://evil.example"), 403),
    ];
    for (line, host, token, origin, expected) in cases {
        let mut headers = vec![("Host", *host)];
        headers.extend(token.map(|token| ("Authorization", token)));
        headers.extend(origin.map(|origin| ("Origin", origin)));
        let response = http::send(port, line, &headers, "")?;
        if response.status != *expected {
            return Err(format!("{line} with {headers:?} has the status {} instead of {expected}", response.status));
        }
        // Nothing may be read from elsewhere.
        if response.head.to_lowercase().contains("access-control-allow") {
            return Err(format!("{line} is allowed to other origins: {}", response.head));
        }
    }
    Ok(())
}

fn other_origin(page: &Page) -> Result<(), Failure> {
    let (inspector, site) = (start()?, Site::start()?);
    page.go(&format!("http://127.0.0.1:{}/", site.port))?;
    page.until("document.body?.innerText === 'Another site'")?;
    let (origin, token) = (json!(inspector.origin()), json!(format!("Bearer {}", inspector.token)));
    let before = inspector.messages()?.len();
    // Even one that has learned the token.
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
    let attempts = [
        format!("fetch({origin} + '/api/targets', {{ headers: {{ Authorization: {token} }} }})"),
        format!("fetch({origin} + '/config.json')"),
        format!("fetch({origin} + '/config.json', {{ mode: 'no-cors' }})"),
        format!("fetch({origin} + '/mcp/t1', {{ method: 'POST', body: {} }})", json!(call)),
        format!(
            "new Promise((done, fail) => {{ const one = document.createElement('script'); one.src = {origin} + '/config.json'; one.onload = done; one.onerror = fail; document.body.append(one); }})"
        ),
    ];
    for attempt in attempts {
        let outcome = page.eval(&format!("{attempt}.then(() => 'read', () => 'refused')"))?;
        if outcome != "refused" {
            return Err(format!("`{attempt}` is {outcome}"));
        }
    }
    // A form or a request that is not read is sent, but does nothing.
    page.eval(&format!(
        "fetch({origin} + '/mcp/t1', {{ method: 'POST', mode: 'no-cors', body: {} }}).catch(() => {{}})",
        json!(call)
    ))?;
    page.eval(&format!("fetch({origin} + '/api/targets', {{ method: 'POST', mode: 'no-cors', body: '{{\"target\":\"true\"}}' }}).catch(() => {{}})"))?;
    // It cannot be framed.
    page.eval(&format!(
        "new Promise((done) => {{ const one = document.createElement('iframe'); one.src = {origin} + '/'; one.onload = done; document.body.append(one); }})"
    ))?;
    let framed = page.record().contexts.iter().any(|context| context.origin == inspector.origin());
    let (after, targets) = (inspector.messages()?.len(), inspector.get("/api/targets")?.body);
    match () {
        () if framed => Err("the page can be framed".to_owned()),
        // The handshake may have ended meanwhile.
        () if after > before + 8 => Err(format!("there were {before} messages, and are {after}")),
        () if targets.matches("\"id\"").count() != 1 => Err(format!("a target was added: {targets}")),
        () => Ok(()),
    }
}

fn rebound(page: &Page) -> Result<(), Failure> {
    let inspector = start()?;
    page.go(&format!("http://{REBOUND}:{}/", inspector.port))?;
    page.until("document.body?.innerText.includes('loopback name')")?;
    let token = json!(format!("Bearer {}", inspector.token));
    for path in ["/", "/config.json", "/api/targets"] {
        let status = page
            .eval(&format!("fetch('{path}', {{ headers: {{ Authorization: {token} }} }}).then((one) => one.status)"))?;
        if status != 403 {
            return Err(format!("`{path}` has the status {status}"));
        }
    }
    Ok(())
}

fn no_token(page: &Page) -> Result<(), Failure> {
    let inspector = start()?;
    page.go(&format!("{}/", inspector.origin()))?;
    page.until("document.body?.innerText.includes('token is missing')")?;
    match page.eval("document.body.innerText.includes('Everything')")?.as_bool() {
        Some(false) => super::sound::check(&page.record(), &[&inspector]),
        _ => Err("the target is shown".to_owned()),
    }
}
