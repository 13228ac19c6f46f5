//! Checks of whole messages: the envelope, then the definition of the method.

use couplet_types::ProtocolVersion;
use serde_json::{Map, Value};

use super::{Checker, Finding};
use crate::table::{Body, Definition, Kind, TABLE};

/// The sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sender {
    /// The client.
    Client,
    /// The server.
    Server,
    /// Unknown: messages of both sides are accepted.
    Unknown,
}

/// The request that a response belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResponseTo<'a> {
    /// Unknown: any result is accepted.
    Unknown,
    /// A request for this method.
    Method(&'a str),
    /// A request for this method, to be run as a task.
    Task(&'a str),
}

impl Checker {
    /// Checks a JSON-RPC message: the envelope, and the revision's definition of its method.
    ///
    /// Methods that no revision has are taken for those of an extension, and only their envelope is checked. In
    /// revisions with batches, an array of messages is accepted.
    pub fn message(self, value: &Value, sender: Sender, asked: ResponseTo<'_>) -> Vec<Finding> {
        let Value::Array(items) = value else { return self.single(value, "", sender, asked) };
        if !has_batches(self.version) {
            return vec![Finding::new("", "an object, since this revision has no batches", Some(value))];
        }
        if items.is_empty() {
            return vec![Finding::new("", "at least one message", Some(value))];
        }
        let each = items.iter().enumerate();
        each.flat_map(|(at, item)| self.single(item, &format!("/{at}"), sender, ResponseTo::Unknown)).collect()
    }

    fn single(self, value: &Value, at: &str, sender: Sender, asked: ResponseTo<'_>) -> Vec<Finding> {
        let Value::Object(object) = value else {
            return vec![Finding::new(at, "an object (a JSON-RPC message)", Some(value))];
        };
        let mut findings = Vec::new();
        if object.contains_key("method") {
            self.call(value, object, at, sender, &mut findings);
        } else if object.contains_key("result") {
            self.add(&["JSONRPCResultResponse", "JSONRPCResponse"], value, at, &mut findings);
            if let (Some(kind), Some(result)) = (self.result_kind(asked, object), object.get("result")) {
                merge(&mut findings, self.kind(&kind, result, &format!("{at}/result")));
            }
        } else if object.contains_key("error") {
            self.add(&["JSONRPCErrorResponse", "JSONRPCError"], value, at, &mut findings);
            if let Some(definition) = self.error_definition(object) {
                merge(&mut findings, self.kind(&Kind::Named(definition), value, at));
            }
        } else {
            findings.push(Finding::new(at, "a member `method`, `result` or `error`", None));
        }
        alone(object, at, &mut findings);
        findings
    }

    /// Checks a request or a notification.
    fn call(self, value: &Value, object: &Map<String, Value>, at: &str, sender: Sender, findings: &mut Vec<Finding>) {
        let has_id = object.contains_key("id");
        let envelope = if has_id { "JSONRPCRequest" } else { "JSONRPCNotification" };
        self.add(&[envelope], value, at, findings);
        let Some(method) = object.get("method").and_then(Value::as_str) else { return };
        let Some(definition) = TABLE.by_method(method) else { return };
        let wrong_method = |expected: String| Finding::new(format!("{at}/method"), expected, object.get("method"));
        if definition.body(self.version).is_none() {
            let extended = TABLE.extensions.iter().any(|(r, name)| r.has(self.version) && *name == method);
            if !extended {
                findings.push(wrong_method("a method of this revision".into()));
            }
            return;
        }
        match (definition.name.ends_with("Notification"), has_id) {
            (true, true) => {
                let expected = format!("no `id`, since `{method}` is not answered");
                return findings.push(Finding::new(format!("{at}/id"), expected, object.get("id")));
            }
            (false, false) => findings.push(Finding::new(at, "a member `id` (a string or an integer)", None)),
            _ => {}
        }
        if !self.sends(sender, definition) {
            let whose = match sender {
                Sender::Client => "that clients send",
                Sender::Server => "that servers send",
                Sender::Unknown => "of this revision that is sent in a message of its own",
            };
            findings.push(wrong_method(format!("a method {whose}")));
        }
        let mut own = self.kind(&Kind::Named(definition.name), value, at);
        own.retain(|f| !f.expected.starts_with("a member `id`"));
        merge(findings, own);
    }

    /// Adds the findings about an envelope, by the first of these definitions that the revision has.
    fn add(self, names: &[&'static str], value: &Value, at: &str, findings: &mut Vec<Finding>) {
        let has_members = |name: &&&'static str| TABLE.body(name, self.version).is_some_and(|b| b.members().is_some());
        if let Some(name) = names.iter().find(has_members) {
            merge(findings, self.kind(&Kind::Named(name), value, at));
        }
    }

    /// Whether this side sends the message by itself, and not inside of a result.
    fn sends(self, sender: Sender, definition: &Definition) -> bool {
        let unions: &[&str] = match sender {
            Sender::Client => &["ClientRequest", "ClientNotification"],
            Sender::Server => &["ServerRequest", "ServerNotification"],
            Sender::Unknown => &["ClientRequest", "ClientNotification", "ServerRequest", "ServerNotification"],
        };
        unions.iter().any(|name| match TABLE.body(name, self.version) {
            Some(Body::Kind(Kind::Union(kinds))) => kinds.contains(&Kind::Named(definition.name)),
            // A union of one alternative is that alternative.
            Some(Body::Members(members)) => members.iter().any(|m| {
                matches!(m.kind, Kind::Text(text) if m.name == "method" && TABLE.methods.get(text) == Some(&definition.name))
            }),
            _ => false,
        })
    }

    /// The kind of the result of a request.
    fn result_kind(self, asked: ResponseTo<'_>, object: &Map<String, Value>) -> Option<Kind> {
        let (method, as_task) = match asked {
            ResponseTo::Unknown => return None,
            ResponseTo::Method(method) => (method, false),
            ResponseTo::Task(method) => (method, true),
        };
        let name = TABLE.by_method(method).filter(|d| d.body(self.version).is_some())?.name.strip_suffix("Request")?;
        let defined = |name: String| {
            let (name, _) = TABLE.definitions.get_key_value(name.as_str())?;
            TABLE.body(name, self.version).map(|body| (*name, body))
        };
        if let (true, Some((name, _))) = (as_task, defined("CreateTaskResult".into())) {
            return Some(Kind::Named(name));
        }
        if let Some((_, Body::Members(members))) = defined(format!("{name}ResultResponse")) {
            let kind = members.iter().find(|m| m.name == "result").map(|m| &m.kind)?;
            return self.said_kind(kind, object.get("result")?);
        }
        let own = defined(format!("{name}Result")).or_else(|| defined("EmptyResult".into()));
        own.map(|(name, _)| Kind::Named(name))
    }

    /// Narrows the kinds of a result by its discriminator; `None` if the protocol itself does not define the value.
    ///
    /// The official schemas leave the discriminator open, and so accept every result that has one, whatever its
    /// members.
    fn said_kind(self, kind: &Kind, result: &Value) -> Option<Kind> {
        let row = TABLE.result_kinds.iter().find(|(revisions, ..)| revisions.has(self.version));
        let Some((_, member, kinds)) = row else { return Some(kind.clone()) };
        let said = match result.get(member).and_then(Value::as_str) {
            Some(said) => kinds.iter().find(|(kind, _)| *kind == said)?.1,
            None => None,
        };
        let Kind::Union(all) = kind else { return Some(kind.clone()) };
        let is_other = |kind: &&Kind| kinds.iter().any(|(_, d)| d.is_some_and(|d| **kind == Kind::Named(d)));
        match said {
            Some(definition) => all.iter().find(|k| **k == Kind::Named(definition)).cloned().or(Some(kind.clone())),
            None => Some(Kind::Union(all.iter().filter(|k| !is_other(k)).cloned().collect())),
        }
    }

    /// The definition of an error with this code, if the revision has one.
    fn error_definition(self, object: &Map<String, Value>) -> Option<&'static str> {
        let code = object.get("error")?.get("code")?.as_i64()?;
        let has_code = |kind: &Kind| {
            matches!(kind, Kind::Named(name) if TABLE.body(name, self.version)
            .and_then(Body::members).is_some_and(|m| m.iter().any(|m| m.name == "code" && m.kind == Kind::Code(code))))
        };
        let of_version = |d: &&Definition| {
            let members = d.body(self.version).and_then(Body::members).unwrap_or_default();
            members.iter().any(|m| m.name == "error" && has_code(&m.kind))
        };
        TABLE.definitions.values().find(of_version).map(|d| d.name)
    }
}

/// Checks that a message is only one of a call, a result and an error.
fn alone(object: &Map<String, Value>, at: &str, findings: &mut Vec<Finding>) {
    for (first, second) in [("method", "result"), ("method", "error"), ("result", "error")] {
        if let (true, Some(found)) = (object.contains_key(first), object.get(second)) {
            let expected = format!("no `{second}` beside `{first}`");
            findings.push(Finding::new(format!("{at}/{second}"), expected, Some(found)));
        }
    }
}

fn has_batches(version: ProtocolVersion) -> bool {
    let Some(Body::Kind(Kind::Union(kinds))) = TABLE.body("JSONRPCMessage", version) else { return false };
    kinds.iter().any(|k| matches!(k, Kind::List(..)))
}

/// Adds findings, at most one per value.
fn merge(findings: &mut Vec<Finding>, more: Vec<Finding>) {
    for finding in more {
        let same = |f: &Finding| {
            f.pointer == finding.pointer
                && (f.expected == finding.expected || (f.found.is_some() && finding.found.is_some()))
        };
        if !findings.iter().any(same) {
            findings.push(finding);
        }
    }
}
