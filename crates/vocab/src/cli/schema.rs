//! `schema`

use std::io;

use clap::Args;
use couplet_types::ProtocolVersion;

use super::Terminal;
use crate::schema;

/// Arguments of `schema`.
#[derive(Args, Clone, Debug, Default)]
pub struct SchemaArgs {
    /// The revision; without one the latest
    #[arg(long, value_name = "DATE")]
    pub revision: Option<ProtocolVersion>,
    /// One definition and what it needs, such as `Tool`
    #[arg(long = "type", value_name = "NAME")]
    pub definition: Option<String>,
    /// Only the names of the definitions
    #[arg(long, conflicts_with = "definition")]
    pub list: bool,
}

impl SchemaArgs {
    /// Does it, and returns the exit code.
    pub fn run(&self, terminal: &mut Terminal<'_>) -> u8 {
        let outcome = self.attempt(terminal);
        terminal.code(outcome)
    }

    fn attempt(&self, terminal: &mut Terminal<'_>) -> io::Result<u8> {
        let [.., latest] = ProtocolVersion::ALL;
        let version = self.revision.unwrap_or(latest);
        if self.list {
            schema::names(version).try_for_each(|name| writeln!(terminal.out, "{name}"))?;
            return Ok(0);
        }
        let schema = match &self.definition {
            None => schema::document(version),
            Some(name) => match schema::of(version, name) {
                Some(schema) => schema,
                None => {
                    terminal.complain(&undefined(name, version));
                    return Ok(2);
                }
            },
        };
        writeln!(terminal.out, "{schema:#}")?;
        Ok(0)
    }
}

/// Why there is no such definition: another revision has it, or it is called a little differently.
pub(super) fn undefined(name: &str, version: ProtocolVersion) -> String {
    let elsewhere: Vec<_> = schema::revisions(name).map(ProtocolVersion::as_str).collect();
    if !elsewhere.is_empty() {
        return format!("{version} has no `{name}`; it is defined in {}", elsewhere.join(", "));
    }
    let similar = schema::names(version).find(|n| n.eq_ignore_ascii_case(name));
    similar.map_or_else(
        || format!("there is no `{name}`; `schema --list` names what there is"),
        |similar| format!("there is no `{name}`; did you mean `{similar}`?"),
    )
}
