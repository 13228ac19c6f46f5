//! The request that is measured.

use std::fmt;

use couplet::{
    Client,
    types::{ListTools, ListToolsParams},
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
            Self::Call { name, arguments } => {
                let result = client.call(name, arguments).await?;
                if result.is_error() {
                    let said = text::first_line(&result.text());
                    return Err(Failure::new(Exit::Refused, format!("the tool `{name}` failed: {said}")));
                }
            }
        }
        Ok(())
    }
}

impl fmt::Display for Ask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List => f.write_str("tools/list"),
            Self::Ping => f.write_str("ping"),
            Self::Call { name, .. } => write!(f, "tools/call {}", text::line(name)),
        }
    }
}
