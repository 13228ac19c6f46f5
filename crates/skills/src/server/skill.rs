//! A skill that a server offers.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    digest,
    entry::{Files, SKILL_MD, SkillEntry, SkillFile},
    frontmatter::{Frontmatter, is_name},
};

/// A skill: what it says about itself, what it tells the model to do, and its files.
///
/// ```
/// use couplet_skills::Skill;
///
/// let skill = Skill::new("refunds", "How to refund an order.", "Look up the order, then read `rules.md`.")
///     .file("references/rules.md", "Orders older than 30 days are not refunded.")
///     .field("license", "MIT")
///     .under("acme");
/// assert_eq!(skill.uri(), "skill://acme/refunds/SKILL.md");
/// ```
#[derive(Clone, Debug)]
#[must_use = "give it to `Skills::skill`"]
pub struct Skill {
    fields: Frontmatter,
    /// `SKILL.md` as it is in its folder; `None` while it is written from the fields.
    text: Option<String>,
    body: String,
    /// The folders above the skill's own.
    above: Vec<String>,
    files: BTreeMap<String, Arc<[u8]>>,
}

impl Skill {
    /// A skill with a name, what it is for, and the instructions.
    pub fn new(name: impl Into<String>, description: impl Into<String>, instructions: impl Into<String>) -> Self {
        let fields = Frontmatter::new(name.into(), description.into());
        Self { fields, text: None, body: instructions.into(), above: Vec::new(), files: BTreeMap::new() }
    }

    /// A skill from the text of its `SKILL.md`.
    ///
    /// # Errors
    /// When it does not begin with the fields that every skill has.
    pub fn parse(text: impl Into<String>) -> Result<Self, String> {
        let text = text.into();
        let (fields, body) = Frontmatter::split(&text)?;
        let body = body.to_owned();
        Ok(Self { fields, text: Some(text), body, above: Vec::new(), files: BTreeMap::new() })
    }

    /// Adds a file. The path is below the skill's folder: `references/rules.md`.
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        let content: Vec<u8> = content.into();
        self.files.insert(path.into(), content.into());
        self
    }

    /// Adds a field at the beginning of `SKILL.md`.
    pub fn field(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(key.into(), value.into());
        self.text = None;
        self
    }

    /// Puts the skill below folders: `acme/billing`.
    pub fn under(mut self, folders: &str) -> Self {
        self.above = folders.split('/').map(str::to_owned).collect();
        self
    }

    /// The address of its `SKILL.md`.
    pub fn uri(&self) -> String {
        format!("{}/{SKILL_MD}", self.folder())
    }

    pub(super) fn name(&self) -> &str {
        self.fields.name()
    }

    fn folder(&self) -> String {
        let parts = self.above.iter().map(String::as_str).chain([self.fields.name()]);
        let parts: Vec<String> = parts.map(escape).collect();
        format!("skill://{}", parts.join("/"))
    }

    /// The skill as it is listed, and its files: address, path below the folder, content.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn finish(mut self) -> Result<Finished, String> {
        let wrong = |what: String| format!("skill `{}`: {what}", self.fields.name());
        self.fields.check().map_err(wrong)?;
        if let Some(key) = self.fields.reserved() {
            return Err(wrong(format!("`{key}` is reserved")));
        }
        if let Some(folder) = self.above.iter().find(|folder| folder.is_empty() || folder.starts_with('.')) {
            return Err(wrong(format!("`{folder}` cannot be a folder")));
        }
        if let Some(path) = self.files.keys().find(|path| path.split('/').any(|p| matches!(p, "" | "." | ".."))) {
            return Err(wrong(format!("`{path}` is not a path below the folder")));
        }
        let text = self.text.take().unwrap_or_else(|| self.written());
        // What a client reads in the file is what it finds in the list.
        let (fields, _) = Frontmatter::split(&text).map_err(wrong)?;
        if self.files.insert(SKILL_MD.to_owned(), text.into_bytes().into()).is_some() {
            return Err(wrong(format!("`{SKILL_MD}` is made from the instructions")));
        }
        let folder = self.folder();
        let files = self.files.into_iter().map(|(path, content)| {
            let uri = format!("{folder}/{}", path.split('/').map(escape).collect::<Vec<_>>().join("/"));
            (uri, path, content)
        });
        let files: Vec<_> = files.collect();
        let listed = files.iter().map(|(uri, _, content)| SkillFile {
            uri: uri.clone(),
            digest: digest::of(content),
            size: content.len() as u64,
        });
        let entry = SkillEntry {
            uri: format!("{folder}/{SKILL_MD}"),
            frontmatter: fields,
            files: Files::Listed(listed.collect()),
        };
        entry.check()?;
        Ok(Finished { entry, files })
    }

    /// `SKILL.md` from the fields: JSON is YAML, and needs no rules for quotes.
    fn written(&self) -> String {
        let key = |key: &str| if is_name(key) { key.to_owned() } else { Value::from(key).to_string() };
        let lines: String = self.fields.iter().map(|(k, value)| format!("{}: {value}\n", key(k))).collect();
        format!("---\n{lines}---\n\n{}", self.body)
    }
}

/// A skill that is ready to be served.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) entry: SkillEntry,
    pub(super) files: Vec<(String, String, Arc<[u8]>)>,
}

/// A part of a path, as it stands in an address.
fn escape(part: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=@".contains(&b);
    part.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
