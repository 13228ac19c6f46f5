//! The collection file: a target and calls.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use couplet::ProtocolVersion;
use regex::Regex;
use serde_json::{Value, json};

use super::{
    answers,
    expect::Expect,
    matcher::regex,
    node::{Invalid, Member, Node, NodeKind, get},
    snapshot::file_name,
    values::names,
};
use crate::{
    arguments::nearest,
    exit::{Exit, Failure},
    questions::Planned,
};

/// A collection of calls.
#[derive(Debug)]
pub(super) struct Collection {
    pub(super) file: PathBuf,
    pub(super) target: Option<String>,
    pub(super) revisions: Option<Revisions>,
    pub(super) timeout: Option<Duration>,
    pub(super) cwd: Option<PathBuf>,
    pub(super) roots: Vec<PathBuf>,
    pub(super) env: Vec<(String, String)>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) calls: Vec<Call>,
}

/// The revisions that a collection runs in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Revisions {
    /// All that the server supports.
    All,
    These(Vec<ProtocolVersion>),
}

/// A call with its expectations.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) action: Action,
    pub(super) timeout: Option<Duration>,
    /// The revisions to which the call applies; all if empty.
    pub(super) revisions: Vec<ProtocolVersion>,
    pub(super) answers: Vec<Planned>,
    pub(super) save: Vec<Save>,
    pub(super) expect: Expect,
    /// The names of saved values that the call uses.
    pub(super) uses: Vec<String>,
}

/// The request of a call.
#[derive(Debug)]
pub(super) enum Action {
    Tool { name: String, arguments: Value },
    Resource { uri: String },
    Prompt { name: String, arguments: Value },
    Method { name: String, params: Value },
}

/// A value of the result for later calls.
#[derive(Debug)]
pub(super) struct Save {
    pub(super) name: String,
    pub(super) pointer: String,
    /// A pointer into the string, which is JSON.
    pub(super) json: Option<String>,
    /// A regular expression with a group.
    pub(super) capture: Option<Regex>,
}

const KEYS: &[&str] = &["target", "revision", "timeout", "cwd", "roots", "env", "headers", "call"];
const ACTIONS: &[&str] = &["tool", "resource", "prompt", "method"];
const CALL_KEYS: &[&str] = &[
    "name",
    "tool",
    "resource",
    "prompt",
    "method",
    "arguments",
    "params",
    "answers",
    "save",
    "expect",
    "timeout",
    "revisions",
];

impl Collection {
    /// Reads a file.
    pub(super) fn load(file: &Path) -> Result<Self, Failure> {
        let text = fs::read_to_string(file).map_err(|error| Failure::file(file, "read", &error))?;
        Self::parse(file, &text).map_err(|invalid| {
            let failure = Failure::new(Exit::File, format!("{}:{}: {}", file.display(), invalid.line, invalid.message));
            match invalid.hint {
                Some(hint) => failure.hint(hint),
                None => failure,
            }
        })
    }

    fn parse(file: &Path, text: &str) -> Result<Self, Invalid> {
        let node = Node::parse(text.trim_start_matches('\u{feff}'))?;
        let entries = node.table_of("the collection", KEYS)?;
        let folder = file.parent().unwrap_or(Path::new("")).to_owned();
        let with = |key: &str| get(entries, key);
        let string = |key: &str| with(key).map(|node| node.string(&format!("`{key}`"))).transpose();
        let pairs = |key: &str| with(key).map(|node| pairs(node, key)).transpose().map(Option::unwrap_or_default);
        let roots = with("roots").map(|node| node.strings("`roots`")).transpose()?.unwrap_or_default();
        let calls = with("call").map(|node| node.array("`call`")).transpose()?.unwrap_or_default();
        if calls.is_empty() {
            return Err(Invalid::new(1, "the collection has no calls").hint("add a `[[call]]` with `tool = \"…\"`"));
        }
        let calls = calls.iter().map(|node| Call::parse(node, &folder)).collect::<Result<Vec<_>, _>>()?;
        Ok(Self {
            file: file.to_owned(),
            target: string("target")?.map(str::to_owned),
            revisions: with("revision").map(Revisions::parse).transpose()?,
            timeout: with("timeout").map(seconds).transpose()?,
            cwd: string("cwd")?.map(|cwd| folder.join(cwd)),
            roots: roots.iter().map(|root| folder.join(root)).collect(),
            env: pairs("env")?,
            headers: pairs("headers")?,
            calls: checked(calls)?,
        })
    }
}

