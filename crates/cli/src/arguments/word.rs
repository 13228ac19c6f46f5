//! One argument of the command line.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use couplet::types::{Map, RawJson, from_json};

use crate::{
    exit::{Exit, Failure},
    target::expanded,
};

/// A parsed argument.
#[derive(Debug)]
pub(crate) enum Word {
    /// `key=text`, or `key=@file` for the text of a file.
    Text(String, String),
    /// `key:=json`, or `key:=@file`.
    Json(String, RawJson),
    /// `@file`, `@-` or a JSON object: several arguments.
    Whole(Map<RawJson>),
}

impl Word {
    pub(crate) fn parse(word: &str) -> Result<Self, Failure> {
        if let Some(file) = word.strip_prefix('@') {
            return read(file);
        }
        if word.trim_start().starts_with('{') {
            return object(word, "the argument").map(Self::Whole);
        }
        let Some((key, value)) = word.split_once('=').filter(|(key, _)| !key.trim_end_matches(':').is_empty()) else {
            return Err(Failure::usage(format!("invalid argument `{word}`"))
                .hint("expected key=value, key:=json, key=@file or @file.json"));
        };
        let (key, is_json) = key.strip_suffix(':').map_or((key, false), |key| (key, true));
        let value = match value.strip_prefix('@') {
            None => value.to_owned(),
            Some(text) if text.starts_with('@') => text.to_owned(),
            Some(file) => text(file).map_err(|failure| match failure.exit {
                Exit::File => failure.hint(format!("write a string that starts with @ as {key}=@@…")),
                _ => failure,
            })?,
        };
        if !is_json {
            return Ok(Self::Text(key.to_owned(), value));
        }
        match RawJson::from_text(value.trim()) {
            Ok(json) => Ok(Self::Json(key.to_owned(), json)),
            Err(error) => Err(Failure::usage(format!("`{word}` is not JSON: {error}"))
                .hint(format!("write a string as `{key}={value}`"))),
        }
    }
}

/// Reads a JSON object from a file; `-` is standard input.
fn read(file: &str) -> Result<Word, Failure> {
    object(&text(file)?, &format!("`{file}`")).map(Word::Whole)
}

/// Reads the text of a file without its byte order mark; `-` is standard input.
fn text(file: &str) -> Result<String, Failure> {
    let file = expanded(file);
    let path = Path::new(&file);
    let bytes = if file == "-" {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    let bytes = bytes.map_err(|e| Failure::file(path, "read", &e))?;
    let text = String::from_utf8(bytes).map_err(|_| Failure::usage(format!("`{file}` is not valid UTF-8")))?;
    Ok(text.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(text))
}

fn object(text: &str, what: &str) -> Result<Map<RawJson>, Failure> {
    from_json(text.trim()).map_err(|e| Failure::usage(format!("{what} is not a JSON object: {e}")))
}
