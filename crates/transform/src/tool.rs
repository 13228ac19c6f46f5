//! One tool: its definition and its arguments.

use std::{collections::BTreeMap, sync::Arc};

use couplet_core::{Call, Fault, JsonText, Reply, Revision, http::headers::ParamHeader, message::Params};
use couplet_types::{Map, RawJson, ToolAnnotations};

use crate::{
    argument::{Access, ArgumentTransform},
    errors::{self, Renames},
    nested, schema,
};

/// The changes to one tool: its name and texts, and its arguments.
///
/// An argument that is preset or hidden does not exist for callers: it is not in the schema, and a call that sends it
/// fails.
///
/// ```
/// use couplet_transform::{ArgumentTransform, ToolTransform};
/// use serde_json::json;
///
/// let tool = ToolTransform::new()
///     .name("find_issues")
///     .description("Searches the issues of the team.")
///     .preset("repository", json!("acme/app"))
///     .argument("q", ArgumentTransform::new().name("query"));
/// # drop(tool);
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ToolTransform {
    pub(crate) name: Option<String>,
    title: Option<String>,
    description: Option<String>,
    annotations: Option<ToolAnnotations>,
    output_schema: Option<RawJson>,
    /// By the tool's own names.
    arguments: BTreeMap<String, ArgumentTransform>,
    /// The members of arguments, by their paths: the tool's own names from the argument on.
    members: BTreeMap<Vec<String>, ArgumentTransform>,
}

