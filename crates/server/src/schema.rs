//! JSON Schemas of tool arguments, tool output and elicitation forms, derived from Rust types.
//!
//! All of this runs once per tool, at registration. `schemars` knows the types; this module knows which schemas hosts
//! accept. It does not validate values.

pub(crate) mod declared;
mod form;
pub(crate) mod order;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// The dialect of JSON Schema that is written for a type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaDialect {
    /// The subset of JSON Schema that hosts and model APIs are known to accept. The default.
    ///
    /// There is no `$ref`, no `null`, no `const`, no number format, no tuple and no alternative at the root.
    /// Apart from `null`, the schema allows everything that the type does, and may allow more. A recursive type is
    /// described once; inside of itself it has only its `type` and a description.
    #[default]
    Portable,
    /// JSON Schema 2020-12 as `schemars` writes it.
    Plain,
}

/// Returns the schema of a tool's arguments: of the JSON that `T` is deserialized from. Its root has `"type": "object"`.
///
/// # Errors
/// If `T` is not deserialized from a JSON object. The message is for the developer.
///
/// ```
/// use couplet_server::schema::{self, SchemaDialect};
///
/// #[derive(schemars::JsonSchema)]
/// struct Forecast {
///     /// The city.
///     city: String,
///     days: Option<u8>,
/// }
///
/// let schema = schema::of::<Forecast>(SchemaDialect::Portable)?;
/// assert_eq!(
///     schema,
///     serde_json::json!({
///         "type": "object",
///         "properties": {
///             "city": { "type": "string", "description": "The city." },
///             "days": { "type": "integer", "minimum": 0, "maximum": 255 },
///         },
///         "required": ["city"],
///     })
/// );
/// # Ok::<(), String>(())
/// ```
pub fn of<T: JsonSchema>(dialect: SchemaDialect) -> Result<Value, String> {
    let plain = SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>();
    input(plain.to_value(), dialect, &T::schema_name()).map_err(|kind| {
        format!("tool arguments must be an object (a struct or a map); `{}` gives {kind}", short_name::<T>())
    })
}

/// Returns the schema of a tool's structured output: of the JSON that `T` is serialized to.
///
/// Unlike in arguments, `null` stays: an `Option` that is `None` is serialized as `null`, and clients validate that. The
/// root need not be an object, although revisions before 2026-07-28 require it.
pub fn of_output<T: JsonSchema>(dialect: SchemaDialect) -> Value {
    let plain = SchemaSettings::draft2020_12().for_serialize().into_generator().into_root_schema_for::<T>();
    output(plain.to_value(), dialect, &T::schema_name())
}

/// Returns the schema of an elicitation form: one flat object of strings, numbers, booleans, enums and lists of enums.
///
/// # Errors
/// If `T` has anything else. The message names the field, for the developer.
///
/// ```
/// use couplet_server::schema;
///
/// #[derive(schemars::JsonSchema)]
/// struct Confirm {
///     /// Go ahead?
///     ok: bool,
/// }
///
/// let form = schema::elicit_form::<Confirm>()?;
/// assert_eq!(form["properties"]["ok"], serde_json::json!({ "type": "boolean", "description": "Go ahead?" }));
/// # Ok::<(), String>(())
/// ```
pub fn elicit_form<T: JsonSchema>() -> Result<Value, String> {
    let plain = SchemaSettings::draft2020_12().for_deserialize().into_generator().into_root_schema_for::<T>();
    form::form(&plain.to_value(), &short_name::<T>())
}

/// The type's name without module paths.
fn short_name<T>() -> String {
    let in_path = |c: char| c.is_alphanumeric() || c == '_' || c == ':';
    let pieces = std::any::type_name::<T>().split_inclusive(|c| !in_path(c));
    pieces.map(|piece| piece.rsplit("::").next().unwrap_or(piece)).collect()
}

fn input(plain: Value, dialect: SchemaDialect, title: &str) -> Result<Value, String> {
    let mut root = Pass::over(&plain, Nulls::Drop, Enums::Fold).root(title);
    let kind = kind(&root);
    if kind != "`object`" {
        return Err(kind);
    }
    match (dialect, plain) {
        (SchemaDialect::Plain, Value::Object(plain)) => root = plain,
        _ => {
            merge_alternatives(&mut root);
            // The OpenAI API refuses an object without them, even if there are none.
            root.entry("properties").or_insert_with(|| json!({}));
        }
    }
    root.insert("type".into(), "object".into());
    Ok(Value::Object(root))
}

