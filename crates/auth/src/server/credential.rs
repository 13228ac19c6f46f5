//! The credential in a request's headers.

use http::{HeaderMap, header};

use super::refusal::Refusal;

/// A token with its scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credential<'h> {
    pub(crate) token: &'h str,
    /// Whether it is sent with a DPoP proof.
    pub(crate) with_proof: bool,
}

/// The maximum length of a token.
const LONGEST: usize = 16 << 10;

impl<'h> Credential<'h> {
    /// Parses the `Authorization` header. Tokens in the URL or in the body are ignored.
    pub(crate) fn of(headers: &'h HeaderMap) -> Result<Self, Refusal> {
        let mut all = headers.get_all(header::AUTHORIZATION).iter();
        let (Some(value), more) = (all.next(), all.next()) else { return Err(Refusal::Missing) };
        if more.is_some() {
            return Err(Refusal::Malformed("the request has more than one `authorization` header"));
        }
        let Some((scheme, token)) = value.to_str().ok().and_then(|value| value.split_once(' ')) else {
            return Err(Refusal::Missing);
        };
        let with_proof = match scheme {
            scheme if scheme.eq_ignore_ascii_case("bearer") => false,
            scheme if scheme.eq_ignore_ascii_case("dpop") => true,
            _ => return Err(Refusal::Missing),
        };
        let token = token.trim_matches(' ');
        if !is_token(token) {
            return Err(Refusal::Malformed("the token is malformed"));
        }
        Ok(Self { token, with_proof })
    }
}

/// Whether a string has the characters of a token.
pub(crate) fn is_token(text: &str) -> bool {
    let allowed = |c: u8| c.is_ascii_alphanumeric() || b"-._~+/=".contains(&c);
    (1..=LONGEST).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn headers() {
        let long = format!("Bearer {}", "a".repeat(LONGEST + 1));
        let good = |token, with_proof| Ok(Credential { token, with_proof });
        let malformed = |why| Err(Refusal::Malformed(why));
        for (values, want) in [
            (&[][..], Err(Refusal::Missing)),
            (&["Bearer abc"], good("abc", false)),
            (&["bearer  a.b-c_d~e+f/g= "], good("a.b-c_d~e+f/g=", false)),
            (&["DPoP abc"], good("abc", true)),
            (&["Basic abc"], Err(Refusal::Missing)),
            (&["abc"], Err(Refusal::Missing)),
            (&["Bearer "], malformed("the token is malformed")),
            (&["Bearer a b"], malformed("the token is malformed")),
            (&["Bearer a,b"], malformed("the token is malformed")),
            (&["Bearer \"a\""], malformed("the token is malformed")),
            (&[&*long], malformed("the token is malformed")),
            (&["Bearer a", "Bearer b"], malformed("the request has more than one `authorization` header")),
            (&["Basic a", "Bearer b"], malformed("the request has more than one `authorization` header")),
        ] {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, HeaderValue::from_str(value).expect("a header"));
            }
            assert_eq!(Credential::of(&headers), want, "{values:?}");
        }
    }
}
