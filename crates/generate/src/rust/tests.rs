//! Tests in Rust: values of each type are parsed and serialized, and stay what they are.

use crate::{
    model::{Model, sample},
    names::{Scope, snake},
    writer::Writer,
};

use super::{KEYWORDS, text::literal};

/// A module to append to the client.
pub(crate) fn tests(model: &Model) -> String {
    let mut out = Writer::default();
    out.gap();
    out.line("#[cfg(test)]");
    out.line("mod tests {");
    out.indented(|out| {
        out.line("use super::*;");
        out.gap();
        out.line("/// A value of JSON becomes a value of the type, and the same JSON again.");
        out.line("fn same<T: Serialize + for<'de> Deserialize<'de>>(json: &str) {");
        out.indented(|out| {
            out.line("let typed: T = serde_json::from_str(json).expect(\"the value has the type\");");
            out.line("let expected: Value = serde_json::from_str(json).expect(\"the value is JSON\");");
            out.line("assert_eq!(serde_json::to_value(typed).expect(\"the value is serialized\"), expected);");
        });
        out.line("}");
        let mut scope = Scope::new(&[KEYWORDS, "same"]);
        for tool in &model.tools {
            let types: Vec<_> = tool.input.map(|input| input.ty).into_iter().chain(tool.output).collect();
            let values = types.iter().filter_map(|id| Some((&model.types.get(*id)?.name, sample(model, *id)?)));
            let values: Vec<_> = values.collect();
            if values.is_empty() {
                continue;
            }
            out.gap();
            out.line("#[test]");
            out.line(format!("fn {}() {{", scope.claim(&snake(&tool.name), "tool_")));
            out.indented(|out| {
                for (name, value) in &values {
                    out.line(format!("same::<{name}>({});", literal(&value.to_string())));
                }
            });
            out.line("}");
        }
    });
    out.line("}");
    out.finish()
}
