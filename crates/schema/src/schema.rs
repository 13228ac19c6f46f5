//! A schema that was compiled.

use std::{fmt, sync::Arc};

use jsonschema::{Draft, PatternOptions, Retrieve, Uri, Validator};
use serde_json::Value;

use crate::{budget::Budget, graph::Graph, meter, mismatch::Mismatch};

/// A JSON Schema that was compiled. Clones are the same schema.
///
/// It is read as 2020-12, or as what its `$schema` says: 2019-09, draft-07, draft-06 or draft-04. `format` is not
/// checked.
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
    /// Compiles a schema within the usual [`Budget`].
    ///
    /// # Errors
    /// When the text is not a schema, refers to what is not in it, or is beyond the budget.
    pub fn new(text: &str) -> Result<Self, SchemaError> {
        Self::within(text, &Budget::default())
    }

    /// Compiles a schema within a budget.
    ///
    /// # Errors
    /// When the text is not a schema, refers to what is not in it, or is beyond the budget.
    pub fn within(text: &str, budget: &Budget) -> Result<Self, SchemaError> {
        if text.len() > budget.size {
            let (size, most) = (text.len(), budget.size);
            return Err(SchemaError::beyond(format!("the schema has {size} bytes; at most {most} are allowed")));
        }
        let schema: Value =
            serde_json::from_str(text).map_err(|e| SchemaError::new(format!("the schema is not JSON: {e}")))?;
        let draft = dialect(&schema)?;
        // The graph comes first: it is what keeps a hostile schema away from the compiler.
        let graph = Graph::of(&schema, draft, budget)?;
        let options = jsonschema::options()
            .with_draft(draft)
            .with_retriever(Nowhere)
            .should_validate_formats(false)
            .with_pattern_options(PatternOptions::regex().size_limit(budget.pattern).dfa_size_limit(1 << 20));
        let validator = options.build(&schema).map_err(|e| SchemaError::invalid(&e))?;
        Ok(Self(Arc::new(Inner { validator, graph, budget: budget.clone() })))
    }

    /// Checks a value, given as JSON.
    ///
    /// # Errors
    /// With where the value differs, what was expected there, and what was found.
    pub fn check(&self, json: &str) -> Result<(), Mismatch> {
        let Inner { validator, graph, budget } = &*self.0;
        let value: Value = serde_json::from_str(json).map_err(|e| Mismatch::unreadable(&e))?;
        if !graph.is_cheap(json.len(), budget.steps) {
            meter::check(graph, &value, budget)?;
        }
        if validator.is_valid(&value) {
            return Ok(());
        }
        // What is found out with a memory of what was looked at already is explained without one.
        let explained = meter::explain(graph, &value, budget).ok().and_then(|()| validator.validate(&value).err());
        Err(explained.map_or_else(Mismatch::unexplained, |error| Mismatch::of(&error)))
    }
}

impl fmt::Debug for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Schema").field("draft", &self.0.validator.draft()).finish_non_exhaustive()
    }
}

/// Why a schema cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaError {
    text: String,
    beyond: bool,
}

impl SchemaError {
    /// Whether the schema may be a good one, but costs more than the [`Budget`] allows.
    ///
    /// ```
    /// use couplet_schema::{Budget, Schema};
    ///
    /// let mut small = Budget::default();
    /// small.size = 10;
    /// assert!(Schema::within(r#"{"type":"object"}"#, &small).unwrap_err().is_beyond_budget());
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

/// What the schema says it is written in.
pub(crate) fn dialect(schema: &Value) -> Result<Draft, SchemaError> {
    match schema.get("$schema").map(|uri| (uri, uri.as_str().map(Draft::from_schema_uri))) {
        None => Ok(Draft::Draft202012),
        Some((uri, None | Some(Draft::Unknown))) => Err(SchemaError::new(format!(
            "the dialect {uri} is not known; `$schema` may name 2020-12, 2019-09, draft-07, draft-06 or draft-04"
        ))),
        Some((_, Some(draft))) => Ok(draft),
    }
}

/// Fetches nothing. Another crate of the program may have switched on what would.
pub(crate) struct Nowhere;

impl Retrieve for Nowhere {
    fn retrieve(&self, uri: &Uri<String>) -> Result<Value, Box<dyn std::error::Error + Send + Sync>> {
        Err(format!("`{uri}` is outside of the schema, and nothing is fetched").into())
    }
}
