//! Targets that the page asks for.

use std::sync::Arc;

use couplet_hosts::Entry;
use couplet_inspector::{Find, KnownServer, Place};

use super::place::Server;
use crate::{
    exit::Failure,
    output::Output,
    target::{ConnectionArgs, Known, Target},
};

/// Resolves targets as the command line does.
pub(super) struct Finder {
    /// The options that make sense for any target.
    connection: ConnectionArgs,
    output: Arc<Output>,
}

impl Finder {
    pub(super) fn new(connection: &ConnectionArgs, output: &Arc<Output>) -> Self {
        let ConnectionArgs { timeout, max_message, root, .. } = connection.clone();
        let connection = ConnectionArgs { timeout, max_message, root, ..ConnectionArgs::default() };
        Self { connection, output: output.clone() }
    }

    /// Resolves a target, with connection options.
    pub(super) fn resolve(&self, text: &str, connection: &ConnectionArgs) -> Result<Arc<Server>, Failure> {
        let target = Target::find(text, connection, Known::here)?;
        Ok(Arc::new(Server::new(text, target, connection.clone(), &self.output)))
    }
}

impl Find for Finder {
    fn find(&self, text: &str) -> Result<Arc<dyn Place>, String> {
        match self.resolve(text, &self.connection) {
            Ok(server) => Ok(server),
            Err(failure) => Err(sentence(&failure)),
        }
    }

    fn known(&self) -> Result<Vec<KnownServer>, String> {
        let known = Known::here().map_err(|failure| sentence(&failure))?;
        Ok(known
            .servers()
            .map(|server| {
                let target = server.entry.as_ref().map_or_else(|why| format!("cannot be read: {why}"), written);
                KnownServer::new(&server.host, &server.name, target, server.path.display().to_string())
            })
            .collect())
    }
}

/// The entry as it is written, without headers and variables, which may be secrets.
fn written(entry: &Entry) -> String {
    match entry {
        Entry::Remote(remote) => {
            let url = remote.url.to_string();
            url.split(['?', '#']).next().unwrap_or_default().to_owned()
        }
        Entry::Stdio(stdio) => {
            let words = std::iter::once(&stdio.command).chain(&stdio.args).map(ToString::to_string);
            let words: Vec<_> = words.map(|word| shlex::try_quote(&word).map_or(word.clone(), Into::into)).collect();
            words.join(" ")
        }
    }
}

/// An error with its details and its hint.
pub(super) fn sentence(failure: &Failure) -> String {
    let details = failure.details.iter().map(|line| format!("\n{line}"));
    let hint = failure.hint.iter().map(|hint| format!("\n{hint}"));
    std::iter::once(failure.message.clone()).chain(details).chain(hint).collect()
}
