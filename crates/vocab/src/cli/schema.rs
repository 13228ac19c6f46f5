//! The subcommand `schema`.

use std::io::Write;

use clap::Args;
use couplet_types::ProtocolVersion;

use super::{Failure, Outcome, revision_parser};
use crate::schema;

/// Prints the JSON Schema of a revision.
#[derive(Args, Clone, Debug, Default)]
pub struct SchemaArgs {
    /// The revision (default: the latest)
    #[arg(long, value_name = "DATE", value_parser = revision_parser())]
    pub revision: Option<ProtocolVersion>,
    /// One definition with its dependencies, such as `Tool`
    #[arg(long = "type", value_name = "NAME")]
    pub definition: Option<String>,
    /// List the names of the definitions only
    #[arg(long, conflicts_with = "definition")]
    pub list: bool,
}

/// Writes the JSON Schema of a revision, or of one definition.
///
/// # Errors
/// If the revision has no such definition, or the output cannot be written.
pub fn schema(args: &SchemaArgs, out: &mut dyn Write) -> Result<Outcome, Failure> {
    let latest = ProtocolVersion::LATEST;
    let version = args.revision.unwrap_or(latest);
    if args.list {
        schema::names(version).try_for_each(|name| writeln!(out, "{name}"))?;
        return Ok(Outcome::good());
    }
    let schema = match &args.definition {
        None => schema::document(version),
        Some(name) => schema::definition(version, name).ok_or_else(|| undefined(name, version))?,
    };
    writeln!(out, "{schema:#}")?;
    Ok(Outcome::good())
}

/// The error for an unknown definition, with the revisions that have it or with similar names.
pub(super) fn undefined(name: &str, version: ProtocolVersion) -> Failure {
    let elsewhere: Vec<_> = schema::revisions(name).map(ProtocolVersion::as_str).collect();
    if !elsewhere.is_empty() {
        let hint = format!("it is defined in {}", elsewhere.join(", "));
        return Failure::usage(format!("{version} has no type `{name}`"), Some(hint));
    }
    let hint = match similar(name, version).as_slice() {
        [] => "`couplet schema --list` lists the types".to_owned(),
        [one] => format!("did you mean {one}?"),
        [others @ .., last] => format!("did you mean {} or {last}?", others.join(", ")),
    };
    Failure::usage(format!("there is no type `{name}`"), Some(hint))
}

/// The most similar names; only one if it differs in case alone, or in very few letters.
fn similar(name: &str, version: ProtocolVersion) -> Vec<String> {
    let name = name.to_lowercase();
    let likeness = |other: &str| strsim::jaro_winkler(&name, &other.to_lowercase());
    let mut all: Vec<_> = schema::names(version).map(|n| (n, likeness(n))).filter(|(_, like)| *like > 0.85).collect();
    all.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    let is_near = |other: &str| strsim::damerau_levenshtein(&name, &other.to_lowercase()) <= 1;
    let most = if all.first().is_some_and(|(n, _)| is_near(n)) { 1 } else { 3 };
    all.iter().take(most).map(|(n, _)| format!("`{n}`")).collect()
}
