//! The request that is measured.

use std::{collections::BTreeMap, fmt};

use couplet::{
    Client,
    client::ToolResult,
    types::{ListTools, ListToolsParams, RawJson},
};

use super::super::{call, ping};
use crate::{
    arguments::Tree,
    exit::{Exit, Failure},
    output::text,
};

/// A request.
#[derive(Debug)]
pub(super) enum Ask {
    /// `tools/list`, which has no side effects.
    List,
    /// `ping`.
    Ping,
    /// `tools/call`.
    Call { name: String, arguments: Tree },
    /// `tools/call` with arguments as JSON.
    CallJson { name: String, arguments: BTreeMap<String, RawJson> },
}

impl Ask {
    /// Creates a tool call; the tool must exist and the arguments must fit its schema.
    pub(super) async fn call(client: &Client, name: &str, words: &[String]) -> Result<Self, Failure> {
        let arguments = call::arguments(&client.tools().await?, name, words)?;
        Ok(Self::Call { name: name.to_owned(), arguments })
    }

    /// Sends the request once. A tool error is an error.
    pub(super) async fn send(&self, client: &Client) -> Result<(), Failure> {
        match self {
            Self::List => drop(client.request::<ListTools>(ListToolsParams::new()).no_cache().await?),
            Self::Ping => drop(ping::once(client).await?),
            Self::Call { name, arguments } => succeeded(name, &client.call(name, arguments).await?)?,
            Self::CallJson { name, arguments } => succeeded(name, &client.call(name, arguments).await?)?,
        }
        Ok(())
    }
}

fn succeeded(name: &str, result: &ToolResult) -> Result<(), Failure> {
    match result.is_error() {
        false => Ok(()),
        true => {
            let said = text::first_line(&result.text());
            Err(Failure::new(Exit::Refused, format!("the tool `{name}` failed: {said}")))
        }
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List => f.write_str("tools/list"),
            Self::Ping => f.write_str("ping"),
            Self::Call { name, .. } | Self::CallJson { name, .. } => write!(f, "tools/call {}", text::line(name)),
        }
    }
}
