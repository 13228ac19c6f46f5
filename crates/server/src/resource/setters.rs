//! What can be said of a resource, of a builder and of a definition alike.

/// The methods that set it. Both types have the fields `spec`, `subscribable`, `listed` and `completions`.
macro_rules! resource_setters {
    () => {
        $crate::setters::listing_setters!("What it is, for the model.");
        $crate::setters::completion_setters!(
            "Completes a variable of the template with a function over [`Completing`](crate::extract::Completing).",
            "Completes a variable of the template from a list."
        );

        /// The name for programs; the URI by default.
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.spec.name = name.into();
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

        /// Clients may ask to be told of changes, which the server announces with
        /// [`ServerHandle::updated`](crate::ServerHandle::updated).
        pub fn subscribable(mut self) -> Self {
            self.subscribable = true;
            self
        }

        /// It can be read by those who know its URI, and is in no list.
        pub fn unlisted(mut self) -> Self {
            self.listed = false;
            self
        }
    };
}

pub(super) use resource_setters;
