//! The identifiers of official extensions whose messages are types of other crates.

/// The identifier of the skills extension (SEP-2640).
pub const SKILLS_EXTENSION: &str = "io.modelcontextprotocol/skills";

/// The identifier of MCP Apps (SEP-1865).
pub const APPS_EXTENSION: &str = "io.modelcontextprotocol/ui";
