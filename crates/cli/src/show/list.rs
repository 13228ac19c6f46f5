//! Lists of tools, resources and prompts, and their full descriptions.

use std::fmt::Write;

use couplet::types::{Prompt, Resource, ResourceTemplate, Tool};

use crate::{
    arguments::Schema,
    output::{Paint, text},
};

/// An entry of a list.
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Text directly after the name, such as the arguments.
    pub(crate) more: String,
    pub(crate) description: String,
}

pub(crate) fn tool(tool: &Tool) -> Entry {
    let schema = Schema::new(&tool.input_schema);
    let mut arguments: Vec<_> = schema.names().map(|name| argument(&schema, name)).collect();
    if arguments.is_empty() && schema.is_open() {
        // Any arguments are accepted.
        arguments.push("…".to_owned());
    }
    let description = tool.description.as_deref().or(tool.title.as_deref()).unwrap_or_default();
    Entry {
        name: text::line(&tool.name),
        more: format!("({})", arguments.join(", ")),
        description: text::first_line(description),
    }
}

pub(crate) fn resource(resource: &Resource) -> Entry {
    let description = resource.description.as_deref().or(resource.title.as_deref()).unwrap_or(&resource.name);
    Entry { name: text::line(&resource.uri), more: String::new(), description: text::first_line(description) }
}

pub(crate) fn template(template: &ResourceTemplate) -> Entry {
    let description = template.description.as_deref().or(template.title.as_deref()).unwrap_or(&template.name);
    Entry { name: text::line(&template.uri_template), more: String::new(), description: text::first_line(description) }
}

pub(crate) fn prompt(prompt: &Prompt) -> Entry {
    let name = |a: &couplet::types::PromptArgument| {
        format!("{}{}", text::line(&a.name), if a.required == Some(true) { "" } else { "?" })
    };
    let arguments: Vec<_> = prompt.arguments.iter().flatten().map(name).collect();
    let description = prompt.description.as_deref().or(prompt.title.as_deref()).unwrap_or_default();
    Entry {
        name: text::line(&prompt.name),
        more: format!("({})", arguments.join(", ")),
        description: text::first_line(description),
    }
}

/// Formats entries in two columns, or on two lines if the first is too wide. Lines are truncated to the terminal.
pub(crate) fn columns(entries: &[Entry], paint: Paint) -> String {
    const WIDEST: usize = 44;
    const INDENT: usize = 6;
    let screen = if paint.terminal { crate::output::screen_width() } else { usize::MAX };
    let widths = entries.iter().map(|e| text::width(&e.name) + text::width(&e.more)).filter(|w| *w <= WIDEST);
    let column = widths.max().unwrap_or(0);
    let mut page = String::new();
    for entry in entries {
        let width = text::width(&entry.name) + text::width(&entry.more);
        let more = text::cut(&entry.more, screen.saturating_sub(text::width(&entry.name) + 2));
        let _ = write!(page, "  {}{}", paint.name(&entry.name), paint.faint(more));
        if entry.description.is_empty() {
            page.push('\n');
        } else if width <= column {
            let description = text::cut(&entry.description, screen.saturating_sub(column + 4));
            let _ = writeln!(page, "{}  {description}", " ".repeat(column - width));
        } else {
            let description = text::cut(&entry.description, screen.saturating_sub(INDENT));
            let _ = writeln!(page, "\n{}{description}", " ".repeat(INDENT));
        }
    }
    page
}

