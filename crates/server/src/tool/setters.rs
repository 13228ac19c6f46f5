//! The setters of a tool, of its builder and of its definition.

/// Both types have the fields `spec`, `input`, `accepted`, `output`, `timeout`, `scopes` and `data`.
macro_rules! tool_setters {
    () => {
        $crate::setters::listing_setters!("Sets the description: what the tool does, for the model.");
        $crate::setters::scope_setters!(
            "the tool is called",
            "```\nuse couplet_server::{Server, tool};\n\nlet server: Server =\n    \
             Server::new(\"files\", \"1.0.0\").tool(tool(\"delete\", || \"deleted\").scopes([\"files:write\"]));\n```"
        );

        /// Sets all annotations (hints) at once.
        pub fn annotations(mut self, annotations: ToolAnnotations) -> Self {
            self.spec.annotations = Some(annotations);
            self
        }

        /// Sets the hint that the tool does not modify its environment.
        pub fn read_only(mut self) -> Self {
            self.hints().read_only_hint = Some(true);
            self
        }

        /// Sets the hint whether the tool may perform destructive updates.
        pub fn destructive(mut self, destructive: bool) -> Self {
            self.hints().destructive_hint = Some(destructive);
            self
        }

        /// Sets the hint that repeated calls with the same arguments have no additional effect.
        pub fn idempotent(mut self) -> Self {
            self.hints().idempotent_hint = Some(true);
            self
        }

        /// Sets the hint whether the tool interacts with external entities, such as the web.
        pub fn open_world(mut self, open: bool) -> Self {
            self.hints().open_world_hint = Some(open);
            self
        }

        /// Sets the JSON Schema of the arguments, instead of the one derived from the handler's types. Arguments are
        /// validated against it before the handler runs; see [`Validation`](crate::Validation).
        pub fn input_schema(mut self, schema: Value) -> Self {
            self.input = Some(schema);
            self
        }

        /// Sets the JSON Schema that arguments are validated against, if it allows more than the listed one: such as
        /// `null`, which some hosts reject in a schema.
        ///
        /// ```
        /// use couplet_server::{Server, extract::RawArgs, tool};
        /// use serde_json::json;
        ///
        /// let schema = |kind| json!({ "type": "object", "properties": { "due": { "type": kind } } });
        /// let server: Server = Server::new("tasks", "1.0.0").tool(
        ///     tool("plan", |RawArgs(arguments): RawArgs| arguments.as_str().to_owned())
        ///         .input_schema(schema(json!("string")))
        ///         .accepted_schema(schema(json!(["string", "null"]))),
        /// );
        /// ```
        pub fn accepted_schema(mut self, schema: Value) -> Self {
            self.accepted = Some(schema);
            self
        }

        /// Sets the JSON Schema of the structured content, instead of the one derived from the handler's result.
        /// Results are validated against it.
        pub fn output_schema(mut self, schema: Value) -> Self {
            self.output = Some(schema);
            self
        }

        /// Sets the timeout of a call, instead of [the server's](crate::Server::timeout); `None` for no timeout. The time
        /// that a call waits for the client's answer does not count.
        pub fn timeout(mut self, timeout: impl Into<Option<Duration>>) -> Self {
            self.timeout = Some(timeout.into());
            self
        }

        /// Adds data for an [extension](crate::Extension), which the server must have. See [`ToolData`].
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
