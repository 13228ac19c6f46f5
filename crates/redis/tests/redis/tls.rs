//! `rediss://`.

use std::{path::PathBuf, time::Duration};

use couplet_core::ErrorKind;
use couplet_redis::{Redis, RedisBuilder};

use crate::server::{KEY, Server, free_port};

/// A folder with a certificate and its key, which is gone when it is dropped.
struct Certificate {
    folder: PathBuf,
    pem: String,
}

impl Certificate {
    fn new() -> Self {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
        let folder = std::env::temp_dir().join(format!("couplet-redis-tls-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("certificate"), made.cert.pem()).unwrap();
        std::fs::write(folder.join("key"), made.signing_key.serialize_pem()).unwrap();
        Self { folder, pem: made.cert.pem() }
    }

    fn path(&self, name: &str) -> String {
        self.folder.join(name).display().to_string()
    }
}

impl Drop for Certificate {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

#[tokio::test]
async fn certificates_are_verified() {
    let (certificate, port) = (Certificate::new(), free_port());
    let (file, key) = (certificate.path("certificate"), certificate.path("key"));
    let options = ["--tls-port", &port, "--tls-cert-file", &file, "--tls-key-file", &key, "--tls-auth-clients", "no"];
    let Some(_server) = Server::with(&options).await else { return };
    let builder = |url: &str| -> RedisBuilder { Redis::builder(url, KEY).timeout(Duration::from_secs(30)) };
    let url = format!("rediss://localhost:{port}");

    builder(&url).root_certificates(&*certificate.pem).build().unwrap().ping().await.unwrap();
    let error = builder(&url).build().unwrap().ping().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
    assert!(error.to_string().contains("cannot be reached") && error.to_string().contains("UnknownIssuer"), "{error}");
    let other_name = format!("rediss://127.0.0.1:{port}");
    let error = builder(&other_name).root_certificates(&*certificate.pem).build().unwrap().ping().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport, "{error}");
    assert!(error.to_string().contains("not valid for name"), "{error}");
}

#[test]
fn certificates_must_be_certificates() {
    for (url, pem) in [("rediss://localhost", "no PEM"), ("redis://localhost", "for TLS only")] {
        let error = Redis::builder(url, KEY).root_certificates(pem).build().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Config, "{error}");
    }
}
