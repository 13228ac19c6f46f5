//! A target of the command line: a server, or a recording.

use std::{collections::BTreeMap, fs, path::Path, sync::Arc};

use couplet::ProtocolVersion;
use couplet_inspector::{
    Inspector, PlaceKind,
    recording::{self, Entry},
};

use super::{find::Finder, place::Server};
use crate::{
    commands::replay::recording::not_an_entry,
    exit::Failure,
    output::text,
    target::{ConnectionArgs, expanded},
};

/// A target that is not added yet.
pub(super) enum Open {
    Server(Arc<Server>),
    /// The messages of a recording by session, in the order in which the sessions began.
    Recording {
        path: String,
        sessions: Vec<Vec<Entry>>,
    },
}

impl Open {
    pub(super) fn of(text: &str, finder: &Finder, connection: &ConnectionArgs) -> Result<Self, Failure> {
        let path = expanded(text);
        match path.to_ascii_lowercase().ends_with(".jsonl") && !path.contains(char::is_whitespace) {
            true => Ok(Self::Recording { sessions: read(Path::new(&path))?, path }),
            false => finder.resolve(text, connection).map(Self::Server),
        }
    }

    pub(super) fn add_to(self, inspector: &Inspector, revision: Option<ProtocolVersion>) {
        match self {
            Self::Server(server) => inspector.add(server, revision),
            Self::Recording { path, sessions } => {
                let name =
                    Path::new(&path).file_name().map_or(path.clone(), |name| name.to_string_lossy().into_owned());
                let several = sessions.len() > 1;
                for (number, entries) in sessions.into_iter().enumerate() {
                    let name = if several { format!("{name} {}", number + 1) } else { name.clone() };
                    let target = inspector.add_passive(&name, &path, PlaceKind::Recording);
                    let messages = text::count(entries.len(), "message", "messages");
                    for entry in entries {
                        target.message_at(entry.time, entry.direction, entry.text);
                    }
                    target.ended(format!("a recording of {messages}"));
                }
            }
        }
    }
}

/// Reads a recording.
fn read(path: &Path) -> Result<Vec<Vec<Entry>>, Failure> {
    let text = fs::read_to_string(path).map_err(|e| Failure::file(path, "read", &e))?;
    let mut order: BTreeMap<String, usize> = BTreeMap::new();
    let mut sessions: Vec<Vec<Entry>> = Vec::new();
    for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let entry = recording::parse(line).map_err(|e| not_an_entry(path, number, &e))?;
        let at = *order.entry(entry.session.clone()).or_insert(sessions.len());
        match sessions.get_mut(at) {
            Some(session) => session.push(entry),
            None => sessions.push(vec![entry]),
        }
    }
    Ok(sessions)
}