fn output(plain: Value, dialect: SchemaDialect, title: &str) -> Value {
    if dialect == SchemaDialect::Plain {
        return plain;
    }
    let mut root = Pass::over(&plain, Nulls::Keep, Enums::Fold).root(title);
    if !root.is_empty() && kind(&root) == "`object`" {
        root.insert("type".into(), "object".into());
    }
    Value::Object(root)
}

/// The types a schema allows, in backticks; a schema that allows anything counts as an object.
fn kind(schema: &Map<String, Value>) -> String {
    let mut kinds: Vec<String> = match (schema.get("type"), alternatives(schema)) {
        (Some(Value::Array(types)), _) => types.iter().filter_map(Value::as_str).map(|t| format!("`{t}`")).collect(),
        (Some(Value::String(one)), _) => vec![format!("`{one}`")],
        (_, Some(members)) => members.iter().filter_map(Value::as_object).map(kind).collect(),
        _ => vec!["`object`".into()],
    };
    kinds.dedup();
    kinds.join(" or ")
}

fn alternatives(schema: &Map<String, Value>) -> Option<&Vec<Value>> {
    ["oneOf", "anyOf", "allOf"].iter().find_map(|key| schema.get(*key)?.as_array())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Nulls {
    Keep,
    Drop,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Enums {
    /// Leave documented enums as `oneOf` of `const`.
    Keep,
    /// Write them as one `enum`, their documentation in the description.
    Fold,
}

/// The maximum number of references that are replaced: types that contain each other would grow without bound.
const MAX_INLINED: usize = 256;

/// The conversion from the output of `schemars` to the portable dialect.
struct Pass<'a> {
    plain: &'a Value,
    nulls: Nulls,
    enums: Enums,
    /// The references being replaced, outermost first. One that comes again is recursion.
    open: Vec<String>,
    inlined: usize,
}

impl<'a> Pass<'a> {
    fn over(plain: &'a Value, nulls: Nulls, enums: Enums) -> Self {
        Self { plain, nulls, enums, open: vec!["#".into()], inlined: 0 }
    }

    /// The whole schema. The title that `schemars` makes of the type's name goes, one the developer wrote stays.
    fn root(&mut self, type_name: &str) -> Map<String, Value> {
        let mut root = self.schema(self.plain);
        if root.get("title").and_then(Value::as_str) == Some(type_name) {
            root.remove("title");
        }
        root
    }

    fn schema(&mut self, plain: &Value) -> Map<String, Value> {
        let Value::Object(plain) = plain else {
            return if *plain == Value::Bool(false) { Map::from_iter([("not".into(), json!({}))]) } else { Map::new() };
        };
        let outside = self.open.len();
        let mut out = Map::new();
        for (key, value) in self.flatten(plain.clone()) {
            let value = match (key.as_str(), value) {
                ("$schema" | "$defs", _) => continue,
                ("format", Value::String(format)) if !STANDARD_FORMATS.contains(&format.as_str()) => continue,
                ("properties" | "patternProperties", Value::Object(members)) => {
                    members.iter().map(|(name, member)| (name.clone(), Value::Object(self.schema(member)))).collect()
                }
                ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(members)) => {
                    members.iter().map(|member| Value::Object(self.schema(member))).collect()
                }
                ("additionalProperties" | "unevaluatedProperties", value @ Value::Bool(_)) => value,
                ("additionalProperties" | "unevaluatedProperties" | "items" | "not" | "contains", value) => {
                    self.schema(&value).into()
                }
                (_, value) => value,
            };
            out.insert(key, value);
        }
        self.open.truncate(outside);
        self.tidy(&mut out);
        out
    }

    /// Inlines references and needless wrappers, until the schema has none.
    fn flatten(&mut self, mut schema: Map<String, Value>) -> Map<String, Value> {
        loop {
            if self.nulls == Nulls::Drop {
                drop_nulls(&mut schema);
            }
            let inner = match schema.remove("$ref") {
                Some(reference) => Some(self.referred(reference.as_str().unwrap_or_default())),
                None => only_member(&mut schema),
            };
            match inner {
                Some(inner) => merge(&mut schema, inner),
                None => return schema,
            }
        }
    }

    fn referred(&mut self, reference: &str) -> Map<String, Value> {
        let target = reference.strip_prefix('#').and_then(|pointer| self.plain.pointer(pointer)?.as_object());
        let Some(target) = target else { return Map::new() };
        if self.open.iter().any(|open| open == reference) || self.inlined >= MAX_INLINED {
            let title = target.get("title").and_then(Value::as_str);
            let name = title.or(reference.rsplit('/').next()).unwrap_or(reference);
            let mut cut = Map::from_iter([("description".into(), format!("a `{name}`, of the same shape").into())]);
            cut.extend(target.get("type").map(|kind| ("type".into(), kind.clone())));
            return cut;
        }
        self.inlined += 1;
        self.open.push(reference.to_owned());
        target.clone()
    }

    fn tidy(&self, schema: &mut Map<String, Value>) {
        if self.enums == Enums::Fold {
            fold_enum(schema);
            if let Some(value) = schema.remove("const") {
                schema.insert("enum".into(), json!([value]));
            }
        }
        if let Some(Value::Array(places)) = schema.remove("prefixItems") {
            let mut kinds: Vec<Value> = Vec::new();
            places.into_iter().for_each(|place| push_new(&mut kinds, place));
            let items = if kinds.len() == 1 { kinds.remove(0) } else { json!({ "anyOf": kinds }) };
            schema.entry("items").or_insert(items);
        }
        if schema.get("type").is_some_and(|kind| kind == "array") {
            schema.entry("items").or_insert_with(|| json!({}));
        }
        close(schema);
    }
}

