//! The names of one view, and the tools and prompts that they stand for.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    fmt,
    sync::Arc,
};

use super::{
    NameError, ServerId,
    exposed::{LONGEST, bare_name, exposed_name, is_plain},
};

/// How a view names the tools and prompts of its servers.
#[derive(Clone, Debug, Default)]
pub struct Naming {
    bare: bool,
    renames: BTreeMap<(ServerId, String), String>,
    aliases: BTreeMap<(ServerId, String), String>,
    reserved: BTreeSet<String>,
}

impl Naming {
    /// Creates names of the form `id__raw`.
    pub fn qualified() -> Self {
        Self::default()
    }

    /// Creates names without the server's id.
    pub fn bare() -> Self {
        Self { bare: true, ..Self::default() }
    }

    /// Returns whether names have no server id.
    pub fn is_bare(&self) -> bool {
        self.bare
    }

    /// Replaces the server's own name by another one, in front of which the server's id still stands unless names are bare.
    #[must_use]
    pub fn rename(mut self, server: ServerId, raw: impl Into<String>, to: impl Into<String>) -> Self {
        self.renames.insert((server, raw.into()), to.into());
        self
    }

    /// Replaces the whole name.
    ///
    /// # Errors
    /// If the name is empty, longer than 48 characters, or has characters other than `A-Z`, `a-z`, `0-9`, `_` and `-`.
    pub fn alias(mut self, server: ServerId, raw: impl Into<String>, to: &str) -> Result<Self, NameError> {
        if !is_plain(to) || to.len() > LONGEST {
            return Err(NameError::name(to));
        }
        self.aliases.insert((server, raw.into()), to.to_owned());
        Ok(self)
    }

    /// Reserves a name, so that no server can take it.
    #[must_use]
    pub fn reserve(mut self, name: impl Into<String>) -> Self {
        self.reserved.insert(name.into());
        self
    }

    /// Returns the name of one tool or prompt.
    pub fn name(&self, server: &ServerId, raw: &str) -> String {
        // Most views rename nothing, and a lookup needs owned keys.
        if self.aliases.is_empty() && self.renames.is_empty() {
            return self.shown(server, raw);
        }
        let key = (server.clone(), raw.to_owned());
        match self.aliases.get(&key) {
            Some(alias) => alias.clone(),
            None => self.shown(server, self.renames.get(&key).map_or(raw, String::as_str)),
        }
    }

    fn shown(&self, server: &ServerId, raw: &str) -> String {
        if self.bare { bare_name(server, raw) } else { exposed_name(server, raw) }
    }
}

/// One row of a [`NameTable`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry<T> {
    /// The exposed name.
    pub name: Arc<str>,
    /// The server.
    pub server: ServerId,
    /// The server's own name.
    pub raw: Arc<str>,
    /// The data of the view.
    pub value: T,
}

/// A name that more than one tool or prompt claims, or that is reserved. None of the claimants has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collision {
    /// The name.
    pub name: Arc<str>,
    /// The servers with their own names, in the order of the view.
    pub claimants: Vec<(ServerId, Arc<str>)>,
}

impl fmt::Display for Collision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let claimants: Vec<_> =
            self.claimants.iter().map(|(server, raw)| format!("`{server}/{}`", couplet_core::visible(raw))).collect();
        let name = couplet_core::visible(&self.name);
        match &claimants[..] {
            [one] => write!(f, "the name `{name}` is reserved: {one} is hidden; rename it"),
            all => write!(f, "the name `{name}` is claimed by {}: all are hidden; rename them", all.join(", ")),
        }
    }
}

/// The exposed names of a view.
///
/// ```
/// use couplet_host::names::{NameTable, Naming, ServerId};
///
/// let (files, notes) = (ServerId::from_key("files"), ServerId::from_key("notes"));
/// let items = [(&files, "read"), (&notes, "read"), (&notes, "list")];
/// let items = || items.map(|(server, raw)| (server.clone(), raw.into(), ()));
///
/// let table = NameTable::new(&Naming::qualified(), items());
/// assert_eq!(&*table.get("notes__read").unwrap().raw, "read");
///
/// // Without ids, none of them gets the name that two claim.
/// let table = NameTable::new(&Naming::bare(), items());
/// assert!(table.get("read").is_none() && table.get("list").is_some());
/// assert_eq!(table.collisions().len(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct NameTable<T> {
    entries: Vec<Entry<T>>,
    by_name: HashMap<Arc<str>, usize>,
    collisions: Vec<Collision>,
}

impl<T> Default for NameTable<T> {
    fn default() -> Self {
        Self { entries: Vec::new(), by_name: HashMap::new(), collisions: Vec::new() }
    }
}

impl<T> NameTable<T> {
    /// Builds the table from the items of all servers, in the order of the view.
    pub fn new(naming: &Naming, items: impl IntoIterator<Item = (ServerId, Arc<str>, T)>) -> Self {
        let mut claims: HashMap<Arc<str>, Vec<usize>> = HashMap::new();
        let mut all = Vec::new();
        for (at, (server, raw, value)) in items.into_iter().enumerate() {
            let name: Arc<str> = naming.name(&server, &raw).into();
            claims.entry(name.clone()).or_default().push(at);
            all.push(Entry { name, server, raw, value });
        }
        let is_taken = |name: &Arc<str>| claims[name].len() > 1 || naming.reserved.contains(&**name);
        let mut collisions: Vec<Collision> = Vec::new();
        for entry in all.iter().filter(|entry| is_taken(&entry.name)) {
            if claims[&entry.name].first().is_some_and(|first| std::ptr::eq(&all[*first], entry)) {
                let claimant = |at: &usize| (all[*at].server.clone(), all[*at].raw.clone());
                let claimants = claims[&entry.name].iter().map(claimant).collect();
                collisions.push(Collision { name: entry.name.clone(), claimants });
            }
        }
        let entries: Vec<_> = all.into_iter().filter(|entry| !is_taken(&entry.name)).collect();
        let by_name = entries.iter().enumerate().map(|(at, entry)| (entry.name.clone(), at)).collect();
        Self { entries, by_name, collisions }
    }

    /// Returns the entry with an exposed name.
    pub fn get(&self, name: &str) -> Option<&Entry<T>> {
        self.entries.get(*self.by_name.get(name)?)
    }

    /// Returns all entries in the order of the view.
    pub fn entries(&self) -> &[Entry<T>] {
        &self.entries
    }

    /// Returns the names that no entry has because more than one claims them, or because they are reserved.
    pub fn collisions(&self) -> &[Collision] {
        &self.collisions
    }
}