impl Revisions {
    fn parse(node: &Node) -> Result<Self, Invalid> {
        match node.scalar().and_then(Value::as_str) {
            Some("all") => Ok(Self::All),
            Some(_) => Ok(Self::These(vec![revision(node)?])),
            None => Ok(Self::These(node.array("`revision`")?.iter().map(revision).collect::<Result<_, _>>()?)),
        }
    }
}

/// A parsed call with its line.
type Numbered = (usize, Call, Vec<(usize, String)>);

impl Call {
    fn parse(node: &Node, folder: &Path) -> Result<Numbered, Invalid> {
        let entries = node.table_of("a call", CALL_KEYS)?;
        let with = |key: &str| get(entries, key);
        let (kind, action) = Action::parse(node, entries)?;
        let name = match with("name") {
            Some(name) => name.string("`name`")?.to_owned(),
            None => kind,
        };
        if name.trim().is_empty() || name.contains('\n') {
            return Err(Invalid::new(node.line, "`name` must be one line of text"));
        }
        let mut uses = Vec::new();
        used(node, &mut uses);
        let call = Self {
            name,
            action,
            timeout: with("timeout").map(seconds).transpose()?,
            revisions: match with("revisions") {
                Some(list) => list.array("`revisions`")?.iter().map(revision).collect::<Result<_, _>>()?,
                None => Vec::new(),
            },
            answers: with("answers").map(answers::parse).transpose()?.unwrap_or_default(),
            save: with("save").map(Save::parse).transpose()?.unwrap_or_default(),
            expect: with("expect").map(|node| Expect::parse(node, folder)).transpose()?.unwrap_or_default(),
            uses: uses.iter().map(|(_, name)| name.clone()).collect(),
        };
        Ok((node.line, call, uses))
    }
}

impl Action {
    /// Parses the request, and describes it: `tool add`.
    fn parse(node: &Node, entries: &[Member]) -> Result<(String, Self), Invalid> {
        let given: Vec<&Member> = entries.iter().filter(|entry| ACTIONS.contains(&entry.key.as_str())).collect();
        let [Member { key, value, .. }] = given.as_slice() else {
            let found = if given.is_empty() { "none of them" } else { "several" };
            return Err(Invalid::new(
                node.line,
                format!("a call has one of `tool`, `resource`, `prompt` and `method`, and this has {found}"),
            ));
        };
        let name = value.string(&format!("`{key}`"))?.to_owned();
        let kind = format!("{key} {name}");
        let values = |key: &str| get(entries, key).map_or_else(|| Ok(json!({})), |node| members(key, node));
        let forbidden = match key.as_str() {
            "method" => &["arguments"][..],
            "resource" => &["arguments", "params"],
            _ => &["params"],
        };
        if let Some(wrong) = entries.iter().find(|entry| forbidden.contains(&entry.key.as_str())) {
            let error = Invalid::new(wrong.line, format!("`{}` does not apply to a `{key}`", wrong.key));
            return Err(error.hint(match key.as_str() {
                "method" => "use `params`",
                "resource" => "write the values into the URI",
                _ => "use `arguments`",
            }));
        }
        let action = match key.as_str() {
            "tool" => Self::Tool { name, arguments: values("arguments")? },
            "prompt" => Self::Prompt { name, arguments: values("arguments")? },
            "method" => Self::Method { name, params: values("params")? },
            _ => Self::Resource { uri: name },
        };
        Ok((kind, action))
    }
}

/// A table, or a string with a JSON object: TOML has no null.
fn members(key: &str, node: &Node) -> Result<Value, Invalid> {
    let NodeKind::Scalar(Value::String(text)) = &node.kind else {
        return node.table(&format!("`{key}`")).map(|_| node.to_json());
    };
    let wrong =
        |why: String| Invalid::new(node.line, format!("`{key}` is a table or a string with a JSON object: {why}"));
    match serde_json::from_str(text) {
        Ok(Value::Object(members)) => Ok(Value::Object(members)),
        Ok(_) => Err(wrong("this is another value".to_owned())),
        Err(error) => Err(wrong(error.to_string())),
    }
}

