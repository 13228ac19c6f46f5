//! Results of prompts.

use couplet_types::{ContentBlock, GetPromptResult, PromptMessage};

use super::{IntoReply, PromptKind};
use crate::extract::{Invocation, Rejection};

impl IntoReply<PromptKind> for GetPromptResult {
    fn into_reply(self, _: &Invocation) -> Result<GetPromptResult, Rejection> {
        Ok(self)
    }
}

impl IntoReply<PromptKind> for Vec<PromptMessage> {
    fn into_reply(self, _: &Invocation) -> Result<GetPromptResult, Rejection> {
        Ok(GetPromptResult::new(self))
    }
}

impl IntoReply<PromptKind> for PromptMessage {
    fn into_reply(self, _: &Invocation) -> Result<GetPromptResult, Rejection> {
        Ok(GetPromptResult::new(vec![self]))
    }
}

impl IntoReply<PromptKind> for ContentBlock {
    fn into_reply(self, invocation: &Invocation) -> Result<GetPromptResult, Rejection> {
        PromptMessage::user(self).into_reply(invocation)
    }
}

impl IntoReply<PromptKind> for String {
    fn into_reply(self, invocation: &Invocation) -> Result<GetPromptResult, Rejection> {
        PromptMessage::user(ContentBlock::text(self)).into_reply(invocation)
    }
}

impl IntoReply<PromptKind> for &'static str {
    fn into_reply(self, invocation: &Invocation) -> Result<GetPromptResult, Rejection> {
        PromptMessage::user(ContentBlock::text(self)).into_reply(invocation)
    }
}
