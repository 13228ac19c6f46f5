//! The order of alternatives: the narrowest first, since parsers try them one after the other.

use super::{Kind, Type, TypeDef, TypeId};

/// The number of aliases that are followed.
const MOST_ALIASES: usize = 32;

/// Sorts the variants of each union.
pub(super) fn sort_variants(types: &mut [TypeDef]) {
    for id in 0..types.len() {
        let Kind::Union(variants) = &types[id].kind else { continue };
        let mut variants = variants.clone();
        variants.sort_by_key(|variant| rank(types, &variant.ty));
        types[id].kind = Kind::Union(variants);
    }
}

/// How much a type accepts: its family, and for objects how few members they need.
fn rank(types: &[TypeDef], ty: &Type) -> (u8, usize) {
    let mut ty = ty;
    for _ in 0..MOST_ALIASES {
        match ty {
            Type::Named(id) => match kind(types, *id) {
                Some(Kind::Alias(inner)) => ty = inner,
                Some(Kind::Enum(_)) => return (0, 0),
                Some(Kind::Object(object)) => {
                    return (7, usize::MAX - object.fields.iter().filter(|field| field.is_required).count());
                }
                Some(Kind::Union(_)) | None => return (8, 0),
            },
            Type::Nullable(inner) => ty = inner,
            _ => break,
        }
    }
    let family = match ty {
        Type::Literals(_) => 0,
        Type::Null | Type::Boolean => 1,
        Type::Integer(_) => 2,
        Type::Number => 3,
        Type::String => 4,
        Type::Tuple(_) => 5,
        Type::Array(_) => 6,
        Type::Map(_) => 9,
        Type::Any | Type::Named(_) | Type::Nullable(_) => 10,
    };
    (family, 0)
}

fn kind(types: &[TypeDef], id: TypeId) -> Option<&Kind> {
    types.get(id).map(|def| &def.kind)
}
