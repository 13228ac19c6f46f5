//! The challenge in the response of a server that rejects a request.

use couplet_http::client::challenges;
use http::{HeaderMap, header::WWW_AUTHENTICATE};

/// The `WWW-Authenticate` headers of a response, as far as they concern tokens.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Challenge {
    /// Whether all challenges use other schemes than tokens, such as `Basic`.
    pub(crate) foreign: bool,
    /// Whether the server accepts or requires DPoP-bound tokens.
    pub(crate) dpop: bool,
    pub(crate) resource_metadata: Option<String>,
    pub(crate) scope: Vec<String>,
    pub(crate) error: Option<String>,
}

impl Challenge {
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let mut found = Self::default();
        let (mut schemes, mut ours) = (0, 0);
        for header in headers.get_all(WWW_AUTHENTICATE).iter().filter_map(|h| h.to_str().ok()) {
            for (scheme, params) in challenges(header) {
                schemes += 1;
                let dpop = scheme.eq_ignore_ascii_case("DPoP");
                if !dpop && !scheme.eq_ignore_ascii_case("Bearer") {
                    continue;
                }
                ours += 1;
                found.dpop |= dpop;
                for (name, value) in params {
                    found.take(&name, value);
                }
            }
        }
        found.foreign = schemes > 0 && ours == 0;
        found
    }

    /// The first value of each parameter counts.
    fn take(&mut self, name: &str, value: String) {
        let place = match name {
            "resource_metadata" => &mut self.resource_metadata,
            "error" => &mut self.error,
            "scope" if self.scope.is_empty() => {
                self.scope = scopes(&value);
                return;
            }
            _ => return,
        };
        place.get_or_insert(value);
    }

    pub(crate) fn wants_more_scope(&self) -> bool {
        self.error.as_deref() == Some("insufficient_scope")
    }

    pub(crate) fn wants_nonce(&self) -> bool {
        self.error.as_deref() == Some("use_dpop_nonce")
    }
}

/// Parses a scope list; invalid scopes are skipped.
pub(crate) fn scopes(list: &str) -> Vec<String> {
    let possible = |scope: &&str| scope.bytes().all(|b| matches!(b, b'!' | b'#'..=b'[' | b']'..=b'~'));
    let mut all = Vec::new();
    for scope in list.split(' ').filter(|s| !s.is_empty()).filter(possible).take(100) {
        add(&mut all, scope);
    }
    all
}

/// Adds a scope to a list, unless it is present.
pub(crate) fn add(all: &mut Vec<String>, scope: &str) {
    if !all.iter().any(|s| s == scope) {
        all.push(scope.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_are_read() {
        let (url, x) = (Some("https://a/x".to_owned()), |s: &str| Some(s.to_owned()));
        let plain = Challenge::default;
        for (headers, expected) in [
            (vec![], plain()),
            (vec!["Basic realm=\"a\""], Challenge { foreign: true, ..plain() }),
            (vec!["Bearer"], plain()),
            (vec!["bearer resource_metadata=\"https://a/x\""], Challenge { resource_metadata: url.clone(), ..plain() }),
            (
                vec!["Basic abc==, Bearer scope=\"a b a \\\"\", error = insufficient_scope , DPoP algs=\"ES256\""],
                Challenge {
                    dpop: true,
                    scope: vec!["a".into(), "b".into()],
                    error: x("insufficient_scope"),
                    ..plain()
                },
            ),
            (
                vec!["DPoP error=\"use_dpop_nonce\"", "Bearer error=\"x\", resource_metadata=\"https://a/x\""],
                Challenge { dpop: true, error: x("use_dpop_nonce"), resource_metadata: url, ..plain() },
            ),
            (
                vec!["Bearer error=\"a, scope=\\\"b\\\"\", ???, scope=c"],
                Challenge { error: x("a, scope=\"b\""), scope: vec!["c".into()], ..plain() },
            ),
            (vec!["Bearer scope=\"unfinished"], Challenge { scope: vec!["unfinished".into()], ..plain() }),
        ] {
            let mut map = HeaderMap::new();
            for header in &headers {
                map.append(WWW_AUTHENTICATE, header.parse().expect("a header"));
            }
            assert_eq!(Challenge::read(&map), expected, "{headers:?}");
        }
    }
}
