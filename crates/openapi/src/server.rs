//! Operations as tools and resources of a server.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use couplet_core::JsonText;
use couplet_server::{
    Ctx, Server, ToolError,
    extract::{Path, RawArgs, Uri},
    resource, tool,
};
use couplet_types::{CallToolResult, ResourceContents};
use http::Method;
use serde_json::{Map, Value};

use crate::{
    Document,
    operation::{Operation, Place, Values},
    response,
    send::{Received, Upstream},
    text,
};

const LONGEST_INSTRUCTIONS: usize = 1_000;
const LONGEST_NAME: usize = 40;

/// The maximum size of a page of tools in bytes. A message may have 16 MiB.
const LARGEST_PAGE: usize = 8 << 20;

/// Builds the server of an API.
pub(crate) fn build(
    document: &Document,
    operations: Vec<Operation>,
    upstream: Arc<Upstream>,
    resources: bool,
) -> Server {
    let name = server_name(document.title());
    let title = text::clean(document.title(), 100);
    let mut server = Server::new(&*name, document.version()).title(title).page_size(page_size(&operations));
    let about = text::clean(document.description(), LONGEST_INSTRUCTIONS);
    if !about.is_empty() {
        server = server.instructions(about);
    }
    let mut taken = BTreeSet::new();
    for operation in operations {
        let operation = Arc::new(operation);
        let template = resources.then(|| Template::of(&name, &operation)).flatten();
        // Two paths may differ in characters that variables cannot have.
        let template = template.filter(|template| taken.insert(template.uri.clone()));
        server = match template {
            Some(template) => with_resource(server, operation, template, &upstream),
            None => with_tool(server, operation, &upstream),
        };
    }
    server
}

/// Returns the number of tools in a page: all, since some hosts read the first page only, unless a message would be too large.
fn page_size(operations: &[Operation]) -> usize {
    let size = |operation: &Operation| {
        let output = operation.output_schema.as_ref().map_or(0, |schema| schema.to_string().len());
        // The other members, and characters that are escaped.
        512 + 2 * operation.description.len() + operation.input_schema.to_string().len() + output
    };
    let sizes: Vec<usize> = operations.iter().map(size).collect();
    let fits = |entries: &usize| sizes.chunks(*entries).all(|page| page.iter().sum::<usize>() <= LARGEST_PAGE);
    let sizes = std::iter::successors(Some(operations.len().max(1)), |entries| {
        Some(entries.div_ceil(2)).filter(|n| n != entries)
    });
    sizes.into_iter().find(fits).unwrap_or(1)
}

fn server_name(title: &str) -> String {
    let mut name = String::new();
    for c in title.chars().take(LONGEST_NAME) {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    let name = name.trim_end_matches('-');
    match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => name.to_owned(),
        false => format!("api-{name}").trim_end_matches('-').to_owned(),
    }
}

fn with_tool(server: Server, operation: Arc<Operation>, upstream: &Arc<Upstream>) -> Server {
    let (called, upstream) = (operation.clone(), upstream.clone());
    let handler = move |ctx: Ctx, RawArgs(arguments): RawArgs| async move {
        let received = send(&called, &upstream, &ctx, parsed(&arguments)).await?;
        Ok::<CallToolResult, ToolError>(response::result(&called, &received))
    };
    let mut built = tool(&*operation.name, handler)
        .description(&*operation.description)
        .input_schema(operation.input_schema.clone())
        .open_world(true);
    if let Some(schema) = &operation.accepted_schema {
        built = built.accepted_schema(schema.clone());
    }
    if let Some(title) = &operation.title {
        built = built.title(&**title);
    }
    if let Some(schema) = &operation.output_schema {
        built = built.output_schema(schema.clone());
    }
    server.tool(match operation.method {
        Method::GET | Method::HEAD | Method::OPTIONS => built.read_only(),
        Method::PUT | Method::DELETE => built.destructive(true).idempotent(),
        Method::PATCH => built.destructive(true),
        _ => built.destructive(false),
    })
}

