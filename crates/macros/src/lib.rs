//! The attributes of Couplet: [`#[tool]`](macro@tool), [`#[resource]`](macro@resource),
//! [`#[prompt]`](macro@prompt) and [`#[test]`](macro@test). Use them through the facade, `couplet`.
//!
//! Each of the first three turns a function into a value of the same name that `Server::tool`, `Server::resource` or
//! `Server::prompt` accepts. They expand to code that could be written by hand with the server's builders:
//!
//! ```
//! use couplet::{Server, tool};
//!
//! /// Adds two numbers.
//! #[tool(read_only)]
//! fn add(
//!     /// The first number.
//!     a: f64,
//!     b: f64,
//! ) -> f64 {
//!     a + b
//! }
//!
//! let server: Server = Server::new("calc", "1.0.0").tool(add);
//! // The function itself can be called in tests.
//! assert_eq!(add::call(1.0, 2.0), 3.0);
//! ```
//!
//! is, apart from names and from how errors are shown,
//!
//! ```
//! # mod expansion {
//! use couplet::server::{IntoTool, ToolDef, extract::Args, tool};
//!
//! /// Adds two numbers.
//! #[allow(non_camel_case_types)]
//! #[derive(Clone, Copy, Debug)]
//! struct add {}
//!
//! fn add() -> add {
//!     add {}
//! }
//!
//! impl add {
//!     fn call(a: f64, b: f64) -> f64 {
//!         a + b
//!     }
//! }
//!
//! #[derive(couplet::serde::Deserialize, couplet::schemars::JsonSchema)]
//! # #[serde(crate = "couplet::serde")]
//! # #[schemars(crate = "couplet::schemars")]
//! struct Input {
//!     /// The first number.
//!     a: f64,
//!     b: f64,
//! }
//!
//! impl<S: Clone + Send + Sync + 'static> IntoTool<S> for add {
//!     fn into_tool(self) -> ToolDef<S> {
//!         tool("add", |Args(input): Args<Input>| add::call(input.a, input.b))
//!             .description("Adds two numbers.")
//!             .read_only()
//!             .into_tool()
//!     }
//! }
//! # }
//! ```
//!
//! # The name
//!
//! The function's name becomes that of a unit-like struct, which is registered, and of a function that makes it. Inside the
//! function the name still is the function; elsewhere it is called as `add::call(..)`. The compiler reports one that is
//! never registered as an unused function.
//!
//! # Parameters
//!
//! A parameter is an *extractor* if its type is called `State<..>`, `Auth<..>`, `Args<..>`, `Path<..>`, `Ctx`, `RawArgs`,
//! `Uri`, `Meta` or `Completing`, alone or in an `Option`, or if it is marked `#[extract]`. Every other parameter is an
//! *argument*: the client sends it, under the parameter's name. Macros see names only: a type of your own that is called
//! `Meta` needs another name, as in `use html::Meta as Head`; one that is called `State` and has no type parameters is an
//! argument. An argument
//!
//! * is described by its doc comment,
//! * may be left out if it is an `Option`, or if it has `#[default(value)]` or `#[default]`,
//! * is owned: `String`, not `&str`,
//! * can have `#[serde(..)]` and `#[schemars(..)]` as a field can. Constraints are validated before the function runs:
//!   `#[schemars(range(min = 1, max = 14))]`; for a `pattern`, see `couplet::server::Validation`.
//!
//! Extractors run in the order in which they are written, and all arguments together at the place of the first one. At most
//! 8 are allowed, where the arguments count as one.
//!
//! The types of a tool's and a prompt's arguments implement `Deserialize` and `JsonSchema`, the types of a resource's
//! variables `Deserialize`. The features `chrono`, `jiff`, `url` and `uuid` of `couplet` allow the types of these crates as
//! arguments; enable the feature `serde` of such a crate, too.
//!
//! ```
//! use couplet::{Server, server::extract::{FromCall, Invocation, Rejection, State}, tool};
//!
//! #[derive(Clone)]
//! struct Forecasts(&'static str);
//!
//! /// The name of the client.
//! struct Caller(String);
//!
//! impl<S: Sync> FromCall<S> for Caller {
//!     async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
//!         let info = invocation.call.peer.info.as_ref();
//!         Ok(Self(info.map_or_else(String::new, |info| info.name.clone())))
//!     }
//! }
//!
//! /// The weather of the coming days.
//! #[tool]
//! async fn forecast(
//!     city: String,
//!     #[default(3)]
//!     #[schemars(range(min = 1, max = 14))]
//!     days: u8,
//!     unit: Option<String>,
//!     State(forecasts): State<Forecasts>,
//!     #[extract] Caller(name): Caller,
//! ) -> String {
//!     let unit = unit.unwrap_or_else(|| "°C".to_owned());
//!     format!("{name}: {} in {city} for {days} days, in {unit}", forecasts.0)
//! }
//!
//! let server = Server::new("weather", "1.0.0").tool(forecast).with_state(Forecasts("rain"));
//! ```
//!
//! This crate knows syntax, and the names of the server's API. It must not know the protocol.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod args;
mod doc;
mod expand;
mod function;
mod input;
mod keys;
mod kind;
mod param;
mod prompt;
mod resource;
mod template;
mod test;
mod tool;

