//! Extensions that the proxy forwards.

use std::{collections::BTreeSet, sync::Mutex};

use couplet_core::{ExtensionMethod, ExtensionSpec, Project, Revision, sync::lock};
use couplet_types::{Map, RawJson, SKILLS_EXTENSION, ServerCapabilities};
use serde::Serialize;

use crate::TaskForms;

/// The methods and result types of the known extensions. Of others only the settings are forwarded.
#[derive(Clone, Debug)]
pub(crate) struct Extensions(Vec<ExtensionSpec>);

/// A method of an extension.
#[derive(Clone, Copy)]
pub(crate) struct Known {
    pub(crate) name: &'static str,
    pub(crate) named_by: Option<&'static str>,
}

impl Default for Extensions {
    fn default() -> Self {
        let skills = ["skills/list", "skills/get", "resources/directory/read"].into_iter();
        let skills =
            skills.fold(ExtensionSpec::new(SKILLS_EXTENSION), |all, name| all.method(ExtensionMethod::new(name)));
        Self(vec![TaskForms::extension(), skills])
    }
}

impl Extensions {
    /// Adds an extension, or replaces it.
    pub(crate) fn add(&mut self, mut extension: ExtensionSpec) {
        // Subscriptions of extensions are not forwarded.
        extension.filters.clear();
        self.0.retain(|known| known.id != extension.id);
        self.0.push(extension);
    }

    /// The known extensions of a server.
    pub(crate) fn of(&self, server: &ServerCapabilities) -> Vec<ExtensionSpec> {
        let ids = server.extensions.iter().flat_map(Map::keys);
        ids.map(|id| self.0.iter().find(|known| known.id == id).cloned().unwrap_or_else(|| ExtensionSpec::new(id)))
            .collect()
    }

    /// A method of one of the server's extensions.
    pub(crate) fn method(&self, server: &ServerCapabilities, name: &str) -> Option<Known> {
        let declared =
            |extension: &&ExtensionSpec| server.extensions.as_ref().is_some_and(|all| all.contains_key(&extension.id));
        let mut methods = self.0.iter().filter(declared).flat_map(|extension| &extension.methods);
        let method = methods.find(|method| method.name == name)?;
        Some(Known { name: interned(&method.name), named_by: method.named_by.as_deref().map(interned) })
    }

    /// Whether a result type is known.
    pub(crate) fn has_result(&self, kind: &str) -> bool {
        self.0.iter().any(|extension| extension.result_types.iter().any(|known| known == kind))
    }
}

/// The extensions that the caller and the server both have.
pub(crate) fn common(caller: Option<&Map<RawJson>>, server: &ServerCapabilities) -> Option<Map<RawJson>> {
    let server = server.extensions.as_ref()?;
    let both = caller?.iter().filter(|(id, _)| server.contains_key(id));
    let both: Map<RawJson> = both.map(|(id, settings)| (id, settings.clone())).collect();
    (!both.is_empty()).then_some(both)
}

/// Interns a name, which is never freed: only names from the configuration get here, each once.
fn interned(name: &str) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let mut names = lock(&NAMES);
    match names.get(name) {
        Some(known) => known,
        None => {
            let new: &'static str = Box::leak(name.into());
            names.insert(new);
            new
        }
    }
}

/// Parameters, verbatim.
#[derive(Serialize)]
#[serde(transparent)]
pub(crate) struct Raw(pub(crate) RawJson);

impl Project for Raw {
    fn project(&mut self, _: Revision) {}
}
