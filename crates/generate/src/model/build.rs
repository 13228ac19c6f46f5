//! From JSON Schema to types. All work is bounded: a schema is text of a server.

use std::collections::{HashMap, VecDeque};

use super::{Docs, Integer, Kind, Literal, Type, TypeDef, TypeId};
use crate::{
    json::Json,
    names::{Scope, pascal},
};

/// The number of schemas that are converted for one client; those beyond it are any JSON value.
const MOST_SCHEMAS: usize = 100_000;
/// The number of definitions that are compared with those of other tools.
const MOST_COMPARISONS: usize = 20_000;
/// The depth of nested schemas, without references.
const DEEPEST: usize = 64;
/// The length of a name that is made of those around it.
const LONGEST_NAME: usize = 96;

/// A schema that is converted: a root in which references are resolved, and a name for what it defines.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a, 'n> {
    pub(super) root: usize,
    pub(super) document: &'a Json,
    /// The name of the tool, in Pascal case.
    pub(super) owner: &'n str,
    /// The name of the type, if it needs one.
    pub(super) name: &'n str,
    pub(super) depth: usize,
}

impl<'n> Place<'_, 'n> {
    /// The place of a schema inside.
    pub(super) fn named(self, name: &'n str) -> Self {
        Self { name, depth: self.depth + 1, ..self }
    }

    /// A name for a type inside.
    pub(super) fn join(&self, part: &str) -> String {
        let name = format!("{}{part}", self.name);
        name.chars().take(LONGEST_NAME).collect()
    }
}

/// A type that has a number and is not yet defined.
#[derive(Debug)]
pub(super) struct Pending<'a> {
    id: TypeId,
    root: usize,
    document: &'a Json,
    schema: &'a Json,
    owner: String,
}

/// What a schema is: a type by itself, or one that needs a name.
#[derive(Debug)]
pub(super) enum Shape {
    Type(Type),
    Kind(Kind),
}

#[derive(Debug)]
pub(super) struct Builder<'a> {
    pub(super) types: Vec<TypeDef>,
    pub(super) scope: Scope,
    /// References by root and pointer.
    pub(super) references: HashMap<(usize, String), TypeId>,
    /// The same definitions in other roots.
    pub(super) shared: HashMap<String, TypeId>,
    queue: VecDeque<Pending<'a>>,
    roots: usize,
    left: usize,
    /// The number of definitions that are still compared with those of other tools.
    pub(super) comparisons: usize,
}

impl<'a> Builder<'a> {
    pub(super) fn new(scope: Scope) -> Self {
        Self {
            types: Vec::new(),
            scope,
            references: HashMap::new(),
            shared: HashMap::new(),
            queue: VecDeque::new(),
            roots: 0,
            left: MOST_SCHEMAS,
            comparisons: MOST_COMPARISONS,
        }
    }

    /// Converts a schema of a tool, and everything that it refers to.
    pub(super) fn root(&mut self, schema: &'a Json, owner: &str, name: &str) -> TypeId {
        let root = self.roots;
        self.roots += 1;
        let id = self.declare(name, Docs::of(schema));
        self.references.insert((root, String::new()), id);
        self.later(id, (root, schema), schema, owner);
        while let Some(next) = self.queue.pop_front() {
            self.define(next);
        }
        id
    }

    /// Takes a number and a name for a type that is defined later.
    pub(super) fn declare(&mut self, name: &str, docs: Docs) -> TypeId {
        let name = self.scope.claim(name, "Type");
        self.types.push(TypeDef { name, docs, kind: Kind::Alias(Type::Any) });
        self.types.len() - 1
    }

