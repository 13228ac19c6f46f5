//! The rules by family: each module has a table and a check function.
//!
//! References such as `owner/name#number` are GitHub issues that document the behaviour of a host.

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

/// A table of rules, and the function that checks them.
type Part = (&'static [&'static Rule], fn(&Surface, &mut Report<'_>));

/// All tables.
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