impl ToolTransform {
    /// Creates a transform without changes.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the name that callers use.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into());
        self
    }

    /// Sets the title, for revisions that have titles.
    #[must_use]
    pub fn title(mut self, title: impl Into<String>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Sets the description.
    #[must_use]
    pub fn description(mut self, text: impl Into<String>) -> Self {
        self.description = Some(text.into());
        self
    }

    /// Sets the given annotations, and leaves the others as they are, for revisions that have annotations.
    #[must_use]
    pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
        self.annotations = Some(annotations);
        self
    }

    /// Changes an argument, by the tool's own name of it.
    ///
    /// # Panics
    /// If another argument has the same new name.
    #[must_use]
    #[track_caller]
    pub fn argument(mut self, argument: impl Into<String>, change: ArgumentTransform) -> Self {
        let argument = argument.into();
        if let Some(name) = change.name.as_deref() {
            let taken =
                self.arguments.iter().find(|(own, other)| **own != argument && other.name.as_deref() == Some(name));
            assert!(taken.is_none(), "two arguments are renamed to `{name}`");
        }
        self.arguments.insert(argument, change);
        self
    }

    /// Changes a member inside of an argument, by its JSON pointer in the arguments: `/filter/limit`, with the tool's own
    /// names. Its values are narrowed, and described in the schema as far as the schema has no references (`$ref`) on the
    /// way; a default is sent if the object around it is sent.
    ///
    /// # Panics
    /// If the pointer is not one of a member of an argument, or if the change has another name.
    #[must_use]
    #[track_caller]
    pub fn member(mut self, pointer: &str, change: ArgumentTransform) -> Self {
        let path: Vec<String> =
            pointer.split('/').skip(1).map(|part| part.replace("~1", "/").replace("~0", "~")).collect();
        assert!(pointer.starts_with('/') && path.len() > 1, "`{pointer}`: expected a pointer such as `/filter/limit`");
        assert!(change.name.is_none(), "`{pointer}`: only arguments themselves can be renamed");
        self.members.insert(path, change);
        self
    }

    /// Sets the schema of the structured content, for revisions that have it. Results stay as they are: it has to describe
    /// the results of the tool.
    #[must_use]
    pub fn output_schema(mut self, schema: impl Into<RawJson>) -> Self {
        self.output_schema = Some(schema.into());
        self
    }

    /// Sets the value of an argument, which callers do not see and cannot set.
    #[must_use]
    pub fn preset(mut self, argument: impl Into<String>, value: impl Into<RawJson>) -> Self {
        self.arguments.insert(argument.into(), ArgumentTransform::preset(value.into()));
        self
    }

    /// Removes an optional argument, which is never sent.
    #[must_use]
    pub fn hide_argument(mut self, argument: impl Into<String>) -> Self {
        self.arguments.insert(argument.into(), ArgumentTransform::hidden());
        self
    }

    /// Returns the definition of the tool with the changes, except for the name.
    ///
    /// # Errors
    /// If the definition would be nested too deeply.
    pub fn definition(&self, mut tool: Params, revision: Revision) -> Result<Params, Fault> {
        if let Some(title) = self.title.as_ref().filter(|_| revision.has_titles()) {
            tool = tool.with("title", &JsonText::string(title))?;
        }
        if let Some(description) = &self.description {
            tool = tool.with("description", &JsonText::string(description))?;
        }
        if let Some(annotations) = self.annotations.as_ref().filter(|_| revision.has_tool_annotations())
            && let Some(annotations) = merged(tool.get("annotations"), annotations)
        {
            tool = tool.with("annotations", &annotations)?;
        }
        if let Some(schema) = self.output_schema.as_ref().filter(|_| revision.has_structured_output()) {
            tool = tool.with("outputSchema", &JsonText::from(schema))?;
        }
        if self.changes_arguments()
            && let Some(schema) = tool.get("inputSchema")
        {
            let schema = schema::reshape(self, &schema.to_raw());
            tool = tool.with("inputSchema", &JsonText::from(&schema))?;
        }
        Ok(tool)
    }

    /// Returns the parameters of a call with the arguments that the tool expects; `None` if they are the same.
    ///
    /// # Errors
    /// The message for [`Reply::wrong_arguments`], if the caller must correct the arguments.
    pub fn arguments(&self, call: &Call) -> Result<Option<Params>, String> {
        if self.changes_arguments() { self.inward(call).map(Some) } else { Ok(None) }
    }

    fn changes_arguments(&self) -> bool {
        !self.arguments.is_empty() || !self.members.is_empty()
    }

    fn inward(&self, call: &Call) -> Result<Params, String> {
        let given = Params::from_text(call.arguments()).map_err(|fault| format!("`arguments`: {fault}"))?;
        let mut sent: Map<RawJson> = Map::new();
        for (name, value) in given.iter() {
            let (own, argument) = self.own_argument(&name).ok_or_else(|| format!("argument `{name}` is unknown"))?;
            if let Some(argument) = argument {
                argument.check(&value).map_err(|what| format!("argument `{name}`: {what}"))?;
            }
            let members = self.members_of(own);
            let value = nested::inward(members, &value).map_err(|what| format!("argument `{name}`{what}"))?;
            sent.insert(own, value);
        }
        for (own, argument) in &self.arguments {
            if let Some(value) = argument.filled().filter(|_| !sent.contains_key(own)) {
                sent.insert(own, value.clone());
            }
        }
        let deep = |fault: &dyn std::fmt::Display| format!("`arguments`: {fault}");
        let sent = RawJson::new(&sent).map_err(|error| deep(&error))?;
        call.params.with("arguments", &JsonText::from(&sent)).map_err(|fault| deep(&fault))
    }

    /// Returns the reply with the names of arguments that the caller knows, in errors.
    #[must_use]
    pub fn reply(&self, reply: Reply) -> Reply {
        let renames = self.renames();
        if renames.is_empty() {
            return reply;
        }
        errors::renamed(reply, &renames)
    }

    /// Returns the arguments that HTTP clients repeat in headers, as callers know them.
    pub fn header_params(&self, own: Option<Arc<[ParamHeader]>>) -> Option<Arc<[ParamHeader]>> {
        let own = own?;
        if self.arguments.is_empty() {
            return Some(own);
        }
        let exposed = own.iter().filter_map(|param| Some(param.renamed(self.exposed_argument(param.argument())?)));
        Some(exposed.collect())
    }

    /// The changes of an argument, by the tool's own name.
    pub(crate) fn argument_of(&self, own: &str) -> Option<&ArgumentTransform> {
        self.arguments.get(own)
    }

    /// The changes of the members of an argument, each with its path from there.
    pub(crate) fn members_of<'a>(
        &'a self,
        own: &'a str,
    ) -> impl Iterator<Item = (&'a [String], &'a ArgumentTransform)> {
        self.members.iter().filter_map(move |(path, change)| match path.split_first() {
            Some((argument, rest)) if argument == own => Some((rest, change)),
            _ => None,
        })
    }

    /// The name that callers use for an argument; `None` if it does not exist for them.
    pub(crate) fn exposed_argument<'a>(&'a self, own: &'a str) -> Option<&'a str> {
        match self.arguments.get(own) {
            Some(argument) if !argument.is_open() => None,
            Some(argument) if argument.name.is_some() => argument.name.as_deref(),
            // Another argument has taken the name.
            _ if self.renamed_to(own).is_some() => None,
            _ => Some(own),
        }
    }

    /// The tool's own name of an argument and its changes; `None` if callers have no such argument.
    fn own_argument<'a>(&'a self, exposed: &'a str) -> Option<(&'a str, Option<&'a ArgumentTransform>)> {
        if let Some((own, argument)) = self.renamed_to(exposed) {
            return Some((own, Some(argument)));
        }
        match self.arguments.get(exposed) {
            Some(argument) if argument.name.is_some() || !argument.is_open() => None,
            argument => Some((exposed, argument)),
        }
    }

    fn renamed_to(&self, exposed: &str) -> Option<(&str, &ArgumentTransform)> {
        let is_it = |(_, argument): &(&String, &ArgumentTransform)| {
            argument.access == Access::Open && argument.name.as_deref() == Some(exposed)
        };
        self.arguments.iter().find(is_it).map(|(own, argument)| (&**own, argument))
    }

    fn renames(&self) -> Renames<'_> {
        let open = self.arguments.iter().filter(|(_, argument)| argument.is_open());
        open.filter_map(|(own, argument)| Some((&**own, argument.name.as_deref()?))).collect()
    }
}

/// Annotations with some of them replaced.
fn merged(own: Option<JsonText>, changes: &ToolAnnotations) -> Option<JsonText> {
    let mut all: Map<RawJson> = own.and_then(|own| own.parse().ok()).unwrap_or_default();
    let changes: Map<RawJson> = RawJson::new(changes).ok()?.parse().ok()?;
    changes.into_iter().for_each(|(key, value)| all.insert(key, value));
    Some(JsonText::from(&RawJson::new(&all).ok()?))
}
