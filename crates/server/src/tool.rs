//! Tools: a name, a description and a handler.

use std::{marker::PhantomData, panic::Location, sync::Arc, time::Duration};

use couplet_core::http::headers::ParamHeader;
use couplet_types::{Icon, Meta, RawJson, Tool, ToolAnnotations};
use serde_json::Value;

mod setters;

use crate::{
    blocking,
    checks::Checks,
    definition::{self, Definition, Run, erase},
    extension::ToolData,
    handler::{Handler, Synchronous},
    inner::Config,
    reply::ToolKind,
    schema::{declared::Declared, order},
    scopes::Scopes,
    signature::Signature,
};

use setters::tool_setters;

/// Creates a tool from a function, `async` or not. The name has 1 to 128 letters, digits, `_`, `-` and `.`.
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
#[doc = include_str!("docs/tool.md")]
pub fn tool<H, M>(name: impl Into<String>, handler: H) -> ToolBuilder<H, M> {
    ToolBuilder {
        spec: Tool::new(name, RawJson::empty_object()),
        input: None,
        accepted: None,
        output: None,
        timeout: None,
        data: Vec::new(),
        scopes: None,
        blocking: false,
        handler,
        marker: PhantomData,
    }
}

/// A builder of a tool; created by [`tool()`].
#[derive(Debug)]
#[must_use = "register it with `Server::tool`"]
pub struct ToolBuilder<H, M> {
    spec: Tool,
    input: Option<Value>,
    accepted: Option<Value>,
    output: Option<Value>,
    timeout: Option<Option<Duration>>,
    data: Vec<Arc<dyn ToolData>>,
    scopes: Scopes,
    blocking: bool,
    handler: H,
    marker: PhantomData<fn() -> M>,
}

impl<H, M> ToolBuilder<H, M> {
    tool_setters!();

    /// Runs the function on a thread for blocking work (`spawn_blocking`) instead of on the task of its connection: for
    /// functions that are not `async` and read files, query a database or compute for long.
    ///
    /// # Cancellation
    /// A timeout and a cancellation answer the call at once. The function itself cannot be stopped: it runs to its end on
    /// its thread, and its result is dropped. A call that is cancelled before its thread starts does not run.
    ///
    /// ```
    /// use couplet_server::{Server, tool};
    ///
    /// let server: Server = Server::new("files", "1.0.0")
    ///     .tool(tool("host", || std::fs::read_to_string("/etc/hostname")).blocking());
    /// ```
    pub fn blocking(mut self) -> Self
    where
        M: Synchronous,
    {
        self.blocking = true;
        self
    }
}

/// A type that can be registered as a tool: a [`ToolBuilder`], a [`ToolDef`], or a function with `#[tool]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a tool",
    note = "put `#[tool]` on the function, or wrap it: `tool(\"name\", function)`",
    note = "a handler that takes `State<T>` needs a server whose state is, or contains, a `T`"
)]
pub trait IntoTool<S> {
    /// Converts into the definition of the tool.
    fn into_tool(self) -> ToolDef<S>;

    /// Converts into a definition that is bound to its state, for a server that is running already.
    ///
    /// ```
    /// use couplet_server::{IntoTool, Server, extract::State, tool};
    ///
    /// let server = Server::new("greeter", "1.0.0").advertise_empty_lists().build();
    /// let greet = tool("greet", |State(name): State<String>| format!("Hello, {name}!"));
    /// server.add_tool(greet.with_state("Ada".to_owned()))?;
    /// # Ok::<(), couplet_core::Error>(())
    /// ```
    fn with_state(self, state: S) -> ToolDef<()>
    where
        Self: Sized,
        S: Clone + Send + Sync + 'static,
    {
        self.into_tool().bind(&state)
    }
}

impl<S, H, M> IntoTool<S> for ToolBuilder<H, M>
where
    S: Clone + Send + Sync + 'static,
    H: Handler<ToolKind, M, S>,
{
    fn into_tool(self) -> ToolDef<S> {
        let mut signature = Signature::default();
        H::describe(&mut signature);
        let run = match self.blocking {
            true => blocking::erase::<ToolKind, M, S, H>(self.handler),
            false if H::IS_ASYNC => erase::<ToolKind, M, S, H>(self.handler),
            false => blocking::watched::<ToolKind, S>(&self.spec.name, erase::<ToolKind, M, S, H>(self.handler)),
        };
        ToolDef {
            spec: self.spec,
            input: self.input,
            accepted: self.accepted,
            output: self.output,
            timeout: self.timeout,
            data: self.data,
            described: false,
            scopes: self.scopes,
            mirrored: None,
            checks: Checks::default(),
            signature,
            run,
            place: Location::caller(),
        }
    }
}

/// For functions with the attribute, which return the tool.
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

