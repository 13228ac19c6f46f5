//! Well-known metadata URLs.

use http::Uri;

/// The origin of a server, as written.
pub(crate) fn origin(server: &Uri) -> String {
    let (scheme, authority) = (server.scheme_str().unwrap_or_default(), server.authority());
    format!("{scheme}://{}", authority.map(|a| a.as_str()).unwrap_or_default())
}

/// The metadata URLs of an authorization server, in order of preference.
pub(crate) fn server_places(issuer: &Uri) -> Vec<String> {
    let origin = origin(issuer);
    let (oauth, openid) = ("/.well-known/oauth-authorization-server", "/.well-known/openid-configuration");
    match issuer.path().trim_end_matches('/') {
        "" => vec![format!("{origin}{oauth}"), format!("{origin}{openid}")],
        path => {
            vec![format!("{origin}{oauth}{path}"), format!("{origin}{openid}{path}"), format!("{origin}{path}{openid}")]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_keep_their_order() {
        let places = |issuer: &str| server_places(&issuer.parse().expect("an address"));
        assert_eq!(
            places("https://a/t/"),
            [
                "https://a/.well-known/oauth-authorization-server/t",
                "https://a/.well-known/openid-configuration/t",
                "https://a/t/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            places("https://a"),
            ["https://a/.well-known/oauth-authorization-server", "https://a/.well-known/openid-configuration",]
        );
    }
}
