//! Arguments of tools and prompts on the command line: `key=value`, `key:=json`, `a.b=value`, `key=@file`,
//! `key:=@file.json`, `@file.json`, `@-`.
//!
//! The value after `=` is converted to the type in the tool's schema: a number, a boolean, an item of a list. The JSON
//! after `:=` is sent unchanged, even for arguments that the schema does not have.

mod coerce;
mod nearest;
mod prompt;
mod schema;
mod tree;
mod word;

use crate::exit::Failure;

pub(crate) use coerce::boolean;
pub(crate) use nearest::nearest;
pub(crate) use prompt::{Offered, strings};
pub(crate) use schema::Schema;
pub(crate) use tree::Tree;
pub(crate) use word::Word;

/// Converts the words of a command line to the arguments of a tool.
///
/// # Errors
/// If an argument is unknown, does not fit the schema, or is missing.
pub(crate) fn collect(words: &[String], schema: &Schema) -> Result<Tree, Failure> {
    let words = words.iter().map(|word| Word::parse(word)).collect::<Result<Vec<_>, _>>()?;
    let mut arguments = Tree::object();
    // Objects first, so that single arguments override them.
    for word in &words {
        if let Word::Whole(members) = word {
            members.iter().for_each(|(key, value)| arguments.insert(&[key], Tree::Leaf(value.clone())));
        }
    }
    let mut given: Vec<Vec<String>> = Vec::new();
    for word in &words {
        match word {
            Word::Whole(_) => {}
            Word::Json(key, value) => arguments.insert(&path(schema, key), Tree::Leaf(value.clone())),
            Word::Text(key, text) => {
                let (path, place) = find(schema, key)?;
                let again = given.contains(&path);
                let value = coerce::value(text, &place).map_err(|what| wrong(key, text, &what, &place))?;
                let keys: Vec<&str> = path.iter().map(String::as_str).collect();
                match (again, value) {
                    (_, Tree::List(items)) => arguments.append(&keys, items, again),
                    (false, value) => arguments.insert(&keys, value),
                    (true, _) => return Err(Failure::usage(format!("argument `{key}` was given twice"))),
                }
                given.push(path);
            }
        }
    }
    missing(&arguments, schema)?;
    Ok(arguments)
}

/// Resolves a key to its path and schema: a member of that name, or a member of a member.
fn find(schema: &Schema, key: &str) -> Result<(Vec<String>, Schema), Failure> {
    if let Some(place) = schema.property(key) {
        return Ok((vec![key.to_owned()], place));
    }
    if let Some((outer, inner)) = key.split_once('.')
        && let Some(place) = schema.property(outer).filter(Schema::is_object)
    {
        let (mut path, place) = find(&place, inner)?;
        path.insert(0, outer.to_owned());
        return Ok((path, place));
    }
    if schema.is_open() {
        return Ok((vec![key.to_owned()], schema.additional()));
    }
    let failure = Failure::usage(format!("unknown argument `{key}`"));
    let names: Vec<&str> = schema.names().collect();
    Err(match (nearest(key, names.iter().copied()), names.as_slice()) {
        (Some(name), _) => failure.hint(format!("did you mean `{name}`?")),
        (None, []) => failure.hint("the tool takes no arguments"),
        (None, names) => failure.hint(format!("expected one of {}", names.join(", "))),
    })
}

/// Resolves a key to its path without checking it.
fn path<'a>(schema: &Schema, key: &'a str) -> Vec<&'a str> {
    match key.split_once('.') {
        Some((outer, inner)) if schema.property(key).is_none() => match schema.property(outer) {
            Some(place) if place.is_object() => {
                let mut rest = path(&place, inner);
                rest.insert(0, outer);
                rest
            }
            _ => vec![key],
        },
        _ => vec![key],
    }
}

fn wrong(key: &str, text: &str, what: &str, place: &Schema) -> Failure {
    let failure = Failure::usage(format!("argument `{key}`: {what}"));
    let failure = match text.split_once(',').filter(|_| place.is_list()) {
        Some((first, rest)) => {
            let second = rest.split(',').next().unwrap_or_default();
            failure
                .hint(format!("write a list as {key}={first} {key}={second}, or as JSON: {key}='[{first},{second}]'"))
        }
        None => failure,
    };
    match place.description() {
        Some(description) => failure.detail(format!("{key}: {description}")),
        None => failure,
    }
}

