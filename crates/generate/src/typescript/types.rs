//! Types in TypeScript: interfaces and aliases.

use crate::{
    model::{Kind, Literal, Model, Object, Type, TypeDef},
    writer::Writer,
};

use super::text::{docs, key, literal};

pub(super) fn write(model: &Model, def: &TypeDef, out: &mut Writer) {
    out.gap();
    docs(&def.docs, None, out);
    let joined = |parts: Vec<String>| parts.join(" | ");
    let alias = match &def.kind {
        Kind::Object(members) => return object(model, &def.name, members, out),
        Kind::Enum(values) => joined(values.iter().map(|value| literal(&value.text)).collect()),
        Kind::Union(variants) => joined(variants.iter().map(|variant| name(model, &variant.ty)).collect()),
        Kind::Alias(ty) => name(model, ty),
    };
    out.line(format!("export type {} = {alias};", def.name));
}

fn object(model: &Model, type_name: &str, object: &Object, out: &mut Writer) {
    out.line(format!("export interface {type_name} {{"));
    out.indented(|out| {
        for field in &object.fields {
            docs(&field.docs, None, out);
            let mark = if field.is_required { "" } else { "?" };
            out.line(format!("{}{mark}: {};", key(&field.name), name(model, &field.ty)));
        }
        if object.rest.is_some() {
            // Its type would have to be that of all members.
            out.line("/** All other members. */");
            out.line("[key: string]: unknown;");
        }
    });
    out.line("}");
}

/// The name of a type.
fn name(model: &Model, ty: &Type) -> String {
    match ty {
        Type::Any => "unknown".to_owned(),
        Type::Null => "null".to_owned(),
        Type::Boolean => "boolean".to_owned(),
        Type::Integer(_) | Type::Number => "number".to_owned(),
        Type::String => "string".to_owned(),
        Type::Array(inner) => format!("Array<{}>", name(model, inner)),
        Type::Tuple(items) => {
            format!("[{}]", items.iter().map(|item| name(model, item)).collect::<Vec<_>>().join(", "))
        }
        Type::Map(inner) => format!("{{ [key: string]: {} }}", name(model, inner)),
        Type::Named(id) => model.types.get(*id).map_or("unknown", |def| &def.name).to_owned(),
        Type::Nullable(inner) => format!("{} | null", name(model, inner)),
        Type::Literals(list) => list.iter().map(one).collect::<Vec<_>>().join(" | "),
    }
}

fn one(value: &Literal) -> String {
    match value {
        Literal::Boolean(value) => value.to_string(),
        Literal::Integer(value) => value.to_string(),
        Literal::Number(value) => value.to_string(),
        Literal::String(text) => literal(text),
    }
}
