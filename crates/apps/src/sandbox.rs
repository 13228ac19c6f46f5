//! The sandbox proxy: the frame between a web-based host and a view.
//!
//! A host that is a web page embeds a proxy page from *another origin*, the sandbox. The proxy embeds the view in an
//! inner frame and forwards messages. When the proxy reports that it is ready ([`is_ready`]), the host sends it the
//! view ([`resource_ready`]); from then on the proxy forwards every message except those between host and proxy
//! ([`is_forwarded`]).

use serde_json::{Value, json};

use crate::meta::ViewMeta;

/// The `sandbox` attribute of the proxy's frame.
pub const FLAGS: &str = "allow-scripts allow-same-origin";

/// The prefix of methods between host and proxy.
const RESERVED: &str = "ui/notifications/sandbox-";

/// Returns whether the proxy forwards messages with this method, in either direction.
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

/// Returns whether a message is the proxy's ready notification.
pub fn is_ready(message: &Value) -> bool {
    message["method"] == "ui/notifications/sandbox-proxy-ready"
}

/// Creates the notification that hands a view to the proxy: the HTML document, its origins and its permissions.
pub fn resource_ready(html: &str, meta: &ViewMeta) -> Value {
    let csp = meta.csp.clone().unwrap_or_default().sanitized();
    let mut params = json!({ "html": html, "csp": csp });
    if let Some(permissions) = &meta.permissions {
        params["permissions"] = json!(permissions);
    }
    json!({ "jsonrpc": "2.0", "method": "ui/notifications/sandbox-resource-ready", "params": params })
}

/// Returns whether the proxy's URL has another origin than the host's, as it must. `false` if one of them is not an
/// `http` or `https` URL.
///
/// ```
/// use couplet_apps::sandbox::is_cross_origin;
///
/// assert!(is_cross_origin("https://host.example/app", "https://sandbox.example/proxy"));
/// assert!(!is_cross_origin("https://host.example/app", "https://host.example:443/proxy"));
/// ```
pub fn is_cross_origin(host: &str, sandbox: &str) -> bool {
    match (origin(host), origin(sandbox)) {
        (Some(host), Some(sandbox)) => host != sandbox,
        _ => false,
    }
}

/// Scheme, host and port of a URL.
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
