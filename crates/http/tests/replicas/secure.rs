//! Replicas that reach each other over TLS.

use std::{net::SocketAddr, sync::Arc};

use couplet_http::server::Replica;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig,
    crypto::ring,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;

use crate::{
    member::{KEY, Member, store},
    store::TestStore,
    support::{POLLING, Session},
};

/// A private authority: its certificate, and TLS for `localhost`.
fn authority() -> (String, TlsAcceptor) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name.push(DnType::CommonName, "Authority of replicas");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let pem = params.self_signed(&key).unwrap().pem();
    let issuer = Issuer::new(params, key);
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(vec!["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let config = config.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    (pem, TlsAcceptor::from(Arc::new(config.with_single_cert(vec![certificate.into()], key).unwrap())))
}

/// Terminates TLS, as a proxy in front of a replica does.
async fn terminate(listener: TcpListener, tls: TlsAcceptor, plain: SocketAddr) {
    loop {
        let (stream, _) = listener.accept().await.unwrap();
        let tls = tls.clone();
        tokio::spawn(async move {
            let Ok(mut near) = tls.accept(stream).await else { return };
            let mut far = TcpStream::connect(plain).await.unwrap();
            let _ = tokio::io::copy_bidirectional(&mut near, &mut far).await;
        });
    }
}

/// A replica behind TLS that trusts an authority, or none but the usual ones.
async fn secured(store: &Arc<TestStore>, tls: &TlsAcceptor, trusted: Option<&str>) -> Member {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let own = format!("https://localhost:{}/mcp", listener.local_addr().unwrap().port());
    let (listening, tls) = (listener, tls.clone());
    Member::with(store, move |endpoint, plain| {
        let plain = plain.trim_start_matches("http://").trim_end_matches("/mcp").parse().unwrap();
        tokio::spawn(terminate(listening, tls, plain));
        let replica = Replica::new(own, KEY).unwrap();
        endpoint.replica(match trusted {
            Some(pem) => replica.add_root_certificates_pem(pem.as_bytes()).unwrap(),
            None => replica,
        })
    })
    .await
}

#[tokio::test]
async fn requests_are_forwarded_over_tls_to_a_trusted_replica() {
    let (store, (pem, tls)) = (store(), authority());
    let one = secured(&store, &tls, Some(&pem)).await;
    let (two, stranger) = (secured(&store, &tls, Some(&pem)).await, secured(&store, &tls, None).await);
    let session = Session::open(&one.endpoint, POLLING).await;
    assert_eq!(session.at(&two.endpoint).tool(1, "hello").await.status, 200);
    assert_eq!(one.wire.count(), 1);
    let refused = session.at(&stranger.endpoint).tool(2, "hello").await;
    assert_eq!((refused.status.as_u16(), refused.header("retry-after")), (503, Some("1")));
    assert_eq!(one.wire.count(), 1, "nothing was sent to a server that is not trusted");
    // While the URLs are being changed, there are both kinds.
    let plain = Member::new(&store).await;
    assert_eq!(session.at(&two.endpoint).tool(3, "hello").await.status, 200);
    let other = Session::open(&plain.endpoint, POLLING).await;
    assert_eq!(other.at(&two.endpoint).tool(1, "hello").await.status, 200);
}

#[test]
fn a_text_without_certificates_is_refused() {
    let error = Replica::new("https://a/mcp", KEY).unwrap().add_root_certificates_pem(b"none").unwrap_err();
    assert!(error.to_string().contains("-----BEGIN CERTIFICATE-----"), "{error}");
}
