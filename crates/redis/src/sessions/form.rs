//! The stored form of records and nodes, below the seal: lengths and bytes.

use std::sync::Arc;

use bytes::Bytes;
use couplet_http::server::{Node, SessionRecord};

/// A principal or nothing, the time, and the rest is the opening request.
pub(super) fn write_record(record: &SessionRecord) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_text(&mut bytes, record.principal.as_deref());
    bytes.extend_from_slice(&record.opened.to_be_bytes());
    bytes.extend_from_slice(&record.opening);
    bytes
}

pub(super) fn read_record(id: &str, bytes: &[u8]) -> Option<SessionRecord> {
    let (principal, rest) = read_text(bytes)?;
    let (opened, opening) = rest.split_first_chunk()?;
    let record = SessionRecord::new(id, principal, Bytes::copy_from_slice(opening));
    Some(record.opened(u64::from_be_bytes(*opened)))
}

/// A URL or nothing, and the rest is the id.
pub(super) fn write_node(node: &Node) -> Vec<u8> {
    let mut bytes = Vec::new();
    write_text(&mut bytes, node.url.as_deref());
    bytes.extend_from_slice(node.id.as_bytes());
    bytes
}

pub(super) fn read_node(bytes: &[u8]) -> Option<Node> {
    let (url, id) = read_text(bytes)?;
    let node = Node::new(std::str::from_utf8(id).ok()?);
    Some(match url {
        Some(url) => node.with_url(url),
        None => node,
    })
}

/// A length, with 1 added, so that 0 is nothing.
fn write_text(bytes: &mut Vec<u8>, text: Option<&str>) {
    let length = text.map_or(0, |text| text.len() as u64 + 1);
    bytes.extend_from_slice(&length.to_be_bytes());
    bytes.extend_from_slice(text.unwrap_or_default().as_bytes());
}

fn read_text(bytes: &[u8]) -> Option<(Option<Arc<str>>, &[u8])> {
    let (length, rest) = bytes.split_first_chunk()?;
    match u64::from_be_bytes(*length) {
        0 => Some((None, rest)),
        length => {
            let (text, rest) = rest.split_at_checked(usize::try_from(length - 1).ok()?)?;
            Some((Some(std::str::from_utf8(text).ok()?.into()), rest))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back() {
        for principal in [None, Some(""), Some("alice")] {
            for opening in [&b""[..], b"{}", b"\xff\0"] {
                let record = SessionRecord::new("id", principal.map(Arc::from), Bytes::from_static(opening)).opened(7);
                let bytes = write_record(&record);
                assert_eq!(read_record("id", &bytes), Some(record));
                let least = bytes.len() - opening.len();
                assert!((0..least).all(|length| read_record("id", &bytes[..length]).is_none()));
            }
        }
    }

    #[test]
    fn nodes_come_back() {
        for node in [Node::new("a"), Node::new("a").with_url("http://10.0.0.1:8080/mcp")] {
            assert_eq!(read_node(&write_node(&node)), Some(node));
        }
        assert_eq!(read_node(&[0xff; 8]), None);
        assert_eq!(read_node(&[]), None);
    }
}