/// Describes a tool.
pub(crate) fn tool_in_full(tool: &Tool, paint: Paint) -> String {
    let schema = Schema::new(&tool.input_schema);
    let mut page = format!("{}\n", paint.strong(paint.name(text::line(&tool.name))));
    if let Some(title) = tool.title.as_ref().filter(|title| **title != tool.name) {
        let _ = writeln!(page, "  {}", text::line(title));
    }
    paragraph(&mut page, tool.description.as_deref());
    let mut arguments = Vec::new();
    members(&schema, "", NESTED, &mut arguments);
    section(&mut page, "Arguments", &columns(&arguments, paint), paint);
    if let Some(output) = tool.output_schema.as_ref().map(Schema::new) {
        let mut results = Vec::new();
        members(&output, "", NESTED, &mut results);
        for entry in &mut results {
            // Optional members of a result are not marked.
            entry.more = entry.more.trim_end_matches(OPTIONAL).to_owned();
        }
        section(&mut page, "Result", &columns(&results, paint), paint);
    }
    let hints = hints(tool);
    if !hints.is_empty() {
        let _ = writeln!(page, "{} {}", paint.strong("Hints:"), hints.join(", "));
    }
    page
}

/// The maximum depth of nested members; a schema can be recursive.
const NESTED: usize = 3;
const OPTIONAL: &str = ", optional";

/// Collects the members of an object with their paths: `place.lat`, `points[].x`.
fn members(schema: &Schema, before: &str, depth: usize, entries: &mut Vec<Entry>) {
    for name in schema.names() {
        let place = schema.property(name);
        let default = place.as_ref().and_then(Schema::default_value).map(|d| format!(", default {d}"));
        let kind = place.as_ref().map_or("any".to_owned(), Schema::sketch);
        let optional = if schema.is_required(name) { "" } else { OPTIONAL };
        let full = format!("{before}{name}");
        entries.push(Entry {
            name: text::line(&full),
            more: format!(" {}", text::line(&format!("{kind}{}", default.as_deref().unwrap_or(optional)))),
            description: place.as_ref().and_then(Schema::description).unwrap_or_default(),
        });
        if let Some((join, inner)) = place.as_ref().filter(|_| depth > 1).and_then(Schema::inner) {
            members(&inner, &format!("{full}{join}"), depth - 1, entries);
        }
    }
}

/// Describes a prompt.
pub(crate) fn prompt_in_full(prompt: &Prompt, paint: Paint) -> String {
    let mut page = format!("{}\n", paint.strong(paint.name(text::line(&prompt.name))));
    paragraph(&mut page, prompt.description.as_deref());
    let arguments: Vec<Entry> = prompt
        .arguments
        .iter()
        .flatten()
        .map(|argument| Entry {
            name: text::line(&argument.name),
            more: if argument.required == Some(true) { String::new() } else { " optional".to_owned() },
            description: argument.description.as_deref().map(text::line).unwrap_or_default(),
        })
        .collect();
    section(&mut page, "Arguments", &columns(&arguments, paint), paint);
    page
}

fn paragraph(page: &mut String, words: Option<&str>) {
    if let Some(words) = words {
        let _ = writeln!(page, "{}", text::indented(words, 2));
    }
}

fn section(page: &mut String, heading: &str, body: &str, paint: Paint) {
    if !body.is_empty() {
        let _ = write!(page, "{}\n{body}", paint.strong(heading));
    }
}

/// Formats an argument as `name: type`, with a question mark if it is optional.
fn argument(schema: &Schema, name: &str) -> String {
    let optional = if schema.is_required(name) { "" } else { "?" };
    let kind = schema.property(name).map_or("any".to_owned(), |place| place.sketch());
    text::line(&format!("{name}{optional}: {kind}"))
}

/// Describes the annotations of a tool, which are hints from the server and not guarantees.
fn hints(tool: &Tool) -> Vec<&'static str> {
    let Some(hints) = &tool.annotations else { return Vec::new() };
    let said = [
        (hints.read_only_hint, "read-only", "not read-only"),
        (hints.destructive_hint, "destructive", "not destructive"),
        (hints.idempotent_hint, "idempotent", "not idempotent"),
        (hints.open_world_hint, "open world", "closed world"),
    ];
    said.iter().filter_map(|(hint, yes, no)| hint.map(|hint| if hint { *yes } else { *no })).collect()
}
