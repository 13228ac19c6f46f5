//! What a schema may cost.

/// What a schema may cost, to compile and to check one value against.
///
/// ```
/// use couplet_schema::{Budget, Schema};
///
/// let mut small = Budget::default();
/// small.size = 10;
/// let error = Schema::within(r#"{"type":"object"}"#, &small).unwrap_err();
/// assert_eq!(error.to_string(), "the schema has 17 bytes; at most 10 are allowed");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Budget {
    /// The bytes of a schema: 256 KiB.
    pub size: usize,
    /// How far subschemas are nested, through references too: 96.
    pub depth: usize,
    /// The subschemas of a schema: 10,000.
    pub subschemas: usize,
    /// The subschemas that apply to one value at once, with every reference followed: 10,000.
    pub expanded: u64,
    /// The size of a compiled pattern: 128 KiB.
    pub pattern: usize,
    /// The steps to check one value, a step being one subschema at one place in the value: 2,000,000.
    pub steps: u64,
    /// The steps to find out what is wrong with a value that does not fit: 200,000.
    pub explain: u64,
    /// How far a check may go down, counting subschemas and places in the value: 512.
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
