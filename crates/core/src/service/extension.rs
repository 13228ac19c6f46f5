//! What extensions add to a server's side of the protocol, as far as the protocol has to know it.

use couplet_types::{ClientCapabilities, RawJson};

use crate::wire::revision::Revision;

/// What one extension of a server adds.
///
/// ```
/// use couplet_core::{ExtensionSpec, ExtensionMethod};
///
/// let clock = ExtensionSpec::new("com.example/clock")
///     .method(ExtensionMethod::new("clock/get").named_by("zone"))
///     .result_type("ticket")
///     .filter("zones");
/// # let _ = clock;
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExtensionSpec {
    /// The identifier, such as `com.example/clock`.
    pub id: String,
    /// Its methods.
    pub methods: Vec<ExtensionMethod>,
    /// The kinds of results that it adds.
    pub result_types: Vec<String>,
    /// The members that it adds to what a client can ask to be told about: each is a list of texts.
    pub filters: Vec<String>,
    /// Whether it exists only where every request stands alone.
    pub stateless: bool,
}

/// A method of an extension.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExtensionMethod {
    /// Its name.
    pub name: String,
    /// The parameter that names what the method is about: over HTTP it is mirrored in a header.
    pub named_by: Option<String>,
}

impl ExtensionSpec {
    /// An extension that adds nothing yet.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), methods: Vec::new(), result_types: Vec::new(), filters: Vec::new(), stateless: false }
    }

    /// Adds a method.
    #[must_use]
    pub fn method(mut self, method: ExtensionMethod) -> Self {
        self.methods.push(method);
        self
    }

    /// Adds a kind of result.
    #[must_use]
    pub fn result_type(mut self, kind: impl Into<String>) -> Self {
        self.result_types.push(kind.into());
        self
    }

    /// Adds something that a client can ask to be told about.
    #[must_use]
    pub fn filter(mut self, member: impl Into<String>) -> Self {
        self.filters.push(member.into());
        self
    }

    pub(crate) fn exists_in(&self, revision: Revision) -> bool {
        !self.stateless || !revision.has_sessions()
    }

    pub(crate) fn find(&self, method: &str) -> Option<&ExtensionMethod> {
        self.methods.iter().find(|m| m.name == method)
    }
}

impl ExtensionMethod {
    /// A method that is about nothing with a name.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), named_by: None }
    }

    /// The parameter that names what the method is about.
    #[must_use]
    pub fn named_by(mut self, parameter: impl Into<String>) -> Self {
        self.named_by = Some(parameter.into());
        self
    }
}

/// The settings with which a client declares an extension; `None` if it does not.
pub(crate) fn declared<'a>(client: &'a ClientCapabilities, id: &str) -> Option<&'a RawJson> {
    client.extensions.as_ref()?.get(id)
}

/// Makes types with a field `meta` the parameters and results of an extension's methods: the same in every revision.
///
/// ```
/// use couplet_types::Meta;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, Debug, Serialize, Deserialize)]
/// struct Zone {
///     zone: String,
///     #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
///     meta: Option<Meta>,
/// }
///
/// couplet_core::extension_messages!(Zone);
/// ```
#[macro_export]
macro_rules! extension_messages {
    ($($message:ty),* $(,)?) => {$(
        impl $crate::types::HasMeta for $message {
            fn meta(&self) -> Option<&$crate::types::Meta> {
                self.meta.as_ref()
            }

            fn meta_mut(&mut self) -> &mut Option<$crate::types::Meta> {
                &mut self.meta
            }
        }

        impl $crate::Project for $message {
            fn project(&mut self, _: $crate::Revision) {}
        }
    )*};
}
