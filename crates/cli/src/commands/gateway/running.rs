//! The gateways of this user that run, and the ids of what they have.

use std::{fmt, str::FromStr};

use serde_json::Value;

use super::{here, status::none_runs};
use crate::{
    exit::Failure,
    output::{Output, text},
};

#[cfg(unix)]
pub(super) use couplet_gateway::Control;

/// The id of a question or grant: the process of its gateway, and its number there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Id {
    pub(super) process: u32,
    pub(super) number: u64,
}

impl FromStr for Id {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let parse = |(process, number): (&str, &str)| {
            Some(Self { process: process.parse().ok()?, number: number.parse().ok()? })
        };
        text.split_once('.').and_then(parse).ok_or("expected an id as it is listed, such as 4711.3")
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.process, self.number)
    }
}

/// Returns the control of each gateway that runs.
#[cfg(unix)]
pub(super) fn running() -> Result<Vec<Control>, Failure> {
    let mut all = Vec::new();
    for folder in couplet_gateway::runtime_folders(&here()?) {
        all.extend(couplet_gateway::controls(&folder).map_err(|error| Failure::file(&folder, "read", &error))?);
    }
    Ok(all)
}

/// The same, where it is an error that none runs.
pub(super) fn all() -> Result<Vec<Control>, Failure> {
    let all = running()?;
    if all.is_empty() { Err(none_runs("no gateway runs")) } else { Ok(all) }
}

/// Returns the control of the gateway that an id names.
pub(super) fn of(id: Id) -> Result<Control, Failure> {
    let found = all()?.into_iter().find(|control| control.process() == id.process);
    found.ok_or_else(|| none_runs(&format!("no gateway runs as the process {}", id.process)))
}

/// Takes the items of a list of a gateway, with ids that are unique among gateways.
pub(super) fn items(control: &Control, mut listed: Value, list: &str) -> Vec<(Id, Value)> {
    let Value::Array(items) = listed[list].take() else { return Vec::new() };
    let with_id = |mut item: Value| {
        let id = Id { process: control.process(), number: item["id"].as_u64()? };
        item["id"] = id.to_string().into();
        Some((id, item))
    };
    items.into_iter().filter_map(with_id).collect()
}

/// Returns the items of the lists of all gateways. One that does not answer is left out with a warning.
pub(super) fn list(
    name: &str,
    of: impl Fn(&Control) -> Result<Value, couplet_gateway::Error>,
    output: &Output,
) -> Result<Vec<(Id, Value)>, Failure> {
    let mut all_items = Vec::new();
    for control in all()? {
        match of(&control) {
            Ok(listed) => all_items.extend(items(&control, listed, name)),
            Err(error) => output.warn(&text::line(&error.to_string())),
        }
    }
    Ok(all_items)
}

/// There is none: gateways are reached over Unix domain sockets.
#[cfg(not(unix))]
#[derive(Clone, Debug)]
pub(super) enum Control {}

#[cfg(not(unix))]
pub(super) fn running() -> Result<Vec<Control>, Failure> {
    let what = "this needs Unix domain sockets, which this system does not have";
    here().and_then(|_| Err(Failure::new(crate::exit::Exit::Protocol, what)))
}

#[cfg(not(unix))]
impl Control {
    pub(super) fn process(&self) -> u32 {
        match *self {}
    }

    pub(super) fn questions(&self) -> Result<Value, couplet_gateway::Error> {
        match *self {}
    }

    pub(super) fn answer(&self, _: u64, _: couplet_host::consent::Answer) -> Result<(), couplet_gateway::Error> {
        match *self {}
    }

    pub(super) fn grants(&self) -> Result<Value, couplet_gateway::Error> {
        match *self {}
    }

    pub(super) fn revoke(&self, _: u64) -> Result<(), couplet_gateway::Error> {
        match *self {}
    }
}
