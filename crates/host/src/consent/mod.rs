//! Consent of a person to a call that the policy does not decide.
//!
//! A policy that answers [`Ask`](crate::policy::Decision::Ask) leaves the decision to a [`Consent`]: [`Headless`] denies,
//! [`Elicited`] asks the caller by form elicitation, and a program can show a window of its own. An answer for more than one
//! call is stored as a grant in [`Grants`].
//!
//! This module must not know terminals or web pages.

mod elicited;
mod grants;
mod question;
#[cfg(test)]
mod tests;

use couplet_core::{BoxFuture, Call};
pub use elicited::Elicited;
pub use grants::{Grant, GrantError, Grants};
pub use question::{Answer, Question};

/// A way to ask a person.
///
/// ```
/// use couplet_core::{BoxFuture, Call};
/// use couplet_host::{consent::{Answer, Consent, Question}, policy::Effect};
///
/// /// Allows everything that only writes, and nothing that may destroy.
/// struct Careful;
///
/// impl Consent for Careful {
///     fn ask<'a>(&'a self, question: &'a Question, _call: &'a Call) -> BoxFuture<'a, Answer> {
///         let is_harmless = question.effects.class < Effect::Destructive;
///         Box::pin(async move { if is_harmless { Answer::Once } else { Answer::Deny } })
///     }
/// }
/// ```
pub trait Consent: Send + Sync + 'static {
    /// Asks a person about a call that waits. Where it cannot ask, or gets no answer, the answer is [`Answer::Deny`].
    ///
    /// The future is dropped if the call is cancelled. A stateless call runs again from the start when its caller has
    /// answered a request of the server: [`Inputs::step`](couplet_core::Inputs::step) stores an answer for that.
    fn ask<'a>(&'a self, question: &'a Question, call: &'a Call) -> BoxFuture<'a, Answer>;
}

/// The consent of a host without a person: every call is denied.
#[derive(Clone, Copy, Debug, Default)]
pub struct Headless;

impl Consent for Headless {
    fn ask<'a>(&'a self, _: &'a Question, _: &'a Call) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(Answer::Deny))
    }
}