/// The formats that JSON Schema defines; `schemars` adds its own for Rust's numbers.
const STANDARD_FORMATS: [&str; 19] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "idn-email",
    "hostname",
    "idn-hostname",
    "ipv4",
    "ipv6",
    "uri",
    "uri-reference",
    "iri",
    "iri-reference",
    "uuid",
    "uri-template",
    "json-pointer",
    "relative-json-pointer",
    "regex",
];

/// Adds what a referred schema says to what stands beside the reference, which is nearer and so wins.
fn merge(near: &mut Map<String, Value>, far: Map<String, Value>) {
    for (key, far) in far {
        match (key.as_str(), near.get_mut(&key), far) {
            ("properties", Some(Value::Object(near)), Value::Object(far)) => {
                far.into_iter().for_each(|(name, member)| {
                    near.entry(name).or_insert(member);
                });
            }
            ("required", Some(Value::Array(near)), Value::Array(far)) => {
                far.into_iter().for_each(|name| push_new(near, name));
            }
            (_, Some(_), _) => {}
            (_, None, far) => {
                near.insert(key, far);
            }
        }
    }
}

fn push_new(list: &mut Vec<Value>, value: Value) {
    if !list.contains(&value) {
        list.push(value);
    }
}

/// The member of an `allOf`, `anyOf` or `oneOf` that has one only.
fn only_member(schema: &mut Map<String, Value>) -> Option<Map<String, Value>> {
    let single = |key: &&str| schema.get(*key).and_then(Value::as_array).is_some_and(|members| members.len() == 1);
    let key = ["allOf", "anyOf", "oneOf"].into_iter().find(|key| single(key))?;
    into_object(schema.remove(key)?.get_mut(0)?.take())
}

/// Takes `null` out of everything that also allows something else. (`Option` fields are not `required` as it is.)
fn drop_nulls(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [kind] = &mut types[..] {
            let kind = kind.take();
            schema.insert("type".into(), kind);
        }
    }
    if let Some(Value::Array(values)) = schema.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(members)) = schema.get_mut(key)
            && members.iter().any(|member| member["type"] != "null")
        {
            members.retain(|member| member["type"] != "null");
        }
    }
    if let Some(default) = schema.get_mut("default") {
        drop_null_members(default);
        if default.is_null() {
            schema.remove("default");
        }
    }
}

fn drop_null_members(value: &mut Value) {
    if let Value::Object(members) = value {
        members.retain(|_, member| !member.is_null());
        members.values_mut().for_each(drop_null_members);
    }
}

/// Writes a `oneOf` of string constants as one `enum`.
fn fold_enum(schema: &mut Map<String, Value>) {
    let Some(choices) = schema.get("oneOf").and_then(choices) else { return };
    let mut lines: Vec<String> =
        schema.get("description").and_then(Value::as_str).map(str::to_owned).into_iter().collect();
    lines.extend(choices.iter().filter_map(|(value, label)| Some(format!("- `{value}`: {}", label.as_ref()?))));
    let values: Vec<_> = choices.into_iter().map(|(value, _)| value).collect();
    schema.remove("oneOf");
    schema.insert("type".into(), "string".into());
    schema.insert("enum".into(), json!(values));
    if !lines.is_empty() {
        schema.insert("description".into(), lines.join("\n").into());
    }
}