fn missing(arguments: &Tree, schema: &Schema) -> Result<(), Failure> {
    let missing: Vec<&str> = schema.required().filter(|name| !arguments.has(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let names = missing.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    let what = if missing.len() == 1 { "missing argument" } else { "missing arguments" };
    let mut failure = Failure::usage(format!("{what}: {names}"));
    for name in &missing {
        let place = schema.property(name);
        let kind = place.as_ref().map_or("any".to_owned(), Schema::sketch);
        let description = place.as_ref().and_then(Schema::description).unwrap_or_default();
        failure = failure.detail(format!("{name} ({kind}) {description}").trim_end().to_owned());
    }
    Err(failure.hint(format!("add {}", missing.iter().map(|n| format!("{n}=…")).collect::<Vec<_>>().join(" "))))
}

#[cfg(test)]
mod tests {
    use couplet::types::RawJson;

    use super::*;

    const SCHEMA: &str = r##"{
        "type": "object",
        "properties": {
            "city": { "type": "string", "description": "Where." },
            "days": { "type": "integer" },
            "exact": { "type": ["number", "null"] },
            "loud": { "type": "boolean" },
            "unit": { "enum": ["C", "F"] },
            "level": { "enum": [1, 2, "max"] },
            "tags": { "type": "array", "items": { "type": "string" } },
            "sizes": { "type": "array", "items": { "type": "integer" } },
            "place": { "type": "object", "properties": { "lat": { "type": "number" }, "name": {} }, "required": ["lat"] },
            "ref": { "$ref": "#/$defs/Count" },
            "maybe": { "anyOf": [{ "type": "integer" }, { "type": "string" }] },
            "spot": { "type": ["null", "object"] },
            "point": { "anyOf": [{ "type": "null" }, { "type": "object", "properties": { "x": { "type": "number" } } }] },
            "a.b": { "type": "integer" },
            "any": {}
        },
        "$defs": { "Count": { "type": "integer", "description": "How many." } },
        "required": []
    }"##;

    fn schema(text: &str) -> Schema {
        Schema::new(&RawJson::from_text(text).unwrap())
    }

    #[track_caller]
    fn check(words: &[&str], expected: Result<&str, &str>) {
        let words: Vec<_> = words.iter().map(ToString::to_string).collect();
        let collected = collect(&words, &schema(SCHEMA));
        let collected = collected.map(|tree| serde_json::to_string(&tree).unwrap()).map_err(|failure| {
            format!("{} ({})", failure.message, failure.hint.unwrap_or_default()).replace(" ()", "")
        });
        assert_eq!(collected.as_ref().map(String::as_str).map_err(String::as_str), expected, "{words:?}");
    }

    #[test]
    fn values_follow_the_schema() {
        check(&[], Ok("{}"));
        check(&["city=12"], Ok(r#"{"city":"12"}"#));
        check(&["city="], Ok(r#"{"city":""}"#));
        check(&["city=a=b"], Ok(r#"{"city":"a=b"}"#));
        check(&["days=3", "city=Oslo"], Ok(r#"{"days":3,"city":"Oslo"}"#));
        check(&["days=3.5"], Err("argument `days`: expected an integer, got `3.5`"));
        check(&["days=12345678901234567890123"], Ok(r#"{"days":12345678901234567890123}"#));
        check(&["exact=1.50"], Ok(r#"{"exact":1.50}"#));
        check(&["exact=null"], Ok(r#"{"exact":null}"#));
        check(&["exact=x"], Err("argument `exact`: expected a number or null, got `x`"));
        check(&["loud=yes"], Ok(r#"{"loud":true}"#));
        check(&["loud=maybe"], Err("argument `loud`: expected true or false, got `maybe`"));
        check(&["unit=C", "level=2"], Ok(r#"{"unit":"C","level":2}"#));
        check(&["level=max"], Ok(r#"{"level":"max"}"#));
        check(&["unit=K"], Err("argument `unit`: expected one of C, F, got `K`"));
        check(&["ref=4", "maybe=5"], Ok(r#"{"ref":4,"maybe":5}"#));
        check(&["maybe=five"], Ok(r#"{"maybe":"five"}"#));
        check(&["any=5"], Ok(r#"{"any":5}"#));
        check(&["any=five"], Ok(r#"{"any":"five"}"#));
    }

    #[test]
    fn lists_and_objects_are_built() {
        check(&["tags=a", "tags=b"], Ok(r#"{"tags":["a","b"]}"#));
        check(&["tags=a"], Ok(r#"{"tags":["a"]}"#));
        check(&[r#"tags=["x","y"]"#, "tags=z"], Ok(r#"{"tags":["x","y","z"]}"#));
        check(&["sizes=1", "sizes=two"], Err("argument `sizes`: expected an integer, got `two`"));
        check(&["place.lat=59.9", "place.name=Oslo"], Ok(r#"{"place":{"lat":59.9,"name":"Oslo"}}"#));
        check(&[r#"place={"lat":1}"#, "place.name=x"], Ok(r#"{"place":{"lat":1,"name":"x"}}"#));
        check(&["place=x"], Err("argument `place`: expected an object (`.lat=…`, or JSON), got `x`"));
        check(&["spot=x"], Err("argument `spot`: expected a JSON object or null, got `x`"));
        check(&["point=x"], Err("argument `point`: expected an object (`.x=…`, or JSON) or null, got `x`"));
        check(&["point=null", r#"spot={"a":1}"#], Ok(r#"{"point":null,"spot":{"a":1}}"#));
        check(
            &["sizes=1,2,3"],
            Err(
                "argument `sizes`: expected an integer, got `1,2,3` (write a list as sizes=1 sizes=2, or as JSON: sizes='[1,2]')",
            ),
        );
        check(&["a.b=1"], Ok(r#"{"a.b":1}"#));
        check(&["city=a", "city=b"], Err("argument `city` was given twice"));
    }

    #[test]
    fn json_is_sent_as_it_is() {
        check(&["days:=\"3\"", "new:=[1, 2]"], Ok(r#"{"days":"3","new":[1, 2]}"#));
        check(&["place.lat:=null"], Ok(r#"{"place":{"lat":null}}"#));
        check(&[r#"{"city":"Oslo","days":1}"#, "days=2"], Ok(r#"{"city":"Oslo","days":2}"#));
        check(
            &["days:=three"],
            Err("`days:=three` is not JSON: expected ident at line 1 column 2 (write a string as `days=three`)"),
        );
    }

    #[test]
    fn wrong_names_get_a_suggestion() {
        check(&["citty=Oslo"], Err("unknown argument `citty` (did you mean `city`?)"));
        check(&["place.latt=1"], Err("unknown argument `latt` (did you mean `lat`?)"));
        check(&["Oslo"], Err("invalid argument `Oslo` (expected key=value, key:=json, key=@file or @file.json)"));
        check(
            &["@/does/not/exist.json"],
            Err("`/does/not/exist.json` cannot be read: No such file or directory (os error 2)"),
        );
    }

    #[test]
    fn missing_arguments_are_named() {
        let schema =
            schema(r#"{"properties":{"a":{"type":"number","description":"The first."},"b":{}},"required":["a","b"]}"#);
        let failure = collect(&[], &schema).unwrap_err();
        assert_eq!(failure.message, "missing arguments: `a`, `b`");
        assert_eq!(failure.details, ["a (number) The first.", "b (any)"]);
        assert_eq!(failure.hint.as_deref(), Some("add a=… b=…"));
    }

    #[test]
    fn an_object_without_properties_takes_any() {
        for (text, open) in [
            (r#"{"type":"object"}"#, true),
            (r#"{"type":"object","properties":{}}"#, false),
            (r#"{"type":"object","additionalProperties":false}"#, false),
            (r#"{"type":"object","properties":{},"additionalProperties":true}"#, true),
        ] {
            assert_eq!(collect(&["x=1".to_owned()], &schema(text)).is_ok(), open, "{text}");
        }
    }

    #[test]
    fn files_give_values() {
        let folder = std::env::temp_dir().join(format!("couplet-words-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = |name: &str, text: &[u8]| {
            std::fs::write(folder.join(name), text).unwrap();
            folder.join(name).display().to_string()
        };
        let (city, days) = (file("city.txt", b"\xef\xbb\xbfOslo\n"), file("days.json", b"\xef\xbb\xbf 3\n"));
        check(&[&format!("city=@{city}"), &format!("days=@{days}")], Ok(r#"{"city":"Oslo\n","days":3}"#));
        check(&[&format!("any:=@{days}")], Ok(r#"{"any":3}"#));
        check(&["city=@@home"], Ok(r#"{"city":"@home"}"#));
        check(
            &["city=@/does/not/exist"],
            Err(
                "`/does/not/exist` cannot be read: No such file or directory (os error 2) (write a string that starts with @ as city=@@…)",
            ),
        );
        let whole = file("whole.json", b"\xef\xbb\xbf{\"days\": 2}");
        check(&[&format!("@{whole}")], Ok(r#"{"days":2}"#));
        let bytes = file("bytes", b"\xff\xfe");
        check(&[&format!("city=@{bytes}")], Err(&format!("`{bytes}` is not valid UTF-8")));
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn strange_schemas_take_anything() {
        for text in ["{}", "true", "[]", r#"{"properties":[]}"#, r##"{"$ref":"#"}"##, r#"{"type":7}"#] {
            let collected = collect(&["x=1".to_owned()], &schema(text)).unwrap();
            assert_eq!(serde_json::to_string(&collected).unwrap(), r#"{"x":1}"#, "{text}");
        }
    }
}
