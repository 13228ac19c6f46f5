//! What a schema says about itself: description, default, format, deprecation.

use crate::{json::Json, text};

/// The documentation of a type, a field or a function, as text that is not yet escaped.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Docs {
    /// The lines of the description.
    pub(crate) lines: Vec<String>,
    /// Facts to add below: a label and a value, such as `Default` and `5`.
    pub(crate) notes: Vec<(&'static str, String)>,
    pub(crate) is_deprecated: bool,
}

/// The maximum length of a value in a note.
const LONGEST: usize = 120;

impl Docs {
    /// Reads the documentation of a schema.
    pub(crate) fn of(schema: &Json) -> Self {
        let text = |key: &str| schema.get(key).and_then(Json::as_str);
        let mut docs = Self::from_text(text("description").or_else(|| text("title")));
        docs.is_deprecated = schema.get("deprecated").is_some_and(Json::is_true);
        docs.note("Default", schema.get("default"));
        docs.note("Always", schema.get("const").filter(|value| value.as_str().is_none()));
        if let Some(format) = text("format").filter(|_| text("type") == Some("string")) {
            docs.notes.push(("Format", text::line(format, LONGEST)));
        }
        docs
    }

    /// Documents something by a text.
    pub(crate) fn from_text(text: Option<&str>) -> Self {
        Self { lines: text.map(text::lines).unwrap_or_default(), ..Self::default() }
    }

    /// Puts a title above the description, unless it says the same.
    pub(crate) fn with_title(mut self, title: Option<&str>) -> Self {
        let title = title.map(|title| text::line(title, LONGEST)).unwrap_or_default();
        let first = self.lines.first().map(|line| line.trim_end_matches('.'));
        if !title.is_empty() && first != Some(title.trim_end_matches('.')) {
            let gap = if self.lines.is_empty() { None } else { Some(String::new()) };
            let stop = if title.ends_with(['.', '!', '?']) { "" } else { "." };
            self.lines.splice(0..0, std::iter::once(format!("{title}{stop}")).chain(gap));
        }
        self
    }

    /// Returns the paragraphs of a comment, with one of our own at the end: lines as `escaped` makes them, values as `code`.
    pub(crate) fn paragraphs(
        &self,
        escaped: impl Fn(&str) -> String,
        code: impl Fn(&str) -> String,
        last: Option<&str>,
    ) -> Vec<Vec<String>> {
        let lines = self.lines.iter().map(|line| escaped(line)).collect();
        let notes = self.notes.iter().map(|(label, value)| format!("{label}: {}.", code(value))).collect();
        let last = last.map(str::to_owned).into_iter().collect();
        [lines, notes, last].into_iter().filter(|paragraph: &Vec<String>| !paragraph.is_empty()).collect()
    }

    fn note(&mut self, label: &'static str, value: Option<&Json>) {
        self.notes.extend(value.map(|value| (label, text::line(&value.to_string(), LONGEST))));
    }
}
