//! A compiled schema.

use std::{fmt, sync::Arc};

use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};
use serde_json::Value;

use crate::{budget::Budget, graph::Graph, meter, mismatch::Mismatch};

/// A compiled JSON Schema. Cloning is cheap: clones share the compiled form.
///
/// The dialect is 2020-12 unless `$schema` names another one: 2019-09, draft-07, draft-06 or draft-04. `format` is not
/// validated.
///
/// ```
/// use couplet_schema::Schema;
///
/// let schema = Schema::new(r#"{"type":"object","properties":{"days":{"type":"integer","minimum":1}}}"#)?;
/// assert!(schema.check(r#"{"days":3}"#).is_ok());
/// assert_eq!(
///     schema.check(r#"{"days":0}"#).unwrap_err().to_string(),
///     "at `/days`: expected a number of at least 1, got the number 0",
/// );
/// # Ok::<(), couplet_schema::SchemaError>(())
/// ```
#[derive(Clone)]
pub struct Schema(Arc<Inner>);

struct Inner {
    validator: Validator,
    graph: Graph,
    budget: Budget,
}

impl Schema {
    /// Compiles a schema within the default [`Budget`].
    ///
    /// # Errors
    /// If the text is not a JSON Schema, refers to another document, or exceeds the budget.
    pub fn new(text: &str) -> Result<Self, SchemaError> {
        Self::with_budget(text, &Budget::default())
    }

    /// Compiles a schema within `budget`.
    ///
    /// # Errors
    /// If the text is not a JSON Schema, refers to another document, or exceeds the budget.
    pub fn with_budget(text: &str, budget: &Budget) -> Result<Self, SchemaError> {
        if text.len() > budget.size {
            let (size, most) = (text.len(), budget.size);
            return Err(SchemaError::beyond(format!("the schema has {size} bytes; at most {most} are allowed")));
        }
        let schema: Value =
            serde_json::from_str(text).map_err(|e| SchemaError::new(format!("the schema is not JSON: {e}")))?;
        let draft = dialect(&schema)?;
        // The graph comes first: it protects the compiler from hostile schemas.
        let graph = Graph::of(&schema, draft, budget)?;
        let options = jsonschema::options()
            .with_draft(draft)
            .with_retriever(Nowhere)
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(budget.pattern).dfa_size_limit(1 << 20));
        let validator = options.build(&schema).map_err(|e| SchemaError::invalid(&e))?;
        Ok(Self(Arc::new(Inner { validator, graph, budget: budget.clone() })))
    }

    /// Validates a value, given as JSON text.
    ///
    /// # Errors
    /// If the text is not JSON, the value does not match the schema, or validating it would exceed the budget.
    pub fn check(&self, json: &str) -> Result<(), Mismatch> {
        let Inner { validator, graph, budget } = &*self.0;
        let value: Value = serde_json::from_str(json).map_err(|e| Mismatch::unreadable(&e))?;
        if !graph.is_cheap(json.len(), budget.steps) {
            meter::check(graph, &value, budget)?;
        }
        if validator.is_valid(&value) {
            return Ok(());
        }
        // The validator memoizes while it decides, but not while it explains: that is counted again.
        let explained = meter::explain(graph, &value, budget).ok().and_then(|()| validator.validate(&value).err());
        Err(explained.map_or_else(Mismatch::unexplained, |error| Mismatch::of(&error)))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("draft", &self.0.validator.draft()).finish_non_exhaustive()
    }
}

/// The reason why a schema does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    text: String,
    beyond: bool,
}

impl SchemaError {
    /// Returns `true` if the schema exceeds the [`Budget`], and may otherwise be valid.
    ///
    /// ```
    /// use couplet_schema::{Budget, Schema};
    ///
    /// let mut small = Budget::default();
    /// small.size = 10;
    /// assert!(Schema::with_budget(r#"{"type":"object"}"#, &small).unwrap_err().is_beyond_budget());
    /// assert!(!Schema::new(r#"{"type":"thing"}"#).unwrap_err().is_beyond_budget());
    /// ```
    pub fn is_beyond_budget(&self) -> bool {
        self.beyond
    }

    pub(crate) fn new(text: String) -> Self {
        Self { text, beyond: false }
    }

    pub(crate) fn beyond(text: String) -> Self {
        Self { text, beyond: true }
    }

    fn invalid(error: &jsonschema::ValidationError<'_>) -> Self {
        Self::new(format!("the schema is not valid: {}", Mismatch::of(error)))
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for SchemaError {}

/// Returns the dialect that `$schema` names.
pub(crate) fn dialect(schema: &Value) -> Result<Draft, SchemaError> {
    match schema.get("$schema").map(|uri| (uri, uri.as_str().map(Draft::from_schema_uri))) {
        None => Ok(Draft::Draft202012),
        Some((uri, None | Some(Draft::Unknown))) => Err(SchemaError::new(format!(
            "the dialect {uri} is not known; `$schema` may name 2020-12, 2019-09, draft-07, draft-06 or draft-04"
        ))),
        Some((_, Some(draft))) => Ok(draft),
    }
}

/// A retriever that fetches nothing, whichever features of `jsonschema` other crates have enabled.
pub(crate) struct Nowhere;

impl Retrieve for Nowhere {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is outside of the schema, and nothing is fetched").into())
    }
}
