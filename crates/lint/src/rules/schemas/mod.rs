//! The JSON Schemas of arguments and results. Model APIs read the first, clients both.

pub(super) mod refs;
pub(super) mod root;
pub(super) mod types;
pub(super) mod values;
pub(super) mod whole;

use couplet_schema::{Budget, Schema, SchemaError};
use serde_json::Value;

use crate::{Surface, schema::Tree, surface::Item};

/// The limit on the total size of compiled schemas of all tools, against hostile lists.
const MOST_COMPILED: usize = 4 << 20;

/// Whether a schema is for arguments or for results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Input,
    Output,
}

/// Visits every schema that is an object.
fn each(surface: &Surface, mut look: impl FnMut(&Item, Side, &Tree<'_>)) {
    for tool in surface.tools() {
        for (side, member, base) in
            [(Side::Input, "inputSchema", "/inputSchema"), (Side::Output, "outputSchema", "/outputSchema")]
        {
            if let Some(schema) = tool.get(member).filter(|schema| schema.is_object()) {
                look(tool, side, &Tree::new(schema, base));
            }
        }
    }
}

/// Compiles schemas up to the limit.
struct Compiler {
    left: usize,
}

impl Compiler {
    fn new() -> Self {
        Self { left: MOST_COMPILED }
    }

    /// Returns `None` if the limit is reached.
    fn compile(&mut self, schema: &Value) -> Option<Result<Schema, SchemaError>> {
        if self.left == 0 {
            return None;
        }
        let text = schema.to_string();
        self.left = self.left.saturating_sub(text.len());
        Some(Schema::with_budget(&text, &Budget::default()))
    }
}

/// The types that a subschema names.
fn types(schema: &Value) -> Vec<&str> {
    match schema.get("type") {
        Some(Value::String(one)) => vec![one],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}
