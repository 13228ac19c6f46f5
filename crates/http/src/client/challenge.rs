//! Authentication challenges: the response to a client that is not authorized.

use std::{fmt, time::Duration};

use couplet_core::{
    Bounds, Error, ErrorKind,
    message::{self, Frame, Message},
};
use http::{Response, header::WWW_AUTHENTICATE};
use tokio::time::timeout;

use super::{fetch::Body, read::Content};

/// An authentication challenge of a server (401 or 403): the source of an error of kind [`ErrorKind::Auth`].
///
/// Scopes, code and message are those of the first challenge with the scheme `Bearer` or `DPoP`. All texts come from
/// the server: they are limited to 300 characters, without control characters, and must not be trusted otherwise.
///
/// ```
/// use couplet_core::Error;
/// use couplet_http::client::Challenge;
///
/// fn hint(error: &Error) -> Option<&'static str> {
///     Challenge::of(error).filter(|challenge| challenge.wants_login()).map(|_| "log in")
/// }
/// # let _ = hint;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Challenge {
    /// The status: 401 or 403.
    pub status: u16,
    /// The `WWW-Authenticate` headers.
    pub www_authenticate: Vec<String>,
    /// The scopes that a token must have.
    pub scopes: Vec<String>,
    /// The error code of the challenge, such as `insufficient_scope` or `invalid_token`.
    pub error: Option<String>,
    /// The server's explanation: `error_description`, or else the text of the response.
    pub message: Option<String>,
}

impl Challenge {
    /// The size of a response that is read, and the timeout for it.
    const LIMIT: usize = 64 << 10;
    const READ_TIMEOUT: Duration = Duration::from_secs(5);

    /// Returns the challenge that an error was caused by.
    pub fn of(error: &Error) -> Option<&Self> {
        std::error::Error::source(error)?.downcast_ref()
    }

    /// Returns whether a login, or one with more scopes, can help: the server asks for a token. A 403 without such a
    /// challenge has another reason, such as a host name that is not served.
    pub fn wants_login(&self) -> bool {
        let schemes = || self.www_authenticate.iter().flat_map(|header| challenges(header));
        self.status == 401 || schemes().any(|(scheme, _)| is_token_scheme(scheme))
    }

    pub(crate) async fn read(response: Response<Body>) -> Self {
        let asked = response.headers().get_all(WWW_AUTHENTICATE).iter();
        let www_authenticate: Vec<String> = asked.filter_map(|v| v.to_str().ok().map(str::to_owned)).collect();
        let mut challenge = Self { status: response.status().as_u16(), ..Self::default() };
        for (scheme, params) in www_authenticate.iter().flat_map(|header| challenges(header)) {
            for (name, value) in params.into_iter().filter(|_| is_token_scheme(scheme)) {
                challenge.take(&name, &value);
            }
        }
        challenge.www_authenticate = www_authenticate;
        if challenge.message.is_none() {
            challenge.message = timeout(Self::READ_TIMEOUT, said(response)).await.ok().flatten();
        }
        challenge
    }

    /// The first of each counts.
    fn take(&mut self, name: &str, value: &str) {
        match name {
            "scope" if self.scopes.is_empty() => {
                self.scopes = value.split(' ').map(shown).filter(|s| !s.is_empty()).take(100).collect();
            }
            "error" if self.error.is_none() => self.error = Some(shown(value)),
            "error_description" if self.message.is_none() => self.message = Some(shown(value)),
            _ => {}
        }
    }
}

/// The explanation in the body of a response, if it is a message or a plain text.
async fn said(response: Response<Body>) -> Option<String> {
    let content = Content::of(&response);
    if content != Content::Json && content != Content::Other("text/plain".to_owned()) {
        return None;
    }
    let body = response.into_body().read(Challenge::LIMIT).await.ok()?;
    let text = match message::read(body.clone(), Bounds::default()) {
        Ok(Frame::Single(Message { body: message::Body::Response { outcome: Err(error), .. }, .. })) => error.message,
        _ if content == Content::Json => return None,
        _ => String::from_utf8_lossy(&body).lines().next().unwrap_or_default().to_owned(),
    };
    Some(shown(&text)).filter(|text| !text.is_empty())
}

/// A server's explanation, truncated and escaped for display.
fn shown(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(300).collect()
}

fn is_token_scheme(scheme: &str) -> bool {
    ["Bearer", "DPoP"].iter().any(|known| scheme.eq_ignore_ascii_case(known))
}

impl From<Challenge> for Error {
    fn from(challenge: Challenge) -> Self {
        Self::new(ErrorKind::Auth, challenge.to_string()).with_source(challenge)
    }
}

impl fmt::Display for Challenge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            401 => f.write_str("the server wants to know who asks (401)")?,
            status => write!(f, "the server does not allow it ({status})")?,
        }
        let message = self.message.as_deref().unwrap_or_default();
        if !message.is_empty() {
            write!(f, ": {message}")?;
        }
        if self.scopes.is_empty() || self.scopes.iter().all(|scope| message.contains(scope.as_str())) {
            return Ok(());
        }
        write!(f, "; the token needs the scopes `{}`", self.scopes.join(" "))
    }
}

impl std::error::Error for Challenge {}

/// The parameters of a challenge, by name.
type Params = Vec<(String, String)>;

/// Parses a `WWW-Authenticate` header: the schemes, each with its parameters, whose names are in lower case. Parts that
/// cannot be parsed are left out.
///
/// ```
/// use couplet_http::client::challenges;
///
/// let found = challenges("Basic realm=\"a\", Bearer scope=\"files:read\"");
/// assert_eq!(found[1], ("Bearer", vec![("scope".to_owned(), "files:read".to_owned())]));
/// ```
pub fn challenges(header: &str) -> Vec<(&str, Params)> {
    let mut all: Vec<(&str, Params)> = Vec::new();
    let mut rest = header;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ',']);
        let (token, after) = rest.split_at(rest.find(|c: char| !is_token(c)).unwrap_or(rest.len()));
        if token.is_empty() {
            // What belongs to no parameter, up to the next comma.
            let Some(comma) = rest.find(',') else { return all };
            rest = &rest[comma..];
            continue;
        }
        let assigned = after.trim_start().strip_prefix('=').filter(|v| !v.starts_with('='));
        match (assigned, all.last_mut()) {
            (Some(value), Some((_, params))) => {
                let (value, after) = value_of(value.trim_start());
                params.push((token.to_ascii_lowercase(), value));
                rest = after;
            }
            _ => {
                all.push((token, Params::new()));
                rest = after;
            }
        }
    }
}

fn is_token(c: char) -> bool {
    c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)
}

/// A value, in quotes or not, and the rest after it.
fn value_of(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let (value, rest) = text.split_at(text.find([',', ' ', '\t']).unwrap_or(text.len()));
        return (value.to_owned(), rest);
    };
    let (mut value, mut escaped) = (String::new(), false);
    for (at, c) in quoted.char_indices() {
        match c {
            '\\' if !escaped => escaped = true,
            '"' if !escaped => return (value, &quoted[at + 1..]),
            _ => {
                escaped = false;
                value.push(c);
            }
        }
    }
    (value, "")
}
