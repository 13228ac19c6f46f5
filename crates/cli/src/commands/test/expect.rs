//! The `expect` table of a call.

use std::{path::Path, time::Duration};

use couplet_schema::Schema;
use serde_json::Value;

use super::{
    matcher::{Matcher, check_pointers, schema},
    mismatch::Mismatch,
    node::{Invalid, Node, NodeKind, get},
    send::Response,
    values::Values,
};

/// The expectations of a call.
#[derive(Clone, Debug, Default)]
pub(super) struct Expect {
    error: Option<ExpectedError>,
    text: Option<Matcher>,
    pointers: Vec<(String, Matcher)>,
    schema: Option<Schema>,
    pub(super) snapshot: Option<SnapshotRule>,
    max_time: Option<Duration>,
}

/// The comparison with a snapshot.
#[derive(Clone, Debug)]
pub(super) struct SnapshotRule {
    /// JSON pointers to values that may differ.
    pub(super) ignore: Vec<String>,
}

#[derive(Clone, Debug, Default)]
struct ExpectedError {
    code: Option<i64>,
    message: Option<Matcher>,
}

const KEYS: &[&str] = &["error", "text", "pointer", "schema", "snapshot", "max_ms"];

impl Expect {
    /// Parses the table. `folder` is where schema files are.
    pub(super) fn parse(node: &Node, folder: &Path) -> Result<Self, Invalid> {
        let entries = node.table_of("`expect`", KEYS)?;
        let with = |key: &str| get(entries, key);
        Ok(Self {
            error: with("error").map(|node| ExpectedError::parse(node, folder)).transpose()?.flatten(),
            text: with("text").map(|node| Matcher::parse(node, "`text`", folder)).transpose()?,
            pointers: with("pointer")
                .map(|node| Matcher::parse_pointers(node, folder))
                .transpose()?
                .unwrap_or_default(),
            schema: with("schema").map(|node| schema(node, folder)).transpose()?,
            snapshot: with("snapshot").map(SnapshotRule::parse).transpose()?.flatten(),
            max_time: with("max_ms").map(milliseconds).transpose()?,
        })
    }

    /// Checks a response. The snapshot is compared by the caller.
    pub(super) fn check(&self, response: &Response, time: Duration, values: &Values) -> Vec<Mismatch> {
        let mut wrong = self.outcome(response, values);
        if wrong.is_empty() {
            let document = response.document();
            if let Some(text) = &self.text {
                wrong.extend(text.check("text", Some(&response.text().into()), values));
            }
            wrong.extend(check_pointers(&self.pointers, "", document, values));
            if let Some(schema) = &self.schema
                && let Err(error) = schema.check(&document.to_string())
            {
                wrong.push(Mismatch::new("schema", error.to_string()));
            }
        }
        if let Some(most) = self.max_time.filter(|most| time > *most) {
            let what = format!("{} ms, and at most {} ms are allowed", time.as_millis(), most.as_millis());
            wrong.push(Mismatch::new("time", what));
        }
        wrong
    }

    /// Checks that the call succeeded or failed as expected.
    fn outcome(&self, response: &Response, values: &Values) -> Vec<Mismatch> {
        match (&self.error, response) {
            (_, Response::Failed { message, details }) => {
                vec![Mismatch { details: details.clone(), ..Mismatch::new("", message.clone()) }]
            }
            (None, Response::Error(error)) => {
                let (code, message) = (&error["code"], error["message"].as_str().unwrap_or_default());
                let said = Mismatch::new("", format!("the server returned an error: {message} ({code})"));
                vec![Mismatch { details: data(error), ..said }]
            }
            (None, Response::Result(result)) if is_failed(result) => {
                vec![Mismatch::new("", "the tool failed").actual(&response.text().into())]
            }
            (None, Response::Result(_)) => Vec::new(),
            (Some(_), Response::Result(result)) if !is_failed(result) => {
                vec![Mismatch::new("error", "expected an error, got a result").actual(result)]
            }
            (Some(expected), response) => expected.check(response, values),
        }
    }
}

impl ExpectedError {
    fn parse(node: &Node, folder: &Path) -> Result<Option<Self>, Invalid> {
        match &node.kind {
            NodeKind::Scalar(Value::Bool(wanted)) => Ok(wanted.then(Self::default)),
            NodeKind::Scalar(Value::Number(code)) => match code.as_i64() {
                Some(code) => Ok(Some(Self { code: Some(code), message: None })),
                None => Err(node.expected("`error`", "an integer")),
            },
            NodeKind::Table(entries)
                if entries.iter().any(|entry| ["code", "message"].contains(&entry.key.as_str())) =>
            {
                let entries = node.table_of("`error`", &["code", "message"])?;
                let integer = |node: &Node| {
                    let code = node.scalar().and_then(Value::as_i64);
                    code.ok_or_else(|| node.expected("`code`", "an integer"))
                };
                Ok(Some(Self {
                    code: get(entries, "code").map(integer).transpose()?,
                    message: get(entries, "message")
                        .map(|node| Matcher::parse(node, "`message`", folder))
                        .transpose()?,
                }))
            }
            _ => Ok(Some(Self { code: None, message: Some(Matcher::parse(node, "`error`", folder)?) })),
        }
    }

