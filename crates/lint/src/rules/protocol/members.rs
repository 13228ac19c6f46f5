//! Members of listed items with wrong types.

use couplet_types::Meta;
use serde_json::Value;

use crate::{
    Place, Subject, Surface,
    read::escaped,
    report::Report,
    rule::table,
    surface::{Item, Kind},
};

table! { Protocol:
    NULL = "member-null" Error
        about "a member is null instead of absent"
        why "Clients built on the official TypeScript SDK then reject the whole list (modelcontextprotocol/inspector#987, r33drichards/mcp-js#117)."
        fix "Omit it."
    TYPE = "member-type" Error
        about "a member has the wrong type"
        why "Clients built on the official SDKs then reject the whole list."
        fix "Correct the member."
    DOUBLE = "member-double" Error
        about "an object has two members of the same name"
        why "Parsers differ in which one they use, so the checked value may not be the used one."
        fix "Remove one."
    META = "meta-key" Warning
        about "a key of `_meta` does not have the required format"
        why "Others may reserve such keys or drop them."
        fix "Use a name, or a prefix of your own and a name: `com.example/name`."
}

/// The type of a member.
#[derive(Clone, Copy, Debug)]
enum Type {
    Text,
    Flag,
    Number,
    Object,
    Array,
}

impl Type {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Text => value.is_string(),
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Flag => "true or false",
            Self::Number => "a number",
            Self::Object => "an object",
            Self::Array => "an array",
        }
    }
}

/// The members of all kinds, and those of each kind. Names, schemas and URIs have rules of their own.
const COMMON: &[(&str, Type)] =
    &[("title", Type::Text), ("description", Type::Text), ("icons", Type::Array), ("_meta", Type::Object)];
const OF_TOOLS: &[(&str, Type)] = &[
    ("annotations", Type::Object),
    ("outputSchema", Type::Object),
    ("execution", Type::Object),
    ("annotations/title", Type::Text),
    ("annotations/readOnlyHint", Type::Flag),
    ("annotations/destructiveHint", Type::Flag),
    ("annotations/idempotentHint", Type::Flag),
    ("annotations/openWorldHint", Type::Flag),
];
const OF_RESOURCES: &[(&str, Type)] = &[
    ("mimeType", Type::Text),
    ("size", Type::Number),
    ("annotations", Type::Object),
    ("annotations/audience", Type::Array),
    ("annotations/priority", Type::Number),
    ("annotations/lastModified", Type::Text),
];
const OF_PROMPTS: &[(&str, Type)] = &[("arguments", Type::Array)];
const OF_ARGUMENTS: &[(&str, Type)] = &[("title", Type::Text), ("description", Type::Text), ("required", Type::Flag)];

pub(crate) fn check(surface: &Surface, report: &mut Report<'_>) {
    let Some(said) = surface.newest() else { return };
    let server = Place::new(Subject::Server);
    types(&said.hello.value, &[("instructions", Type::Text), ("_meta", Type::Object)], "", &server, report);
    doubled(&said.hello.doubled, &server, report);
    for kind in Kind::ALL {
        for item in surface.items(kind) {
            one(kind, item, report);
        }
    }
}

fn one(kind: Kind, item: &Item, report: &mut Report<'_>) {
    let place = item.place();
    if !item.value.is_object() {
        return report.add(&TYPE, place, "it is not an object");
    }
    doubled(&item.doubled, &place, report);
    types(&item.value, COMMON, "", &place, report);
    let own = match kind {
        Kind::Tools => OF_TOOLS,
        Kind::Resources | Kind::Templates => OF_RESOURCES,
        Kind::Prompts => OF_PROMPTS,
    };
    types(&item.value, own, "", &place, report);
    let arguments = item.get("arguments").and_then(Value::as_array).filter(|_| kind == Kind::Prompts);
    for (at, argument) in arguments.into_iter().flatten().enumerate() {
        types(argument, OF_ARGUMENTS, &format!("/arguments/{at}"), &place, report);
    }
    for key in item.get("_meta").and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key) {
        if !Meta::is_valid_key(key) {
            let place = place.clone().at(format!("/_meta/{}", escaped(key)));
            report.add(&META, place, format!("the key is `{key}`"));
        }
    }
}

fn types(value: &Value, members: &[(&str, Type)], base: &str, place: &Place, report: &mut Report<'_>) {
    for (path, kind) in members {
        let Some(member) = value.pointer(&format!("/{path}")) else { continue };
        let place = || place.clone().at(format!("{base}/{path}"));
        if member.is_null() {
            report.add(&NULL, place(), format!("`{path}` is null"));
        } else if !kind.fits(member) {
            report.add(&TYPE, place(), format!("`{path}` is not {}", kind.name()));
        }
    }
}

fn doubled(pointers: &[String], place: &Place, report: &mut Report<'_>) {
    for pointer in pointers {
        report.add(&DOUBLE, place.clone().at(pointer.clone()), format!("`{pointer}` occurs twice"));
    }
}
