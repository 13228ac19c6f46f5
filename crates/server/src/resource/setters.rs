//! What can be said of a resource, of a builder and of a definition alike.

/// The methods that set it. Both types have the fields `spec`, `subscribable`, `listed` and `completions`.
macro_rules! resource_setters {
    () => {
        /// The name for programs; the URI by default.
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.spec.name = name.into();
            self
        }

        /// The name for people.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.spec.title = Some(title.into());
            self
        }

        /// What it is, for the model.
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.spec.description = Some(description.into());
            self
        }

        /// The MIME type of the content, where the handler does not say so itself.
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.spec.mime_type = Some(mime_type.into());
            self
        }

        /// The size of the content in bytes, for resources that are not templates.
        pub fn size(mut self, bytes: u64) -> Self {
            self.spec.size = Some(bytes);
            self
        }

        /// Whom it is for, and how important it is.
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.spec.annotations = Some(annotations);
            self
        }

        /// Pictures to show beside the name.
        pub fn icons(mut self, icons: Vec<Icon>) -> Self {
            self.spec.icons = Some(icons);
            self
        }

        /// The open `_meta` map of the listing.
        pub fn meta(mut self, meta: Meta) -> Self {
            self.spec.meta = Some(meta);
            self
        }

        /// Clients may ask to be told of changes, which the server announces with
        /// [`Handle::updated`](crate::Handle::updated).
        pub fn subscribable(mut self) -> Self {
            self.subscribable = true;
            self
        }

        /// It can be read by those who know its URI, and is in no list.
        pub fn unlisted(mut self) -> Self {
            self.listed = false;
            self
        }

        /// Completes a variable of the template with a function over [`Completing`](crate::extract::Completing).
        pub fn complete<C, N>(mut self, variable: impl Into<String>, handler: C) -> Self
        where
            C: Handler<CompleteKind, N, S>,
        {
            complete_with(&mut self.completions, variable, handler);
            self
        }

        /// Completes a variable of the template from a list.
        pub fn complete_from(
            self,
            variable: impl Into<String>,
            values: impl IntoIterator<Item = impl Into<String>>,
        ) -> Self {
            self.complete(variable, definition::choices(values.into_iter().map(Into::into).collect()))
        }
    };
}

pub(super) use resource_setters;
