//! Results of completions.

use couplet_types::{CompleteResult, Completion};

use super::{CompleteKind, IntoReply};
use crate::extract::{Invocation, Rejection};

/// The maximum number of values in a completion, by the specification.
const MOST: usize = 100;

impl IntoReply<CompleteKind> for Completion {
    fn into_reply(mut self, _: &Invocation) -> Result<CompleteResult, Rejection> {
        if self.values.len() > MOST {
            self.total.get_or_insert(self.values.len() as u64);
            self.has_more = Some(true);
            self.values.truncate(MOST);
        }
        Ok(CompleteResult::new(self))
    }
}

impl IntoReply<CompleteKind> for Vec<String> {
    fn into_reply(self, invocation: &Invocation) -> Result<CompleteResult, Rejection> {
        Completion::new(self).into_reply(invocation)
    }
}

impl IntoReply<CompleteKind> for Vec<&'static str> {
    fn into_reply(self, invocation: &Invocation) -> Result<CompleteResult, Rejection> {
        Completion::new(self).into_reply(invocation)
    }
}