use proc_macro::TokenStream;

/// Makes a tool of a function, `async` or not. See [the crate](crate) for its parameters. Each key is the builder's setter
/// of the same name.
///
/// | key | sets |
/// |---|---|
/// | `name = "add"` | the name, instead of the function's: 1 to 128 letters, digits, `_`, `-` and `.` |
/// | `title = "Add"` | the display name |
/// | `description = "…"` | the description, instead of the doc comment; any expression |
/// | `read_only` | hint: the tool does not modify its environment |
/// | `destructive`, `destructive = false` | hint: whether it may perform destructive updates |
/// | `idempotent` | hint: repeated calls have no additional effect |
/// | `open_world`, `open_world = false` | hint: whether it interacts with external entities |
/// | `annotations = ToolAnnotations::new()` | all hints at once; the keys above change single ones |
/// | `blocking` | the function, which is not `async`, runs on a thread for blocking work |
/// | `timeout = Duration::from_secs(5)`, `timeout = none` | the timeout of a call, instead of the server's |
/// | `scopes = ["files:write"]` | the OAuth scopes that a caller must have; `scopes("files:write")` is the same |
/// | `icons = [Icon::new("…")]` | the icons |
/// | `meta = …` | the `_meta` of the listing, a `Meta` |
/// | `input_schema = json!({ … })` | the schema of the arguments, for functions that take `RawArgs` |
/// | `accepted_schema = json!({ … })` | the schema that arguments are validated against, if it allows more |
/// | `output_schema = json!({ … })` | the schema of the structured content, instead of the one of the result's type |
/// | `task`, `task = required` | runs as a task, where clients support tasks or only there (feature `tasks`); or any expression of the type `Task` |
/// | `extension_data = …` | data for an extension; `extension_data(a, b)` for several |
/// | `crate = "path"` | the path of `couplet`, if it is not `::couplet` |
///
/// A parameter whose value HTTP clients repeat in an `Mcp-Param-…` header has `#[schemars(extend("x-mcp-header" = "Region"))]`.
///
/// ```
/// use couplet::{Server, server::ToolError, tool};
///
/// /// Divides one number by another.
/// ///
/// /// Fails if the other is zero.
/// #[tool(title = "Divide", read_only, open_world = false)]
/// fn divide(
///     /// The number to divide.
///     dividend: f64,
///     /// The number to divide by.
///     divisor: f64,
/// ) -> Result<f64, ToolError> {
///     if divisor == 0.0 {
///         return Err(ToolError::new("a number cannot be divided by zero"));
///     }
///     Ok(dividend / divisor)
/// }
///
/// let server: Server = Server::new("calc", "1.0.0").tool(divide);
/// assert!(divide::call(1.0, 0.0).is_err());
/// ```
///
/// # Blocking functions
///
/// A function that is not `async` runs on the task of its connection. Until it returns, that connection handles nothing
/// else: no ping, no cancellation, no other call, no timeout. That is right for work of microseconds. Make a function that
/// reads files, queries a database or computes for long `async`, or `blocking`: then it runs on a thread for blocking
/// work, and a timeout or a cancellation answers the call at once, while the function runs to its end. With debug
/// assertions, a function that takes longer than 100 ms is reported with `tracing`. `Ctx::try_progress` reports progress.
///
/// ```
/// use couplet::{Server, tool};
///
/// /// Counts the lines of a file.
/// #[tool(blocking, read_only)]
/// fn lines(path: String) -> Result<usize, std::io::Error> {
///     Ok(std::fs::read_to_string(path)?.lines().count())
/// }
///
/// let server: Server = Server::new("files", "1.0.0").tool(lines);
/// ```
#[proc_macro_attribute]
pub fn tool(attr: TokenStream, item: TokenStream) -> TokenStream {
    tool::tool(attr.into(), item.into()).into()
}