    pub(super) fn later(&mut self, id: TypeId, at: (usize, &'a Json), schema: &'a Json, owner: &str) {
        self.queue.push_back(Pending { id, root: at.0, document: at.1, schema, owner: owner.to_owned() });
    }

    fn define(&mut self, Pending { id, root, document, schema, owner }: Pending<'a>) {
        let name = self.types.get(id).map(|def| def.name.clone()).unwrap_or_default();
        let kind = match self.shape(schema, Place { root, document, owner: &owner, name: &name, depth: 0 }) {
            Shape::Kind(kind) => kind,
            Shape::Type(ty) => Kind::Alias(ty),
        };
        if let Some(def) = self.types.get_mut(id) {
            def.kind = kind;
        }
    }

    /// Converts a schema to a type. One that needs a name gets that of its place.
    pub(super) fn convert(&mut self, schema: &Json, place: Place<'a, '_>) -> Type {
        match self.shape(schema, place) {
            Shape::Type(ty) => ty,
            Shape::Kind(kind) => {
                let id = self.declare(place.name, Docs::of(schema));
                if let Some(def) = self.types.get_mut(id) {
                    def.kind = kind;
                }
                Type::Named(id)
            }
        }
    }

    fn shape(&mut self, schema: &Json, place: Place<'a, '_>) -> Shape {
        if self.left == 0 || place.depth > DEEPEST || schema.members().is_none() {
            return Shape::Type(Type::Any);
        }
        self.left -= 1;
        let has_null = |values: &[Json]| values.len() > 1 && values.contains(&Json::Null);
        let is_nullable = schema.get("nullable").is_some_and(Json::is_true)
            || schema.get("enum").and_then(Json::items).is_some_and(has_null);
        match self.not_null(schema, place) {
            Shape::Type(ty) if is_nullable => Shape::Type(ty.nullable()),
            Shape::Kind(kind) if is_nullable => Shape::Type(self.nested(kind, place).nullable()),
            shape => shape,
        }
    }

    /// A type of its own for a kind that is a part of the type at this place.
    pub(super) fn nested(&mut self, kind: Kind, place: Place<'a, '_>) -> Type {
        let name = if self.scope.is_free(place.name) { place.name.to_owned() } else { place.join("Value") };
        let id = self.declare(&name, Docs::default());
        if let Some(def) = self.types.get_mut(id) {
            def.kind = kind;
        }
        Type::Named(id)
    }

    fn not_null(&mut self, schema: &Json, place: Place<'a, '_>) -> Shape {
        if let Some(pointer) = schema.get("$ref").and_then(Json::as_str) {
            return Shape::Type(self.reference(pointer, place));
        }
        if schema.get("$dynamicRef").is_some() {
            return Shape::Type(Type::Any);
        }
        if let Some(value) = schema.get("const") {
            return literals(std::slice::from_ref(value));
        }
        if let Some(values) = schema.get("enum").and_then(Json::items) {
            return literals(values);
        }
        if schema.get("allOf").is_some() {
            return match self.merged(schema, place) {
                Some(merged) => self.not_null(&merged, place.named(place.name)),
                None => Shape::Type(Type::Any),
            };
        }
        if let Some(union) = self.alternatives(schema, place) {
            return union;
        }
        self.by_type(schema, place)
    }

    fn by_type(&mut self, schema: &Json, place: Place<'a, '_>) -> Shape {
        let has = |keys: &[&str]| keys.iter().any(|key| schema.get(key).is_some());
        match schema.get("type") {
            Some(Json::String(one)) => self.one_type(one, schema, place),
            Some(Json::Array(several)) => self.several_types(several, schema, place),
            None if has(&["properties", "required", "additionalProperties", "patternProperties"]) => {
                self.object(schema, place)
            }
            None if has(&["items", "prefixItems"]) => self.one_type("array", schema, place),
            _ => Shape::Type(Type::Any),
        }
    }

    pub(super) fn one_type(&mut self, name: &str, schema: &Json, place: Place<'a, '_>) -> Shape {
        Shape::Type(match name {
            "null" => Type::Null,
            "boolean" => Type::Boolean,
            "integer" => Type::Integer(range(schema)),
            "number" => Type::Number,
            "string" => Type::String,
            "array" => self.array(schema, place),
            "object" => return self.object(schema, place),
            _ => Type::Any,
        })
    }

    fn array(&mut self, schema: &Json, place: Place<'a, '_>) -> Type {
        let item_name = place.join("Item");
        let count = |key: &str| schema.get(key).and_then(Json::as_number).and_then(serde_json::Number::as_u64);
        // Before 2020-12, `items` was also for tuples.
        let old = schema.get("items").and_then(Json::items);
        if let Some(items) = schema.get("prefixItems").and_then(Json::items).or(old) {
            let length = items.len() as u64;
            let is_closed = schema.get("items") == Some(&Json::Bool(false)) || count("maxItems") == Some(length);
            if !is_closed || count("minItems") != Some(length) || !(1..=12).contains(&length) {
                return Type::Array(Box::new(Type::Any));
            }
            let names: Vec<_> = (1..=items.len()).map(|n| format!("{item_name}{n}")).collect();
            let types = items.iter().zip(&names).map(|(item, name)| self.convert(item, place.named(name)));
            return Type::Tuple(types.collect());
        }
        let item = schema.get("items").map_or(Type::Any, |item| self.convert(item, place.named(&item_name)));
        Type::Array(Box::new(item))
    }

    fn several_types(&mut self, names: &[Json], schema: &Json, place: Place<'a, '_>) -> Shape {
        let names: Vec<&str> = names.iter().filter_map(Json::as_str).collect();
        let alternatives: Vec<_> = names
            .iter()
            .filter(|name| **name != "null")
            .map(|name| (pascal(name), Alternative::OfType(name)))
            .collect();
        let is_nullable = alternatives.len() < names.len();
        self.union(&alternatives, schema, is_nullable, place)
    }
}

/// One of the types in a union.
#[derive(Debug)]
pub(super) enum Alternative<'s> {
    /// The same schema, with one of its types.
    OfType(&'s str),
    Schema(std::borrow::Cow<'s, Json>),
}

/// The type of values that are listed, without `null` among others.
fn literals(values: &[Json]) -> Shape {
    let mut list: Vec<Literal> = Vec::new();
    for value in values.iter().filter(|value| **value != Json::Null) {
        let literal = match value {
            Json::Bool(value) => Literal::Boolean(*value),
            Json::String(text) => Literal::String(text.clone()),
            Json::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(integer), _) => Literal::Integer(integer),
                (None, Some(float)) => Literal::Number(float),
                (None, None) => return Shape::Type(Type::Any),
            },
            Json::Null | Json::Array(_) | Json::Object(_) => return Shape::Type(Type::Any),
        };
        if !list.contains(&literal) {
            list.push(literal);
        }
    }
    let texts: Option<Vec<String>> = list
        .iter()
        .map(|literal| if let Literal::String(text) = literal { Some(text.clone()) } else { None })
        .collect();
    match texts {
        _ if values.is_empty() => Shape::Type(Type::Any),
        _ if list.is_empty() => Shape::Type(Type::Null),
        Some(texts) => Shape::Kind(super::union::strings(texts)),
        None => Shape::Type(Type::Literals(list)),
    }
}

fn range(schema: &Json) -> Integer {
    match schema.get("format").and_then(Json::as_str) {
        Some("int8") => Integer::Signed(8),
        Some("int16") => Integer::Signed(16),
        Some("int32") => Integer::Signed(32),
        Some("uint8") => Integer::Unsigned(8),
        Some("uint16") => Integer::Unsigned(16),
        Some("uint32") => Integer::Unsigned(32),
        Some("uint" | "uint64") => Integer::Unsigned(64),
        _ => {
            let least = |key: &str| schema.get(key).and_then(Json::as_number).and_then(serde_json::Number::as_f64);
            let is_unsigned = least("minimum").is_some_and(|n| n >= 0.0) || least("exclusiveMinimum") >= Some(0.0);
            if is_unsigned { Integer::Unsigned(64) } else { Integer::Signed(64) }
        }
    }
}
