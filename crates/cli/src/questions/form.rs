//! Form elicitation, field by field.

use couplet::{
    client::Elicitation,
    types::{ElicitResult, Map, RawJson, RpcError},
};

use super::{
    field,
    prompt::{self, Line},
};
use crate::output::{Output, text};

#[derive(Clone, Copy)]
enum Choice {
    Send,
    Decline,
    Cancel,
}

/// Prompts for the fields of a form that are not known yet.
pub(crate) fn ask(
    output: &Output,
    heading: &str,
    ask: &Elicitation,
    known: &Map<RawJson>,
) -> Result<ElicitResult, RpcError> {
    output.complain(&format!("\n{heading} {}", text::visible(ask.message())));
    let content = match ask.schema() {
        Ok(schema) => {
            let mut content = known.clone();
            let schema = schema.unwrap_or_default();
            for (name, field) in schema.properties.iter().filter(|(name, _)| !known.contains_key(name)) {
                match field::ask(output, name, field, schema.is_required(name)) {
                    Ok(Some(value)) => content.insert(name, value),
                    Ok(None) => {}
                    Err(field::Left) => return ask.cancel(),
                }
            }
            content
        }
        Err(error) => match by_hand(output, ask, &error) {
            Some(content) => content,
            None => return ask.cancel(),
        },
    };
    let answers = [("yes", Choice::Send), ("no", Choice::Decline), ("cancel", Choice::Cancel)];
    match prompt::choose("  send? [Yes/no/cancel] ", &answers, Choice::Cancel) {
        Choice::Send => ask.accept(content),
        Choice::Decline => ask.decline(),
        Choice::Cancel => ask.cancel(),
    }
}

/// Describes the fields of a form, one per line.
pub(crate) fn fields(ask: &Elicitation) -> Vec<String> {
    let Ok(Some(schema)) = ask.schema() else { return Vec::new() };
    let line = |name: &str, field| {
        let about = field::describe(name, field, schema.is_required(name));
        format!("{}: {}", text::line(name), about.trim_start().trim_start_matches(&format!("{name} ")))
    };
    schema.properties.iter().map(|(name, field)| line(name, field)).collect()
}

/// Shows a form with an unsupported schema as JSON, and prompts for JSON.
fn by_hand(output: &Output, ask: &Elicitation, error: &serde_json::Error) -> Option<Map<RawJson>> {
    let form = ask.params().requested_schema.as_ref().map_or("{}", RawJson::get);
    output.complain(&format!("  the schema of the form is not supported: {}", text::line(&error.to_string())));
    output.complain(&text::visible(&crate::output::pretty(form, output.err)));
    loop {
        let Line::Text(text) = prompt::line("  content, as a JSON object: ") else { return None };
        match couplet::types::from_json(&text) {
            Ok(content) => return Some(content),
            Err(error) => output.complain(&format!("  not a JSON object: {error}")),
        }
    }
}
