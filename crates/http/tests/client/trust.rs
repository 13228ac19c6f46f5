//! Which certificates are trusted, which one the client presents, and what is said when that fails.

use std::{
    process::Command,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use couplet_core::ErrorKind;
use couplet_http::client::{ConnectFailure, HyperClient, HyperClientBuilder};
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    RootCertStore, ServerConfig,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    server::WebPkiClientVerifier,
};

use crate::{
    mock::{Mock, reply, says},
    wire::{Wire, connect},
};

/// An authority that is not trusted, and what it has signed.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        Self::named(&format!("Authority {}", COUNT.fetch_add(1, Ordering::SeqCst)))
    }

    fn named(name: &str) -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self { pem, issuer: Issuer::new(params, key) }
    }

    /// A certificate and its key, as PEM.
    fn sign(&self, name: &str) -> (String, String) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap().pem(), key.serialize_pem())
    }

    /// A server for a name; with `clients`, it asks for certificates that those have signed.
    fn server(&self, name: &str, clients: Option<&Self>) -> ServerConfig {
        let (certificate, key) = self.sign(name);
        let provider = Arc::new(ring::default_provider());
        let versions = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let guarded = match clients {
            None => versions.unwrap().with_no_client_auth(),
            Some(clients) => {
                let mut roots = RootCertStore::empty();
                roots.add(CertificateDer::from_pem_slice(clients.pem.as_bytes()).unwrap()).unwrap();
                let verifier = WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
                versions.unwrap().with_client_cert_verifier(verifier)
            }
        };
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        guarded.with_single_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap()
    }
}

fn mock() -> Mock {
    Mock::modern(|seen| reply(200, &seen.result(says("done"))))
}

/// Connects to `localhost` at a server, and returns why that fails.
async fn check(server: ServerConfig, settings: HyperClientBuilder) -> Result<(), (ConnectFailure, String)> {
    let mock = mock();
    let wire = Wire::tls(&mock, server).await;
    let sender = settings.direct().build().unwrap();
    match connect(format!("https://localhost:{}/mcp", wire.address.port()), sender).await {
        Ok(client) => {
            assert_eq!(client.call("x", ()).await.unwrap().text(), "done");
            Ok(())
        }
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
            Err((ConnectFailure::of(&error).unwrap_or_else(|| panic!("{error:?}")), error.to_string()))
        }
    }
}

#[tokio::test]
async fn a_private_authority_is_trusted_when_its_certificate_is_added() {
    let ours = Authority::named("ours");
    let trusting = HyperClient::builder().add_root_certificates_pem(ours.pem.as_bytes());
    check(ours.server("localhost", None), trusting.clone()).await.unwrap();

    // One that was made anew has the same name and another key.
    for other in [Authority::new(), Authority::named("ours")] {
        let (failure, text) = check(other.server("localhost", None), trusting.clone()).await.unwrap_err();
        assert_eq!(failure, ConnectFailure::UnknownAuthority);
        assert!(text.contains("add the certificate of the authority"), "{text}");
        assert!(!text.contains("::") && !text.contains("Builder"), "no names of the API: {text}");
    }

    let (failure, _) = check(ours.server("other.example", None), trusting).await.unwrap_err();
    assert_eq!(failure, ConnectFailure::WrongName);
}

#[tokio::test]
async fn any_certificate_is_accepted_only_where_that_is_said() {
    let settings = HyperClient::builder().danger_accept_invalid_certificates();
    check(Authority::new().server("other.example", None), settings).await.unwrap();
}

#[tokio::test]
async fn a_certificate_of_the_client_opens_a_server_that_asks_for_one() {
    let (servers, people) = (Authority::new(), Authority::new());
    let trusting = HyperClient::builder().add_root_certificates_pem(servers.pem.as_bytes());
    let (certificate, key) = people.sign("me");
    let known = trusting.clone().client_certificate_pem(certificate.as_bytes(), key.as_bytes());
    check(servers.server("localhost", Some(&people)), known).await.unwrap();
    let (certificate, key) = Authority::new().sign("me");
    let unknown = trusting.clone().client_certificate_pem(certificate.as_bytes(), key.as_bytes());
    for settings in [trusting, unknown] {
        let (failure, text) = check(servers.server("localhost", Some(&people)), settings).await.unwrap_err();
        assert_eq!(failure, ConnectFailure::ClientCertificate, "{text}");
    }
}