/// The definition of a tool, with its handler. The setters of [`ToolBuilder`] are here too, for functions with `#[tool]`:
///
/// ```
/// use couplet_server::{IntoTool, Server, tool};
/// use std::time::Duration;
///
/// // Like `#[tool] fn search()`.
/// let search = || tool("search", || "nothing");
/// let server: Server = Server::new("app", "1.0.0").tool(search.into_tool().timeout(Duration::from_secs(5)));
/// ```
pub struct ToolDef<S> {
    pub(crate) spec: Tool,
    input: Option<Value>,
    /// The schema that arguments are validated against, instead of `input`.
    accepted: Option<Value>,
    output: Option<Value>,
    pub(crate) timeout: Option<Option<Duration>>,
    /// The data for extensions.
    pub(crate) data: Vec<Arc<dyn ToolData>>,
    /// Whether the extensions have described the tool.
    described: bool,
    pub(crate) scopes: Scopes,
    /// The arguments that clients over HTTP repeat in headers.
    pub(crate) mirrored: Option<Arc<[ParamHeader]>>,
    pub(crate) checks: Checks,
    pub(crate) signature: Signature,
    pub(crate) run: Run<ToolKind, S>,
    place: &'static Location<'static>,
}

impl<S> ToolDef<S> {
    tool_setters!();
}

impl<S: Clone + Send + Sync + 'static> ToolDef<S> {
    /// Registers the tool: writes the schemas, and checks for mistakes of the developer.
    pub(crate) fn checked(mut self, config: &Config, place: &'static Location<'static>) -> Result<Self, String> {
        self.place = place;
        self.written(config).map_err(|what| match self.spec.name.as_str() {
            name if is_name(name) => format!("tool `{name}`: {what}"),
            name => format!("the tool name {name:?} {what}"),
        })?;
        Ok(self)
    }

    /// Registers the tool again, after the configuration changed.
    pub(crate) fn rechecked(self, config: &Config) -> Result<Self, String> {
        let place = self.place;
        self.checked(config, place)
    }

    fn written(&mut self, config: &Config) -> Result<(), String> {
        if !is_name(&self.spec.name) {
            return Err("must have 1 to 128 letters, digits, `_`, `-` or `.`".to_owned());
        }
        // Last of all, so that the order of the calls does not matter.
        if !std::mem::replace(&mut self.described, true) {
            self.data.iter().for_each(|data| data.describe(&mut self.spec));
        }
        let declared = self.signature.declared.filter(|_| self.input.is_none()).map(|of| of()).unwrap_or_default();
        let mut input = match (&self.input, self.signature.arguments) {
            (Some(schema), _) => schema.clone(),
            (None, Some(schema)) => schema(config.dialect)?,
            (None, None) => serde_json::json!({ "type": "object", "properties": {}, "additionalProperties": false }),
        };
        if input.get("type").is_none_or(|t| t != "object") {
            return Err("the input schema must have `\"type\": \"object\"`".to_owned());
        }
        declared.sort(&mut input);
        let closed = config.deny_unknown && self.input.is_none() && close(&mut input);
        let output = self.output.clone().or_else(|| self.signature.output.map(|schema| schema(config.dialect)));
        let accepted = self.accepted.as_ref().or(self.input.as_ref());
        self.checks = Checks::new(accepted, self.output.as_ref(), &self.signature, config.validation)?;
        if closed {
            self.checks.known = Some(known_arguments(&input, &declared));
        }
        let mirrored = ParamHeader::all(&input)?;
        self.mirrored = (!mirrored.is_empty()).then(|| mirrored.into());
        self.spec.input_schema = order::print_declared(&input, &declared);
        self.spec.output_schema = output.as_ref().map(order::print);
        Ok(())
    }

    pub(crate) fn bind(self, state: &S) -> ToolDef<()> {
        let Self { spec, input, accepted, output, timeout, data, described, scopes, .. } = self;
        let (mirrored, checks) = (self.mirrored, self.checks);
        let (signature, place) = (self.signature, self.place);
        let run = definition::bind::<ToolKind, S>(self.run, state);
        ToolDef {
            spec,
            input,
            accepted,
            output,
            timeout,
            data,
            described,
            scopes,
            mirrored,
            checks,
            signature,
            run,
            place,
        }
    }
}

/// Closes an object schema to properties that it does not name; false if it says itself which ones it allows.
fn close(schema: &mut Value) -> bool {
    let says = ["additionalProperties", "unevaluatedProperties"].iter().any(|key| schema.get(*key).is_some());
    if !says && let Some(members) = schema.as_object_mut() {
        members.insert("additionalProperties".to_owned(), false.into());
    }
    !says
}

/// The properties of a schema, and the other names that its type reads them from.
fn known_arguments(schema: &Value, declared: &Declared) -> Arc<[String]> {
    let listed = schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|p| p.keys().cloned());
    let mut names: Vec<String> = listed.collect();
    let others = declared.fields.iter().filter(|field| names.iter().all(|name| name != *field));
    let others: Vec<String> = others.map(|&field| field.to_owned()).collect();
    names.extend(others);
    names.into()
}

fn is_name(name: &str) -> bool {
    let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    (1..=128).contains(&name.len()) && name.chars().all(allowed)
}

impl<S: 'static> Definition for ToolDef<S> {
    const WHAT: &'static str = "tool";

    fn key(&self) -> &str {
        &self.spec.name
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn scopes(&self) -> &Scopes {
        &self.scopes
    }
}

impl<S> std::fmt::Debug for ToolDef<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolDef").field("spec", &self.spec).finish_non_exhaustive()
    }
}
