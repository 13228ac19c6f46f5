//! Sending requests with reqwest.

use bytes::Bytes;
use couplet_core::{BoxFuture, Error, ErrorKind};
use http::{Request, Response};

use super::{
    fetch::{Body, HttpClient},
    hyper::{Pieces, root},
};

/// An HTTP client on reqwest, with the TLS, proxy and DNS settings of the program.
///
/// ```no_run
/// # async fn example() -> Result<(), couplet_core::Error> {
/// use std::sync::Arc;
///
/// use couplet_client::Client;
/// use couplet_http::{client::ReqwestClient, connect};
///
/// let sender = ReqwestClient::new(reqwest::Client::builder().no_proxy())?;
/// let client = Client::new("demo", "1.0.0").connect(connect("http://localhost:3000/mcp").client(Arc::new(sender))).await?;
/// # drop(client);
/// # Ok(())
/// # }
/// ```
///
/// Leave out reqwest's timeouts for whole requests: streams would end with them. A timeout for connecting, and one
/// between two reads that is longer than the server's keep-alive, do no harm. The settings of
/// [`HyperClientBuilder`](super::HyperClientBuilder) have no effect on it, and
/// [`ConnectFailure`](super::ConnectFailure) knows fewer reasons.
#[derive(Clone, Debug)]
pub struct ReqwestClient(reqwest::Client);

impl ReqwestClient {
    /// Creates a client. It takes a builder, because redirects must be turned off: reqwest would send sessions and
    /// private headers to every server that a redirect leads to. Redirects are followed all the same, without them.
    ///
    /// # Errors
    /// When TLS or the resolver cannot be set up.
    pub fn new(builder: reqwest::ClientBuilder) -> Result<Self, Error> {
        let client = builder.redirect(reqwest::redirect::Policy::none()).build();
        client.map(Self).map_err(|e| Error::new(ErrorKind::Config, format!("no client: {}", root(&e))).with_source(e))
    }
}

impl HttpClient for ReqwestClient {
    fn send(&self, request: Request<Bytes>) -> BoxFuture<'static, Result<Response<Body>, Error>> {
        let host = request.uri().authority().map(ToString::to_string).unwrap_or_default();
        let client = self.0.clone();
        Box::pin(async move {
            // The address stays out of errors: its query may be a secret.
            let failed = |error: reqwest::Error| {
                let error = error.without_url();
                let what = if error.is_connect() { "cannot be reached" } else { "did not answer" };
                Error::new(ErrorKind::Transport, format!("`{host}` {what}: {}", root(&error))).with_source(error)
            };
            let request = request.try_into().map_err(failed)?;
            let response: Response<reqwest::Body> = client.execute(request).await.map_err(failed)?.into();
            Ok(response.map(|body| Body::new(Pieces(body))))
        })
    }
}
