//! Results of tools.

use couplet_types::{CallToolResult, ContentBlock, RawJson, RpcError};
use schemars::JsonSchema;
use serde::Serialize;

use super::{IntoReply, Json, ToolKind};
use crate::{
    extract::{Invocation, Rejection},
    signature::Signature,
};

impl IntoReply<ToolKind> for CallToolResult {
    fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
        Ok(self)
    }
}

impl IntoReply<ToolKind> for () {
    fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
        Ok(CallToolResult::default())
    }
}

impl IntoReply<ToolKind> for ContentBlock {
    fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
        Ok(CallToolResult::new(vec![self]))
    }
}

impl<B: Into<ContentBlock>> IntoReply<ToolKind> for Vec<B> {
    fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
        Ok(CallToolResult::new(self.into_iter().map(Into::into).collect()))
    }
}

impl<T: Serialize + JsonSchema> IntoReply<ToolKind> for Json<T> {
    fn describe(signature: &mut Signature) {
        signature.returns::<T>();
    }

    fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
        let data = RawJson::new(&self.0)
            .map_err(|e| RpcError::internal(format!("the result of the tool cannot be written as JSON: {e}")))?;
        // Clients without structured content get the same as text.
        Ok(CallToolResult::text(data.get()).structured_content(data))
    }
}

/// Values that become text.
macro_rules! texts {
    ($($type:ty),*) => {$(
        impl IntoReply<ToolKind> for $type {
            fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
                Ok(CallToolResult::text(self.to_string()))
            }
        }
    )*};
}

texts!(&'static str, bool, char, f32, f64, i8, i16, i32, i64, i128, isize, u8, u16, u32, u64, u128, usize);

impl IntoReply<ToolKind> for String {
    fn into_reply(self, _: &Invocation) -> Result<CallToolResult, Rejection> {
        Ok(CallToolResult::text(self))
    }
}
