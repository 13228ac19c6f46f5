//! Conversion of the argument of `connect` into a server to connect to.

use couplet_core::{Connect, Error};

/// A conversion into a server that a client can connect to: the argument of
/// [`ClientBuilder::connect`](crate::ClientBuilder::connect).
///
/// It is implemented for every [`Connect`], such as a command to run or a server in this process, and, with the feature
/// `http`, for URLs: `&str`, `String` and `http::Uri`. To connect to something else, implement [`Connect`]; this trait
/// is sealed.
///
/// `M` is a marker that keeps the implementations apart. The compiler infers it.
pub trait IntoTarget<M>: Send + sealed::Sealed<M> {
    /// The server to connect to.
    type Target: Connect;

    /// Converts the value.
    ///
    /// # Errors
    /// If it is a string that is not an `http://` or `https://` URL (kind
    /// [`ErrorKind::Config`](couplet_core::ErrorKind::Config)).
    fn into_target(self) -> Result<Self::Target, Error>;
}

/// The marker of types that implement [`Connect`].
#[derive(Debug)]
pub enum ByConnect {}

impl<T: Connect> IntoTarget<ByConnect> for T {
    type Target = T;

    fn into_target(self) -> Result<T, Error> {
        Ok(self)
    }
}

impl<T: Connect> sealed::Sealed<ByConnect> for T {}

mod sealed {
    pub trait Sealed<M> {}
}

#[cfg(feature = "http")]
mod url {
    use couplet_core::{Error, ErrorKind};
    use couplet_http::client::HttpTarget;

    use super::{IntoTarget, sealed::Sealed};

    /// The marker of URLs.
    #[derive(Debug)]
    pub enum ByUrl {}

    macro_rules! urls {
        ($($type:ty: $url:ident => $text:expr;)*) => {$(
            impl IntoTarget<ByUrl> for $type {
                type Target = HttpTarget;

                fn into_target(self) -> Result<HttpTarget, Error> {
                    let $url = self;
                    target($text)
                }
            }

            impl Sealed<ByUrl> for $type {}
        )*};
    }

    urls! {
        &str: url => url.to_owned();
        &String: url => url.clone();
        String: url => url;
        &http::Uri: url => url.to_string();
        http::Uri: url => url.to_string();
    }

    /// The rest of the URL is checked by the target. Neither shows it: there may be a password in it.
    fn target(url: String) -> Result<HttpTarget, Error> {
        let scheme = url.split_once("://").map(|(scheme, _)| scheme);
        let what = match scheme {
            Some(scheme) if ["http", "https"].iter().any(|known| scheme.eq_ignore_ascii_case(known)) => {
                return Ok(couplet_http::connect(url));
            }
            Some(scheme) if scheme.chars().all(|c| c.is_ascii_alphanumeric()) => format!("the scheme `{scheme}`"),
            _ => "a string that is not a URL".to_owned(),
        };
        let advice = "expected `http://` or `https://`; for a stdio server use `Command::new(...)`";
        Err(Error::new(ErrorKind::Config, format!("cannot connect to {what}: {advice}")))
    }
}
