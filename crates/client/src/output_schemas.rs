//! Validation of structured output against the output schemas of the listed tools.

use std::{collections::HashMap, fmt, sync::Mutex};

use couplet_core::{Error, ErrorKind, Outcome, Outgoing, message::Params};
use couplet_schema::{Cache, Schema};
use couplet_types::{CallTool, Request, Tool};

use crate::sync::lock;

/// The output schemas of the tools that were listed.
pub(crate) struct OutputSchemas {
    listed: Mutex<HashMap<String, Box<str>>>,
    compiled: Cache,
}

impl Default for OutputSchemas {
    fn default() -> Self {
        Self { listed: Mutex::default(), compiled: Cache::new(Self::COMPILED) }
    }
}

impl OutputSchemas {
    /// The maximum length of a list.
    const LISTED: usize = 10_000;
    const COMPILED: usize = 256;

    /// Records the schemas of a page of tools.
    pub(crate) fn record(&self, tools: &[Tool]) {
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

    /// Removes all schemas, after the list has changed.
    pub(crate) fn clear(&self) {
        lock(&self.listed).clear();
    }

    /// Returns the output that a request has to return; `None` if the tool has no output schema.
    ///
    /// # Errors
    /// If the schema of the tool is not supported.
    pub(crate) fn expected(&self, request: &Outgoing) -> Result<Option<ExpectedOutput>, Error> {
        if request.method != CallTool::METHOD || lock(&self.listed).is_empty() {
            return Ok(None);
        }
        let Some(tool) = request.name() else { return Ok(None) };
        let Some(text) = lock(&self.listed).get(&tool).cloned() else { return Ok(None) };
        match self.compiled.get(&text) {
            Ok(schema) => Ok(Some(ExpectedOutput { tool, schema })),
            Err(why) => {
                let what = format!("the tool `{tool}` has an output schema that cannot be used: {why}");
                Err(Error::new(ErrorKind::Protocol, what).with_source(why))
            }
        }
    }
}

impl fmt::Debug for OutputSchemas {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OutputSchemas").field("listed", &lock(&self.listed).len()).finish_non_exhaustive()
    }
}

/// The expected output of one call.
pub(crate) struct ExpectedOutput {
    tool: String,
    schema: Schema,
}

impl ExpectedOutput {
    pub(crate) fn check(&self, outcome: &Outcome) -> Result<(), Error> {
        let tool = &self.tool;
        let Outcome::Complete(text) = outcome else { return Ok(()) };
        // An invalid result is refused when it is parsed.
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
