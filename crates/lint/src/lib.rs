//! Lints MCP servers: finds what hosts and model APIs reject, ignore or misread in a server's own descriptions.
//!
//! Put the answers of a server into a [`Surface`]; [`lint`] checks it and returns [`Finding`]s, each with the [`Rule`]
//! that it violates: what is wrong, the reason, and the fix. [`text`] and [`json_lines`] format them.
//!
//! This crate knows no transport and does no I/O. Its input is untrusted: all work is bounded, and strings of the
//! server are escaped in the output ([`visible`](couplet_core::visible)).
//!
//! ```
//! use couplet_lint::{Answer, Answers, Config, Surface, lint, text};
//! use couplet_types::ProtocolVersion;
//!
//! let hello = r#"{
//!     "protocolVersion": "2025-11-25",
//!     "capabilities": { "tools": {} },
//!     "serverInfo": { "name": "weather", "version": "1.0.0" },
//!     "instructions": "Forecasts for any city."
//! }"#;
//! let tools = r#"{ "tools": [{
//!     "name": "get.weather",
//!     "title": "Weather",
//!     "description": "The weather of the next days.",
//!     "inputSchema": { "type": "object", "properties": { "city": { "type": "string", "description": "Where." } } },
//!     "annotations": { "readOnlyHint": true, "openWorldHint": true }
//! }] }"#;
//! let answers = Answers::new(ProtocolVersion::V2025_11_25, Answer::text(hello)).tools([Answer::text(tools)]);
//!
//! let findings = lint(&Surface::from_answers([answers]), &Config::new());
//! assert_eq!(findings.len(), 1);
//! assert_eq!(findings[0].rule.id, "name-dots");
//! assert!(text(&findings).starts_with("error name-dots: "));
//! ```

#![cfg_attr(docsrs, feature(doc_cfg))]

mod config;
mod finding;
mod print;
mod read;
mod report;
mod rule;
mod rules;
mod schema;
mod surface;
mod visible;

pub use config::{Config, UnknownRule};
pub use finding::{Finding, Place, Subject};
pub use print::{json_lines, rules_text, text};
pub use rule::{Family, Rule, Severity, rules};
pub use surface::{Answer, Answers, Surface};

use report::Report;

/// Checks the answers of a server. Findings are sorted by severity, the most severe first; the order is deterministic.
pub fn lint(surface: &Surface, config: &Config) -> Vec<Finding> {
    let mut report = Report::new(config);
    for (_, check) in rules::FAMILIES {
        check(surface, &mut report);
    }
    report.finish()
}
