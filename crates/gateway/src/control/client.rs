//! The command's side of the control socket.

use std::{
    io::{self, Read, Write},
    path::{Path, PathBuf},
};

use couplet_host::consent::Answer;
use serde_json::Value;

use super::{LONGEST_RESPONSE, PURPOSE, Request};
use crate::{
    Error, ErrorKind,
    socket::{connect, sockets},
};

/// The control of a gateway of this user. Its functions block, for a few seconds at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    process: u32,
    path: PathBuf,
}

/// Returns the controls of the gateways of this user, by the ids of their processes. Sockets of processes that are gone are
/// removed.
///
/// # Errors
/// If the folder exists and cannot be read.
pub fn controls(folder: &Path) -> io::Result<Vec<Control>> {
    let all = sockets(folder, PURPOSE)?.into_iter();
    Ok(all.filter(|(_, path)| connect(path).is_ok()).map(|(process, path)| Control { process, path }).collect())
}

impl Control {
    /// Returns the id of the process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.process
    }

    /// Returns the questions that wait for an answer, as an array `questions`, the oldest first: each has `id`, `age` and
    /// `left` in seconds, `text`, the possible `answers`, `principal`, `profile`, `server`, `kind`, `name` and `arguments`,
    /// which are null where they are longer than 64 KiB. `asksHere` is whether the configuration asks on this machine.
    ///
    /// # Errors
    /// If the gateway does not answer.
    pub fn questions(&self) -> Result<Value, Error> {
        self.send(Request::Questions {})
    }

    /// Answers a question. The first answer counts.
    ///
    /// # Errors
    /// If the question does not wait any more, the answer is none of those that are possible, or the gateway does not
    /// answer.
    pub fn answer(&self, id: u64, answer: Answer) -> Result<(), Error> {
        self.send(Request::Answer { id, answer }).map(drop)
    }

    /// Returns the grants, as an array `grants`: each has `id`, the `answer` that it stores, `principal`, `profile`,
    /// `server`, `kind`, `name` and `unused`, the seconds since its last use.
    ///
    /// # Errors
    /// If the gateway does not answer.
    pub fn grants(&self) -> Result<Value, Error> {
        self.send(Request::Grants {})
    }

    /// Revokes a grant: the next call needs an answer.
    ///
    /// # Errors
    /// If there is no such grant, or the gateway does not answer.
    pub fn revoke(&self, id: u64) -> Result<(), Error> {
        self.send(Request::Revoke { id }).map(drop)
    }

    fn send(&self, request: Request) -> Result<Value, Error> {
        let lost = |why: &dyn std::fmt::Display| {
            let what = format!("the gateway of the process {} does not answer: {why}", self.process);
            Error::new(ErrorKind::Unreachable, what)
        };
        let text = self.exchange(request).map_err(|error| lost(&error))?;
        let mut response: Value = serde_json::from_str(&text).map_err(|error| lost(&error))?;
        match response.get("error").and_then(Value::as_str) {
            Some(error) => Err(Error::new(ErrorKind::Unknown, error)),
            None => Ok(response["ok"].take()),
        }
    }

    fn exchange(&self, request: Request) -> io::Result<String> {
        let mut stream = connect(&self.path)?;
        let mut line = serde_json::to_string(&request)?;
        line.push('\n');
        stream.write_all(line.as_bytes())?;
        let mut text = String::new();
        stream.take(LONGEST_RESPONSE).read_to_string(&mut text)?;
        Ok(text)
    }
}
