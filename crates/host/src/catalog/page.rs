//! One page of a list, cut into definitions.

use std::{collections::HashSet, sync::Arc};

use couplet_core::{Error, ErrorKind, JsonText, Revision, message::Params, visible};
use couplet_types::CacheHints;
use serde_json::value::RawValue;

use super::{Definition, List};

/// The maximum size of a definition in bytes.
const LARGEST: usize = 256 << 10;
/// The maximum number of reports of a list.
const REPORTS: usize = 32;

/// The definitions of the pages so far.
pub(super) struct Collected {
    list: List,
    revision: Revision,
    pub(super) definitions: Vec<Definition>,
    names: HashSet<Arc<str>>,
    pub(super) reports: Vec<String>,
    /// The number of entries so far, with those that were dropped.
    pub(super) entries: usize,
    /// The size of the pages so far, which the definitions are slices of.
    pub(super) bytes: usize,
    pub(super) ttl_ms: Option<u64>,
}

impl Collected {
    pub(super) fn new(list: List, revision: Revision) -> Self {
        Self {
            list,
            revision,
            definitions: Vec::new(),
            names: HashSet::new(),
            reports: Vec::new(),
            entries: 0,
            bytes: 0,
            ttl_ms: None,
        }
    }

    /// Adds a page, up to a number of entries, and returns the cursor of the next one.
    pub(super) fn add(&mut self, result: &JsonText, most: usize) -> Result<Option<String>, Error> {
        self.bytes += result.as_bytes().len();
        let page = Params::from_text(result.clone()).map_err(|fault| self.invalid(&fault.to_string()))?;
        let member = self.list.member();
        let array = page.get(member).ok_or_else(|| self.invalid(&format!("`{member}` is missing")))?;
        let entries: Vec<&RawValue> =
            serde_json::from_str(array.as_str()).map_err(|_| self.invalid(&format!("`{member}` is not an array")))?;
        let room = most - self.entries;
        if entries.len() > room {
            self.report(format!("the list has more than {most} entries; the others are ignored"));
        }
        for entry in entries.into_iter().take(room) {
            self.entries += 1;
            if let Err(report) = self.entry(&array, entry) {
                self.report(report);
            }
        }
        let hints: CacheHints = result.parse().unwrap_or_default();
        self.ttl_ms = self.ttl_ms.into_iter().chain(hints.ttl_ms).min();
        // No cursor of the protocol is `null`, but servers send it.
        page.read_opt::<String>("nextCursor").map_err(|error| self.invalid(&error.message))
    }

    fn entry(&mut self, array: &JsonText, entry: &RawValue) -> Result<(), String> {
        let (noun, key, number) = (self.list.noun(), self.list.key(), self.entries);
        let size = entry.get().len();
        if size > LARGEST {
            return Err(format!("the {noun} {number} has {size} bytes, more than {LARGEST}, and is ignored"));
        }
        let ignored = |what: &str| format!("the {noun} {number} is ignored: {what}");
        // Definitions are valid by themselves: not too deep, without members that occur twice.
        let text = JsonText::new(array.as_bytes().slice_ref(entry.get().as_bytes()));
        let members = text.and_then(Params::from_text).map_err(|fault| ignored(&fault.to_string()))?;
        let name = members.read_str(key).map_err(|_| ignored(&format!("its `{key}` is not a string")))?;
        let name: Arc<str> = name.ok_or_else(|| ignored(&format!("it has no `{key}`")))?.into();
        if !self.names.insert(name.clone()) {
            return Err(ignored(&format!("an earlier one has the same `{key}`, `{}`", excerpt(&name))));
        }
        self.definitions.push(Definition::new(self.list, name, members.text().clone(), self.revision));
        Ok(())
    }

    pub(super) fn report(&mut self, report: String) {
        match self.reports.len() {
            REPORTS.. => {}
            n if n == REPORTS - 1 => self.reports.push("there are further problems".to_owned()),
            _ => self.reports.push(report),
        }
    }

    fn invalid(&self, what: &str) -> Error {
        Error::new(ErrorKind::Protocol, format!("the result of `{}` is not valid: {what}", self.list.method()))
    }
}

/// The beginning of a name, for people.
fn excerpt(name: &str) -> String {
    visible(&name.chars().take(64).collect::<String>())
}
