//! Limits on the cost of a schema.

/// Limits on the cost of compiling a schema and of validating one value against it.
///
/// Every limit has a default that is generous for schemas written by hand.
///
/// ```
/// use couplet_schema::{Budget, Schema};
///
/// let mut small = Budget::default();
/// small.size = 10;
/// let error = Schema::with_budget(r#"{"type":"object"}"#, &small).unwrap_err();
/// assert_eq!(error.to_string(), "the schema has 17 bytes; at most 10 are allowed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// Size of a schema's text in bytes. Default: 256 KiB.
    pub size: usize,
    /// Nesting depth of subschemas, including through references. Default: 96.
    pub depth: usize,
    /// Number of subschemas in a schema. Default: 10,000.
    pub subschemas: usize,
    /// Number of subschemas that apply to one value, with all references expanded. Default: 10,000.
    pub expanded: u64,
    /// Size of a compiled regular expression in bytes. Default: 128 KiB.
    pub pattern: usize,
    /// Steps of validating one value; a step is one subschema at one place in the value. Default: 2,000,000.
    pub steps: u64,
    /// Steps of explaining why a value is invalid. Default: 200,000.
    pub explain: u64,
    /// Recursion depth of a validation, counting subschemas and places in the value. Default: 512.
    pub stack: usize,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            size: 256 << 10,
            depth: 96,
            subschemas: 10_000,
            expanded: 10_000,
            pattern: 128 << 10,
            steps: 2_000_000,
            explain: 200_000,
            stack: 512,
        }
    }
}
