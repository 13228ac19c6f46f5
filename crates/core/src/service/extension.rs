//! Protocol extensions of a server, as data.

use couplet_types::{ClientCapabilities, RawJson};

use crate::wire::revision::Revision;

/// A protocol extension of a server: its methods, result types and subscription filters.
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
    /// The methods.
    pub methods: Vec<ExtensionMethod>,
    /// The result types.
    pub result_types: Vec<String>,
    /// The members of subscription filters: each is a list of strings.
    pub filters: Vec<String>,
    /// Whether it exists only in stateless revisions.
    pub stateless: bool,
}

/// A method of an extension.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct ExtensionMethod {
    /// The name.
    pub name: String,
    /// The parameter that names the target; HTTP clients repeat it in the `Mcp-Name` header.
    pub named_by: Option<String>,
}

impl ExtensionSpec {
    /// Creates an extension without methods, result types or filters.
    pub fn new(id: impl Into<String>) -> Self {
        Self { id: id.into(), methods: Vec::new(), result_types: Vec::new(), filters: Vec::new(), stateless: false }
    }

    /// Adds a method.
    #[must_use]
    pub fn method(mut self, method: ExtensionMethod) -> Self {
        self.methods.push(method);
        self
    }

    /// Adds a result type.
    #[must_use]
    pub fn result_type(mut self, kind: impl Into<String>) -> Self {
        self.result_types.push(kind.into());
        self
    }

    /// Adds a member of subscription filters.
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
    /// Creates a method without a target.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), named_by: None }
    }

    /// Sets the parameter that names the target.
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

/// Implements the message traits for parameters and results of an extension's methods, which are the same in every
/// revision. Each type needs a field `meta: Option<Meta>`.
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
