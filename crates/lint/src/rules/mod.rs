//! The rules, family by family: a table, and a function that looks.
//!
//! What a rule says about a host was seen there: `owner/name#number` is the report, on GitHub.

mod annotations;
mod descriptions;
mod names;
mod prompts;
mod protocol;
mod resources;
mod schemas;
mod sizes;
mod text;
mod words;

use crate::{Rule, Surface, report::Report};

/// A table of rules, and what looks for them.
type Part = (&'static [&'static Rule], fn(&Surface, &mut Report<'_>));

/// Every table.
pub(crate) static FAMILIES: &[Part] = &[
    (names::RULES, names::check),
    (descriptions::RULES, descriptions::check),
    (schemas::root::RULES, schemas::root::check),
    (schemas::types::RULES, schemas::types::check),
    (schemas::refs::RULES, schemas::refs::check),
    (schemas::values::RULES, schemas::values::check),
    (schemas::whole::RULES, schemas::whole::check),
    (annotations::RULES, annotations::check),
    (sizes::RULES, sizes::check),
    (text::characters::RULES, text::characters::check),
    (text::meaning::RULES, text::meaning::check),
    (text::forms::RULES, text::forms::check),
    (protocol::revisions::RULES, protocol::revisions::check),
    (protocol::answers::RULES, protocol::answers::check),
    (protocol::capabilities::RULES, protocol::capabilities::check),
    (protocol::members::RULES, protocol::members::check),
    (resources::RULES, resources::check),
    (prompts::RULES, prompts::check),
];
