//! What can be said of a tool, of a builder and of a definition alike.

/// The methods that set it. Both types have the fields `spec`, `input`, `output`, `timeout`, `scopes` and `data`.
macro_rules! tool_setters {
    () => {
        $crate::setters::listing_setters!("What the tool does, for the model.");

        /// All hints at once.
        pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
            self.spec.annotations = Some(annotations);
            self
        }

        /// Hint: it leaves its surroundings alone.
        pub fn read_only(mut self) -> Self {
            self.hints().read_only_hint = Some(true);
            self
        }

        /// Hint: whether it may destroy something.
        pub fn destructive(mut self, destructive: bool) -> Self {
            self.hints().destructive_hint = Some(destructive);
            self
        }

        /// Hint: calling it twice does no more than calling it once.
        pub fn idempotent(mut self) -> Self {
            self.hints().idempotent_hint = Some(true);
            self
        }

        /// Hint: whether it deals with the world outside.
        pub fn open_world(mut self, open: bool) -> Self {
            self.hints().open_world_hint = Some(open);
            self
        }

        /// A JSON Schema of the arguments that is not made from a type. Arguments are checked against it before the
        /// handler runs; see [`Validation`](crate::Validation).
        pub fn input_schema(mut self, schema: Value) -> Self {
            self.input = Some(schema);
            self
        }

        /// A JSON Schema of the structured content, instead of the one that is made from a type. Results are checked
        /// against it.
        pub fn output_schema(mut self, schema: Value) -> Self {
            self.output = Some(schema);
            self
        }

        /// How long a call may take, instead of the server's limit.
        pub fn timeout(mut self, limit: Duration) -> Self {
            self.timeout = Some(Some(limit));
            self
        }

        /// A call may take as long as it wants.
        pub fn no_timeout(mut self) -> Self {
            self.timeout = Some(None);
            self
        }

        /// The scopes that a caller must have before the tool is called. A call without an authenticated caller is refused.
        ///
        /// Over HTTP a caller that lacks a scope gets the status 403 with all the scopes that the tool needs, so that clients
        /// can ask the user for them. A server on standard input and output has no callers; a layer can name one for it.
        ///
        /// ```
        /// use couplet_server::{Server, tool};
        ///
        /// let server: Server = Server::new("files", "1.0.0").tool(tool("delete", || "gone").scopes(["files:write"]));
        /// ```
        ///
        /// # Panics
        /// When a scope is empty, or has characters that none can have.
        #[track_caller]
        pub fn scopes(mut self, scopes: impl IntoIterator<Item = impl Into<String>>) -> Self {
            for scope in scopes.into_iter().map(Into::into) {
                let allowed = |c: char| c.is_ascii_graphic() && c != '"' && c != '\\';
                assert!(!scope.is_empty() && scope.chars().all(allowed), "{scope:?} is not a scope: it is one word");
                self.scopes.push(scope);
            }
            self
        }

        /// Tells an extension something about the tool. The server must have that extension.
        pub fn extension_data(mut self, data: impl ToolData) -> Self {
            self.data.push(Arc::new(data));
            self
        }

        fn hints(&mut self) -> &mut ToolAnnotations {
            self.spec.annotations.get_or_insert_default()
        }
    };
}

pub(super) use tool_setters;
