//! From the definitions of a server to the model of its client.

use std::collections::HashSet;

use couplet_types::{PromptArgument, UriTemplate};

use super::{
    Docs, Field, Input, Kind, Model, Object, Prompt, Template, Tool, Type, TypeId, build::Builder, cycles, object,
    order,
};
use crate::{
    Definitions,
    json::Json,
    names::{Scope, pascal},
};

/// The names that types must not have: those that the code in one of the languages uses.
const RESERVED: &[&str] = &[
    // Rust
    "Self Option Some None Vec String Box Result Ok Err Value BTreeMap Client Error RequestBuilder CallTool ToolResult",
    "GetPrompt ReadResource UriTemplate TemplateValue Serialize Deserialize Default Clone Debug PartialEq Into From Eq",
    // TypeScript
    "ToolError CallToolResult GetPromptResult ReadResourceResult RequestOptions Promise Record Array Object Number",
    "Boolean Symbol Map Set Date Function JSON Readonly Partial Required Pick Omit Exclude Extract Awaited Infinity NaN",
    // Python
    "Any Literal NotRequired TypedDict TypeAlias ProgressFnT Exception True False Union Optional List Dict",
];

/// The name of a schema in its definition, with the parsed schema.
struct Parsed<'d> {
    tool: &'d couplet_types::Tool,
    input: Json,
    output: Option<Json>,
}

/// Creates the model. Functions are sorted by name, so that the order of a server's lists does not matter.
pub(crate) fn model(definitions: &Definitions, name: Option<&str>) -> Model {
    let mut scope = Scope::new(RESERVED);
    let server = definitions.server.as_deref();
    let last = server.and_then(|server| server.rsplit('/').find(|part| !pascal(part).is_empty()));
    let client = match name {
        Some(name) => scope.claim(&pascal(name), "Client"),
        None => scope.claim(&format!("{}Client", pascal(last.unwrap_or("Server"))), "Client"),
    };
    let parsed = parsed(definitions);
    let mut builder = Builder::new(scope);
    let tools = parsed.iter().map(|one| tool(one, &mut builder)).collect();
    let prompts = unique(&definitions.prompts, |prompt| &prompt.name);
    let prompts = prompts.into_iter().map(|one| prompt(one, &mut builder)).collect();
    let templates = unique(&definitions.templates, |template| &template.uri_template);
    let templates = templates.into_iter().filter_map(|one| template(one, &mut builder)).collect();
    let mut types = builder.types;
    cycles::break_empty(&mut types);
    order::sort_variants(&mut types);
    Model { server: definitions.server.clone(), client, types, tools, prompts, templates }
}

fn parsed(definitions: &Definitions) -> Vec<Parsed<'_>> {
    let any = || Json::Object(Vec::new());
    unique(&definitions.tools, |tool| &tool.name)
        .into_iter()
        .map(|tool| Parsed {
            tool,
            input: tool.input_schema.parse().unwrap_or_else(|_| any()),
            output: tool.output_schema.as_ref().map(|schema| schema.parse().unwrap_or_else(|_| any())),
        })
        .collect()
}

/// Definitions by name. Of several with the same name the first counts, as there is no way to call another.
fn unique<T>(list: &[T], name: impl Fn(&T) -> &String) -> Vec<&T> {
    let mut seen = HashSet::new();
    let mut list: Vec<&T> = list.iter().filter(|one| seen.insert(name(one))).collect();
    list.sort_by(|a, b| name(a).cmp(name(b)));
    list
}

fn tool<'a>(Parsed { tool, input, output }: &'a Parsed<'_>, builder: &mut Builder<'a>) -> Tool {
    let owner = Some(pascal(&tool.name)).filter(|name| name.starts_with(|c: char| !c.is_ascii_digit()));
    let owner = owner.unwrap_or_else(|| format!("Tool{}", pascal(&tool.name)));
    let mut docs = Docs::from_text(tool.description.as_deref()).with_title(tool.title.as_deref());
    docs.is_deprecated = input.get("deprecated").is_some_and(Json::is_true);
    let arguments = (!object::is_empty(input)).then(|| {
        let ty = builder.root(input, &owner, &format!("{owner}Input"));
        Input { ty, is_optional: is_optional(builder, ty) }
    });
    let output = output.as_ref().map(|schema| builder.root(schema, &owner, &format!("{owner}Output")));
    Tool { name: tool.name.clone(), docs, input: arguments, output }
}

/// Whether an empty object is a value of a type.
fn is_optional(builder: &Builder<'_>, ty: TypeId) -> bool {
    match builder.types.get(ty).map(|def| &def.kind) {
        Some(Kind::Object(object)) => object.fields.iter().all(|field| !field.is_required),
        _ => false,
    }
}

fn prompt(prompt: &couplet_types::Prompt, builder: &mut Builder<'_>) -> Prompt {
    let docs = Docs::from_text(prompt.description.as_deref()).with_title(prompt.title.as_deref());
    let arguments = prompt.arguments.as_deref().unwrap_or_default();
    let field = |argument: &PromptArgument| Field {
        name: argument.name.clone(),
        docs: Docs::from_text(argument.description.as_deref()),
        ty: Type::String,
        is_required: argument.required == Some(true),
    };
    let fields = arguments.iter().map(field).collect();
    let input = strings(builder, &format!("{}Arguments", pascal(&prompt.name)), fields);
    Prompt { name: prompt.name.clone(), docs, input }
}

fn template(template: &couplet_types::ResourceTemplate, builder: &mut Builder<'_>) -> Option<Template> {
    let uri = template.uri_template.clone();
    UriTemplate::parse(&uri).ok()?;
    let docs = Docs::from_text(template.description.as_deref()).with_title(template.title.as_deref());
    let name = if pascal(&template.name).is_empty() { "resource".to_owned() } else { template.name.clone() };
    let input = strings(builder, &format!("{}Variables", pascal(&name)), variables(&uri));
    Some(Template { name, uri, docs, input })
}

/// The variables of a valid template. Those of a query may be absent.
fn variables(uri: &str) -> Vec<Field> {
    let mut fields: Vec<Field> = Vec::new();
    for expression in uri.split('{').skip(1).filter_map(|rest| rest.split('}').next()) {
        let is_required = !expression.starts_with(['?', '&', ';', '#', '.', '/']);
        let names = expression.trim_start_matches(['?', '&', ';', '#', '.', '/', '+']).split(',');
        for name in names.map(|name| name.trim_end_matches('*').split(':').next().unwrap_or_default()) {
            match fields.iter_mut().find(|field| field.name == name) {
                Some(known) => known.is_required |= is_required,
                None => {
                    let docs = Docs::default();
                    fields.push(Field { name: name.to_owned(), docs, ty: Type::String, is_required });
                }
            }
        }
    }
    fields
}

/// A type of strings; none without fields.
fn strings(builder: &mut Builder<'_>, name: &str, mut fields: Vec<Field>) -> Option<Input> {
    let mut seen = HashSet::new();
    fields.retain(|field| seen.insert(field.name.clone()));
    let is_optional = fields.iter().all(|field| !field.is_required);
    if fields.is_empty() {
        return None;
    }
    let ty = builder.declare(name, Docs::default());
    if let Some(def) = builder.types.get_mut(ty) {
        def.kind = Kind::Object(Object { fields, rest: None });
    }
    Some(Input { ty, is_optional })
}
