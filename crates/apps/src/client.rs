//! Hosts: clients that show views.

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_client::{Client, Extension};
use couplet_core::{BoxFuture, Error, ErrorKind};
use couplet_types::{APPS_EXTENSION, Tool};
use serde_json::json;

use crate::{
    meta::{MIME_TYPE, ToolUi, ViewMeta},
    tools::AppTools,
};

/// The extension of a client that shows views.
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
pub struct ClientApps;

impl ClientApps {
    /// Shows pages of HTML.
    pub fn new() -> Self {
        Self
    }
}

impl From<ClientApps> for Extension {
    fn from(_: ClientApps) -> Self {
        Self::new(APPS_EXTENSION).settings(&json!({ "mimeTypes": [MIME_TYPE] }))
    }
}

/// What a client can do with views; the client needs [`ClientApps`].
pub trait HostApps {
    /// The tools that the model may see.
    fn model_tools(&self) -> BoxFuture<'static, Result<Vec<Tool>, Error>>;

    /// The tools that views of the server may call.
    fn app_tools(&self) -> BoxFuture<'static, Result<AppTools, Error>>;

    /// Fetches the view of a tool; `None` if it has none.
    fn view_of(&self, tool: &Tool) -> BoxFuture<'static, Result<Option<AppView>, Error>>;
}

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

/// A view that was fetched. Nothing of it can be trusted: show it in a frame of its own, with [`AppView::policy`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct AppView {
    /// Its address.
    pub uri: String,
    /// The page.
    pub html: String,
    /// What it says about itself.
    pub meta: ViewMeta,
}

impl AppView {
    async fn fetch(client: &Client, uri: String) -> Result<Self, Error> {
        let mut result = client.read(uri.as_str()).await?;
        let wrong = |what: &str| Error::new(ErrorKind::Protocol, format!("the view `{uri}` cannot be shown: {what}"));
        let (Some(contents), true) = (result.contents.pop(), result.contents.is_empty()) else {
            return Err(wrong("a view has one content"));
        };
        if !contents.mime_type.as_deref().is_some_and(is_view) {
            return Err(wrong("it is not of the type of views"));
        }
        let html = match (contents.as_text(), contents.as_blob()) {
            (Some(text), _) => text.to_owned(),
            (_, Some(blob)) => {
                let bytes = STANDARD.decode(blob).map_err(|e| wrong("it is not base64").with_source(e))?;
                String::from_utf8(bytes).map_err(|e| wrong("it is not UTF-8").with_source(e))?
            }
            _ => return Err(wrong("it is empty")),
        };
        let meta = ViewMeta::of(contents.meta.as_ref());
        Ok(Self { uri, html, meta })
    }

    /// The content security policy to show it with: what it declares, and no more.
    pub fn policy(&self) -> String {
        self.meta.csp.clone().unwrap_or_default().policy()
    }
}

/// Spaces and the case of letters do not count.
fn is_view(mime_type: &str) -> bool {
    let plain: String = mime_type.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    plain.eq_ignore_ascii_case(MIME_TYPE)
}
