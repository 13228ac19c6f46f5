//! Arguments of tools and prompts.

use couplet_core::JsonText;
use couplet_types::{GetPrompt, Request};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;

use super::{FromCall, Invocation, Rejection, Target};
use crate::{
    args,
    check::{Checker, Origin},
    schema::{self, SchemaDialect, declared::Declared},
    signature::Signature,
    strings,
};

/// The arguments of a tool or a prompt, parsed into a type. Clients see the type's schema; its doc comments are the
/// descriptions.
///
/// Invalid arguments are rejected with a message that names the argument. For tools, the model sees it in revisions from
/// 2025-11-25 on; before, it is a protocol error. In an `Option`, a call without arguments is `None`, and invalid ones are
/// still rejected.
///
/// ```
/// use couplet_server::{extract::Args, schemars::JsonSchema};
/// use serde::Deserialize;
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Weather {
///     /// The city, in English.
///     city: String,
///     /// The number of days.
///     days: Option<u8>,
/// }
///
/// async fn weather(Args(weather): Args<Weather>) -> String {
///     format!("{}: rain for {} days", weather.city, weather.days.unwrap_or(1))
/// }
/// # couplet_server::tool::<_, (couplet_server::handler::Async, Args<Weather>)>("weather", weather);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Args<T>(pub T);

impl<S: Sync, T: DeserializeOwned + JsonSchema + Send> FromCall<S> for Args<T> {
    fn describe(signature: &mut Signature) {
        signature.takes::<T>();
        signature.declared = Some(Declared::of::<T>);
    }

    async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
        let Target::Arguments(arguments) = &invocation.target else { return Err(no_arguments()) };
        let read = match &*invocation.call.method {
            // The arguments of a prompt are strings, whatever their type.
            GetPrompt::METHOD => strings::from_json(arguments),
            _ => args::parse(arguments.as_str()),
        };
        read.map(Args).map_err(|what| Rejection::Arguments(explained::<T>(what, arguments)))
    }

    /// `None` for a call without arguments, if the type needs some.
    async fn optional(invocation: &Invocation, state: &S) -> Result<Option<Self>, Rejection> {
        match (Self::from_call(invocation, state).await, &invocation.target) {
            (Ok(args), _) => Ok(Some(args)),
            (Err(rejection), Target::Arguments(given)) if *given != JsonText::empty_object() => Err(rejection),
            (Err(_), _) => Ok(None),
        }
    }
}

/// The arguments as the JSON object that the client sent, for handlers without an argument type.
///
/// ```
/// use couplet_server::{extract::RawArgs, tool};
/// use serde_json::json;
///
/// let echo = tool("echo", |RawArgs(arguments): RawArgs| arguments.as_str().to_owned())
///     .input_schema(json!({ "type": "object", "properties": { "any": {} } }));
/// # let server: couplet_server::Server = couplet_server::Server::new("a", "1").tool(echo);
/// ```
#[derive(Clone, Debug)]
pub struct RawArgs(pub JsonText);

impl<S: Sync> FromCall<S> for RawArgs {
    async fn from_call(invocation: &Invocation, _: &S) -> Result<Self, Rejection> {
        let Target::Arguments(arguments) = &invocation.target else { return Err(no_arguments()) };
        Ok(Self(arguments.clone()))
    }

    async fn optional(invocation: &Invocation, state: &S) -> Result<Option<Self>, Rejection> {
        Ok(Self::from_call(invocation, state).await.ok())
    }
}

/// The error message, from the schema where serde has only the name of an untagged enum.
fn explained<T: JsonSchema>(what: String, arguments: &JsonText) -> String {
    if !what.contains("did not match any variant of untagged enum") {
        return what;
    }
    let checker = schema::of::<T>(SchemaDialect::Plain).and_then(|schema| Checker::new(&schema, Origin::Given));
    let fault = checker.ok().and_then(|checker| checker.check(arguments.as_str()).err());
    fault.map_or(what, |fault| fault.to_string())
}

fn no_arguments() -> Rejection {
    Rejection::Arguments("only tools and prompts have arguments".to_owned())
}
