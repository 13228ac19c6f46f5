//! The builder: a document and settings, made into a server.

use std::{fmt, sync::Arc, time::Duration};

use couplet_auth::{
    Secret,
    fetch::{Fetcher, Reach},
};
use couplet_http::client::{HyperClient, HyperClientBuilder};
use couplet_server::Server;

use crate::{
    CallerCredentials, Document, Filter, Operation, Skipped, SpecError,
    filter::Filters,
    operation::{Base, ServerSettings, collect, tags},
    security::{Credentials, Source},
    send::{Upstream, base_uri},
    server,
};

/// An API to be served: a document and its settings.
///
/// ```no_run
/// use couplet_openapi::{Document, OpenApi};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let document = Document::parse(&std::fs::read("petstore.yaml")?)?;
/// let server = OpenApi::new(document)
///     .base_url("https://petstore.example.com/v2")?
///     .include("tag:pet".parse()?)
///     .auth("api_key", std::env::var("PETSTORE_KEY")?)
///     .into_server()?;
/// # drop(server);
/// # Ok(())
/// # }
/// ```
#[must_use = "an API is served by `into_server`"]
pub struct OpenApi {
    document: Document,
    servers: ServerSettings,
    filters: Filters,
    credentials: Vec<(String, Source)>,
    origins: Vec<String>,
    reach: Reach,
    http: HyperClientBuilder,
    limit: usize,
    timeout: Duration,
    resources: bool,
}

impl OpenApi {
    const LIMIT: usize = 1 << 20;
    /// Clients read no longer lists.
    const MOST: usize = 10_000;
    const TIMEOUT: Duration = Duration::from_secs(30);

    /// Creates an API with the servers of the document and without credentials. All operations become tools.
    pub fn new(document: Document) -> Self {
        Self {
            document,
            servers: ServerSettings::default(),
            filters: Filters::default(),
            credentials: Vec::new(),
            origins: Vec::new(),
            reach: Reach::Public,
            http: HyperClient::builder(),
            limit: Self::LIMIT,
            timeout: Self::TIMEOUT,
            resources: false,
        }
    }

    /// Sets the base URL of all operations, instead of the document's servers. It may be private and without TLS, since the
    /// program chose it.
    ///
    /// # Errors
    /// If it is not an `http` or `https` URL, or has user information, a query or a fragment.
    pub fn base_url(mut self, url: &str) -> Result<Self, SpecError> {
        let expected = "expected `http` or `https`, a host and a path, without a login, a query or a fragment";
        let base = Base::parse(url);
        let base =
            base.ok_or_else(|| SpecError::new(format!("`{}` is not a base URL: {expected}", without_login(url))))?;
        self.servers.base = Some(base);
        Ok(self)
    }

    /// Sets the value of a variable in the document's server URLs.
    pub fn variable(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.servers.variables.insert(name.into(), value.into());
        self
    }

    /// Includes only operations that this filter, or another included one, selects.
    pub fn include(mut self, filter: Filter) -> Self {
        self.filters.include.push(filter);
        self
    }

    /// Excludes the operations that this filter selects, even if they are included.
    pub fn exclude(mut self, filter: Filter) -> Self {
        self.filters.exclude.push(filter);
        self
    }

    /// Sets the credential of a security scheme, by the name that it has in the document.
    ///
    /// | scheme | value |
    /// |---|---|
    /// | `apiKey` | the key |
    /// | `http` with `bearer` | the token |
    /// | `http` with `basic` | `user:password` |
    /// | `oauth2` with the flow `clientCredentials` | `id:secret`, or an access token |
    /// | other `oauth2`, `openIdConnect` | an access token |
    ///
    /// In a document without a scheme of that name, `bearer` and `basic` are those of HTTP, for all operations that the
    /// document does not declare to be open. Credentials are sent to the origin of the base URL only; see
    /// [`trust_origin`](Self::trust_origin). Client credentials are sent to the token URL of the document.
    pub fn auth(mut self, scheme: impl Into<String>, value: impl Into<Secret>) -> Self {
        self.credentials.push((scheme.into(), Source::Fixed(value.into())));
        self
    }

    /// Uses the caller's own credential for a security scheme.
    pub fn auth_of_callers(mut self, scheme: impl Into<String>, callers: Arc<dyn CallerCredentials>) -> Self {
        self.credentials.push((scheme.into(), Source::Caller(callers)));
        self
    }

