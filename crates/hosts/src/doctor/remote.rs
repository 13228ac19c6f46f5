//! Checks of a URL and its headers.

use super::Look;
use crate::{Remote, Transport};

pub(super) fn check(look: &mut Look<'_>, remote: &Remote) {
    if let Some(url) = remote.url.plain() {
        address(look, url, remote.transport);
    }
    for (name, value) in &remote.headers {
        let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        if name.is_empty() || !name.chars().all(is_token) {
            look.error("header-name", format!("`{name}` cannot be the name of a header"), "correct the name");
        }
        let Some(value) = value.plain() else { continue };
        if value.contains(['\r', '\n']) {
            look.error("header-value", format!("the header `{name}` contains a line break"), "remove the line break");
        }
        if name.eq_ignore_ascii_case("authorization") && !value.trim().contains(' ') {
            let what = "the header `Authorization` has no authentication scheme";
            look.warning("no-scheme", what, "write `Bearer ` before the key");
        }
    }
}

fn address(look: &mut Look<'_>, url: &str, transport: Transport) {
    if url.trim() != url || url.contains(char::is_whitespace) {
        return look.error("url-space", format!("the URL `{url}` contains white space"), "remove it");
    }
    let Some((scheme, rest)) = url.split_once("://") else {
        return look.error("url-scheme", format!("`{url}` is not an absolute URL"), format!("write `https://{url}`"));
    };
    if !["http", "https"].contains(&scheme.to_lowercase().as_str()) {
        let fix = "write a URL that begins with `https://`";
        return look.error("url-scheme", format!("`{scheme}` is not a supported URL scheme"), fix);
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(v6) => v6.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    if host.is_empty() {
        return look.error("url-host", format!("`{url}` has no host name"), "write the host name of the server");
    }
    if authority.contains('@') {
        let what = "the URL contains a user name or a password, which end up in logs";
        look.warning("url-password", what, "send it in the header `Authorization`");
    }
    let is_here = ["localhost", "127.0.0.1", "::1", "0.0.0.0"].contains(&host) || host.ends_with(".localhost");
    if scheme.eq_ignore_ascii_case("http") && !is_here {
        let what = format!("the connection to `{host}` is not encrypted");
        look.warning("not-https", what, format!("write `https://{rest}`, if the server supports it"));
    }
    if host == "0.0.0.0" {
        let what = "`0.0.0.0` is an address to listen on, not to connect to";
        look.warning("url-any", what, format!("write `{}`", url.replacen("0.0.0.0", "127.0.0.1", 1)));
    }
    let path = rest.split(['?', '#']).next().unwrap_or_default().trim_end_matches('/');
    if transport == Transport::Http && path.ends_with("/sse") {
        let what = format!("`{url}` looks like the old transport HTTP+SSE, but is configured as Streamable HTTP");
        look.note("looks-like-sse", what, "if it does not connect, try the type `sse`");
    }
}
