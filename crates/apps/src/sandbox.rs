//! The frame between a host that is a web page and a view.
//!
//! Such a host shows a page of its own at *another origin*, the sandbox, which shows the view in a frame inside and hands
//! messages on. When the sandbox says that it is ready, the host sends it the view ([`resource_ready`]); from then on all
//! messages go through but those between the two ([`is_forwarded`]).

use serde_json::{Value, json};

use crate::meta::ViewMeta;

/// The `sandbox` attribute of the frame in which the sandbox itself is.
pub const FLAGS: &str = "allow-scripts allow-same-origin";

/// What methods between the host and the sandbox begin with.
const RESERVED: &str = "ui/notifications/sandbox-";

/// Whether the sandbox hands a message on, in either direction.
///
/// ```
/// use couplet_apps::sandbox::is_forwarded;
///
/// assert!(is_forwarded("ui/initialize") && is_forwarded("tools/call"));
/// assert!(!is_forwarded("ui/notifications/sandbox-proxy-ready"));
/// ```
pub fn is_forwarded(method: &str) -> bool {
    !method.starts_with(RESERVED)
}

/// Whether a message says that the sandbox is ready.
pub fn is_ready(message: &Value) -> bool {
    message["method"] == "ui/notifications/sandbox-proxy-ready"
}

/// The message with which the host hands a view to the sandbox: the page, and what it may do at most.
pub fn resource_ready(html: &str, meta: &ViewMeta) -> Value {
    let csp = meta.csp.clone().unwrap_or_default().cleaned();
    let mut params = json!({ "html": html, "csp": csp });
    if let Some(permissions) = &meta.permissions {
        params["permissions"] = json!(permissions);
    }
    json!({ "jsonrpc": "2.0", "method": "ui/notifications/sandbox-resource-ready", "params": params })
}

/// Whether the sandbox is at another origin than the host, which it must be: both are addresses of the web.
///
/// ```
/// use couplet_apps::sandbox::is_apart;
///
/// assert!(is_apart("https://host.example/app", "https://sandbox.example/proxy"));
/// assert!(!is_apart("https://host.example/app", "https://host.example:443/proxy"));
/// ```
pub fn is_apart(host: &str, sandbox: &str) -> bool {
    match (origin(host), origin(sandbox)) {
        (Some(host), Some(sandbox)) => host != sandbox,
        _ => false,
    }
}

/// Scheme, host and port of an address.
fn origin(url: &str) -> Option<(String, String, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    let default = match scheme.as_str() {
        "https" => 443,
        "http" => 80,
        _ => return None,
    };
    let place = rest.split(['/', '?', '#']).next().filter(|place| !place.is_empty() && !place.contains('@'))?;
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()?),
        _ => (place, default),
    };
    Some((scheme, host.to_ascii_lowercase(), port))
}
