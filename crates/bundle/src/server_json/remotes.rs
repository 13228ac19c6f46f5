//! Checks of remote servers.

use super::packages::{input, templates};
use crate::rules::{Found, Need, Object};

pub(super) fn check(root: &Object<'_>, found: &mut Found) {
    for remote in root.objects("remotes", found) {
        remote.only(&["type", "url", "headers", "variables"], found);
        let need = Need::Required("write `streamable-http`");
        remote.one_of("type", &["streamable-http", "sse"], need, found);
        let mut names = Vec::new();
        if let Some(variables) = remote.object("variables", Need::Optional, found) {
            for name in variables.map.keys() {
                names.push(name.as_str());
                if let Some(variable) = variables.object(name, Need::Optional, found) {
                    input(&variable, found);
                }
            }
        }
        if let Some(url) = remote.text("url", Need::Required("write where the server is"), found) {
            let at = remote.path("url");
            templates(&at, url, &names, found);
            address(&at, url, found);
        }
        headers(&remote, found);
    }
}

fn address(at: &str, url: &str, found: &mut Found) {
    let Some(rest) = url.strip_prefix("https://") else {
        return found.error(at, format!("is `{url}`, which is not `https`"), "write it with `https://`");
    };
    let host = rest.split(['/', ':', '?']).next().unwrap_or_default();
    if host == "localhost" || host == "127.0.0.1" || host.ends_with(".localhost") || host.is_empty() {
        found.error(at, "is a local address", "write a public address, or publish a package");
    }
}

pub(super) fn headers(object: &Object<'_>, found: &mut Found) {
    for header in object.objects("headers", found) {
        header.text("name", Need::Required("name the header"), found);
        input(&header, found);
    }
}
