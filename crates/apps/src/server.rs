//! The server side: tools with views.

use couplet_core::Peer;
use couplet_server::{Ctx, Extension, ServerHandle, ToolBuilder, ToolData, resource};
use couplet_types::{APPS_EXTENSION, Map, Meta, RawJson, ResourceContents, Tool};

use crate::{
    csp::Csp,
    meta::{MIME_TYPE, Permissions, SCHEME, ToolUi, ViewMeta, Visibility},
    sealed::Sealed,
};

/// The MCP Apps extension of a server whose tools have views.
///
/// ```
/// use couplet_apps::{AppTool, Apps, ShowsApps, View};
/// use couplet_server::{Ctx, Server, tool};
///
/// async fn weather(ctx: Ctx) -> &'static str {
///     // The text is for the model, and for hosts that show no views.
///     if ctx.shows_apps() { "Sunny; the forecast is on the screen." } else { "Sunny today, rain tomorrow." }
/// }
///
/// let view = View::new("ui://weather/forecast", "<!doctype html><title>Forecast</title>");
/// let server: Server = Server::new("weather", "1.0.0")
///     .extension(Apps::new().view(view))
///     .tool(tool("weather", weather).view("ui://weather/forecast"));
/// server.build();
/// ```
#[derive(Debug, Default)]
#[must_use = "register it with `Server::extension`"]
pub struct Apps(Vec<View>);

impl Apps {
    /// Creates the extension without views.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a view.
    pub fn view(mut self, view: View) -> Self {
        self.0.push(view);
        self
    }
}

impl From<Apps> for Extension {
    fn from(apps: Apps) -> Self {
        apps.0.into_iter().fold(Self::new(APPS_EXTENSION), |extension, view| {
            let View { uri, html, name, meta } = view;
            let meta = meta.to_meta();
            let (address, declared) = (uri.clone(), meta.clone());
            let read = move || {
                let mut contents = ResourceContents::text(address.as_str(), html.as_str()).mime_type(MIME_TYPE);
                contents.meta.clone_from(&declared);
                contents
            };
            let listed = resource(uri, read).name(name).mime_type(MIME_TYPE);
            match meta {
                Some(meta) => extension.resource(listed.meta(meta)),
                None => extension.resource(listed),
            }
        })
    }
}

/// A view: an HTML document that a host shows in a sandboxed frame.
#[derive(Clone, Debug)]
#[must_use = "give it to `Apps::view`"]
pub struct View {
    uri: String,
    html: String,
    name: String,
    meta: ViewMeta,
}

impl View {
    /// Creates a view from a URI that begins with `ui://` and an HTML document.
    ///
    /// # Panics
    /// Panics if the URI has another scheme, or the document does not begin with `<!doctype html>`.
    #[track_caller]
    pub fn new(uri: impl Into<String>, html: impl Into<String>) -> Self {
        let (uri, html) = (uri.into(), html.into());
        assert!(is_view_uri(&uri), "the view `{uri}`: its URI must begin with `{SCHEME}`");
        let start: String = html.trim_start().chars().take(14).collect();
        assert!(
            start.eq_ignore_ascii_case("<!doctype html"),
            "the view `{uri}`: its HTML must begin with `<!doctype html>`"
        );
        Self { name: uri.clone(), uri, html, meta: ViewMeta::default() }
    }

    /// Sets the programmatic name (default: the URI).
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// Declares the origins that the view loads from and connects to (default: none).
    pub fn csp(mut self, csp: Csp) -> Self {
        self.meta.csp = Some(csp);
        self
    }

    /// Declares the permissions that the view requests (default: none).
    pub fn permissions(mut self, permissions: Permissions) -> Self {
        self.meta.permissions = Some(permissions);
        self
    }

    /// Requests a dedicated origin, in the format that the host documents.
    pub fn domain(mut self, domain: impl Into<String>) -> Self {
        self.meta.domain = Some(domain.into());
        self
    }

