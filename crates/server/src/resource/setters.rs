//! The setters of a resource, of its builder and of its definition.

/// Both types have the fields `spec`, `subscribable`, `listed`, `scopes` and `completions`.
macro_rules! resource_setters {
    () => {
        $crate::setters::listing_setters!("Sets the description: what the resource contains, for the model.");
        $crate::setters::scope_setters!(
            "the resource is read, or a variable of its template is completed",
            "```\nuse couplet_server::{Server, resource};\n\nlet server: Server = Server::new(\"notes\", \"1.0.0\")\n    \
             .resource(resource(\"notes://private\", || \"secret\").scopes([\"notes:read\"]));\n```\n\nA subscription \
             needs no scope: its notifications say that a resource changed, and not how."
        );
        $crate::setters::completion_setters!(
            "Completes a variable of the template with a function over [`Completing`](crate::extract::Completing).",
            "Completes a variable of the template with the values that begin with the text so far."
        );

        /// Sets the programmatic name. It defaults to the URI.
        pub fn name(mut self, name: impl Into<String>) -> Self {
            self.spec.name = name.into();
            self
        }

        /// Sets the MIME type of the content, for handlers whose result has none of its own.
        pub fn mime_type(mut self, mime_type: impl Into<String>) -> Self {
            self.spec.mime_type = Some(mime_type.into());
            self
        }

        /// Sets the size of the content in bytes, which is listed for resources that are not templates.
        pub fn size(mut self, bytes: u64) -> Self {
            self.spec.size = Some(bytes);
            self
        }

        /// Sets the annotations: audience, priority and time of the last change.
        pub fn annotations(mut self, annotations: Annotations) -> Self {
            self.spec.annotations = Some(annotations);
            self
        }

        /// Lets clients subscribe to changes, which [`ServerHandle::updated`](crate::ServerHandle::updated) announces.
        pub fn subscribable(mut self) -> Self {
            self.subscribable = true;
            self
        }

        /// Leaves the resource out of lists. Clients that know its URI can read it.
        pub fn unlisted(mut self) -> Self {
            self.listed = false;
            self
        }
    };
}

pub(super) use resource_setters;
