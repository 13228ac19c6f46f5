//! Types in Python: typed dictionaries and aliases.

use std::collections::HashSet;

use crate::{
    model::{Field, Kind, Literal, Model, Object, Type, TypeDef},
    writer::Writer,
};

use super::{
    KEYWORDS,
    text::{comments, docstring, literal},
};

/// The names that annotations use: a member of that name would be taken for the type.
const USED: &str = "Any Literal NotRequired None bool dict float int list str";

pub(super) fn write(model: &Model, out: &mut Writer) {
    let mut taken: HashSet<&str> = KEYWORDS.split_whitespace().chain(USED.split_whitespace()).collect();
    taken.extend(model.types.iter().map(|def| def.name.as_str()));
    for def in &model.types {
        out.gap();
        out.gap();
        match &def.kind {
            Kind::Object(object) if object.fields.iter().all(|field| is_attribute(&field.name, &taken)) => {
                class(model, def, object, out);
            }
            Kind::Object(object) => call(model, def, object, out),
            kind => alias(model, def, kind, out),
        }
    }
}

/// Whether a member can be written as an attribute of a class. Names with two underscores would be changed.
fn is_attribute(name: &str, taken: &HashSet<&str>) -> bool {
    let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_start)
        && name.chars().all(|c| is_start(c) || c.is_ascii_digit())
        && !name.starts_with("__")
        && !taken.contains(name)
}

fn class(model: &Model, def: &TypeDef, object: &Object, out: &mut Writer) {
    out.line(format!("class {}(TypedDict):", def.name));
    out.indented(|out| {
        let last = object.rest.as_ref().map(|_| "Other members are permitted.");
        docstring(&def.docs, last, out);
        for field in &object.fields {
            comments(&field.docs, out);
            out.line(format!("{}: {}", field.name, member(model, field)));
        }
    });
}

fn call(model: &Model, def: &TypeDef, object: &Object, out: &mut Writer) {
    comments(&def.docs, out);
    out.line(format!("{0} = TypedDict(\"{0}\", {{", def.name));
    out.indented(|out| {
        for field in &object.fields {
            comments(&field.docs, out);
            // In quotes, since a type may be defined below.
            out.line(format!("{}: {},", literal(&field.name), literal(&member(model, field))));
        }
    });
    out.line("})");
}

fn alias(model: &Model, def: &TypeDef, kind: &Kind, out: &mut Writer) {
    comments(&def.docs, out);
    let ty = match kind {
        Kind::Enum(values) => {
            let texts: Vec<_> = values.iter().map(|value| literal(&value.text)).collect();
            return out.line(format!("{}: TypeAlias = Literal[{}]", def.name, texts.join(", ")));
        }
        Kind::Union(variants) => {
            variants.iter().map(|variant| name(model, &variant.ty)).collect::<Vec<_>>().join(" | ")
        }
        Kind::Alias(ty) => name(model, ty),
        Kind::Object(_) => "Any".to_owned(),
    };
    out.line(format!("{}: TypeAlias = {}", def.name, literal(&ty)));
}

fn member(model: &Model, field: &Field) -> String {
    let ty = name(model, &field.ty);
    if field.is_required { ty } else { format!("NotRequired[{ty}]") }
}

/// The name of a type.
pub(super) fn name(model: &Model, ty: &Type) -> String {
    match ty {
        Type::Any => "Any".to_owned(),
        Type::Null => "None".to_owned(),
        Type::Boolean => "bool".to_owned(),
        Type::Integer(_) => "int".to_owned(),
        Type::Number => "float".to_owned(),
        Type::String => "str".to_owned(),
        Type::Array(inner) => format!("list[{}]", name(model, inner)),
        // JSON has lists; a tuple would never be received.
        Type::Tuple(_) => "list[Any]".to_owned(),
        Type::Map(inner) => format!("dict[str, {}]", name(model, inner)),
        Type::Named(id) => model.types.get(*id).map_or("Any", |def| &def.name).to_owned(),
        Type::Nullable(inner) => format!("{} | None", name(model, inner)),
        Type::Literals(list) => literals(list),
    }
}

/// Python has no literals of floating-point numbers.
fn literals(list: &[Literal]) -> String {
    if list.iter().any(|literal| matches!(literal, Literal::Number(_))) {
        return "Any".to_owned();
    }
    let texts = list.iter().map(|value| match value {
        Literal::Boolean(true) => "True".to_owned(),
        Literal::Boolean(false) => "False".to_owned(),
        Literal::Integer(value) => value.to_string(),
        Literal::Number(value) => value.to_string(),
        Literal::String(text) => literal(text),
    });
    format!("Literal[{}]", texts.collect::<Vec<_>>().join(", "))
}