/// The strings that a list of alternatives allows, with their titles or descriptions; `None` if it allows more.
fn choices(members: &Value) -> Option<Vec<(String, Option<String>)>> {
    let mut choices = Vec::new();
    for member in members.as_array()? {
        let label = member.get("title").or(member.get("description")).and_then(Value::as_str).map(str::to_owned);
        let values = match (member.get("const"), member.get("enum")) {
            (Some(value), _) => std::slice::from_ref(value),
            (None, values) => values?.as_array()?,
        };
        for value in values {
            choices.push((value.as_str()?.to_owned(), label.clone()));
        }
    }
    Some(choices)
}

/// Without alternatives, `unevaluatedProperties` says the same as `additionalProperties`, which more hosts know.
fn close(schema: &mut Map<String, Value>) {
    if alternatives(schema).is_none()
        && !schema.contains_key("additionalProperties")
        && let Some(rest) = schema.remove("unevaluatedProperties")
    {
        schema.insert("additionalProperties".into(), rest);
    }
}

/// Writes alternatives at the root, which model APIs refuse, as one object that has the properties of all of them.
/// Their common required properties stay required; the description says which properties go together.
fn merge_alternatives(root: &mut Map<String, Value>) {
    if let Some(Value::Array(members)) = root.remove("allOf") {
        members.into_iter().filter_map(into_merged).for_each(|member| merge(root, member));
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(members)) = root.remove(key) else { continue };
        let members: Vec<_> = members.into_iter().filter_map(into_merged).collect();
        let common = |name: &Value| members.iter().all(|member| required(member).contains(name));
        let names: Vec<Value> =
            members.first().map(required).unwrap_or_default().iter().filter(|name| common(name)).cloned().collect();
        let closed = members.iter().all(|member| member.get("additionalProperties") == Some(&Value::Bool(false)));
        let sets: Vec<_> = members.iter().map(describe).filter(|set| !set.is_empty()).collect();
        let own = root.get("description").and_then(Value::as_str).map(|own| format!("{own}\n")).unwrap_or_default();

        let mut merged = Map::new();
        for (name, member) in
            members.into_iter().filter_map(|mut member| into_object(member.remove("properties")?)).flatten()
        {
            match merged.get_mut(&name) {
                Some(known) => widen(known, member),
                None => drop(merged.insert(name, member)),
            }
        }
        merge(root, Map::from_iter([("properties".into(), merged.into()), ("required".into(), names.into())]));
        if closed {
            root.entry("additionalProperties").or_insert(false.into());
        }
        root.insert("description".into(), format!("{own}Give one of these sets:\n{}", sets.join("\n")).into());
    }
    close(root);
}

fn into_merged(member: Value) -> Option<Map<String, Value>> {
    let mut member = into_object(member)?;
    merge_alternatives(&mut member);
    Some(member)
}

fn into_object(value: Value) -> Option<Map<String, Value>> {
    match value {
        Value::Object(map) => Some(map),
        _ => None,
    }
}

fn required(schema: &Map<String, Value>) -> &[Value] {
    schema.get("required").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

/// An alternative in a line: "- `kind` "circle", `radius`: A round one."
fn describe(member: &Map<String, Value>) -> String {
    let names = required(member).iter().filter_map(Value::as_str).map(|name| {
        let only = member.get("properties").and_then(|all| all.get(name)?.get("enum")?.as_array());
        match only.map(Vec::as_slice) {
            Some([value]) => format!("`{name}` {value}"),
            _ => format!("`{name}`"),
        }
    });
    let names = names.collect::<Vec<_>>().join(", ");
    match member.get("description").and_then(Value::as_str) {
        Some(text) => format!("- {names}: {text}"),
        None if names.is_empty() => names,
        None => format!("- {names}"),
    }
}

/// Lets a property be what another alternative says it is.
fn widen(known: &mut Value, other: Value) {
    if *known == other {
        return;
    }
    if known["type"] == other["type"]
        && let (Some(Value::Array(known)), Some(Value::Array(other))) = (known.get_mut("enum"), other.get("enum"))
    {
        other.iter().for_each(|value| push_new(known, value.clone()));
        return;
    }
    if let Some(members) = known.get_mut("anyOf").and_then(Value::as_array_mut) {
        push_new(members, other);
        return;
    }
    *known = json!({ "anyOf": [known.take(), other] });
}

#[cfg(test)]
mod tests;
