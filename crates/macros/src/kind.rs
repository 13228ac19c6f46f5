//! The differences between tools, resources and prompts.

/// The names of one kind of handler in the server's API.
pub(crate) struct Kind {
    /// The attribute, and the function that creates a builder.
    pub(crate) name: &'static str,
    pub(crate) into_trait: &'static str,
    pub(crate) into_fn: &'static str,
    pub(crate) definition: &'static str,
    pub(crate) reply: &'static str,
    /// The extractor of all arguments at once.
    pub(crate) whole: &'static str,
    /// Whether the builder knows the type of the state.
    pub(crate) builder_has_state: bool,
    /// Whether the arguments are listed, so that their types need a schema.
    pub(crate) lists_arguments: bool,
    /// Extractors that always fail for this kind, and why.
    pub(crate) misplaced: &'static [(&'static str, &'static str)],
}

const NO_PATH: (&str, &str) = ("Path", "only resources have template variables; take `Args<T>`");
const NO_URI: (&str, &str) = ("Uri", "only resources have a URI");
const NO_COMPLETING: (&str, &str) = ("Completing", "only functions that complete an argument take `Completing`");
const NO_ARGS: (&str, &str) = ("Args", "resources have no arguments; take the variables of the template, or `Path<T>`");
const NO_RAW_ARGS: (&str, &str) = ("RawArgs", "resources have no arguments; take the variables of the template");

pub(crate) const TOOL: Kind = Kind {
    name: "tool",
    into_trait: "IntoTool",
    into_fn: "into_tool",
    definition: "ToolDef",
    reply: "ToolKind",
    whole: "Args",
    builder_has_state: false,
    lists_arguments: true,
    misplaced: &[NO_PATH, NO_URI, NO_COMPLETING],
};

pub(crate) const RESOURCE: Kind = Kind {
    name: "resource",
    into_trait: "IntoResource",
    into_fn: "into_resource",
    definition: "ResourceDef",
    reply: "ResourceKind",
    whole: "Path",
    builder_has_state: true,
    lists_arguments: false,
    misplaced: &[NO_ARGS, NO_RAW_ARGS, NO_COMPLETING],
};

pub(crate) const PROMPT: Kind = Kind {
    name: "prompt",
    into_trait: "IntoPrompt",
    into_fn: "into_prompt",
    definition: "PromptDef",
    reply: "PromptKind",
    whole: "Args",
    builder_has_state: true,
    lists_arguments: true,
    misplaced: &[NO_PATH, NO_URI, NO_COMPLETING],
};