impl Save {
    fn parse(node: &Node) -> Result<Vec<Self>, Invalid> {
        let pointer = |node: &Node, what: &str| {
            let text = node.string(what)?;
            match text.is_empty() || text.starts_with('/') {
                true => Ok(text.to_owned()),
                false => {
                    Err(Invalid::new(node.line, format!("`{text}` is not a JSON pointer")).hint("it starts with /"))
                }
            }
        };
        let one = |Member { key, line, value }: &Member| {
            if key.contains(['}', ':']) {
                return Err(Invalid::new(*line, format!("`{key}` cannot be the name of a saved value")));
            }
            if let NodeKind::Scalar(_) = value.kind {
                let pointer = pointer(value, &format!("`save.{key}`"))?;
                return Ok(Self { name: key.clone(), pointer, json: None, capture: None });
            }
            let entries = value.table_of(&format!("`save.{key}`"), &["pointer", "json", "capture"])?;
            let from = get(entries, "pointer").ok_or_else(|| Invalid::new(*line, "`pointer` is missing"))?;
            let capture = match get(entries, "capture") {
                Some(node) => Some(regex(node.string("`capture`")?, node.line)?),
                None => None,
            };
            Ok(Self {
                name: key.clone(),
                pointer: pointer(from, "`pointer`")?,
                json: get(entries, "json").map(|node| pointer(node, "`json`")).transpose()?,
                capture,
            })
        };
        node.table("`save`")?.iter().map(one).collect()
    }

    /// Returns the value in a result.
    pub(super) fn value(&self, document: &Value) -> Result<Value, String> {
        let missing = || format!("cannot be saved: `{}` does not exist", self.pointer);
        let mut value = document.pointer(&self.pointer).cloned().ok_or_else(missing)?;
        if let Some(json) = &self.json {
            let text = value.as_str().ok_or_else(|| format!("cannot be saved: `{}` is not a string", self.pointer))?;
            let parsed: Value = serde_json::from_str(text)
                .map_err(|_| format!("cannot be saved: the string at `{}` is not JSON", self.pointer))?;
            value = parsed
                .pointer(json)
                .cloned()
                .ok_or_else(|| format!("cannot be saved: `{json}` does not exist in the JSON at `{}`", self.pointer))?;
        }
        let Some(regex) = &self.capture else { return Ok(value) };
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let found = regex.captures(&text).and_then(|groups| groups.get(1).or(groups.get(0)));
        found.map(|group| group.as_str().into()).ok_or_else(|| format!("cannot be saved: `{regex}` does not match"))
    }
}

/// Checks names: those of calls are unique, and those of values are saved by an earlier call.
fn checked(calls: Vec<Numbered>) -> Result<Vec<Call>, Invalid> {
    let (mut seen, mut saved, mut files): (HashSet<String>, HashSet<String>, HashSet<String>) = Default::default();
    for (line, call, uses) in &calls {
        if !seen.insert(call.name.clone()) {
            return Err(Invalid::new(*line, format!("several calls have the name `{}`", call.name))
                .hint("give each call a `name` of its own"));
        }
        if call.expect.snapshot.is_some() && !files.insert(file_name(&call.name)) {
            return Err(Invalid::new(*line, format!("the snapshot of `{}` has the file of another call", call.name))
                .hint("give the call a `name` that differs in letters or digits"));
        }
        if let Some((line, name)) = uses.iter().find(|(_, name)| !saved.contains(name)) {
            let error = Invalid::new(*line, format!("no earlier call saves `${{{name}}}`"));
            return Err(match nearest(name, saved.iter().map(String::as_str)) {
                Some(near) => error.hint(format!("did you mean `${{{near}}}`?")),
                None => error.hint("write `$${` for the characters `${`"),
            });
        }
        saved.extend(call.save.iter().map(|save| save.name.clone()));
    }
    Ok(calls.into_iter().map(|(_, call, _)| call).collect())
}

/// Collects the names of saved values in all strings.
fn used(node: &Node, found: &mut Vec<(usize, String)>) {
    match &node.kind {
        NodeKind::Scalar(Value::String(text)) => {
            found.extend(names(text).into_iter().map(|name| (node.line, name.to_owned())));
        }
        NodeKind::Scalar(_) => {}
        NodeKind::Array(items) => items.iter().for_each(|item| used(item, found)),
        // Patterns have their own meaning of `$`.
        NodeKind::Table(entries) => entries
            .iter()
            .filter(|entry| !["matches", "capture", "schema"].contains(&entry.key.as_str()))
            .for_each(|entry| used(&entry.value, found)),
    }
}

fn pairs(node: &Node, key: &str) -> Result<Vec<(String, String)>, Invalid> {
    let pair =
        |entry: &Member| Ok((entry.key.clone(), entry.value.string(&format!("`{key}.{}`", entry.key))?.to_owned()));
    node.table(&format!("`{key}`"))?.iter().map(pair).collect()
}

