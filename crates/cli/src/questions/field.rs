//! One field of a form.

use couplet::types::{ElicitSchema, Map, PrimitiveSchema, RawJson, StringFormat};

use super::{
    choice,
    prompt::{self, Line},
};
use crate::{
    arguments,
    output::{Output, text},
};

/// The user cancelled the form.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Left;

/// Prompts for a field until the value is valid. An empty line omits an optional field.
pub(crate) fn ask(
    output: &Output,
    name: &str,
    field: &PrimitiveSchema,
    required: bool,
) -> Result<Option<RawJson>, Left> {
    let form = ElicitSchema::new().optional(name, field.clone());
    let default = form.defaults().get(name).cloned();
    output.complain(&describe(name, field, required));
    let prompt = match &default {
        Some(default) => format!("  {} [{}]: ", text::line(name), text::line(&plain(default))),
        None => format!("  {}: ", text::line(name)),
    };
    loop {
        let Line::Text(typed) = prompt::line(&prompt) else { return Err(Left) };
        if typed.is_empty() {
            match (&default, required) {
                (Some(default), _) => return Ok(Some(default.clone())),
                (None, false) => return Ok(None),
                (None, true) => {
                    output.complain("    required");
                    continue;
                }
            }
        }
        match read(name, field, &form, &typed) {
            Ok(value) => return Ok(Some(value)),
            Err(what) => output.complain(&format!("    {}", text::line(&what))),
        }
    }
}

/// Parses and validates typed text.
pub(crate) fn read(name: &str, field: &PrimitiveSchema, form: &ElicitSchema, typed: &str) -> Result<RawJson, String> {
    let value = match field {
        PrimitiveSchema::String(schema) => {
            schema.format.as_ref().map_or(Ok(()), |format| fits(format, typed))?;
            json(&typed)
        }
        PrimitiveSchema::Number(_) => RawJson::from_text(typed).map_err(|_| "must be a number".to_owned())?,
        PrimitiveSchema::Boolean(_) => json(&arguments::boolean(typed).ok_or_else(|| "must be yes or no".to_owned())?),
        PrimitiveSchema::Enum(schema) => json(&choice::one(&choice::of(schema), typed)?),
        PrimitiveSchema::MultiEnum(schema) => {
            let choices = choice::of_choices(&schema.choices, None);
            let all: Result<Vec<_>, _> =
                typed.split(',').map(str::trim).filter(|t| !t.is_empty()).map(|t| choice::one(&choices, t)).collect();
            json(&all?)
        }
        _ => RawJson::from_text(typed).map_err(|e| format!("must be JSON: {e}"))?,
    };
    form.check(&Map::from([(name, value.clone())]))?;
    Ok(value)
}

fn json<T: serde::Serialize + ?Sized>(value: &T) -> RawJson {
    RawJson::new(value).unwrap_or_default()
}

/// Formats a value as it is typed.
fn plain(value: &RawJson) -> String {
    value.parse::<String>().unwrap_or_else(|_| value.get().to_owned())
}

fn fits(format: &StringFormat, typed: &str) -> Result<(), String> {
    let (good, what) = match format {
        StringFormat::Email => {
            let (name, host) = typed.split_once('@').unwrap_or_default();
            (!name.is_empty() && !host.is_empty() && !host.contains('@'), "an e-mail address")
        }
        StringFormat::Uri => {
            let scheme = typed.split_once(':').map_or("", |(scheme, _)| scheme);
            (scheme.starts_with(|c: char| c.is_ascii_alphabetic()), "a URI, such as https://example.com")
        }
        StringFormat::Date => {
            (typed.parse::<jiff::civil::Date>().is_ok() && typed.len() == 10, "a date, such as 2026-12-31")
        }
        StringFormat::DateTime => {
            (typed.parse::<jiff::Timestamp>().is_ok(), "a date and a time, such as 2026-12-31T12:00:00Z")
        }
        _ => (true, ""),
    };
    if good { Ok(()) } else { Err(format!("must be {what}")) }
}

