//! Hidden text, and text that instructs the model instead of describing.
//!
//! All strings of a server are checked: its instructions and every string and key of listed items, except for `_meta`,
//! which hosts do not pass to models, and for images.

pub(super) mod characters;
pub(super) mod forms;
pub(super) mod meaning;

use serde_json::Value;

use crate::{Place, Subject, Surface, read::escaped, surface::Kind};

/// A string of a server.
struct Said<'v> {
    text: &'v str,
    /// The name of the member whose key or value it is.
    member: &'v str,
    path: &'v [&'v str],
    subject: &'v Subject,
}

impl Said<'_> {
    fn place(&self) -> Place {
        let pointer: String = self.path.iter().map(|segment| format!("/{}", escaped(segment))).collect();
        Place::new(self.subject.clone()).at(pointer)
    }
}

/// Visits every string.
fn each(surface: &Surface, mut look: impl FnMut(&Said<'_>)) {
    let Some(newest) = surface.newest() else { return };
    let server = Subject::Server;
    if let Some(text) = newest.instructions() {
        look(&Said { text, member: "instructions", path: &["instructions"], subject: &server });
    }
    let info = serde_json::to_value(&newest.info).unwrap_or_default();
    walk(&info, &server, &mut vec!["serverInfo"], &mut look);
    for item in Kind::ALL.into_iter().flat_map(|kind| surface.items(kind)) {
        walk(&item.value, &item.subject, &mut Vec::new(), &mut look);
    }
}

fn walk<'v>(value: &'v Value, subject: &Subject, path: &mut Vec<&'v str>, look: &mut impl FnMut(&Said<'_>)) {
    match value {
        Value::String(text) => {
            let member = path.last().copied().unwrap_or_default();
            look(&Said { text, member, path, subject });
        }
        // The index does not matter: all items share one path.
        Value::Array(items) => items.iter().for_each(|item| walk(item, subject, path, look)),
        Value::Object(members) => {
            for (key, member) in members.iter().filter(|(key, _)| *key != "_meta" && *key != "src") {
                path.push(key);
                look(&Said { text: key, member: key, path, subject });
                walk(member, subject, path, look);
                path.pop();
            }
        }
        _ => {}
    }
}