    /// Sets whether the view prefers a visible border.
    pub fn prefers_border(mut self, border: bool) -> Self {
        self.meta.prefers_border = Some(border);
        self
    }
}

/// Extension methods that attach views to a tool.
///
/// Register [`Apps`] on the server too. This trait is sealed: it is implemented for [`ToolBuilder`] alone.
pub trait AppTool: Sealed + Sized {
    /// Sets the view of the tool: the URI of a view of this server. The tool's result must be useful without the view,
    /// too.
    ///
    /// `Server::build` panics if the server has no such view, or if the metadata of its resource is invalid.
    #[must_use = "register it with `Server::tool`"]
    fn view(self, uri: impl Into<String>) -> Self;

    /// Makes the tool visible to the model only, and not to views.
    #[must_use = "register it with `Server::tool`"]
    fn model_only(self) -> Self;

    /// Makes the tool visible to this server's views only, and not to the model. Clients without MCP Apps list it
    /// regardless.
    #[must_use = "register it with `Server::tool`"]
    fn app_only(self) -> Self;
}

impl<H, M> Sealed for ToolBuilder<H, M> {}

impl<H, M> AppTool for ToolBuilder<H, M> {
    fn view(self, uri: impl Into<String>) -> Self {
        self.extension_data(Said::View(uri.into()))
    }

    fn model_only(self) -> Self {
        self.extension_data(Said::For(Visibility::Model))
    }

    fn app_only(self) -> Self {
        self.extension_data(Said::For(Visibility::App))
    }
}

/// One declaration of a tool about views.
#[derive(Debug)]
enum Said {
    View(String),
    For(Visibility),
}

impl ToolData for Said {
    fn extension(&self) -> &'static str {
        APPS_EXTENSION
    }

    fn describe(&self, tool: &mut Tool) {
        let mut ui = ToolUi::of(tool);
        match self {
            Self::View(uri) => ui.resource_uri = Some(uri.clone()),
            Self::For(visibility) => ui.visibility = *visibility,
        }
        ui.add_to(tool.meta.get_or_insert_with(Meta::new));
    }

    fn check(&self, server: &ServerHandle) -> Result<(), String> {
        let Self::View(uri) = self else { return Ok(()) };
        if !is_view_uri(uri) {
            return Err(format!("the URI of its view, `{uri}`, must begin with `{SCHEME}`"));
        }
        match server.resource(uri) {
            None => Err(format!("there is no view `{uri}`: add it with `Apps::view`")),
            Some(view) if view.mime_type.as_deref() != Some(MIME_TYPE) => {
                Err(format!("the resource `{uri}` is not a view: its MIME type must be `{MIME_TYPE}`"))
            }
            Some(view) => match ViewMeta::fault(view.meta.as_ref()) {
                Some(what) => Err(format!("the view `{uri}`: {what}")),
                None => Ok(()),
            },
        }
    }
}

fn is_view_uri(uri: &str) -> bool {
    uri.strip_prefix(SCHEME).is_some_and(|rest| !rest.is_empty())
}

/// Tells whether the client shows views.
///
/// This trait is sealed: it is implemented for [`Ctx`] and [`Peer`] alone.
pub trait ShowsApps: Sealed {
    /// Returns whether the client declares support for HTML views ([`MIME_TYPE`]).
    fn shows_apps(&self) -> bool;
}

impl Sealed for Peer {}

impl ShowsApps for Peer {
    fn shows_apps(&self) -> bool {
        let settings = self.extension(APPS_EXTENSION).and_then(|raw| raw.parse::<Map<RawJson>>().ok());
        let types = settings.and_then(|settings| settings.get("mimeTypes")?.parse::<Vec<String>>().ok());
        types.is_some_and(|types| types.iter().any(|one| one == MIME_TYPE))
    }
}

impl Sealed for Ctx {}

impl ShowsApps for Ctx {
    fn shows_apps(&self) -> bool {
        self.peer().shows_apps()
    }
}
