//! Scripted servers behind real sockets.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use couplet_client::Client;
use couplet_core::Error;
use couplet_http::client::{HttpClient, HyperClient};
use http::{Request, Response, Version};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, service::service_fn};
use hyper_util::{
    rt::{TokioExecutor, TokioIo},
    server::conn::auto::Builder,
};
use rustls::{
    ClientConfig, RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivatePkcs8KeyDer},
};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpListener,
};
use tokio_rustls::TlsAcceptor;

use crate::mock::Mock;

/// A server on the loopback.
#[derive(Clone)]
pub(crate) struct Wire {
    pub(crate) address: SocketAddr,
    connections: Arc<AtomicUsize>,
    versions: Arc<Mutex<Vec<Version>>>,
}

impl Wire {
    /// Serves what the script says.
    pub(crate) async fn plain(mock: &Mock) -> Self {
        Self::serve(mock, None).await
    }

    /// Serves it over TLS.
    pub(crate) async fn tls(mock: &Mock, config: ServerConfig) -> Self {
        Self::serve(mock, Some(TlsAcceptor::from(Arc::new(config)))).await
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// The version of HTTP that each request came with.
    pub(crate) fn versions(&self) -> Vec<Version> {
        self.versions.lock().unwrap().clone()
    }

    async fn serve(mock: &Mock, tls: Option<TlsAcceptor>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let wire = Self { address, connections: Arc::default(), versions: Arc::default() };
        let (mock, this) = (mock.clone(), wire.clone());
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                this.connections.fetch_add(1, Ordering::SeqCst);
                let (mock, this, tls) = (mock.clone(), this.clone(), tls.clone());
                tokio::spawn(async move {
                    match tls {
                        None => this.speak(mock, socket).await,
                        // A client that does not trust the certificate leaves here.
                        Some(tls) => {
                            if let Ok(socket) = tls.accept(socket).await {
                                this.speak(mock, socket).await;
                            }
                        }
                    }
                });
            }
        });
        wire
    }

    async fn speak(self, mock: Mock, socket: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let service = service_fn(move |request: Request<Incoming>| {
            self.versions.lock().unwrap().push(request.version());
            let mock = mock.clone();
            async move { Ok::<_, Infallible>(answer(&mock, request).await) }
        });
        let _ = Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(socket), service).await;
    }
}

async fn answer(mock: &Mock, request: Request<Incoming>) -> Response<Full<Bytes>> {
    let (head, body) = request.into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let (head, body) = mock.send(Request::from_parts(head, body)).await.unwrap().into_parts();
    Response::from_parts(head, Full::new(body.read(1 << 20).await.unwrap()))
}

/// A certificate for these names that nobody has signed: what a server shows, and what trusts it.
pub(crate) fn certificate(names: &[&str], alpn: &[&str]) -> (ServerConfig, ClientConfig) {
    let names: Vec<_> = names.iter().map(ToString::to_string).collect();
    let made = rcgen::generate_simple_self_signed(names).unwrap();
    let certificate: CertificateDer<'static> = made.cert.der().clone();
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let provider = Arc::new(ring::default_provider());
    let mut server = ServerConfig::builder_with_provider(provider.clone())
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key.into())
        .unwrap();
    server.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
    let mut roots = RootCertStore::empty();
    roots.add(certificate).unwrap();
    let client = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    (server, client)
}

/// Connects with this sender.
pub(crate) async fn connect(url: impl Into<String>, sender: HyperClient) -> Result<Client, Error> {
    Client::new("test", "1").connect(couplet_http::connect(url).client(Arc::new(sender))).await
}