/// Makes a resource of a function, `async` or not. A URI with variables, `{n}`, is a template (RFC 6570), and the
/// function has a parameter for each variable. See [the crate](crate) for parameters.
///
/// The URI comes first. Then there may be:
///
/// | key | sets |
/// |---|---|
/// | `name = "square"` | the programmatic name, instead of the function's |
/// | `title = "Square"` | the display name |
/// | `description = "…"` | the description, instead of the doc comment; any expression |
/// | `mime_type = "text/plain"` | the MIME type of the content, for results that have none of their own |
/// | `size = 1024` | the size of the content in bytes |
/// | `annotations = Annotations::new()` | audience, priority, time of the last change |
/// | `subscribable` | clients can subscribe to changes |
/// | `unlisted` | clients that know the URI can read it, and no list has it |
/// | `scopes = ["notes:read"]` | the OAuth scopes that a caller must have |
/// | `icons = [Icon::new("…")]` | the icons |
/// | `meta = …` | the `_meta` of the listing, a `Meta` |
/// | `complete(n = function)` | completes a variable, with a function over `Completing` |
/// | `complete_from(n = ["1", "2"])` | completes a variable from a list |
/// | `crate = "path"` | the path of `couplet`, if it is not `::couplet` |
///
/// ```
/// use couplet::{Server, resource, server::extract::Completing};
///
/// /// The square of a number.
/// #[resource("calc://square/{n}{?digits}", mime_type = "text/plain", complete(n = numbers))]
/// fn square(n: f64, digits: Option<usize>) -> String {
///     format!("{:.*}", digits.unwrap_or(2), n * n)
/// }
///
/// // It can take extractors too; of the state, only those that the resource itself takes.
/// fn numbers(typed: Completing) -> Vec<String> {
///     (1..100).map(|n| n.to_string()).filter(|n| n.starts_with(&typed.value)).collect()
/// }
///
/// let server: Server = Server::new("calc", "1.0.0").resource(square);
/// assert_eq!(square::call(3.0, None), "9.00");
/// ```
#[proc_macro_attribute]
pub fn resource(attr: TokenStream, item: TokenStream) -> TokenStream {
    resource::resource(attr.into(), item.into()).into()
}

/// Makes a prompt of a function, `async` or not. See [the crate](crate) for its parameters.
///
/// Clients send the arguments of prompts as strings. A parameter that is a number, a `bool` or an enum is parsed from one.
///
/// | key | sets |
/// |---|---|
/// | `name = "explain"` | the name, instead of the function's |
/// | `title = "Explain"` | the display name |
/// | `description = "…"` | the description, instead of the doc comment; any expression |
/// | `arguments = [PromptArgument::new("…")]` | the listed arguments, for functions that take `RawArgs` |
/// | `scopes = ["reports:read"]` | the OAuth scopes that a caller must have |
/// | `icons = [Icon::new("…")]` | the icons |
/// | `meta = …` | the `_meta` of the listing, a `Meta` |
/// | `complete(level = function)` | completes an argument, with a function over `Completing` |
/// | `complete_from(level = ["child", "student"])` | completes an argument from a list |
/// | `crate = "path"` | the path of `couplet`, if it is not `::couplet` |
///
/// ```
/// use couplet::{Server, prompt, server::extract::Completing};
///
/// /// Explains an expression.
/// #[prompt(complete(level = levels))]
/// fn explain(
///     /// The expression to explain.
///     expr: String,
///     level: Option<String>,
/// ) -> String {
///     format!("Explain {expr} to a {}.", level.as_deref().unwrap_or("child"))
/// }
///
/// fn levels(_: Completing) -> Vec<&'static str> {
///     vec!["child", "student"]
/// }
///
/// let server: Server = Server::new("calc", "1.0.0").prompt(explain);
/// assert_eq!(explain::call("1 + 1".to_owned(), None), "Explain 1 + 1 to a child.");
/// ```
#[proc_macro_attribute]
pub fn prompt(attr: TokenStream, item: TokenStream) -> TokenStream {
    prompt::prompt(attr.into(), item.into()).into()
}

/// Runs an `async` function as a test: once for every protocol revision if it takes a `ProtocolVersion`, else once.
///
/// The tests of `greets` are `greets::v2024_11_05` to `greets::v2026_07_28`. They run with `couplet_testing`, which
/// must be among the `[dev-dependencies]`; `crate = "path"` is its path, if it is not `::couplet_testing`.
///
/// ```
/// use couplet_macros as couplet;
/// # mod testing { pub use ::couplet::types::ProtocolVersion; }
/// # use testing::ProtocolVersion;
///
/// #[couplet::test]
/// async fn greets(version: ProtocolVersion) {
///     assert!(!version.as_str().is_empty());
/// }
/// ```
#[proc_macro_attribute]
pub fn test(attr: TokenStream, item: TokenStream) -> TokenStream {
    test::test(attr.into(), item.into()).into()
}
