//! Values of a type, for tests.

use super::{Integer, Kind, Literal, Model, Type, TypeId};
use crate::json::Json;

/// The depth to which optional members are filled in, and the depth at which a value is given up.
const DEPTHS: (usize, usize) = (4, 24);

/// A value of a type; none if each value would contain another one of its type.
pub(crate) fn sample(model: &Model, id: TypeId) -> Option<Json> {
    of(model, &Type::Named(id), 0)
}

fn of(model: &Model, ty: &Type, depth: usize) -> Option<Json> {
    if depth > DEPTHS.1 {
        return None;
    }
    let text = |text: &str| Json::String(text.to_owned());
    let number = |value: f64| serde_json::Number::from_f64(value).map(Json::Number);
    Some(match ty {
        Type::Any | Type::String => text("text"),
        Type::Null => Json::Null,
        Type::Boolean => Json::Bool(true),
        Type::Integer(Integer::Signed(_) | Integer::Unsigned(_)) => Json::Number(1.into()),
        Type::Number => number(1.5)?,
        // An empty list is a value, too.
        Type::Array(inner) => Json::Array(of(model, inner, depth + 1).into_iter().collect()),
        Type::Tuple(items) => Json::Array(items.iter().map(|item| of(model, item, depth + 1)).collect::<Option<_>>()?),
        Type::Map(inner) => {
            Json::Object(of(model, inner, depth + 1).map(|value| ("key".to_owned(), value)).into_iter().collect())
        }
        Type::Nullable(inner) => of(model, inner, depth + 1).unwrap_or(Json::Null),
        Type::Literals(list) => match list.first()? {
            Literal::Boolean(value) => Json::Bool(*value),
            Literal::Integer(value) => Json::Number((*value).into()),
            Literal::Number(value) => number(*value)?,
            Literal::String(value) => text(value),
        },
        Type::Named(id) => match &model.types.get(*id)?.kind {
            Kind::Alias(ty) => of(model, ty, depth + 1)?,
            Kind::Enum(values) => text(&values.first()?.text),
            Kind::Union(variants) => variants.iter().find_map(|variant| of(model, &variant.ty, depth + 1))?,
            Kind::Object(object) => {
                let mut members = Vec::new();
                for field in &object.fields {
                    let is_wanted = field.is_required || depth < DEPTHS.0;
                    match is_wanted.then(|| of(model, &field.ty, depth + 1)).flatten() {
                        Some(value) => members.push((field.name.clone(), value)),
                        None if field.is_required => return None,
                        None => {}
                    }
                }
                Json::Object(members)
            }
        },
    })
}
