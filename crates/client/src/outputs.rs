//! What tools promised to give, as their list said, and whether they keep to it.

use std::{collections::HashMap, fmt, sync::Mutex};

use couplet_core::{Error, ErrorKind, Outcome, Outgoing, message::Params};
use couplet_schema::{Cache, Schema};
use couplet_types::{CallTool, Request, Tool};

use crate::sync::lock;

/// The output schemas of the tools that were listed.
pub(crate) struct Outputs {
    listed: Mutex<HashMap<String, Box<str>>>,
    compiled: Cache,
}

impl Default for Outputs {
    fn default() -> Self {
        Self { listed: Mutex::default(), compiled: Cache::new(Self::COMPILED) }
    }
}

impl Outputs {
    /// As many as a list may have.
    const LISTED: usize = 10_000;
    const COMPILED: usize = 256;

    /// Remembers what a list says.
    pub(crate) fn listed(&self, tools: &[Tool]) {
        let mut listed = lock(&self.listed);
        for tool in tools {
            match &tool.output_schema {
                Some(schema) if listed.len() < Self::LISTED => {
                    listed.insert(tool.name.clone(), schema.get().into());
                }
                _ => drop(listed.remove(&tool.name)),
            }
        }
    }

    /// The list has changed: what it said counts no more.
    pub(crate) fn forget(&self) {
        lock(&self.listed).clear();
    }

    /// What a request promises to bring.
    ///
    /// # Errors
    /// When the schema of the tool cannot be used: what it would allow, nobody knows.
    pub(crate) fn promised(&self, request: &Outgoing) -> Result<Option<Promise>, Error> {
        if request.method != CallTool::METHOD || lock(&self.listed).is_empty() {
            return Ok(None);
        }
        let Some(tool) = request.name() else { return Ok(None) };
        let Some(text) = lock(&self.listed).get(&tool).cloned() else { return Ok(None) };
        match self.compiled.get(&text) {
            Ok(schema) => Ok(Some(Promise { tool, schema })),
            Err(why) => {
                let what = format!("the tool `{tool}` has an output schema that cannot be used: {why}");
                Err(Error::new(ErrorKind::Protocol, what).with_source(why))
            }
        }
    }
}

impl fmt::Debug for Outputs {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Outputs").field("listed", &lock(&self.listed).len()).finish_non_exhaustive()
    }
}

/// What one call has to bring.
pub(crate) struct Promise {
    tool: String,
    schema: Schema,
}

impl Promise {
    pub(crate) fn check(&self, outcome: &Outcome) -> Result<(), Error> {
        let tool = &self.tool;
        let Outcome::Complete(text) = outcome else { return Ok(()) };
        // What cannot be read is refused when it is read.
        let Ok(result) = Params::from_text(text.clone()) else { return Ok(()) };
        if result.get("isError").is_some_and(|failed| failed.as_str() == "true") {
            return Ok(());
        }
        let Some(data) = result.get("structuredContent") else {
            let what = format!("the tool `{tool}` has an output schema, but gave no structured content");
            return Err(Error::new(ErrorKind::Protocol, what));
        };
        self.schema.check(data.as_str()).map_err(|mismatch| {
            let what = format!("what the tool `{tool}` gave does not fit its output schema: {mismatch}");
            Error::new(ErrorKind::Protocol, what).with_source(mismatch)
        })
    }
}
