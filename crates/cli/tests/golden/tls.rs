//! Servers behind TLS: who is trusted, what is shown, and what is said when that fails.

use std::{fs, net::TcpListener, sync::Arc};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use tokio::{net::TcpStream, runtime::Runtime};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        RootCertStore, ServerConfig,
        crypto::ring,
        pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
        server::WebPkiClientVerifier,
    },
};

use crate::{
    bridge::Served,
    kit::{Folder, couplet, shop},
};

/// An authority that no system knows.
struct Authority {
    pem: String,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.distinguished_name.push(DnType::CommonName, "a private authority");
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

    /// TLS in front of a server, for `localhost`; perhaps only for clients with a certificate of this authority.
    fn guard(&self, runtime: &Runtime, url: &str, clients: bool) -> String {
        let (certificate, key) = self.sign("localhost");
        let provider = Arc::new(ring::default_provider());
        let versions = ServerConfig::builder_with_provider(provider.clone()).with_safe_default_protocol_versions();
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.pem.as_bytes()).unwrap()).unwrap();
        let guarded = match clients {
            false => versions.unwrap().with_no_client_auth(),
            true => versions.unwrap().with_client_cert_verifier(
                WebPkiClientVerifier::builder_with_provider(roots.into(), provider).build().unwrap(),
            ),
        };
        let chain = vec![CertificateDer::from_pem_slice(certificate.as_bytes()).unwrap()];
        let config = guarded.with_single_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap()).unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let behind = url.trim_start_matches("http://").trim_end_matches("/mcp").to_owned();
        let listener = runtime.block_on(tokio::net::TcpListener::bind("127.0.0.1:0")).unwrap();
        let port = listener.local_addr().unwrap().port();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (acceptor, behind) = (acceptor.clone(), behind.clone());
                tokio::spawn(async move {
                    let mut near = acceptor.accept(stream).await?;
                    let mut far = TcpStream::connect(behind).await?;
                    tokio::io::copy_bidirectional(&mut near, &mut far).await
                });
            }
        });
        format!("https://localhost:{port}/mcp")
    }
}

/// Lists prompts: the exit code and standard error.
fn list(url: &str, flags: &[&str], variables: &[(&str, &str)]) -> (Option<i32>, String) {
    let mut command = couplet();
    command.args(["list", url, "prompts"]).args(flags).envs(variables.iter().copied());
    let output = command.env("NO_PROXY", "*").output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn attack_14_a_private_authority_can_be_trusted() {
    let (shop, folder, runtime) = (shop(), Folder::new("tls"), Runtime::new().unwrap());
    let served = Served::start(&["run", &shop, "--http", "127.0.0.1:0"]);
    let ours = Authority::new();
    let file = |name: &str, text: &str| {
        fs::write(folder.file(name), text).unwrap();
        folder.file(name)
    };
    let ca = file("ca.pem", &ours.pem);
    let url = ours.guard(&runtime, &served.url, false);
    let (code, said) = list(&url, &[], &[]);
    assert!(code == Some(3) && said.contains("with --cacert FILE") && !said.contains("::"), "{said}");
    assert_eq!(list(&url, &["--cacert", &ca], &[]), (Some(0), String::new()));
    assert_eq!(list(&url, &[], &[("SSL_CERT_FILE", &ca)]), (Some(0), String::new()));
    let (code, said) = list(&url, &["--insecure"], &[]);
    assert_eq!((code, &*said), (Some(0), "warning: --insecure: the server's certificate is not verified\n"));

    let url = ours.guard(&runtime, &served.url, true);
    let (code, said) = list(&url, &["--cacert", &ca], &[]);
    assert!(code == Some(3) && said.contains("with --cert FILE --key FILE"), "{said}");
    let (certificate, key) = ours.sign("client.example");
    let (certificate, key) = (file("cert.pem", &certificate), file("key.pem", &key));
    let shown = ["--cacert", &ca, "--cert", &certificate, "--key", &key];
    assert_eq!(list(&url, &shown, &[]), (Some(0), String::new()));
}

#[test]
fn attack_14_wrong_files_are_named() {
    let folder = Folder::new("tls-files");
    let garbage = folder.file("garbage.pem");
    fs::write(&garbage, "not a certificate").unwrap();
    let missing = folder.file("missing.pem");
    let url = "https://localhost:1/mcp";
    for (target, flags, code, says) in [
        (url, &["--cacert", &missing][..], 8, "missing.pem` cannot be read"),
        (url, &["--cacert", &garbage], 2, "certificate"),
        (url, &["--cert", &garbage], 2, "--key <FILE>"),
        (url, &["--cert", &garbage, "--key", &garbage], 2, "certificate"),
        ("./server", &["--cacert", &garbage], 2, "need a URL, and TARGET is a command"),
    ] {
        let (exit, said) = list(target, flags, &[]);
        assert!(exit == Some(code) && said.contains(says), "{flags:?}: {exit:?} {said}");
    }
}

#[test]
fn attack_14_plain_http_and_tls_are_not_the_same() {
    let (shop, runtime) = (shop(), Runtime::new().unwrap());
    let served = Served::start(&["run", &shop, "--http", "127.0.0.1:0"]);
    let plain = served.url.as_str();
    let guarded = Authority::new().guard(&runtime, plain, false);
    for (url, right) in
        [(plain.replace("http://", "https://"), plain), (guarded.replace("https://", "http://"), guarded.as_str())]
    {
        let (code, said) = list(&url, &[], &[]);
        assert!(code == Some(3) && said.contains(&format!("hint: try {right}\n")), "{url}: {said}");
    }
}

#[test]
fn attack_14_a_dead_proxy_is_named() {
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    for (url, variable) in [("https://example.test/mcp", "HTTPS_PROXY"), ("http://example.test/mcp", "HTTP_PROXY")] {
        let proxy = format!("http://user:secret@127.0.0.1:{port}");
        let output = couplet().args(["list", url, "-H", "X-Nothing: 1"]).env(variable, &proxy).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(said.contains(&format!("127.0.0.1:{port}")) && said.contains("proxy"), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}
