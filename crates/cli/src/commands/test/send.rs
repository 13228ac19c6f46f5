//! One call, from its request to its response.

use couplet::{
    Client, Error,
    core::{Event, JsonText, Outcome, RequestOptions, ResultBody, message::Params},
    tasks::CallTask,
    types::RpcError,
};
use serde::Serialize;
use serde_json::Value;

use super::{collection::Action, values::Values};
use crate::{
    exit::{Exit, Failure},
    target::Session,
};

/// The response to a call.
#[derive(Clone, Debug)]
pub(super) enum Response {
    /// The result, without the members that the protocol adds.
    Result(Value),
    /// The JSON-RPC error.
    Error(Value),
    /// No response.
    Failed { message: String, details: Vec<String> },
}

impl Response {
    /// Returns the document that JSON pointers refer to.
    pub(super) fn document(&self) -> &Value {
        match self {
            Self::Result(value) | Self::Error(value) => value,
            Self::Failed { .. } => &Value::Null,
        }
    }

    /// Returns the text: that of the content, of the contents of a resource or of the messages of a prompt.
    pub(super) fn text(&self) -> String {
        let texts = match self {
            Self::Error(error) => return error["message"].as_str().unwrap_or_default().to_owned(),
            Self::Failed { message, .. } => return message.clone(),
            Self::Result(result) => texts(result),
        };
        texts.join("\n")
    }
}

fn texts(result: &Value) -> Vec<&str> {
    let items = |key: &str| result[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let blocks = items("content").iter().chain(items("contents")).filter_map(|block| block["text"].as_str());
    blocks.chain(items("messages").iter().filter_map(|message| message["content"]["text"].as_str())).collect()
}

/// Sends a call and waits for its response.
///
/// # Errors
/// If a value is missing, or if there is no response; that has the diagnostics of the connection.
pub(super) async fn send(session: &Session, action: &Action, values: &Values) -> Result<Response, Failure> {
    let client = &session.client;
    let missing = |what: String| Failure::new(Exit::Refused, what);
    let fill = |text: &str| values.fill_string(text).map_err(missing);
    let outcome = match action {
        Action::Tool { name, arguments } => {
            let arguments = values.fill(arguments).map_err(missing)?;
            match client.call_task(fill(name)?, arguments).await {
                Ok(called) => called.wait().await.and_then(|result| value(&result.into_inner())),
                Err(error) => Err(error),
            }
        }
        Action::Resource { uri } => client.read(fill(uri)?).no_cache().await.and_then(|result| value(&result)),
        Action::Prompt { name, arguments } => {
            let arguments = values.fill(arguments).map_err(missing)?;
            client.prompt(fill(name)?, strings(arguments)).await.and_then(|result| value(&result))
        }
        Action::Method { name, params } => method(client, name, &values.fill(params).map_err(missing)?).await,
    };
    match outcome {
        Ok(result) => Ok(Response::Result(without_protocol(result))),
        Err(error) => match error.rpc().map(rpc) {
            Some(error) => Ok(Response::Error(error)),
            None => Err(session.explain(error.into())),
        },
    }
}

fn value(result: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(result)
        .map_err(|e| Error::new(couplet::ErrorKind::Protocol, "the result cannot be encoded").with_source(e))
}

fn rpc(error: &RpcError) -> Value {
    serde_json::to_value(error).unwrap_or_default()
}

/// Converts the arguments of a prompt, which are strings in all revisions.
fn strings(arguments: Value) -> Value {
    let Value::Object(members) = arguments else { return arguments };
    let string = |value: Value| if value.is_string() { value } else { value.to_string().into() };
    Value::Object(members.into_iter().map(|(key, value)| (key, string(value))).collect())
}

/// Removes `_meta` and what the protocol adds to results, which differ between revisions and servers.
fn without_protocol(result: Value) -> Value {
    let members = JsonText::new(result.to_string()).map(|text| ResultBody::json(&text).members());
    members.ok().and_then(|members| members.parse().ok()).unwrap_or(result)
}

/// Sends a request as it is.
async fn method(client: &Client, name: &str, params: &Value) -> Result<Value, Error> {
    let config = |what: String| Error::new(couplet::ErrorKind::Config, what);
    let text = JsonText::new(params.to_string()).map_err(|e| config(format!("invalid `params`: {e}")))?;
    let params = Params::from_text(text).map_err(|e| config(format!("invalid `params`: {e}")))?;
    let options = RequestOptions::default();
    let mut exchange = match client.serves(name) {
        true => client.forward(name, &params, &options)?,
        // A method that the server does not declare is sent all the same: the collection may expect the error. A
        // collection has few methods, and the name must outlive the request.
        false => client.forward_extension(name.to_owned().leak(), None, &params, &options)?,
    };
    loop {
        match exchange.next().await {
            Event::Notification { .. } => {}
            Event::Answer(Ok(result)) => match client.outcome_of(result, None, |_| true)? {
                Outcome::Complete(text) | Outcome::Extension { result: text, .. } => {
                    return serde_json::from_str(text.as_str()).map_err(|e| {
                        Error::new(couplet::ErrorKind::Protocol, "the result is not JSON").with_source(e)
                    });
                }
                Outcome::InputRequired { .. } => {
                    let what = "the server requires input, which a call by `method` cannot give; use `tool`, \
                                `resource` or `prompt`";
                    return Err(config(what.to_owned()));
                }
            },
            Event::Answer(Err(error)) => return Err(Error::from(error)),
            Event::Ended => {
                return Err(Error::new(couplet::ErrorKind::Closed, "the connection closed without a response"));
            }
            Event::Failed(error) => return Err(error),
        }
    }
}