async fn send(
    operation: &Operation,
    upstream: &Upstream,
    ctx: &Ctx,
    arguments: Map<String, Value>,
) -> Result<Received, ToolError> {
    let request = operation.request(&arguments)?;
    upstream.send(operation, &request, ctx.call()).await.map_err(|error| {
        let error = error.to_string();
        let hint =
            if error.ends_with(" bytes") { ": ask for less, such as a smaller page or fewer fields" } else { "" };
        // Without its causes, which may contain more than the model should see.
        ToolError::new(format!("the request to the API failed: {error}{hint}"))
    })
}

fn parsed(arguments: &JsonText) -> Map<String, Value> {
    serde_json::from_str(arguments.as_str()).unwrap_or_default()
}

/// The URI template of an operation that is a resource.
struct Template {
    uri: String,
    /// The arguments by the names of their variables.
    variables: BTreeMap<String, String>,
}

impl Template {
    /// Returns the template of a `GET` operation whose parameters all fit into a URI.
    fn of(server: &str, operation: &Operation) -> Option<Self> {
        // A variable of a query may be absent, so a required parameter cannot be one.
        let mut required = operation.parameters.iter().filter(|p| p.fixed.is_none() && p.required);
        let fits =
            required.all(|p| p.place == Place::Path && p.values != Values::Json && is_single(operation, &p.argument));
        if operation.method != Method::GET || operation.body.is_some() || !fits || operation.path.contains(['?', '#']) {
            return None;
        }
        let mut variables = BTreeMap::new();
        let mut path = operation.path.clone();
        let mut query = Vec::new();
        for parameter in operation.parameters.iter().filter(|p| p.fixed.is_none()) {
            let variable: String = parameter.argument.replace(['-', '.'], "_");
            let is_new = variables.insert(variable.clone(), parameter.argument.clone()).is_none();
            match parameter.place {
                Place::Path if is_new => {
                    path = path.replace(&format!("{{{}}}", parameter.name), &format!("{{{variable}}}"));
                }
                Place::Query if is_new && is_single(operation, &parameter.argument) => query.push(variable),
                _ if parameter.required => return None,
                _ => drop(variables.remove(&variable)),
            }
        }
        let query = if query.is_empty() { String::new() } else { format!("{{?{}}}", query.join(",")) };
        let uri = format!("api://{server}{path}{query}");
        couplet_types::UriTemplate::parse_for_matching(&uri).is_ok().then_some(Self { uri, variables })
    }
}

/// Whether an argument is one value.
fn is_single(operation: &Operation, argument: &str) -> bool {
    let kind = operation.input_schema["properties"][argument]["type"].as_str();
    matches!(kind, Some("string" | "integer" | "number" | "boolean"))
}

fn with_resource(server: Server, operation: Arc<Operation>, template: Template, upstream: &Arc<Upstream>) -> Server {
    let (called, upstream) = (operation.clone(), upstream.clone());
    let Template { uri, variables } = template;
    let handler = move |ctx: Ctx, Uri(uri): Uri, values: Option<Path<BTreeMap<String, String>>>| async move {
        let values = values.map(|Path(values)| values).unwrap_or_default();
        let named = values.into_iter().filter_map(|(name, value)| Some((variables.get(&name)?.clone(), value.into())));
        let received = send(&called, &upstream, &ctx, named.collect()).await?;
        response::contents(&called, &received, &uri).map_err(ToolError::new)
    };
    let mut built = resource(uri, handler_of(handler)).name(&*operation.name).description(&*operation.description);
    if let Some(title) = &operation.title {
        built = built.title(&**title);
    }
    server.resource(built)
}

/// Fixes the result of a resource's handler, which type inference cannot know.
fn handler_of<F, Fut>(handler: F) -> F
where
    F: FnOnce(Ctx, Uri, Option<Path<BTreeMap<String, String>>>) -> Fut,
    Fut: Future<Output = Result<ResourceContents, ToolError>>,
{
    handler
}