    fn check(&self, response: &Response, values: &Values) -> Vec<Mismatch> {
        let mut wrong = Vec::new();
        if let Some(code) = self.code {
            match response {
                Response::Error(error) if error["code"] == code => {}
                Response::Error(error) => {
                    wrong.push(Mismatch::new("error", "code differs").expected(&code.into()).actual(&error["code"]));
                }
                _ => wrong.push(
                    Mismatch::new("error", format!("expected the JSON-RPC error {code}, and the tool failed"))
                        .actual(&response.text().into()),
                ),
            }
        }
        if let Some(message) = &self.message {
            wrong.extend(message.check("error", Some(&response.text().into()), values));
        }
        wrong
    }
}

impl SnapshotRule {
    fn parse(node: &Node) -> Result<Option<Self>, Invalid> {
        if let NodeKind::Scalar(Value::Bool(wanted)) = &node.kind {
            return Ok(wanted.then(|| Self { ignore: Vec::new() }));
        }
        let entries = node.table_of("`snapshot`", &["ignore"])?;
        let ignore = get(entries, "ignore").map(|node| node.strings("`ignore`")).transpose()?.unwrap_or_default();
        match ignore.iter().find(|pointer| !pointer.starts_with('/')) {
            Some(wrong) => {
                Err(Invalid::new(node.line, format!("`{wrong}` is not a JSON pointer")).hint("it starts with /"))
            }
            None => Ok(Some(Self { ignore })),
        }
    }
}

fn milliseconds(node: &Node) -> Result<Duration, Invalid> {
    let time = Duration::try_from_secs_f64(node.number("`max_ms`")? / 1000.0);
    time.map_err(|_| node.expected("`max_ms`", "a number of milliseconds"))
}

fn is_failed(result: &Value) -> bool {
    result["isError"] == true
}

fn data(error: &Value) -> Vec<String> {
    error.get("data").map(|data| format!("data: {data}")).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[track_caller]
    fn check(expect: &str, response: Response, expected: &[&str]) {
        let expect = Expect::parse(&Node::parse(expect).unwrap(), Path::new(".")).unwrap();
        let found = expect.check(&response, Duration::from_millis(20), &Values::default());
        assert_eq!(found.iter().map(Mismatch::heading).collect::<Vec<_>>(), expected);
    }

    fn result(text: &str) -> Response {
        Response::Result(json!({ "content": [{ "type": "text", "text": text }] }))
    }

    fn failed(text: &str) -> Response {
        Response::Result(json!({ "content": [{ "type": "text", "text": text }], "isError": true }))
    }

    fn refused() -> Response {
        Response::Error(json!({ "code": -32602, "message": "no such tool" }))
    }

    #[test]
    fn a_call_must_succeed_unless_an_error_is_expected() {
        check("", result("3"), &[]);
        check("error = false", failed("no"), &["the tool failed"]);
        check("", refused(), &["the server returned an error: no such tool (-32602)"]);
        check("error = true", result("3"), &["error: expected an error, got a result"]);
        check("error = true", failed("no"), &[]);
        check("error = true", refused(), &[]);
        check("error = -32602", refused(), &[]);
        check("error = -32601", refused(), &["error: code differs"]);
        check("error = -32601", failed("no"), &["error: expected the JSON-RPC error -32601, and the tool failed"]);
        check("error = 'no'", failed("no"), &[]);
        check("error.contains = 'such'", refused(), &[]);
        check("error = { code = -32602, message = 'x' }", refused(), &["error: differs"]);
        let gone = Response::Failed { message: "no response within 1 s".to_owned(), details: Vec::new() };
        check("error = true", gone, &["no response within 1 s"]);
    }

    #[test]
    fn all_expectations_are_checked() {
        check("text = '3'\nmax_ms = 10", result("4"), &["text: differs", "time: 20 ms, and at most 10 ms are allowed"]);
        check("pointer.'/content/0/text' = '3'", result("3"), &[]);
        check("pointer.'/content/1' = '3'", result("3"), &["/content/1: does not exist"]);
        check("pointer.'/code' = -32602\nerror = true", refused(), &[]);
        check("schema = { required = ['x'] }", result("3"), &["schema: expected the member `x`, which is missing"]);
    }
}
