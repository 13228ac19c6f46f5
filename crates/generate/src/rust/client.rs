//! The client in Rust: a struct with a function for each tool, prompt and resource template.

use crate::{
    model::{Docs, Input, Kind, Model, TypeId},
    names::{Scope, snake},
    writer::Writer,
};

use super::{
    KEYWORDS,
    text::{code, docs, literal},
};

pub(super) fn write(model: &Model, out: &mut Writer) {
    let name = &model.client;
    let server = model.server.as_deref().map_or("a server".to_owned(), |name| format!("the server {}", code(name)));
    out.gap();
    out.line(format!("/// A typed client of {server}."));
    out.line("///");
    out.line("/// Functions return a request, which is sent when it is awaited, and can be given a timeout first.");
    out.line("#[derive(Clone, Debug)]");
    out.line(format!("pub struct {name} {{"));
    out.indented(|out| out.line("client: Client,"));
    out.line("}");
    out.gap();
    out.line(format!("impl {name} {{"));
    out.indented(|out| functions(model, out));
    out.line("}");
}

fn functions(model: &Model, out: &mut Writer) {
    out.line("/// Creates a typed client over a connection.");
    out.line("pub fn new(client: Client) -> Self {");
    out.indented(|out| out.line("Self { client }"));
    out.line("}");
    out.gap();
    out.line("/// Returns the connection.");
    out.line("pub fn client(&self) -> &Client {");
    out.indented(|out| out.line("&self.client"));
    out.line("}");
    let mut scope = Scope::new(&[KEYWORDS, "new client clone"]);
    for tool in &model.tools {
        let output = tool.output.map(|id| type_name(model, id));
        let result = output.unwrap_or("ToolResult");
        let then = if output.is_some() { "structured()" } else { "successful()" };
        let function = Function {
            ident: scope.claim(&snake(&tool.name), "tool_"),
            docs: &tool.docs,
            last: format!("Calls the tool {}.", code(&tool.name)),
            input: tool.input.map(|input| ("arguments", input)),
            result: format!("RequestBuilder<CallTool, {result}>"),
        };
        let arguments = if tool.input.is_some() { "arguments" } else { "()" };
        let body = format!("self.client.call({}, {arguments}).{then}", literal(&tool.name));
        function.write(model, out, |out| out.line(body));
    }
    for prompt in &model.prompts {
        let function = Function {
            ident: scope.claim(&format!("prompt_{}", snake(&prompt.name)), "prompt_"),
            docs: &prompt.docs,
            last: format!("Gets the prompt {}.", code(&prompt.name)),
            input: prompt.input.map(|input| ("arguments", input)),
            result: "RequestBuilder<GetPrompt>".to_owned(),
        };
        let arguments = if prompt.input.is_some() { "arguments" } else { "()" };
        let body = format!("self.client.prompt({}, {arguments})", literal(&prompt.name));
        function.write(model, out, |out| out.line(body));
    }
    for template in &model.templates {
        let function = Function {
            ident: scope.claim(&format!("read_{}", snake(&template.name)), "read_"),
            docs: &template.docs,
            last: format!("Reads a resource of the template {}.", code(&template.uri)),
            input: template.input.map(|input| ("variables", input)),
            result: "RequestBuilder<ReadResource>".to_owned(),
        };
        let uri = literal(&template.uri);
        function.write(model, out, |out| match template.input {
            Some(input) => expand(model, &uri, input.ty, out),
            None => out.line(format!("self.client.read({uri})")),
        });
    }
}

/// A function and its documentation.
struct Function<'m> {
    ident: String,
    docs: &'m Docs,
    /// The last sentence of the documentation.
    last: String,
    input: Option<(&'static str, Input)>,
    result: String,
}

impl Function<'_> {
    fn write(&self, model: &Model, out: &mut Writer, body: impl FnOnce(&mut Writer)) {
        let input = self.input.map(|(name, input)| format!(", {name}: &{}", type_name(model, input.ty)));
        out.gap();
        docs(self.docs, Some(&self.last), out);
        out.line(format!("pub fn {}(&self{}) -> {} {{", self.ident, input.unwrap_or_default(), self.result));
        out.indented(body);
        out.line("}");
    }
}

/// The URI of a template with its variables. It is parsed here, too: a template that is not valid is not generated.
fn expand(model: &Model, uri: &str, variables: TypeId, out: &mut Writer) {
    out.line("let mut values: Vec<(&str, TemplateValue)> = Vec::new();");
    let Some(Kind::Object(object)) = model.types.get(variables).map(|def| &def.kind) else { return };
    let mut scope = Scope::new(&[KEYWORDS]);
    for field in &object.fields {
        let ident = scope.claim(&snake(&field.name), "field_");
        let name = literal(&field.name);
        match field.is_required {
            true => out.line(format!("values.push(({name}, variables.{ident}.as_str().into()));")),
            false => {
                out.line(format!("if let Some(value) = &variables.{ident} {{"));
                out.indented(|out| out.line(format!("values.push(({name}, value.as_str().into()));")));
                out.line("}");
            }
        }
    }
    out.line(format!("let template = {uri};"));
    out.line("let uri = UriTemplate::parse(template).map(|template| template.expand(&values));");
    out.line("self.client.read(uri.unwrap_or_else(|_| template.to_owned()))");
}

fn type_name(model: &Model, id: TypeId) -> &str {
    model.types.get(id).map_or("Value", |def| &def.name)
}
