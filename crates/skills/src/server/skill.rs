//! A skill of a server.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    digest,
    entry::{Files, SKILL_MD, SkillEntry, SkillFile},
    frontmatter::{Frontmatter, is_name},
};

/// A skill: its frontmatter, its instructions for the model, and its files.
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
    /// The text of `SKILL.md` as parsed; `None` if it is to be generated from the fields.
    text: Option<String>,
    body: String,
    /// The directories above the skill's own.
    above: Vec<String>,
    files: BTreeMap<String, Arc<[u8]>>,
    is_dynamic: bool,
}

impl Skill {
    /// Creates a skill from its name, its description and its instructions.
    pub fn new(name: impl Into<String>, description: impl Into<String>, instructions: impl Into<String>) -> Self {
        let fields = Frontmatter::new(name.into(), description.into());
        let body = instructions.into();
        Self { fields, text: None, body, above: Vec::new(), files: BTreeMap::new(), is_dynamic: false }
    }

    /// Parses a skill from the text of its `SKILL.md`.
    ///
    /// # Errors
    /// Fails if the frontmatter is missing or invalid (see [`Frontmatter::split`]).
    pub fn parse(text: impl Into<String>) -> Result<Self, String> {
        let text = text.into();
        let (fields, body) = Frontmatter::split(&text)?;
        let body = body.to_owned();
        Ok(Self { fields, text: Some(text), body, above: Vec::new(), files: BTreeMap::new(), is_dynamic: false })
    }

    /// Adds a file by its path below the skill's directory, such as `references/rules.md`.
    pub fn file(mut self, path: impl Into<String>, content: impl Into<Vec<u8>>) -> Self {
        let content: Vec<u8> = content.into();
        self.files.insert(path.into(), content.into());
        self
    }

    /// Sets a field of the frontmatter.
    pub fn field(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.fields.insert(key.into(), value.into());
        self.text = None;
        self
    }

    /// Places the skill below parent directories, such as `acme/billing`.
    pub fn under(mut self, folders: &str) -> Self {
        self.above = folders.split('/').map(str::to_owned).collect();
        self
    }

    /// Lists the skill without its files (`"dynamic"`), for files that are generated when they are read: clients cannot
    /// verify them.
    ///
    /// Register generated files as resources or templates of the server, below the skill's directory:
    ///
    /// ```
    /// use couplet_server::{Server, resource};
    /// use couplet_skills::{Skill, Skills};
    ///
    /// let prices = Skill::new("prices", "The prices of today.", "Read `today.md`.").dynamic();
    /// let server: Server = Server::new("shop", "1.0.0")
    ///     .extension(Skills::new().skill(prices))
    ///     .resource(resource("skill://prices/today.md", || async { "Apples: 3" }).unlisted());
    /// ```
    pub fn dynamic(mut self) -> Self {
        self.is_dynamic = true;
        self
    }

    /// Returns the URI of the skill's `SKILL.md`.
    pub fn uri(&self) -> String {
        format!("{}/{SKILL_MD}", self.directory())
    }

    pub(super) fn name(&self) -> &str {
        self.fields.name()
    }

    fn directory(&self) -> String {
        let parts = self.above.iter().map(String::as_str).chain([self.fields.name()]);
        let parts: Vec<String> = parts.map(escape).collect();
        format!("skill://{}", parts.join("/"))
    }

    /// Validates the skill. Returns its entry and its files: URI, path below the directory, content.
    ///
    /// # Errors
    /// Fails with a description of the first problem.
    pub(super) fn finish(mut self) -> Result<Finished, String> {
        let wrong = |what: String| format!("skill `{}`: {what}", self.fields.name());
        self.fields.check().map_err(wrong)?;
        if let Some(key) = self.fields.reserved() {
            return Err(wrong(format!("`{key}` is reserved")));
        }
        if let Some(folder) = self.above.iter().find(|folder| folder.is_empty() || folder.starts_with('.')) {
            return Err(wrong(format!("`{folder}` is not a valid directory name")));
        }
        if let Some(path) = self.files.keys().find(|path| path.split('/').any(|p| matches!(p, "" | "." | ".."))) {
            return Err(wrong(format!("`{path}` is not a path below the skill's directory")));
        }
        let text = self.text.take().unwrap_or_else(|| self.written());
        // The listed frontmatter must equal the frontmatter in the file.
        let (fields, _) = Frontmatter::split(&text).map_err(wrong)?;
        if self.files.insert(SKILL_MD.to_owned(), text.into_bytes().into()).is_some() {
            return Err(wrong(format!("`{SKILL_MD}` is generated; do not add it as a file")));
        }
        let folder = self.directory();
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
        let listed = if self.is_dynamic { Files::Dynamic } else { Files::Listed(listed.collect()) };
        let entry = SkillEntry { uri: format!("{folder}/{SKILL_MD}"), frontmatter: fields, files: listed };
        entry.check()?;
        Ok(Finished { entry, files })
    }

    /// Generates `SKILL.md` from the fields. JSON values are valid YAML, and need no quoting rules.
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

/// Percent-encodes a path segment.
fn escape(part: &str) -> String {
    let plain = |b: u8| b.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=@".contains(&b);
    part.bytes().map(|b| if plain(b) { char::from(b).to_string() } else { format!("%{b:02X}") }).collect()
}
