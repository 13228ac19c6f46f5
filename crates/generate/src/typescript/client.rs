//! The client in TypeScript: a class with a method for each tool, prompt and resource template.

use crate::{
    model::{Docs, Input, Model, TypeId},
    names::{Scope, camel},
    writer::Writer,
};

use super::text::{code, docs, literal};

/// Names that a method must not have: an object with `then` is a promise.
pub(super) const RESERVED: &str = "constructor client then toString toJSON valueOf prototype hasOwnProperty";

/// The functions that all methods use.
const SUPPORT: &str = r#"/** A tool that failed: its result says why. */
export class ToolError extends Error {
    readonly tool: string;
    readonly result: CallToolResult;

    constructor(tool: string, result: CallToolResult) {
        super(`the tool ${JSON.stringify(tool)} failed: ${textOf(result)}`);
        this.name = "ToolError";
        this.tool = tool;
        this.result = result;
    }
}

function textOf(result: CallToolResult): string {
    return result.content.map((block) => (block.type === "text" ? block.text : "")).join("");
}

async function call(client: Client, name: string, args: unknown, options?: RequestOptions): Promise<CallToolResult> {
    const result = await client.callTool({ name, arguments: args as { [key: string]: unknown } }, options);
    if (result.isError) {
        throw new ToolError(name, result);
    }
    return result;
}

/** The structured content; in revisions without it, the text as JSON. */
function structured<T>(result: CallToolResult): T {
    return (result.structuredContent === undefined ? JSON.parse(textOf(result)) : result.structuredContent) as T;
}
"#;

/// The function that prompts and templates use.
const STRINGS: &str = r#"
function strings(args: object): { [key: string]: string } {
    return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== undefined));
}
"#;

pub(super) fn write(model: &Model, out: &mut Writer) {
    imports(model, out);
    out.gap();
    let has_strings = model.prompts.iter().any(|prompt| prompt.input.is_some())
        || model.templates.iter().any(|template| template.input.is_some());
    let support = if has_strings { format!("{SUPPORT}{STRINGS}") } else { SUPPORT.to_owned() };
    support.lines().for_each(|line| out.line(line));
    let server = model.server.as_deref().map_or("a server".to_owned(), |name| format!("the server {}", code(name)));
    out.gap();
    out.line(format!("/** A typed client of {server}. */"));
    out.line(format!("export class {} {{", model.client));
    out.indented(|out| {
        out.line("/** The connection. */");
        out.line("readonly client: Client;");
        out.gap();
        out.line("constructor(client: Client) {");
        out.indented(|out| out.line("this.client = client;"));
        out.line("}");
        methods(model, out);
    });
    out.line("}");
}

fn imports(model: &Model, out: &mut Writer) {
    let mut names = vec!["type CallToolResult", "type Client"];
    names.extend((!model.prompts.is_empty()).then_some("type GetPromptResult"));
    names.extend((!model.templates.is_empty()).then_some("type ReadResourceResult"));
    names.push("type RequestOptions");
    names.extend(model.templates.iter().any(|template| template.input.is_some()).then_some("UriTemplate"));
    out.line(format!("import {{ {} }} from \"@modelcontextprotocol/client\";", names.join(", ")));
}

fn methods(model: &Model, out: &mut Writer) {
    let mut scope = Scope::new(&[RESERVED]);
    for tool in &model.tools {
        let method = ClassMethod {
            ident: scope.claim(&camel(&tool.name), "tool"),
            docs: &tool.docs,
            last: format!("Calls the tool {}.", code(&tool.name)),
            input: tool.input,
            result: tool.output.map_or("CallToolResult", |id| type_name(model, id)),
        };
        let args = if tool.input.is_some() { "args" } else { "{}" };
        let call = format!("await call(this.client, {}, {args}, options)", literal(&tool.name));
        let body = if tool.output.is_some() { format!("structured({call})") } else { call };
        method.write(model, out, &body);
    }
    for prompt in &model.prompts {
        let method = ClassMethod {
            ident: scope.claim(&camel(&format!("prompt {}", prompt.name)), "prompt"),
            docs: &prompt.docs,
            last: format!("Gets the prompt {}.", code(&prompt.name)),
            input: prompt.input,
            result: "GetPromptResult",
        };
        let args = if prompt.input.is_some() { ", arguments: strings(args)" } else { "" };
        let body = format!("await this.client.getPrompt({{ name: {}{args} }}, options)", literal(&prompt.name));
        method.write(model, out, &body);
    }
    for template in &model.templates {
        let method = ClassMethod {
            ident: scope.claim(&camel(&format!("read {}", template.name)), "read"),
            docs: &template.docs,
            last: format!("Reads a resource of the template {}.", code(&template.uri)),
            input: template.input,
            result: "ReadResourceResult",
        };
        let text = literal(&template.uri);
        let expanded = format!("new UriTemplate({text}).expand(strings(args))");
        let uri = if template.input.is_some() { expanded } else { text };
        method.write(model, out, &format!("await this.client.readResource({{ uri: {uri} }}, options)"));
    }
}

/// A method and its documentation.
struct ClassMethod<'m> {
    ident: String,
    docs: &'m Docs,
    /// The last sentence of the documentation.
    last: String,
    input: Option<Input>,
    result: &'m str,
}

impl ClassMethod<'_> {
    fn write(&self, model: &Model, out: &mut Writer, body: &str) {
        let input = self.input.map(|input| {
            let default = if input.is_optional { " = {}" } else { "" };
            format!("args: {}{default}, ", type_name(model, input.ty))
        });
        out.gap();
        docs(self.docs, Some(&self.last), out);
        let (ident, input, result) = (&self.ident, input.unwrap_or_default(), self.result);
        out.line(format!("async {ident}({input}options?: RequestOptions): Promise<{result}> {{"));
        out.indented(|out| out.line(format!("return {body};")));
        out.line("}");
    }
}

fn type_name(model: &Model, id: TypeId) -> &str {
    model.types.get(id).map_or("unknown", |def| &def.name)
}
