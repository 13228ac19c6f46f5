//! Multipart bodies: forms (RFC 7578), and other kinds in the same way.

use bytes::Bytes;
use serde_json::Value;

use super::{ArgumentError, body::File, values::text_of};
use crate::operation::{Member, is_concrete};

/// A part of a form.
struct Part {
    head: String,
    bytes: Bytes,
}

/// Writes the parts; returns the media type with the boundary, and the bytes.
pub(super) fn write(media_type: &str, given: &[(Member, &Value)]) -> Result<(String, Bytes), ArgumentError> {
    let mut parts = Vec::new();
    for (member, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        match value {
            Value::Array(items) => {
                for item in items {
                    parts.push(part(member, item)?);
                }
            }
            value => parts.push(part(member, value)?),
        }
    }
    let boundary = boundary(&parts);
    let mut bytes = Vec::new();
    for part in &parts {
        bytes.extend_from_slice(format!("--{boundary}\r\n{}\r\n", part.head).as_bytes());
        bytes.extend_from_slice(&part.bytes);
        bytes.extend_from_slice(b"\r\n");
    }
    bytes.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    let essence = if is_concrete(essence) { essence } else { "multipart/form-data" };
    Ok((format!("{essence}; boundary={boundary}"), bytes.into()))
}

fn part(member: &Member, value: &Value) -> Result<Part, ArgumentError> {
    let name = quoted(&member.name);
    if member.is_file {
        let file = File::read(&member.argument, value)?;
        let media_type = file.media_type.or(member.media_type.as_deref()).unwrap_or("application/octet-stream");
        let filename = quoted(file.name.unwrap_or("file"));
        let disposition = format!("Content-Disposition: form-data; name=\"{name}\"; filename=\"{filename}\"");
        return Ok(Part { head: format!("{disposition}\r\nContent-Type: {media_type}\r\n"), bytes: file.bytes });
    }
    let is_json = value.is_object() || value.is_array();
    let media_type = member.media_type.as_deref().or(is_json.then_some("application/json"));
    let media_type = media_type.map(|name| format!("Content-Type: {name}\r\n")).unwrap_or_default();
    let head = format!("Content-Disposition: form-data; name=\"{name}\"\r\n{media_type}");
    Ok(Part { head, bytes: text_of(value).into() })
}

/// Escapes a name as browsers do, so that it stays within its quotes and its line.
fn quoted(name: &str) -> String {
    let mut quoted = String::with_capacity(name.len());
    for c in name.chars() {
        match c {
            '"' => quoted.push_str("%22"),
            '\r' => quoted.push_str("%0D"),
            '\n' => quoted.push_str("%0A"),
            c if c.is_control() => {}
            c => quoted.push(c),
        }
    }
    quoted
}

/// Returns a boundary that no part contains. It begins with a digest, so that no content is likely to contain the first.
fn boundary(parts: &[Part]) -> String {
    let digest = parts
        .iter()
        .flat_map(|part| part.bytes.iter())
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    let contains = |boundary: &str| {
        let within = |bytes: &[u8]| bytes.windows(boundary.len()).any(|window| window == boundary.as_bytes());
        parts.iter().any(|part| within(&part.bytes) || within(part.head.as_bytes()))
    };
    let mut boundaries = (0_u64..).map(|number| format!("couplet-{:016x}", digest.wrapping_add(number)));
    boundaries.find(|boundary| !contains(boundary)).unwrap_or_default()
}
