//! The model of a client: types and functions, before they are written in a language.
//!
//! It knows JSON Schema and the definitions of the protocol. It must not know how a language spells anything, except
//! that all of them write types in one way (`GetSumInput`).

mod build;
mod combine;
mod cycles;
mod docs;
mod functions;
mod object;
mod order;
mod reference;
mod sample;
mod union;

pub(crate) use cycles::components;
pub(crate) use docs::Docs;
pub(crate) use functions::model;
pub(crate) use sample::sample;

/// The number of a type in [`Model::types`].
pub(crate) type TypeId = usize;

/// Everything that a client has.
#[derive(Debug)]
pub(crate) struct Model {
    /// The name of the server, as it reports it.
    pub(crate) server: Option<String>,
    /// The name of the client's type.
    pub(crate) client: String,
    pub(crate) types: Vec<TypeDef>,
    pub(crate) tools: Vec<Tool>,
    pub(crate) prompts: Vec<Prompt>,
    pub(crate) templates: Vec<Template>,
}

/// A tool as a function.
#[derive(Debug)]
pub(crate) struct Tool {
    pub(crate) name: String,
    pub(crate) docs: Docs,
    /// The type of its arguments; none if it takes no arguments.
    pub(crate) input: Option<Input>,
    /// The type of its structured content; none if it has no schema.
    pub(crate) output: Option<TypeId>,
}

/// The arguments of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Input {
    pub(crate) ty: TypeId,
    /// Whether a call without arguments is valid.
    pub(crate) is_optional: bool,
}

/// A prompt as a function. Its arguments are strings.
#[derive(Debug)]
pub(crate) struct Prompt {
    pub(crate) name: String,
    pub(crate) docs: Docs,
    pub(crate) input: Option<Input>,
}

/// A resource template as a function. Its variables are strings.
#[derive(Debug)]
pub(crate) struct Template {
    pub(crate) name: String,
    pub(crate) uri: String,
    pub(crate) docs: Docs,
    pub(crate) input: Option<Input>,
}

/// A type with a name.
#[derive(Debug)]
pub(crate) struct TypeDef {
    pub(crate) name: String,
    pub(crate) docs: Docs,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Kind {
    Object(Object),
    /// One of several strings.
    Enum(Vec<EnumValue>),
    /// One of several types.
    Union(Vec<Variant>),
    /// Another name of a type.
    Alias(Type),
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Object {
    pub(crate) fields: Vec<Field>,
    /// The type of all other members, if the schema permits them explicitly.
    pub(crate) rest: Option<Type>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Field {
    /// The name of the member in JSON.
    pub(crate) name: String,
    pub(crate) docs: Docs,
    pub(crate) ty: Type,
    pub(crate) is_required: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct EnumValue {
    pub(crate) text: String,
    pub(crate) docs: Docs,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Variant {
    /// The name of the variant, in Pascal case, not yet unique.
    pub(crate) name: String,
    pub(crate) ty: Type,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// Any JSON value.
    Any,
    Null,
    Boolean,
    Integer(Integer),
    Number,
    String,
    Array(Box<Type>),
    Tuple(Vec<Type>),
    /// An object whose members all have one type.
    Map(Box<Type>),
    Named(TypeId),
    Nullable(Box<Type>),
    /// One of several values that are not all strings.
    Literals(Vec<Literal>),
}

/// The range of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Integer {
    Signed(u8),
    Unsigned(u8),
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Literal {
    Boolean(bool),
    Integer(i64),
    Number(f64),
    String(String),
}

impl Type {
    /// The type or `null`.
    pub(crate) fn nullable(self) -> Self {
        match self {
            Self::Any | Self::Null | Self::Nullable(_) => self,
            other => Self::Nullable(Box::new(other)),
        }
    }

    /// The types that it names, with whether each is reached without an array or a map between.
    pub(crate) fn each_named(&self, visit: &mut impl FnMut(TypeId, bool)) {
        self.walk(true, visit);
    }

    fn walk(&self, is_direct: bool, visit: &mut impl FnMut(TypeId, bool)) {
        match self {
            Self::Named(id) => visit(*id, is_direct),
            Self::Array(inner) | Self::Map(inner) => inner.walk(false, visit),
            Self::Nullable(inner) => inner.walk(is_direct, visit),
            Self::Tuple(items) => items.iter().for_each(|item| item.walk(is_direct, visit)),
            Self::Any
            | Self::Null
            | Self::Boolean
            | Self::Integer(_)
            | Self::Number
            | Self::String
            | Self::Literals(_) => {}
        }
    }
}

impl Kind {
    /// The types that occur in it.
    pub(crate) fn types(&self) -> Vec<&Type> {
        match self {
            Self::Object(object) => object.fields.iter().map(|field| &field.ty).chain(&object.rest).collect(),
            Self::Enum(_) => Vec::new(),
            Self::Union(variants) => variants.iter().map(|variant| &variant.ty).collect(),
            Self::Alias(ty) => vec![ty],
        }
    }
}