/// Describes a field.
pub(crate) fn describe(name: &str, field: &PrimitiveSchema, required: bool) -> String {
    let (title, description, kind) = match field {
        PrimitiveSchema::String(s) => (&s.title, &s.description, string(s.format.as_ref(), s.min_length, s.max_length)),
        PrimitiveSchema::Number(s) => {
            let kind = if s.integer { "an integer" } else { "a number" };
            (&s.title, &s.description, range(kind, s.minimum, s.maximum))
        }
        PrimitiveSchema::Boolean(s) => (&s.title, &s.description, "yes or no".to_owned()),
        PrimitiveSchema::Enum(s) => (&s.title, &s.description, choice::list(&choice::of(s), "one of")),
        PrimitiveSchema::MultiEnum(s) => {
            (&s.title, &s.description, choice::list(&choice::of_choices(&s.choices, None), "any of, comma-separated"))
        }
        _ => (&None, &None, "JSON".to_owned()),
    };
    let label = title.as_deref().or(description.as_deref()).unwrap_or(name);
    let more = description.as_deref().filter(|_| title.is_some()).map_or(String::new(), |d| format!(": {d}"));
    let optional = if required { "" } else { ", optional" };
    format!("  {}{} ({kind}{optional})", text::line(label), text::line(&more))
}

fn string(format: Option<&StringFormat>, least: Option<u64>, most: Option<u64>) -> String {
    let kind = match format {
        Some(StringFormat::Email) => "an e-mail address",
        Some(StringFormat::Uri) => "a URI",
        Some(StringFormat::Date) => "a date",
        Some(StringFormat::DateTime) => "a date and a time",
        _ => "a string",
    };
    match (least, most) {
        (Some(least), Some(most)) => format!("{kind} of {least} to {most} characters"),
        (Some(least), None) => format!("{kind} of at least {least} characters"),
        (None, Some(most)) => format!("{kind} of at most {most} characters"),
        (None, None) => kind.to_owned(),
    }
}

fn range(kind: &str, least: Option<f64>, most: Option<f64>) -> String {
    match (least, most) {
        (Some(least), Some(most)) => format!("{kind} from {least} to {most}"),
        (Some(least), None) => format!("{kind} of at least {least}"),
        (None, Some(most)) => format!("{kind} of at most {most}"),
        (None, None) => kind.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use couplet::types::{EnumSchema, MultiEnumSchema, NumberSchema, StringSchema};

    use super::*;

    #[track_caller]
    fn check(field: impl Into<PrimitiveSchema>, typed: &str, expected: Result<&str, &str>) {
        let field = field.into();
        let form = ElicitSchema::new().optional("x", field.clone());
        let read = read("x", &field, &form, typed);
        assert_eq!(read.as_ref().map(RawJson::get).map_err(String::as_str), expected, "{typed}");
    }

    #[test]
    fn typed_text_becomes_a_value() {
        check(PrimitiveSchema::string(), "12", Ok("\"12\""));
        check(NumberSchema::integer().maximum(9.0), "12", Err("`x` must be at most 9"));
        check(PrimitiveSchema::integer(), "1.5", Err("`x` must be an integer"));
        check(PrimitiveSchema::number(), "1.50", Ok("1.50"));
        check(PrimitiveSchema::number(), "many", Err("must be a number"));
        check(PrimitiveSchema::number(), "\"1\"", Err("`x` must be a number"));
        check(PrimitiveSchema::boolean(), "Y", Ok("true"));
        check(PrimitiveSchema::boolean(), "perhaps", Err("must be yes or no"));
        check(EnumSchema::titled([("s", "Small"), ("l", "Large")]), "large", Ok("\"l\""));
        check(EnumSchema::new(["10", "20"]), "2", Ok("\"20\""));
        check(EnumSchema::new(["2", "1"]), "2", Ok("\"2\""));
        check(EnumSchema::new(["a", "b"]), "c", Err("choose one of a, b"));
        check(MultiEnumSchema::new(["a", "b", "c"]).min_items(1), "c, 1", Ok("[\"c\",\"a\"]"));
        check(StringSchema::new().format(StringFormat::Email), "me", Err("must be an e-mail address"));
        check(StringSchema::new().format(StringFormat::Date), "2026-02-30", Err("must be a date, such as 2026-12-31"));
        check(StringSchema::new().format(StringFormat::Date), "2026-02-28", Ok("\"2026-02-28\""));
        check(StringSchema::new().format(StringFormat::Uri), "https://a.b", Ok("\"https://a.b\""));
        check(StringSchema::new().min_length(3), "ab", Err("`x` must be at least 3 characters"));
    }
}
