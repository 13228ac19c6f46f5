//! One word of the command line.

use std::{
    fs,
    io::{self, Read},
    path::Path,
};

use couplet::types::{Map, RawJson, from_json};

use crate::exit::Failure;

/// What a word says.
#[derive(Debug)]
pub(crate) enum Word {
    /// `key=text`.
    Text(String, String),
    /// `key:=json`.
    Json(String, RawJson),
    /// `@file`, `@-` or an object as it is: all of the arguments, or many of them.
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
            return Err(
                Failure::usage(format!("`{word}` is not an argument")).hint("write key=value, key:=json or @file.json")
            );
        };
        match key.strip_suffix(':') {
            None => Ok(Self::Text(key.to_owned(), value.to_owned())),
            Some(key) => match RawJson::from_text(value.trim()) {
                Ok(json) => Ok(Self::Json(key.to_owned(), json)),
                Err(error) => Err(Failure::usage(format!("`{word}` is not JSON: {error}"))
                    .hint(format!("a text is written `{key}={value}`"))),
            },
        }
    }
}

/// A file with an object in it; `-` is standard input.
fn read(file: &str) -> Result<Word, Failure> {
    let path = Path::new(file);
    let text = if file == "-" {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    let text = text.map_err(|e| Failure::file(path, "read", &e))?;
    object(&text, &format!("`{file}`")).map(Word::Whole)
}

fn object(text: &str, what: &str) -> Result<Map<RawJson>, Failure> {
    from_json(text.trim()).map_err(|e| Failure::usage(format!("{what} is not a JSON object: {e}")))
}
