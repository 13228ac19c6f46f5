//! What can be said of tools, resources and prompts alike, of builders and of definitions.

/// The methods that set what is listed. The types have the field `spec`.
macro_rules! listing_setters {
    ($description:literal) => {
        #[doc = $description]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.spec.description = Some(description.into());
            self
        }

        /// The name for people.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.spec.title = Some(title.into());
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
    };
}

/// The methods that complete arguments. The types have the field `completions`.
macro_rules! completion_setters {
    ($with:literal, $from:literal) => {
        #[doc = $with]
        pub fn complete<C, N>(mut self, argument: impl Into<String>, handler: C) -> Self
        where
            C: Handler<CompleteKind, N, S>,
        {
            complete_with(&mut self.completions, argument, handler);
            self
        }

        #[doc = $from]
        pub fn complete_from(
            self,
            argument: impl Into<String>,
            values: impl IntoIterator<Item = impl Into<String>>,
        ) -> Self {
            self.complete(argument, definition::choices(values.into_iter().map(Into::into).collect()))
        }
    };
}

pub(crate) use {completion_setters, listing_setters};
