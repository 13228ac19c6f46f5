//! The client in Python: a class with a method for each tool, prompt and resource template.

use crate::{
    model::{Docs, Input, Model, TypeId},
    names::{Scope, snake},
    writer::Writer,
};

use super::{
    KEYWORDS,
    text::{code, docstring, literal},
};

/// Names that a method must not have, because annotations use them.
pub(super) const RESERVED: &str = "client bool dict float int list str";

/// The imports of each client.
const IMPORTS: &str = r#"import json
from typing import Any, Literal, cast

from mcp import Client
from mcp.shared.dispatcher import ProgressFnT
from mcp_types import CallToolResult, GetPromptResult, ReadResourceResult, TextContent
from typing_extensions import NotRequired, TypeAlias, TypedDict
"#;

/// The functions that all methods use.
const SUPPORT: &str = r#"class ToolError(Exception):
    """A tool that failed: its result says why."""

    def __init__(self, tool: str, result: CallToolResult) -> None:
        super().__init__(f"the tool {tool!r} failed: {_text(result)}")
        self.tool = tool
        self.result = result


def _text(result: CallToolResult) -> str:
    return "".join(block.text for block in result.content if isinstance(block, TextContent))


async def _call(
    client: Client, tool: str, arguments: Any, timeout: float | None, progress: ProgressFnT | None
) -> CallToolResult:
    result = await client.call_tool(
        tool, cast("dict[str, Any]", arguments), read_timeout_seconds=timeout, progress_callback=progress
    )
    if result.is_error:
        raise ToolError(tool, result)
    return result


def _structured(result: CallToolResult) -> Any:
    """The structured content; in revisions without it, the text as JSON."""
    content = result.structured_content
    return json.loads(_text(result)) if content is None else content
"#;

pub(super) fn write(model: &Model, out: &mut Writer) {
    let has_variables = model.templates.iter().any(|template| template.input.is_some());
    for line in IMPORTS.lines() {
        let with = if has_variables { "from mcp import Client, UriTemplate" } else { "from mcp import Client" };
        out.line(if line == "from mcp import Client" { with } else { line });
    }
    out.gap();
    out.gap();
    SUPPORT.lines().for_each(|line| out.line(line));
    out.gap();
    out.gap();
    let server = model.server.as_deref().map_or("a server".to_owned(), |name| format!("the server {}", code(name)));
    out.line(format!("class {}:", model.client));
    out.indented(|out| {
        let docs = Docs { lines: vec![format!("A typed client of {server}.")], ..Docs::default() };
        docstring(&docs, None, out);
        out.gap();
        out.line("def __init__(self, client: Client) -> None:");
        out.indented(|out| out.line("self.client = client"));
        methods(model, out);
    });
}

fn methods(model: &Model, out: &mut Writer) {
    let mut scope = Scope::new(&[KEYWORDS, RESERVED]);
    for tool in &model.tools {
        let method = AsyncMethod {
            ident: scope.claim(&snake(&tool.name), "tool_"),
            docs: &tool.docs,
            last: format!("Calls the tool {}.", code(&tool.name)),
            input: tool.input.map(|input| ("arguments", input)),
            options: "*, timeout: float | None = None, progress: ProgressFnT | None = None",
            result: tool.output.map_or("CallToolResult", |id| type_name(model, id)),
        };
        let arguments = match tool.input {
            Some(input) if input.is_optional => "arguments or {}",
            Some(_) => "arguments",
            None => "{}",
        };
        let call = format!("await _call(self.client, {}, {arguments}, timeout, progress)", literal(&tool.name));
        let typed = |id: TypeId| format!("return cast(\"{}\", _structured({call}))", type_name(model, id));
        method.write(model, out, &tool.output.map_or_else(|| format!("return {call}"), typed));
    }
    for prompt in &model.prompts {
        let method = AsyncMethod {
            ident: scope.claim(&format!("prompt_{}", snake(&prompt.name)), "prompt_"),
            docs: &prompt.docs,
            last: format!("Gets the prompt {}.", code(&prompt.name)),
            input: prompt.input.map(|input| ("arguments", input)),
            options: "",
            result: "GetPromptResult",
        };
        let arguments = if prompt.input.is_some() { ", cast(\"dict[str, str]\", arguments or {})" } else { "" };
        let body = format!("return await self.client.get_prompt({}{arguments})", literal(&prompt.name));
        method.write(model, out, &body);
    }
    for template in &model.templates {
        let method = AsyncMethod {
            ident: scope.claim(&format!("read_{}", snake(&template.name)), "read_"),
            docs: &template.docs,
            last: format!("Reads a resource of the template {}.", code(&template.uri)),
            input: template.input.map(|input| ("variables", input)),
            options: "",
            result: "ReadResourceResult",
        };
        let text = literal(&template.uri);
        let expanded = format!("UriTemplate.parse({text}).expand(cast(\"dict[str, str]\", variables or {{}}))");
        let uri = if template.input.is_some() { expanded } else { text };
        method.write(model, out, &format!("return await self.client.read_resource({uri})"));
    }
}

/// A method and its documentation.
struct AsyncMethod<'m> {
    ident: String,
    docs: &'m Docs,
    /// The last sentence of the documentation.
    last: String,
    input: Option<(&'static str, Input)>,
    options: &'static str,
    result: &'m str,
}

impl AsyncMethod<'_> {
    fn write(&self, model: &Model, out: &mut Writer, body: &str) {
        let input = self.input.map(|(name, input)| {
            let ty = type_name(model, input.ty);
            if input.is_optional { format!("{name}: {ty} | None = None") } else { format!("{name}: {ty}") }
        });
        let options = (!self.options.is_empty()).then(|| self.options.to_owned());
        let parameters: Vec<String> = std::iter::once("self".to_owned()).chain(input).chain(options).collect();
        out.gap();
        out.line(format!("async def {}({}) -> {}:", self.ident, parameters.join(", "), self.result));
        out.indented(|out| {
            docstring(self.docs, Some(&self.last), out);
            out.line(body);
        });
    }
}

fn type_name(model: &Model, id: TypeId) -> &str {
    model.types.get(id).map_or("Any", |def| &def.name)
}
