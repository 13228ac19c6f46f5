//! The client side: hosts that show views.

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_client::{Client, Extension};
use couplet_core::{BoxFuture, Error, ErrorKind};
use couplet_types::{APPS_EXTENSION, Tool};
use serde_json::json;

use crate::{
    meta::{MIME_TYPE, ToolUi, ViewMeta},
    sealed::Sealed,
    tools::AppTools,
};

/// The MCP Apps extension of a client: a host that shows views.
///
/// ```
/// use couplet_apps::ClientApps;
/// use couplet_client::Client;
///
/// let host = Client::new("host", "1.0.0").extension(ClientApps::new());
/// # drop(host);
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[must_use = "register it with `ClientBuilder::extension`"]
#[non_exhaustive]
pub struct ClientApps;

impl ClientApps {
    /// Creates the extension. It declares support for HTML views ([`MIME_TYPE`]).
    pub fn new() -> Self {
        Self
    }
}

impl From<ClientApps> for Extension {
    fn from(_: ClientApps) -> Self {
        Self::new(APPS_EXTENSION).settings(&json!({ "mimeTypes": [MIME_TYPE] }))
    }
}

/// Extension methods for a [`Client`] that shows views.
///
/// Register [`ClientApps`] on the client first. This trait is sealed: it is implemented for [`Client`] alone.
pub trait HostApps: Sealed {
    /// Lists the tools that the model may see.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or answers with an error.
    fn model_tools(&self) -> BoxFuture<'static, Result<Vec<Tool>, Error>>;

    /// Lists the tools that the server's views may call.
    ///
    /// # Errors
    /// Fails if the server cannot be reached or answers with an error.
    fn app_tools(&self) -> BoxFuture<'static, Result<AppTools, Error>>;

    /// Fetches the view of a tool; `None` if the tool declares none.
    ///
    /// # Errors
    /// Fails if the resource cannot be read, or is not a single HTML document of the type [`MIME_TYPE`].
    fn view_of(&self, tool: &Tool) -> BoxFuture<'static, Result<Option<AppView>, Error>>;
}

impl Sealed for Client {}

impl HostApps for Client {
    fn model_tools(&self) -> BoxFuture<'static, Result<Vec<Tool>, Error>> {
        let client = self.clone();
        Box::pin(async move { client.tools().await.map(AppTools::for_model) })
    }

    fn app_tools(&self) -> BoxFuture<'static, Result<AppTools, Error>> {
        let client = self.clone();
        Box::pin(async move { client.tools().await.map(|tools| AppTools::new(&tools)) })
    }

    fn view_of(&self, tool: &Tool) -> BoxFuture<'static, Result<Option<AppView>, Error>> {
        let (client, uri) = (self.clone(), ToolUi::of(tool).resource_uri);
        Box::pin(async move {
            match uri {
                Some(uri) => AppView::fetch(&client, uri).await.map(Some),
                None => Ok(None),
            }
        })
    }
}

/// A fetched view. It is untrusted: show it in a sandboxed frame, with [`AppView::policy`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AppView {
    /// The `ui://` URI of the view.
    pub uri: String,
    /// The HTML document.
    pub html: String,
    /// The metadata that the view declares.
    pub meta: ViewMeta,
}

impl AppView {
    async fn fetch(client: &Client, uri: String) -> Result<Self, Error> {
        let mut result = client.read(uri.as_str()).await?;
        let wrong = |what: &str| Error::new(ErrorKind::Protocol, format!("the view `{uri}` cannot be shown: {what}"));
        let (Some(contents), true) = (result.contents.pop(), result.contents.is_empty()) else {
            return Err(wrong("expected exactly one content"));
        };
        if !contents.mime_type.as_deref().is_some_and(is_view) {
            return Err(wrong(&format!("its MIME type must be `{MIME_TYPE}`")));
        }
        let html = match (contents.as_text(), contents.as_blob()) {
            (Some(text), _) => text.to_owned(),
            (_, Some(blob)) => {
                let bytes = STANDARD.decode(blob).map_err(|e| wrong("its blob is not base64").with_source(e))?;
                String::from_utf8(bytes).map_err(|e| wrong("it is not UTF-8").with_source(e))?
            }
            _ => return Err(wrong("it has neither text nor a blob")),
        };
        let meta = ViewMeta::of(contents.meta.as_ref());
        Ok(Self { uri, html, meta })
    }

    /// Returns the content security policy to show the view with: the origins that it declares, and no others.
    pub fn policy(&self) -> String {
        self.meta.csp.clone().unwrap_or_default().policy()
    }
}

/// Compares MIME types without regard to whitespace and case.
fn is_view(mime_type: &str) -> bool {
    let plain: String = mime_type.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    plain.eq_ignore_ascii_case(MIME_TYPE)
}
