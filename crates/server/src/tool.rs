//! Tools: a name, a description, and a function.

use std::{marker::PhantomData, panic::Location, sync::Arc, time::Duration};

use couplet_core::http::headers::ParamHeader;
use couplet_types::{Icon, Meta, RawJson, Tool, ToolAnnotations};
use serde_json::Value;

use crate::{
    checks::Checks,
    definition::{self, Definition, Run, erase},
    extension::ToolData,
    handler::Handler,
    reply::ToolKind,
    schema::{Dialect, order},
    signature::Signature,
};

/// Makes a tool of a function. The name has 1 to 128 letters, digits, `_`, `-` and `.`.
///
/// ```
/// use couplet_server::{Server, extract::Args, schemars::JsonSchema, tool};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Numbers {
///     a: f64,
///     b: f64,
/// }
///
/// let server: Server = Server::new("calc", "1.0.0").tool(
///     tool("add", |Args(n): Args<Numbers>| n.a + n.b).description("Adds two numbers.").read_only(),
/// );
/// ```
pub fn tool<H, M>(name: impl Into<String>, handler: H) -> ToolBuilder<H, M> {
    ToolBuilder {
        spec: Tool::new(name, RawJson::empty_object()),
        input: None,
        timeout: None,
        data: Vec::new(),
        scopes: Vec::new(),
        handler,
        marker: PhantomData,
    }
}

/// A tool that is being described.
#[derive(Debug)]
#[must_use = "register it with `Server::tool`"]
pub struct ToolBuilder<H, M> {
    spec: Tool,
    input: Option<Value>,
    timeout: Option<Option<Duration>>,
    data: Vec<Arc<dyn ToolData>>,
    scopes: Vec<String>,
    handler: H,
    marker: PhantomData<fn() -> M>,
}

impl<H, M> ToolBuilder<H, M> {
    /// What the tool does, for the model.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.spec.description = Some(description.into());
        self
    }

    /// The name for people.
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.spec.title = Some(title.into());
        self
    }

    /// Pictures to show beside the name.
    pub fn icons(mut self, icons: Vec<Icon>) -> Self {
        self.spec.icons = Some(icons);
        self
    }

    /// The open `_meta` map of the listing.
    pub fn meta(mut self, meta: Meta) -> Self {
        self.spec.meta = Some(meta);
        self
    }

    /// All hints at once.
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.spec.annotations = Some(annotations);
        self
    }

    /// Hint: it leaves its surroundings alone.
    pub fn read_only(mut self) -> Self {
        self.hints().read_only_hint = Some(true);
        self
    }

    /// Hint: whether it may destroy something.
    pub fn destructive(mut self, destructive: bool) -> Self {
        self.hints().destructive_hint = Some(destructive);
        self
    }

    /// Hint: calling it twice does no more than calling it once.
    pub fn idempotent(mut self) -> Self {
        self.hints().idempotent_hint = Some(true);
        self
    }

    /// Hint: whether it deals with the world outside.
    pub fn open_world(mut self, open: bool) -> Self {
        self.hints().open_world_hint = Some(open);
        self
    }

    /// A JSON Schema of the arguments that is not made from a type.
    pub fn input_schema(mut self, schema: Value) -> Self {
        self.input = Some(schema);
        self
    }

    /// A JSON Schema of the structured content that is not made from a type.
    pub fn output_schema(mut self, schema: Value) -> Self {
        self.spec.output_schema = Some(schema.into());
        self
    }

    /// How long a call may take, instead of the server's limit.
    pub fn timeout(mut self, limit: Duration) -> Self {
        self.timeout = Some(Some(limit));
        self
    }

    /// A call may take as long as it wants.
    pub fn no_timeout(mut self) -> Self {
        self.timeout = Some(None);
        self
    }

    /// What a caller must be allowed to do before the tool is called. Where nobody was authenticated, it is refused.
    ///
    /// Over HTTP somebody who lacks a scope is told so with the status 403 and all the scopes that the tool needs, so
    /// that clients can ask the user for them. A server on standard input and output has no callers; a layer can name
    /// one for it.
    ///
    /// ```
    /// use couplet_server::{Server, tool};
    ///
    /// let server: Server = Server::new("files", "1.0.0").tool(tool("delete", || "gone").scopes(["files:write"]));
    /// ```
    ///
    /// # Panics
    /// When a scope is empty, or has characters that none can have.
    #[track_caller]
    pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
        for scope in scopes.into_iter().map(Into::into) {
            let allowed = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
            assert!(!scope.is_empty() && scope.chars().all(allowed), "{scope:?} is not a scope: it is one word");
            self.scopes.push(scope);
        }
        self
    }

    /// Tells an extension something about the tool. The server must have that extension.
    pub fn extend(mut self, data: impl ToolData) -> Self {
        self.data.push(Arc::new(data));
        self
    }

    fn hints(&mut self) -> &mut ToolAnnotations {
        self.spec.annotations.get_or_insert_default()
    }
}

