//! Prompts: a name, arguments, and a handler that returns messages.

use std::{marker::PhantomData, panic::Location};

use couplet_core::JsonText;
use couplet_types::{Icon, Map, Meta, Prompt, PromptArgument, RpcError};
use serde_json::Value;

mod setters;

use crate::{
    args,
    definition::{self, Completions, Definition, Run, complete_with, erase},
    handler::Handler,
    reply::{CompleteKind, PromptKind},
    schema::{SchemaDialect, declared::Declared, order},
    scopes::Scopes,
    signature::Signature,
};

use setters::prompt_setters;

/// Creates a prompt from a function, `async` or not.
///
/// ```
/// use couplet_server::{Server, extract::Args, prompt, schemars::JsonSchema};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Explain {
///     /// The expression to explain.
///     expr: String,
/// }
///
/// let server: Server = Server::new("calc", "1.0.0").prompt(
///     prompt("explain", |Args(explain): Args<Explain>| format!("Explain {}.", explain.expr))
///         .description("Explains an expression."),
/// );
/// ```
#[doc = include_str!("docs/prompt.md")]
pub fn prompt<H, M, S>(name: impl Into<String>, handler: H) -> PromptBuilder<H, M, S> {
    PromptBuilder {
        spec: Prompt::new(name),
        scopes: None,
        completions: Completions::new(),
        handler,
        marker: PhantomData,
    }
}

/// A builder of a prompt; created by [`prompt()`].
#[must_use = "register it with `Server::prompt`"]
pub struct PromptBuilder<H, M, S> {
    spec: Prompt,
    scopes: Scopes,
    completions: Completions<S>,
    handler: H,
    marker: PhantomData<fn() -> M>,
}

impl<H, M, S: Clone + Send + Sync + 'static> PromptBuilder<H, M, S> {
    prompt_setters!();
}

impl<H: std::fmt::Debug, M, S> std::fmt::Debug for PromptBuilder<H, M, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PromptBuilder").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// A type that can be registered as a prompt: a [`PromptBuilder`], a [`PromptDef`], or a function with `#[prompt]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a prompt",
    note = "put `#[prompt]` on the function, or wrap it: `prompt(\"name\", function)`"
)]
pub trait IntoPrompt<S> {
    /// Converts into the definition of the prompt.
    fn into_prompt(self) -> PromptDef<S>;

    /// Converts into a definition that is bound to its state, for a server that is running already.
    fn with_state(self, state: S) -> PromptDef<()>
    where
        Self: Sized,
        S: Clone + Send + Sync + 'static,
    {
        self.into_prompt().bind(&state)
    }
}

impl<S, H, M> IntoPrompt<S> for PromptBuilder<H, M, S>
where
    S: Clone + Send + Sync + 'static,
    H: Handler<PromptKind, M, S>,
{
    fn into_prompt(self) -> PromptDef<S> {
        let mut signature = Signature::default();
        H::describe(&mut signature);
        PromptDef {
            spec: self.spec,
            scopes: self.scopes,
            completions: self.completions,
            signature,
            run: erase::<PromptKind, M, S, H>(self.handler),
            place: Location::caller(),
        }
    }
}

/// For functions with the attribute, which return the prompt.
#[diagnostic::do_not_recommend]
impl<S, F: FnOnce() -> T, T: IntoPrompt<S>> IntoPrompt<S> for F {
    fn into_prompt(self) -> PromptDef<S> {
        self().into_prompt()
    }
}

impl<S> IntoPrompt<S> for PromptDef<S> {
    fn into_prompt(self) -> Self {
        self
    }
}

/// The definition of a prompt, with its handler. The setters of [`PromptBuilder`] are here too, for functions with
/// `#[prompt]`: `IntoPrompt::into_prompt(explain).icons(..)`.
pub struct PromptDef<S> {
    pub(crate) spec: Prompt,
    pub(crate) scopes: Scopes,
    pub(crate) completions: Completions<S>,
    pub(crate) signature: Signature,
    pub(crate) run: Run<PromptKind, S>,
    place: &'static Location<'static>,
}

