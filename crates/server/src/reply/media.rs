//! Images, audio and files as results.

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_types::{
    CallToolResult, ContentBlock, GetPromptResult, PromptMessage, ReadResourceResult, Resource, ResourceContents,
};

use super::{IntoReply, PromptKind, ResourceKind, ToolKind, resource::uri};
use crate::{
    extract::{Invocation, Rejection},
    media::{Audio, File, Image},
};

macro_rules! media {
    ($($type:ty),*) => {$(
        impl IntoReply<ToolKind> for $type {
            fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
                Ok(CallToolResult::new(vec![self.into()]))
            }
        }

        impl IntoReply<PromptKind> for $type {
            fn into_reply(self, invocation: &Invocation) -> Result<GetPromptResult, Rejection> {
                PromptMessage::user(ContentBlock::from(self)).into_reply(invocation)
            }
        }
    )*};
}

media!(Image, Audio, File, Resource);

macro_rules! bytes {
    ($($type:ty),*) => {$(
        impl IntoReply<ResourceKind> for $type {
            fn into_reply(self, invocation: &Invocation) -> Result<ReadResourceResult, Rejection> {
                let contents = ResourceContents::blob(uri(invocation), STANDARD.encode(&self.bytes));
                contents.mime_type(self.mime_type).into_reply(invocation)
            }
        }
    )*};
}

bytes!(Image, Audio);

impl IntoReply<ResourceKind> for File {
    fn into_reply(self, invocation: &Invocation) -> Result<ReadResourceResult, Rejection> {
        self.contents(Some(uri(invocation))).into_reply(invocation)
    }
}
