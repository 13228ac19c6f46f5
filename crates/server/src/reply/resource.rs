//! Results of resources.

use base64::{Engine, engine::general_purpose::STANDARD};
use couplet_types::{ReadResourceResult, ResourceContents, RpcError};
use serde::Serialize;

use super::{IntoReply, Json, ResourceKind};
use crate::extract::{Invocation, Rejection, Target};

/// Binary content of a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blob(pub Vec<u8>);

impl IntoReply<ResourceKind> for ReadResourceResult {
    fn into_reply(self, _: &Invocation) -> Result<ReadResourceResult, Rejection> {
        Ok(self)
    }
}

impl IntoReply<ResourceKind> for ResourceContents {
    fn into_reply(self, _: &Invocation) -> Result<ReadResourceResult, Rejection> {
        Ok(ReadResourceResult::new(vec![self]))
    }
}

impl IntoReply<ResourceKind> for Vec<ResourceContents> {
    fn into_reply(self, _: &Invocation) -> Result<ReadResourceResult, Rejection> {
        Ok(ReadResourceResult::new(self))
    }
}

impl IntoReply<ResourceKind> for Blob {
    fn into_reply(self, invocation: &Invocation) -> Result<ReadResourceResult, Rejection> {
        ResourceContents::blob(uri(invocation), STANDARD.encode(self.0)).into_reply(invocation)
    }
}

impl IntoReply<ResourceKind> for Vec<u8> {
    fn into_reply(self, invocation: &Invocation) -> Result<ReadResourceResult, Rejection> {
        Blob(self).into_reply(invocation)
    }
}

impl<T: Serialize> IntoReply<ResourceKind> for Json<T> {
    fn into_reply(self, invocation: &Invocation) -> Result<ReadResourceResult, Rejection> {
        let text = serde_json::to_string(&self.0)
            .map_err(|e| RpcError::internal(format!("the resource cannot be written as JSON: {e}")))?;
        ResourceContents::text(uri(invocation), text).mime_type("application/json").into_reply(invocation)
    }
}

/// Values that become text.
macro_rules! texts {
    ($($type:ty),*) => {$(
        impl IntoReply<ResourceKind> for $type {
            fn into_reply(self, invocation: &Invocation) -> Result<ReadResourceResult, Rejection> {
                ResourceContents::text(uri(invocation), self.to_string()).into_reply(invocation)
            }
        }
    )*};
}

texts!(String, &'static str, bool, f32, f64, i32, i64, isize, u32, u64, usize);

pub(super) fn uri(invocation: &Invocation) -> &str {
    match &invocation.target {
        Target::Resource { uri, .. } => uri,
        _ => "",
    }
}
