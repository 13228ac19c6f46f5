//! What can be said of a prompt, of a builder and of a definition alike.

/// The methods that set it. Both types have the fields `spec` and `completions`.
macro_rules! prompt_setters {
    () => {
        /// What it is for.
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.spec.description = Some(description.into());
            self
        }

        /// The name for people.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.spec.title = Some(title.into());
            self
        }

        /// Arguments that are not made from a type.
        pub fn arguments(mut self, arguments: Vec<PromptArgument>) -> Self {
            self.spec.arguments = Some(arguments);
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

        /// Completes an argument with a function over [`Completing`](crate::extract::Completing).
        pub fn complete<C, N>(mut self, argument: impl Into<String>, handler: C) -> Self
        where
            C: Handler<CompleteKind, N, S>,
        {
            complete_with(&mut self.completions, argument, handler);
            self
        }

        /// Completes an argument from a list.
        pub fn complete_from(
            self,
            argument: impl Into<String>,
            values: impl IntoIterator<Item = impl Into<String>>,
        ) -> Self {
            self.complete(argument, definition::choices(values.into_iter().map(Into::into).collect()))
        }
    };
}

pub(super) use prompt_setters;
