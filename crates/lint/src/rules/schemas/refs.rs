//! References, which few clients follow.

use serde_json::Value;

use super::{Side, each};
use crate::{Surface, report::Report, rule::table};

table! { Schemas:
    LOCAL = "schema-ref" Warning
        about "the schema of arguments refers to its own parts"
        why "The Gemini API rejects it (google-gemini/gemini-cli#13326, anomalyco/opencode#12295); VS Code and Claude Desktop do not follow references, which is why FastMCP inlines them."
        fix "Inline the referenced schema."
    REMOTE = "schema-ref-remote" Error
        about "a schema refers to another document"
        why "The specification forbids clients to fetch it on their own, so they reject the schema."
        fix "Inline the referenced schema."
    DANGLING = "schema-ref-dangling" Error
        about "a schema refers to a part that it does not have"
        why "No client can use it; Gemini CLI drops all tools of the server (google-gemini/gemini-cli#13326)."
        fix "Add the part under `$defs`, or inline it."
    CIRCLE = "schema-recursive" Error
        about "a schema contains itself"
        why "Claude Code cannot read the list of tools (anthropics/claude-code#77106), Google's ADK does not terminate (google/adk-python#3870), and clients that inline references cannot do so."
        fix "Limit the depth by writing out two or three levels, or use a flat list with the ids of parents."
}

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    each(surface, |tool, side, tree| {
        for (at, _, keywords) in tree.objects() {
            let references = ["$ref", "$dynamicRef"].iter().filter_map(|keyword| keywords.get(*keyword)?.as_str());
            for reference in references {
                let place = tool.at(tree.pointer(at));
                let what = format!("it refers to `{reference}`");
                if !reference.starts_with('#') {
                    report.add(&REMOTE, place, what);
                } else if tree
                    .target(reference)
                    .is_none_or(|target| !matches!(target, Value::Object(_) | Value::Bool(_)))
                {
                    report.add(&DANGLING, place, what);
                } else if side == Side::Input {
                    report.add(&LOCAL, place, what);
                }
            }
        }
        for at in tree.circles() {
            report.add(&CIRCLE, tool.at(tree.pointer(at)), "following its references leads back to it");
        }
    });
}
