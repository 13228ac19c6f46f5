//! Resources and resource templates: a URI, or a pattern of URIs, and a handler.

use std::{marker::PhantomData, panic::Location};

use couplet_types::{Annotations, Captures, Icon, Meta, Resource, ResourceTemplate, UriTemplate};

mod setters;

use crate::{
    definition::{self, Completions, Definition, Run, complete_with, erase},
    handler::Handler,
    reply::{CompleteKind, ResourceKind},
    scopes::Scopes,
    signature::Signature,
};

use setters::resource_setters;

/// Creates a resource from a function, `async` or not. A URI with variables, `{n}`, is a template (RFC 6570).
///
/// ```
/// use couplet_server::{Server, extract::Path, resource};
///
/// let server: Server = Server::new("calc", "1.0.0")
///     .resource(resource("calc://pi", || "3.14159").description("The number."))
///     .resource(
///         resource("calc://power/{base}/{exponent}", |Path((base, exponent)): Path<(f64, i32)>| base.powi(exponent))
///             .name("power")
///             .complete_from("exponent", ["2", "3"]),
///     );
/// ```
#[doc = include_str!("docs/resource.md")]
pub fn resource<H, M, S>(uri: impl Into<String>, handler: H) -> ResourceBuilder<H, M, S> {
    let uri = uri.into();
    ResourceBuilder {
        spec: Resource::new(uri.clone(), uri),
        subscribable: false,
        listed: true,
        scopes: None,
        completions: Completions::new(),
        handler,
        marker: PhantomData,
    }
}

/// A builder of a resource; created by [`resource()`].
#[must_use = "register it with `Server::resource`"]
pub struct ResourceBuilder<H, M, S> {
    spec: Resource,
    subscribable: bool,
    listed: bool,
    scopes: Scopes,
    completions: Completions<S>,
    handler: H,
    marker: PhantomData<fn() -> M>,
}

impl<H, M, S: Clone + Send + Sync + 'static> ResourceBuilder<H, M, S> {
    resource_setters!();
}

impl<H: std::fmt::Debug, M, S> std::fmt::Debug for ResourceBuilder<H, M, S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResourceBuilder").field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// A type that can be registered as a resource: a [`ResourceBuilder`], a [`ResourceDef`], or a function with `#[resource]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a resource",
    note = "put `#[resource(\"uri\")]` on the function, or wrap it: `resource(\"uri\", function)`"
)]
pub trait IntoResource<S> {
    /// Converts into the definition of the resource.
    fn into_resource(self) -> ResourceDef<S>;

    /// Converts into a definition that is bound to its state, for a server that is running already.
    fn with_state(self, state: S) -> ResourceDef<()>
    where
        Self: Sized,
        S: Clone + Send + Sync + 'static,
    {
        self.into_resource().bind(&state)
    }
}

impl<S, H, M> IntoResource<S> for ResourceBuilder<H, M, S>
where
    S: Clone + Send + Sync + 'static,
    H: Handler<ResourceKind, M, S>,
{
    fn into_resource(self) -> ResourceDef<S> {
        let mut signature = Signature::default();
        H::describe(&mut signature);
        ResourceDef {
            spec: self.spec,
            template: None,
            subscribable: self.subscribable,
            listed: self.listed,
            scopes: self.scopes,
            completions: self.completions,
            signature,
            run: erase::<ResourceKind, M, S, H>(self.handler),
            place: Location::caller(),
        }
    }
}

/// For functions with the attribute, which return the resource.
#[diagnostic::do_not_recommend]
impl<S, F: FnOnce() -> T, T: IntoResource<S>> IntoResource<S> for F {
    fn into_resource(self) -> ResourceDef<S> {
        self().into_resource()
    }
}

impl<S> IntoResource<S> for ResourceDef<S> {
    fn into_resource(self) -> Self {
        self
    }
}

/// The definition of a resource, with its handler. The setters of [`ResourceBuilder`] are here too, for functions with
/// `#[resource]`: `IntoResource::into_resource(notes).icons(..)`.
pub struct ResourceDef<S> {
    pub(crate) spec: Resource,
    template: Option<UriTemplate>,
    pub(crate) subscribable: bool,
    listed: bool,
    pub(crate) scopes: Scopes,
    pub(crate) completions: Completions<S>,
    pub(crate) signature: Signature,
    pub(crate) run: Run<ResourceKind, S>,
    place: &'static Location<'static>,
}

impl<S: Clone + Send + Sync + 'static> ResourceDef<S> {
    resource_setters!();

    pub(crate) fn checked(mut self, place: &'static Location<'static>) -> Result<Self, String> {
        self.place = place;
        let uri = &self.spec.uri;
        let template = UriTemplate::parse_for_matching(uri).map_err(|e| format!("resource `{uri}`: {e}"))?;
        let scheme = uri.split_once(':').map(|(scheme, _)| scheme).unwrap_or_default();
        let letter = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(letter) {
            return Err(format!("resource `{uri}`: a URI begins with a scheme, as in `notes://today`"));
        }
        if let Some(unknown) = self.completions.keys().find(|c| !template.variables().any(|v| v == *c)) {
            return Err(format!("resource `{uri}` has no variable `{unknown}` to complete"));
        }
        self.template = (!template.is_literal()).then_some(template);
        Ok(self)
    }

    pub(crate) fn bind(self, state: &S) -> ResourceDef<()> {
        let Self { spec, template, subscribable, listed, scopes, completions, signature, run, place } = self;
        let completions = definition::bind_all(completions, state);
        let run = definition::bind::<ResourceKind, S>(run, state);
        ResourceDef { spec, template, subscribable, listed, scopes, completions, signature, run, place }
    }
}

impl ResourceDef<()> {
    pub(crate) fn is_template(&self) -> bool {
        self.template.is_some()
    }

    /// The entry in the list of resources, if there is one.
    pub(crate) fn listed(&self) -> Option<Resource> {
        (self.listed && !self.is_template()).then(|| self.spec.clone())
    }

    /// The entry in the list of templates, if there is one.
    pub(crate) fn listed_template(&self) -> Option<ResourceTemplate> {
        (self.listed && self.is_template()).then(|| self.as_template())
    }

    pub(crate) fn matches(&self, uri: &str) -> Option<Captures> {
        self.template.as_ref()?.matches(uri)
    }

    pub(crate) fn variables(&self) -> impl Iterator<Item = &str> + Clone {
        let names: Vec<&str> = self.template.iter().flat_map(UriTemplate::variables).collect();
        names.into_iter()
    }

    pub(crate) fn as_template(&self) -> ResourceTemplate {
        let Resource { uri, name, title, description, mime_type, annotations, icons, meta, .. } = self.spec.clone();
        let mut template = ResourceTemplate::new(uri, name);
        (template.title, template.description, template.mime_type) = (title, description, mime_type);
        (template.annotations, template.icons, template.meta) = (annotations, icons, meta);
        template
    }
}

impl<S: 'static> Definition for ResourceDef<S> {
    const WHAT: &'static str = "resource";

    fn key(&self) -> &str {
        &self.spec.uri
    }

    fn place(&self) -> &'static Location<'static> {
        self.place
    }

    fn scopes(&self) -> &Scopes {
        &self.scopes
    }
}

impl<S> std::fmt::Debug for ResourceDef<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResourceDef").field("spec", &self.spec).finish_non_exhaustive()
    }
}
