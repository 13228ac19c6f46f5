//! The setters of a prompt, of its builder and of its definition.

/// Both types have the fields `spec`, `scopes` and `completions`.
macro_rules! prompt_setters {
    () => {
        $crate::setters::listing_setters!("Sets the description: what the prompt is for.");
        $crate::setters::scope_setters!(
            "the prompt is retrieved, or one of its arguments is completed",
            "```\nuse couplet_server::{Server, prompt};\n\nlet server: Server =\n    \
             Server::new(\"reports\", \"1.0.0\").prompt(prompt(\"audit\", || \"Audit it.\").scopes([\"audit\"]));\n```"
        );
        $crate::setters::completion_setters!(
            "Completes an argument with a function over [`Completing`](crate::extract::Completing).",
            "Completes an argument with the values that begin with the text so far."
        );

        /// Sets the listed arguments, instead of those derived from the handler's types.
        pub fn arguments(mut self, arguments: impl IntoIterator<Item = PromptArgument>) -> Self {
            self.spec.arguments = Some(arguments.into_iter().collect());
            self
        }
    };
}

pub(super) use prompt_setters;