/// Something that can be registered as a tool: what [`tool`] makes, and every function with `#[tool]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "put `#[tool]` on the function, or wrap it: `tool(\"name\", function)`",
    note = "a handler that takes `State<T>` needs a server whose state is, or contains, a `T`"
)]
pub trait IntoTool<S> {
    /// Makes the tool.
    fn into_tool(self) -> ToolDef<S>;
}

impl<S, H, M> IntoTool<S> for ToolBuilder<H, M>
where
    S: Clone + Send + Sync + 'static,
    H: Handler<ToolKind, M, S>,
{
    fn into_tool(mut self) -> ToolDef<S> {
        let mut signature = Signature::default();
        H::describe(&mut signature);
        // Last of all, so that the order of the calls does not matter.
        self.data.iter().for_each(|data| data.describe(&mut self.spec));
        ToolDef {
            spec: self.spec,
            input: self.input,
            timeout: self.timeout,
            data: self.data,
            scopes: (!self.scopes.is_empty()).then(|| self.scopes.into()),
            mirrored: None,
            checks: Checks::default(),
            signature,
            run: erase::<ToolKind, M, S, H>(self.handler),
            place: Location::caller(),
        }
    }
}

/// A function that makes one: what a function with the attribute becomes.
#[diagnostic::do_not_recommend]
impl<S, F: FnOnce() -> T, T: IntoTool<S>> IntoTool<S> for F {
    fn into_tool(self) -> ToolDef<S> {
        self().into_tool()
    }
}

impl<S> IntoTool<S> for ToolDef<S> {
    fn into_tool(self) -> Self {
        self
    }
}

/// A tool whose function is settled.
pub struct ToolDef<S> {
    pub(crate) spec: Tool,
    input: Option<Value>,
    pub(crate) timeout: Option<Option<Duration>>,
    /// What extensions want to know.
    pub(crate) data: Vec<Arc<dyn ToolData>>,
    /// What a caller must be allowed to do.
    pub(crate) scopes: Option<Arc<[String]>>,
    /// The arguments that clients over HTTP repeat in headers.
    pub(crate) mirrored: Option<Arc<[ParamHeader]>>,
    pub(crate) checks: Checks,
    pub(crate) signature: Signature,
    pub(crate) run: Run<ToolKind, S>,
    place: &'static Location<'static>,
}

impl<S: Clone + Send + Sync + 'static> ToolDef<S> {
    /// Writes the schemas, and checks what only the developer can have done wrong.
    pub(crate) fn checked(mut self, dialect: Dialect, place: &'static Location<'static>) -> Result<Self, String> {
        self.place = place;
        let name = &self.spec.name;
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
        if !(1..=128).contains(&name.len()) || !name.chars().all(allowed) {
            return Err(format!("the tool name {name:?} must have 1 to 128 letters, digits, `_`, `-` or `.`"));
        }
        let input = match (&self.input, self.signature.arguments) {
            (Some(schema), _) => schema.clone(),
            (None, Some(schema)) => schema(dialect).map_err(|e| format!("tool `{name}`: {e}"))?,
            (None, None) => serde_json::json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        };
        if input.get("type").is_none_or(|t| t != "object") {
            return Err(format!("tool `{name}`: the input schema must have `\"type\": \"object\"`"));
        }
        let mirrored = ParamHeader::all(&input).map_err(|e| format!("tool `{name}`: {e}"))?;
        self.mirrored = (!mirrored.is_empty()).then(|| mirrored.into());
        self.spec.input_schema = order::print(&input);
        if let Some(schema) = self.signature.output {
            self.spec.output_schema = Some(order::print(&schema(dialect)));
        }
        let given = self.input.is_some();
        self.checks =
            Checks::new(&self.spec, given, &self.signature).map_err(|e| format!("tool `{}`: {e}", self.spec.name))?;
        Ok(self)
    }

    pub(crate) fn bind(self, state: &S) -> ToolDef<()> {
        let Self { spec, input, timeout, data, scopes, mirrored, checks, signature, run, place } = self;
        let run = definition::bind::<ToolKind, S>(run, state);
        ToolDef { spec, input, timeout, data, scopes, mirrored, checks, signature, run, place }
    }
}

impl Definition for ToolDef<()> {
    const WHAT: &'static str = "tool";

    fn key(&self) -> &str {
        &self.spec.name
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }
}

impl<S> std::fmt::Debug for ToolDef<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolDef").field("spec", &self.spec).finish_non_exhaustive()
    }
}
