//! Files from elsewhere: `data:` addresses, and `http:` and `https:` ones of servers that are allowed.

use std::time::Duration;

use bytes::Bytes;
use couplet::{
    http::client::{HttpClient, HyperClient},
    prelude::*,
};
use data_url::DataUrl;
use http::{Request, Uri};

/// What may be fetched; the environment can change it.
pub(crate) struct Limits {
    bytes: usize,
    time: Duration,
    /// The servers: these, and those below them. The first is that of the address that is fetched by default.
    domains: Vec<String>,
}

impl Limits {
    pub(crate) fn from_env() -> Self {
        let text = |name: &str| std::env::var(name).ok();
        let number = |name: &str, default| text(name).and_then(|text| text.parse().ok()).unwrap_or(default);
        let domains = text("GZIP_ALLOWED_DOMAINS").unwrap_or_else(|| "raw.githubusercontent.com".to_owned());
        Self {
            bytes: number("GZIP_MAX_FETCH_SIZE", 10 << 20) as usize,
            time: Duration::from_millis(number("GZIP_MAX_FETCH_TIME_MILLIS", 30_000)),
            domains: domains.split(',').map(|domain| domain.trim().to_lowercase()).collect(),
        }
    }

    /// Fetches a file.
    pub(crate) async fn fetch(&self, address: &str) -> Result<Vec<u8>, ToolError> {
        let why = |what: &str| ToolError::new(format!("Error processing file {address}: {what}"));
        if address.starts_with("data:") {
            let data = DataUrl::process(address).map_err(|e| why(&e.to_string()))?;
            let (bytes, _) = data.decode_to_vec().map_err(|e| why(&e.to_string()))?;
            return if bytes.len() > self.bytes { Err(why("it is too large")) } else { Ok(bytes) };
        }
        if !["http://", "https://"].iter().any(|scheme| address.starts_with(scheme)) {
            return Err(why("Unsupported URL protocol. Only http, https, and data URLs are supported."));
        }
        let uri: Uri = address.parse().map_err(|_| why("it is not a URL"))?;
        let host = uri.host().unwrap_or_default().to_lowercase();
        if !self.allows(&host) {
            return Err(why(&format!("Domain {host} is not in the allowed domains list.")));
        }
        let fetched = tokio::time::timeout(self.time, get(uri, self.bytes)).await;
        fetched.map_err(|_| why(&format!("it took more than {} ms", self.time.as_millis())))?
    }

    fn allows(&self, host: &str) -> bool {
        let within =
            |domain: &String| host.strip_suffix(domain.as_str()).is_some_and(|d| d.is_empty() || d.ends_with('.'));
        self.domains.iter().filter(|domain| !domain.is_empty()).any(within)
    }
}

async fn get(uri: Uri, limit: usize) -> Result<Vec<u8>, ToolError> {
    let request = Request::get(&uri).body(Bytes::new())?;
    let response = HyperClient::new()?.send(request).await?;
    if !response.status().is_success() {
        return Err(ToolError::new(format!("`{uri}` answered {}", response.status())));
    }
    Ok(response.into_body().read(limit).await?.to_vec())
}
