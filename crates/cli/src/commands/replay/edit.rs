//! Edits of single members of messages; everything else stays byte for byte.

use couplet::types::{Map, RawJson, RequestId};
use serde::Serialize;
use serde_json::Value;

/// Replaces the id of a message.
pub(crate) fn with_id(message: &RawJson, id: &RequestId) -> RawJson {
    edited(message, |members| members.insert("id", raw(id)))
}

/// Replaces the member at a path, if it exists and `change` returns a value.
pub(crate) fn with_param(message: &RawJson, path: &[&str], change: impl Fn(&Value) -> Option<Value>) -> RawJson {
    let Some((first, rest)) = path.split_first() else {
        let value: Value = message.parse().unwrap_or_default();
        return change(&value).map_or_else(|| message.clone(), RawJson::from);
    };
    edited(message, |members| {
        // Keys of `_meta` may have a prefix.
        let key = members.keys().find(|key| *key == *first || key.ends_with(&format!("/{first}"))).map(str::to_owned);
        if let Some((key, inner)) = key.and_then(|key| members.get(&key).cloned().map(|inner| (key, inner))) {
            members.insert(key, with_param(&inner, rest, change));
        }
    })
}

/// Replaces strings that are values of their own.
pub(crate) fn with_texts(message: &RawJson, change: &impl Fn(&str) -> Option<String>) -> RawJson {
    let Ok(mut value) = message.parse::<Value>() else { return message.clone() };
    if replace(&mut value, change) { value.into() } else { message.clone() }
}

fn replace(value: &mut Value, change: &impl Fn(&str) -> Option<String>) -> bool {
    match value {
        Value::String(text) => match change(text) {
            Some(new) => {
                *text = new;
                true
            }
            None => false,
        },
        // `any` would stop at the first.
        Value::Array(items) => items.iter_mut().filter_map(|item| replace(item, change).then_some(())).count() > 0,
        Value::Object(members) => {
            members.values_mut().filter_map(|member| replace(member, change).then_some(())).count() > 0
        }
        _ => false,
    }
}

fn edited(message: &RawJson, edit: impl FnOnce(&mut Map<RawJson>)) -> RawJson {
    let Ok(mut members) = message.parse::<Map<RawJson>>() else { return message.clone() };
    edit(&mut members);
    raw(&members)
}

fn raw<T: Serialize>(value: &T) -> RawJson {
    RawJson::new(value).unwrap_or_default()
}
