//! Files from `data:` URLs, and from `https:` URLs on the public internet, within limits.

use std::time::Duration;

use couplet::{
    auth::fetch::{Fetcher, Reach},
    prelude::*,
};
use data_url::DataUrl;
use http::Uri;

/// The limits of a fetch.
pub(crate) struct Limits {
    /// Public addresses only: the caller chooses the URL, which must not reach the local network.
    reach: Reach,
    bytes: usize,
    time: Duration,
    /// The allowed domains with their subdomains; all if empty.
    domains: Vec<String>,
}

impl Limits {
    /// Reads the limits from the environment.
    pub(crate) fn from_env() -> Self {
        let text = |name: &str| std::env::var(name).ok();
        let number = |name: &str, default| text(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        let domains = text("GZIP_ALLOWED_DOMAINS").unwrap_or_default();
        let domains = domains.split(',').map(|domain| domain.trim().to_lowercase());
        Self {
            reach: Reach::Public,
            bytes: number("GZIP_MAX_FETCH_SIZE", 10 << 20) as usize,
            time: Duration::from_millis(number("GZIP_MAX_FETCH_TIME_MILLIS", 30_000)),
            domains: domains.filter(|domain| !domain.is_empty()).collect(),
        }
    }

    /// Fetches a file.
    pub(crate) async fn fetch(&self, address: &str) -> Result<Vec<u8>, ToolError> {
        let why = |what: &str| ToolError::new(format!("Error processing file {address}: {what}"));
        if address.starts_with("data:") {
            let data = DataUrl::process(address).map_err(|e| why(&e.to_string()))?;
            let (bytes, _) = data.decode_to_vec().map_err(|e| why(&e.to_string()))?;
            return if bytes.len() > self.bytes { Err(why("the file is too large")) } else { Ok(bytes) };
        }
        if !["http://", "https://"].iter().any(|scheme| address.starts_with(scheme)) {
            return Err(why("Unsupported URL protocol. Only http, https, and data URLs are supported."));
        }
        let host = address.parse::<Uri>().ok().and_then(|uri| uri.host().map(str::to_lowercase)).unwrap_or_default();
        if !self.allows(&host) {
            return Err(why(&format!("Domain {host} is not in the allowed domains list.")));
        }
        let fetched = Fetcher::new(self.reach)?.limit(self.bytes).timeout(self.time).get(address).await;
        let fetched = fetched.map_err(|e| why(&e.to_string()))?;
        if !fetched.status.is_success() {
            return Err(why(&format!("the server answered {}", fetched.status)));
        }
        Ok(fetched.body.into())
    }

    fn allows(&self, host: &str) -> bool {
        let is_in = |domain: &String| {
            host.strip_suffix(domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        };
        self.domains.is_empty() || self.domains.iter().any(is_in)
    }
}

#[cfg(test)]
mod tests {
    use couplet::http::server::HttpTransport;

    use super::*;

    fn limits(reach: Reach, bytes: usize, domains: &[&str]) -> Limits {
        let domains = domains.iter().map(|domain| (*domain).to_owned()).collect();
        Limits { reach, bytes, time: Duration::from_secs(60), domains }
    }

    /// Fetches the health page of a local server.
    #[couplet::test]
    async fn fetches_are_limited() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let page = format!("http://127.0.0.1:{}/health", listener.local_addr().unwrap().port());
        let _serving = tokio::spawn(Server::new("page", "1.0.0").serve(HttpTransport::from_listener(listener)));
        let near = Reach::Loopback;
        for (limits, address, expected) in [
            (limits(near, 1 << 20, &[]), &*page, Ok(())),
            (limits(near, 1 << 20, &["127.0.0.1"]), &page, Ok(())),
            (limits(Reach::Public, 1 << 20, &[]), &page, Err("does not allow")),
            (limits(near, 1 << 20, &["example.com"]), &page, Err("not in the allowed domains list")),
            (limits(near, 1 << 20, &[]), &page.replace("health", "nothing"), Err("answered 404")),
            (limits(near, 5, &[]), "data:,hello", Ok(())),
            (limits(near, 4, &[]), "data:,hello", Err("too large")),
            (limits(near, 4, &[]), "data:text/plain;base64,!!!!", Err("Error processing file")),
        ] {
            let fetched = limits.fetch(address).await.map(drop).map_err(|e| e.to_string());
            match expected {
                Ok(()) => assert_eq!(fetched, Ok(()), "{address}"),
                Err(says) => assert!(fetched.clone().is_err_and(|said| said.contains(says)), "{address}: {fetched:?}"),
            }
        }
    }

    #[test]
    fn domains() {
        let limits = limits(Reach::Public, 1, &["example.com"]);
        for (host, allowed) in
            [("example.com", true), ("www.example.com", true), ("badexample.com", false), ("example.com.evil", false)]
        {
            assert_eq!(limits.allows(host), allowed, "{host}");
        }
    }
}