#[tokio::test]
async fn settings_that_cannot_be_read_are_reported() {
    let (certificate, key) = Authority::new().sign("me");
    let (_, other) = Authority::new().sign("me");
    let (certificate, key) = (certificate.as_bytes(), key.as_bytes());
    let new = HyperClient::builder;
    for (settings, expected) in [
        (new().add_root_certificates_pem(b"no"), "the PEM has no certificate"),
        (new().add_root_certificates_pem(b"-----BEGIN CERTIFICATE-----\n!"), "not PEM that can be read"),
        (new().client_certificate_pem(certificate, b"no"), "no private key"),
        (new().client_certificate_pem(b"no", key), "the PEM has no certificate"),
        (new().client_certificate_pem(certificate, other.as_bytes()), "do not belong together"),
        (new().tls(crate::wire::certificate(&["a"], &[]).1).add_root_certificates_pem(certificate), "takes no others"),
    ] {
        let error = settings.build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config);
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[tokio::test]
async fn http_and_https_that_are_mixed_up_are_said() {
    let mock = mock();
    let plain = Wire::plain(&mock).await;
    let secret = Wire::tls(&mock, Authority::new().server("localhost", None)).await;
    for (url, expected) in [
        (format!("https://localhost:{}/", plain.address.port()), ConnectFailure::NotTls),
        (format!("http://localhost:{}/", secret.address.port()), ConnectFailure::NotHttp),
    ] {
        let error = connect(url, HyperClient::builder().direct().build().unwrap()).await.unwrap_err();
        assert_eq!(ConnectFailure::of(&error), Some(expected), "{error:?}");
    }
}

#[tokio::test]
async fn a_dead_proxy_is_not_taken_for_the_server() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let proxy = format!("http://me:secret@{}", listener.local_addr().unwrap());
    drop(listener);
    for url in ["http://server.example/mcp", "https://server.example/mcp"] {
        let sender = HyperClient::builder().proxy(&proxy, "").build().unwrap();
        let error = connect(url, sender).await.unwrap_err();
        assert_eq!(ConnectFailure::of(&error), Some(ConnectFailure::Proxy), "{error:?}");
        let text = format!("{error} {error:?}");
        assert!(text.contains("through the proxy") && !text.contains("secret"), "{text}");
    }
}

/// The environment cannot be changed here, so this program is run again with another one.
#[cfg(feature = "system-roots")]
#[tokio::test]
async fn the_environment_names_what_is_trusted() {
    const CASE: &str = "COUPLET_TEST_TRUST";
    let this = "trust::the_environment_names_what_is_trusted";
    if let Ok(port) = std::env::var(CASE) {
        let sender = HyperClient::builder().system_roots().direct().build().unwrap();
        return drop(connect(format!("https://localhost:{port}/mcp"), sender).await.unwrap());
    }
    let ours = Authority::new();
    let mock = mock();
    let wire = Wire::tls(&mock, ours.server("localhost", None)).await;
    let folder = std::env::temp_dir().join(format!("couplet-trust-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let (file, empty) = (folder.join("ca.pem"), folder.join("empty.pem"));
    std::fs::write(&file, &ours.pem).unwrap();
    std::fs::write(&empty, "").unwrap();
    for (named, expected) in [(&file, true), (&empty, false)] {
        let mut again = Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", this, "--nocapture"]).env("SSL_CERT_FILE", named).env_remove("SSL_CERT_DIR");
        again.env(CASE, wire.address.port().to_string());
        let ended = tokio::task::spawn_blocking(move || again.output()).await.unwrap().unwrap();
        let told = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.success(), expected, "{told}");
        assert!(told.contains("1 passed") || told.contains("`SSL_CERT_FILE`"), "{told}");
    }
    std::fs::remove_dir_all(&folder).unwrap();
    assert_eq!(mock.count("server/discover"), 1);
}
