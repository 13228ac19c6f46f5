//! The request state of a call, for programs that forward it to a server of their own.

use std::borrow::Cow;

use couplet_types::RpcError;

use super::{
    method::Method,
    modern::{ANSWERS, STATE},
};
use crate::{message::scan::JsonText, service::Call};

impl Call {
    /// Returns the request state that the client sent back, in stateless revisions.
    ///
    /// # Errors
    /// -32602 if it is not a string.
    pub fn request_state(&self) -> Result<Option<Cow<'_, str>>, RpcError> {
        if self.revision.has_sessions() { Ok(None) } else { self.params.read_str(STATE) }
    }

    /// Replaces the request state in the parameters; `None` removes it. For a program that forwards the call to the
    /// server whose state it is; [`Call::inputs`] stays as it is.
    ///
    /// # Errors
    /// -32602 if the parameters have too many members.
    pub fn set_request_state(&mut self, state: Option<&str>) -> Result<(), RpcError> {
        let params = match state {
            Some(state) => self.params.with(STATE, &JsonText::string(state)),
            None => self.params.without(STATE),
        };
        self.params = params.map_err(|e| RpcError::invalid_params(e.to_string()))?;
        Ok(())
    }

    /// Removes the request state and the answers of the client from the parameters: they were meant for this program, and
    /// not for the server that it forwards the call to. [`Call::inputs`] stays as it is. A method without rounds is left
    /// as it is.
    ///
    /// # Errors
    /// -32602 if the parameters are nested too deeply.
    pub fn clear_round(&mut self) -> Result<(), RpcError> {
        // Other methods have parameters of that name.
        if !Method::named(&self.method).is_some_and(|method| method.may_ask) {
            return Ok(());
        }
        if !self.params.has(STATE) && !self.params.has(ANSWERS) {
            return Ok(());
        }
        let params = self.params.without(STATE).and_then(|params| params.without(ANSWERS));
        self.params = params.map_err(|e| RpcError::invalid_params(e.to_string()))?;
        Ok(())
    }

    /// Returns the error for request state that is not valid: the same whatever the reason.
    pub fn invalid_state() -> RpcError {
        RpcError::invalid_params(format!("`{STATE}` is not valid: it was not made here"))
    }
}