fn seconds(node: &Node) -> Result<Duration, Invalid> {
    let time = Duration::try_from_secs_f64(node.number("`timeout`")?).ok().filter(|time| !time.is_zero());
    time.ok_or_else(|| Invalid::new(node.line, "`timeout` must be a number of seconds above 0"))
}

fn revision(node: &Node) -> Result<ProtocolVersion, Invalid> {
    let text = node.string("a revision")?;
    text.parse().map_err(|_| {
        let known: Vec<_> = ProtocolVersion::ALL.iter().map(|revision| revision.as_str()).collect();
        Invalid::new(node.line, format!("unknown revision `{text}`"))
            .hint(format!("the revisions are {}", known.join(", ")))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Collection, Invalid> {
        Collection::parse(Path::new("tests/shop.toml"), text)
    }

    #[track_caller]
    fn refused(text: &str, line: usize, message: &str) {
        let error = parse(text).unwrap_err();
        assert!(error.line == line && error.message.contains(message), "{error:?}");
    }

    #[test]
    fn a_collection_is_read() {
        let text = "target = 'shop'\nrevision = 'all'\ntimeout = 2.5\ncwd = 'x'\nenv = { A = 'b' }\n\
                    [[call]]\ntool = 'add'\narguments = { a = 1 }\nsave.id = '/id'\n\
                    [[call]]\nname = 'second'\nresource = 'notes://${id}'\nrevisions = ['2026-07-28']\n";
        let collection = parse(text).unwrap();
        assert_eq!(collection.cwd.as_deref(), Some(Path::new("tests/x")));
        assert_eq!(collection.revisions, Some(Revisions::All));
        let [first, second] = collection.calls.as_slice() else { panic!("two calls") };
        assert_eq!((first.name.as_str(), second.name.as_str()), ("tool add", "second"));
        assert_eq!(second.uses, ["id"]);
        assert_eq!(second.revisions.len(), 1);
    }

    #[test]
    fn mistakes_have_lines() {
        refused("tagret = 'x'\n[[call]]\ntool = 'a'\n", 1, "unknown key `tagret` in the collection");
        refused("[[call]]\ntool = 'a'\nargumnets = {}\n", 3, "unknown key `argumnets` in a call");
        refused("[[call]]\ntool = 'a'\nexpect.txt = 'x'\n", 3, "unknown key `txt` in `expect`");
        refused("[[call]]\ntool = 'a'\nprompt = 'b'\n", 1, "and this has several");
        refused("\n[[call]]\nname = 'a'\n", 2, "and this has none of them");
        refused("[[call]]\ntool = 'a'\narguments = '[1]'\n", 3, "a string with a JSON object: this is another value");
        refused("[[call]]\nmethod = 'a'\narguments = {}\n", 3, "`arguments` does not apply to a `method`");
        refused("[[call]]\ntool = 'a'\n[[call]]\ntool = 'a'\n", 3, "several calls have the name `tool a`");
        refused("[[call]]\ntool = 'a'\narguments.x = '${id}'\n", 3, "no earlier call saves `${id}`");
        refused("revision = '2026-07-29'\n[[call]]\ntool = 'a'\n", 1, "unknown revision `2026-07-29`");
        refused("timeout = 0\n[[call]]\ntool = 'a'\n", 1, "`timeout` must be a number of seconds above 0");
        refused("target = 'x'\n", 1, "the collection has no calls");
        refused("[[call]]\ntool = 'a'\nsave.x = 'id'\n", 3, "`id` is not a JSON pointer");
        let snapshots = "[[call]]\nname = 'a b'\ntool = 'a'\nexpect.snapshot = true\n\
                         [[call]]\nname = 'a-b'\ntool = 'a'\nexpect.snapshot = true\n";
        refused(snapshots, 5, "the snapshot of `a-b` has the file of another call");
    }

    #[test]
    fn values_are_saved() {
        let text = "[[call]]\ntool = 'a'\nsave.a = '/x'\nsave.b = { pointer = '/t', json = '/k' }\n\
                    save.c = { pointer = '/s', capture = 'id (\\d+)' }\n";
        let collection = parse(text).unwrap();
        let result = json!({ "x": 1, "t": "{\"k\":true}", "s": "the id 42!" });
        let values: Vec<_> = collection.calls[0].save.iter().map(|save| save.value(&result).unwrap()).collect();
        assert_eq!(values, [json!(1), json!(true), json!("42")]);
        for save in &collection.calls[0].save {
            assert!(save.value(&json!({ "t": "x" })).unwrap_err().starts_with("cannot be saved: "));
        }
    }
}
