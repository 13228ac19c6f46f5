//! What can be said of a prompt, of a builder and of a definition alike.

/// The methods that set it. Both types have the fields `spec` and `completions`.
macro_rules! prompt_setters {
    () => {
        $crate::setters::listing_setters!("What it is for.");
        $crate::setters::completion_setters!(
            "Completes an argument with a function over [`Completing`](crate::extract::Completing).",
            "Completes an argument from a list."
        );

        /// Arguments that are not made from a type.
        pub fn arguments(mut self, arguments: Vec<PromptArgument>) -> Self {
            self.spec.arguments = Some(arguments);
            self
        }
    };
}

pub(super) use prompt_setters;
