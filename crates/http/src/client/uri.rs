//! Addresses: their origin, and references that are resolved against them.

use std::net::IpAddr;

use http::{Uri, uri::Scheme};

/// Whether two addresses have the same scheme, host and port.
pub(crate) fn same_origin(a: &Uri, b: &Uri) -> bool {
    let same_host = match (a.host(), b.host()) {
        (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
        (None, None) => true,
        _ => false,
    };
    a.scheme() == b.scheme() && same_host && port(a) == port(b)
}

/// Whether an address is on this machine.
pub(crate) fn is_loopback(uri: &Uri) -> bool {
    let host = host(uri);
    host.eq_ignore_ascii_case("localhost") || host.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// The host of an address, without the brackets that IPv6 has.
pub(crate) fn host(uri: &Uri) -> &str {
    uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
}

/// The port of an address, written or not.
pub(crate) fn port(uri: &Uri) -> Option<u16> {
    uri.port_u16().or(match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => Some(80),
        Some(scheme) if *scheme == Scheme::HTTPS => Some(443),
        _ => None,
    })
}

/// The address that a reference leads to from another one; `None` if it is not one of HTTP.
pub(crate) fn resolve(base: &Uri, reference: &str) -> Option<Uri> {
    let reference = reference.trim().split('#').next().unwrap_or_default();
    let (scheme, authority) = (base.scheme_str()?, base.authority()?);
    let path = base.path();
    let text = if has_scheme(reference) {
        reference.to_owned()
    } else if reference.starts_with("//") {
        format!("{scheme}:{reference}")
    } else if reference.is_empty() {
        return Some(base.clone());
    } else if reference.starts_with('/') {
        format!("{scheme}://{authority}{}", without_dots(reference))
    } else if reference.starts_with('?') {
        format!("{scheme}://{authority}{path}{reference}")
    } else {
        let folder = &path[..path.rfind('/').map_or(0, |at| at + 1)];
        format!("{scheme}://{authority}{}", without_dots(&format!("{folder}{reference}")))
    };
    parse(&text)
}

/// Parses an address of HTTP. One with a password in it is refused: it would end up in logs.
pub(crate) fn parse(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok()?;
    let known = matches!(uri.scheme_str(), Some("http" | "https"));
    (known && uri.host().is_some_and(|h| !h.is_empty()) && !uri.authority()?.as_str().contains('@')).then_some(uri)
}

fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

/// A path whose `.` and `..` were taken.
fn without_dots(path: &str) -> String {
    let (path, query) = path.split_at(path.find('?').unwrap_or(path.len()));
    let mut kept: Vec<&str> = Vec::new();
    let mut segments = path.trim_start_matches('/').split('/').peekable();
    while let Some(segment) = segments.next() {
        let last = segments.peek().is_none();
        match segment {
            "." => {}
            ".." => {
                kept.pop();
            }
            _ => {
                kept.push(segment);
                continue;
            }
        }
        if last {
            kept.push("");
        }
    }
    format!("/{}{query}", kept.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_lead_somewhere() {
        let base: Uri = "https://a.example:8443/x/y?q=1".parse().expect("an address");
        for (reference, expected) in [
            ("/messages?id=1", Some("https://a.example:8443/messages?id=1")),
            ("messages", Some("https://a.example:8443/x/messages")),
            ("../z/./w", Some("https://a.example:8443/z/w")),
            ("/a/../../b/", Some("https://a.example:8443/b/")),
            ("..", Some("https://a.example:8443/")),
            ("?s=2", Some("https://a.example:8443/x/y?s=2")),
            ("", Some("https://a.example:8443/x/y?q=1")),
            ("#part", Some("https://a.example:8443/x/y?q=1")),
            ("//b.example/c", Some("https://b.example/c")),
            ("http://b.example/c#d", Some("http://b.example/c")),
            ("x?u=http://c", Some("https://a.example:8443/x/x?u=http://c")),
            ("ftp://b.example/", None),
            ("javascript:alert(1)", None),
            ("https://user:pass@b.example/", None),
            ("https:///nohost", None),
        ] {
            let found = resolve(&base, reference).map(|u| u.to_string());
            assert_eq!(found.as_deref(), expected, "{reference}");
        }
    }

    #[test]
    fn origins_are_compared_with_their_ports() {
        for (a, b, same) in [
            ("http://a/x", "http://A:80/y", true),
            ("https://a/", "https://a:443/", true),
            ("http://a/", "https://a/", false),
            ("http://a:8080/", "http://a/", false),
            ("http://a/", "http://a.b/", false),
        ] {
            assert_eq!(same_origin(&parse(a).expect(a), &parse(b).expect(b)), same, "{a} {b}");
        }
    }
}
