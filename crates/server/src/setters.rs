//! The setters that the builders and definitions of tools, resources and prompts share.

/// The setters of a listing. The types have the field `spec`.
macro_rules! listing_setters {
    ($description:literal) => {
        #[doc = $description]
        pub fn description(mut self, description: impl Into<String>) -> Self {
            self.spec.description = Some(description.into());
            self
        }

        /// Sets the display name that hosts show to users.
        pub fn title(mut self, title: impl Into<String>) -> Self {
            self.spec.title = Some(title.into());
            self
        }

        /// Sets the icons that hosts show beside the name. Clients of revisions before 2025-11-25 do not get them.
        pub fn icons(mut self, icons: impl IntoIterator<Item = Icon>) -> Self {
            self.spec.icons = Some(icons.into_iter().collect());
            self
        }

        /// Sets the `_meta` object of the listing.
        pub fn meta(mut self, meta: Meta) -> Self {
            self.spec.meta = Some(meta);
            self
        }
    };
}

/// The setter of the required scopes. The types have the field `scopes`.
macro_rules! scope_setters {
    ($what:literal, $example:literal) => {
        #[doc = concat!("Adds OAuth scopes that a caller must have before ", $what, ".")]
        ///
        /// A call without an authenticated caller is refused. Over HTTP a caller that lacks a scope gets the status 403
        /// (`insufficient_scope`) with all required scopes, so that clients can request them. Standard input and output
        /// have no authenticated callers; [middleware](crate::Server::middleware) can set one.
        ///
        #[doc = $example]
        ///
        /// # Panics
        /// If a scope is empty, or has a character that RFC 6749 does not allow.
        #[track_caller]
        pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
            $crate::scopes::add(&mut self.scopes, scopes);
            self
        }
    };
}

/// The setters of completions. The types have the field `completions`.
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

pub(crate) use {completion_setters, listing_setters, scope_setters};