impl<S: Clone + Send + Sync + 'static> PromptDef<S> {
    prompt_setters!();

    pub(crate) fn checked(mut self, place: &'static Location<'static>) -> Result<Self, String> {
        self.place = place;
        let name = &self.spec.name;
        if name.is_empty() {
            return Err("the name of a prompt cannot be empty".to_owned());
        }
        if self.spec.arguments.is_none()
            && let Some(schema) = self.signature.arguments
        {
            let mut schema = schema(SchemaDialect::Portable).map_err(|e| format!("prompt `{name}`: {e}"))?;
            let declared = self.signature.declared.map(|of| of()).unwrap_or_default();
            declared.sort(&mut schema);
            self.spec.arguments = Some(arguments(&schema, &declared)).filter(|a| !a.is_empty());
            for (argument, values) in values(&schema) {
                if !self.completions.contains_key(argument) {
                    complete_with(&mut self.completions, argument, definition::choices(values));
                }
            }
        }
        if let Some(unknown) = self.completions.keys().find(|c| !has_argument(&self.spec, c)) {
            return Err(format!("prompt `{name}` has no argument `{unknown}` to complete"));
        }
        Ok(self)
    }

    pub(crate) fn bind(self, state: &S) -> PromptDef<()> {
        let Self { spec, scopes, completions, signature, run, place } = self;
        let completions = definition::bind_all(completions, state);
        let run = definition::bind::<PromptKind, S>(run, state);
        PromptDef { spec, scopes, completions, signature, run, place }
    }
}

impl PromptDef<()> {
    /// Checks the arguments of a handler without an argument type.
    pub(crate) fn check_arguments(&self, given: &JsonText) -> Result<(), RpcError> {
        if self.signature.arguments.is_some() {
            return Ok(());
        }
        let given: Map<String> = args::parse(given.as_str()).map_err(RpcError::invalid_params)?;
        let required = self.spec.arguments.iter().flatten().filter(|a| a.required == Some(true));
        match required.map(|a| &a.name).find(|name| !given.contains_key(name)) {
            Some(name) => Err(RpcError::invalid_params(format!("argument `{name}` is missing (required)"))),
            None => Ok(()),
        }
    }

    pub(crate) fn argument_names(&self) -> impl Iterator<Item = &str> + Clone {
        self.spec.arguments.iter().flatten().map(|argument| argument.name.as_str())
    }
}

fn has_argument(spec: &Prompt, name: &str) -> bool {
    spec.arguments.iter().flatten().any(|a| a.name == name)
}

/// The arguments with a small set of values, and the values: of an enum, or `true` and `false`.
fn values(schema: &Value) -> impl Iterator<Item = (&str, Vec<String>)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().filter_map(|(name, property)| {
        let values = match (property.get("enum").and_then(Value::as_array), property.get("type")) {
            (Some(values), _) => values.iter().map(|value| value.as_str().map(str::to_owned)).collect::<Option<_>>()?,
            (None, Some(kind)) if kind == "boolean" => vec!["true".to_owned(), "false".to_owned()],
            _ => return None,
        };
        Some((name.as_str(), values))
    })
}

/// The arguments that a schema describes.
fn arguments(schema: &Value, declared: &Declared) -> Vec<PromptArgument> {
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let required = |name: &str| schema["required"].as_array().is_some_and(|r| r.iter().any(|n| n == name));
    let properties = schema.as_object().map(|s| order::declared_properties(s, declared)).unwrap_or_default();
    properties
        .into_iter()
        .map(|name| {
            let property = &schema["properties"][name];
            let mut argument = PromptArgument::new(name);
            argument.description = text(property, "description");
            argument.title = text(property, "title");
            argument.required = required(name).then_some(true);
            argument
        })
        .collect()
}

impl<S: 'static> Definition for PromptDef<S> {
    const WHAT: &'static str = "prompt";

    fn key(&self) -> &str {
        &self.spec.name
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn scopes(&self) -> &Scopes {
        &self.scopes
    }
}

impl<S> std::fmt::Debug for PromptDef<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PromptDef").field("spec", &self.spec).finish_non_exhaustive()
    }
}