    /// Sends credentials to another origin, too: for operations that the document places at a server of their own, such as
    /// uploads.
    ///
    /// # Errors
    /// If it is not an `http` or `https` URL.
    pub fn trust_origin(mut self, url: &str) -> Result<Self, SpecError> {
        let base = Base::parse(url).ok_or_else(|| SpecError::new(format!("`{url}` is not a URL of an origin")))?;
        self.origins.push(base.origin);
        Ok(self)
    }

    /// Allows private addresses and connections without TLS for URLs that the document, a variable or a redirect names.
    pub fn allow_private(mut self) -> Self {
        self.reach = Reach::Anywhere;
        self
    }

    /// Sets the HTTP settings: root certificates, a client certificate, a proxy.
    pub fn http(mut self, settings: HyperClientBuilder) -> Self {
        self.http = settings;
        self
    }

    /// Sets the maximum size of a response in bytes (default: 1 MiB). A longer one is an error.
    pub fn max_response(mut self, bytes: usize) -> Self {
        self.limit = bytes;
        self
    }

    /// Sets the timeout of a request (default: 30 s).
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Makes resources and resource templates of `GET` operations, as far as their parameters fit into a URI.
    pub fn gets_as_resources(mut self) -> Self {
        self.resources = true;
        self
    }

    /// Returns the operations that the filters select, and those that cannot be used.
    pub fn operations(&self) -> (Vec<Operation>, Vec<Skipped>) {
        collect(&self.document, &self.servers, &self.filters, usize::MAX)
    }

    /// Creates the server. Operations that cannot be used are logged and left out.
    ///
    /// # Errors
    /// If no operation can be used, more than 10,000 are selected, a credential is for a scheme that the document does not
    /// have, or TLS cannot be set up.
    pub fn into_server(self) -> Result<Server, SpecError> {
        let (operations, skipped) = collect(&self.document, &self.servers, &self.filters, Self::MOST + 1);
        if operations.len() + skipped.len() > Self::MOST {
            let what = format!("more than {} operations are selected: use filters", Self::MOST);
            return Err(SpecError::new(what));
        }
        if operations.is_empty() {
            let reason = skipped.first().map(|first| first.reason.clone());
            let reason = reason.unwrap_or_else(|| none_selected(&self.document));
            return Err(SpecError::new(format!("no operation can be served: {reason}")));
        }
        for skipped in &skipped {
            tracing::warn!("{} {} is not served: {}", skipped.method, skipped.path, skipped.reason);
        }
        let upstream = self.upstream()?;
        Ok(server::build(&self.document, operations, Arc::new(upstream), self.resources))
    }

    fn upstream(&self) -> Result<Upstream, SpecError> {
        let failed = |error: couplet_core::Error| SpecError::new(error.to_string());
        let own = self.servers.base(&self.document, &[]).ok();
        let credentials = Credentials::new(&self.document, own.as_ref(), &self.credentials)?;
        let mut fetcher = Fetcher::with_settings(self.reach, self.http.clone()).map_err(failed)?;
        // What the program itself has named is not checked.
        let chosen = match &self.servers.base {
            Some(base) => base_uri(base),
            None => self.document.location().cloned(),
        };
        if let Some(uri) = chosen {
            let client = self.http.clone().build().map_err(failed)?;
            fetcher = fetcher.trust_origin(&uri, Arc::new(client));
        }
        let origins = self.origins.iter().cloned().chain(own.map(|base| base.origin)).collect();
        Ok(Upstream { fetcher: fetcher.limit(self.limit).timeout(self.timeout), credentials, origins })
    }
}

/// Explains that the filters select nothing, with the tags that they could select.
fn none_selected(document: &Document) -> String {
    let tags = tags(document);
    let shown: Vec<String> = tags.iter().take(12).map(|tag| format!("`{tag}`")).collect();
    let more = if tags.len() > shown.len() { ", .." } else { "" };
    match shown.is_empty() {
        true => "the filters select none".to_owned(),
        false => format!("the filters select none; the document has the tags {}{more}", shown.join(", ")),
    }
}

/// Removes a login from a URL that is shown.
fn without_login(url: &str) -> String {
    match url.split_once("://").and_then(|(scheme, rest)| Some((scheme, rest.rsplit_once('@')?.1))) {
        Some((scheme, rest)) => format!("{scheme}://[redacted]@{rest}"),
        None => url.to_owned(),
    }
}

impl fmt::Debug for OpenApi {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let schemes: Vec<&String> = self.credentials.iter().map(|(scheme, _)| scheme).collect();
        f.debug_struct("OpenApi")
            .field("title", &self.document.title())
            .field("schemes", &schemes)
            .finish_non_exhaustive()
    }
}
