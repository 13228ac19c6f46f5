//! Names that are unique over all servers.

use hmac_sha256::Hash;

use super::{
    ServerId,
    id::{hex, is_hex},
};

/// The maximum length of an exposed name. Hosts add a prefix of their own and accept 64 characters.
pub(super) const LONGEST: usize = 48;

/// The maximum length of a name that is exposed without its server's id: the maximum of the specification.
const LONGEST_BARE: usize = 128;

/// The length of the hash behind the last underscore.
const HASH: usize = 8;

/// Returns the name under which a server's tool or prompt is exposed: `id__raw`.
///
/// The result has at most 48 characters of `A-Z`, `a-z`, `0-9`, `_` and `-`. A raw name that is too long, empty or has other
/// characters is truncated and escaped, and gets a hash of the id and the raw name. A raw name that ends like such a hash gets
/// one, too, so a changed name never equals an unchanged one.
///
/// ```
/// use couplet_host::names::{ServerId, exposed_name};
///
/// let files = ServerId::from_key("files");
/// assert_eq!(exposed_name(&files, "read_file"), "files__read_file");
/// assert_eq!(exposed_name(&files, "read file"), "files__read_file_d8793cb6");
/// ```
pub fn exposed_name(server: &ServerId, raw: &str) -> String {
    let prefix = server.as_str().len() + "__".len();
    let room = LONGEST - prefix;
    if raw.len() <= room && is_plain(raw) && !ends_like_a_hash(raw) {
        return format!("{server}__{raw}");
    }
    format!("{server}__{}", hashed(server, raw, room))
}

/// Returns the name without the server's id: as the server sent it, if the specification allows that name.
pub(super) fn bare_name(server: &ServerId, raw: &str) -> String {
    let is_allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b'/');
    if !raw.is_empty() && raw.len() <= LONGEST_BARE && raw.bytes().all(is_allowed) {
        return raw.to_owned();
    }
    hashed(server, raw, LONGEST)
}

/// Whether a name can be exposed as it is.
pub(super) fn is_plain(raw: &str) -> bool {
    !raw.is_empty() && raw.bytes().all(is_permitted)
}

fn is_permitted(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

fn ends_like_a_hash(raw: &str) -> bool {
    let hash = raw.rsplit_once('_').map(|(_, hash)| hash);
    hash.is_some_and(|hash| hash.len() == HASH && is_hex(hash))
}

fn hashed(server: &ServerId, raw: &str, room: usize) -> String {
    let mut hash = Hash::new();
    hash.update(server.as_str().as_bytes());
    hash.update([0]);
    hash.update(raw.as_bytes());
    let stem = raw.chars().take(room - HASH - 1);
    let mut name: String = stem.map(|c| if c.is_ascii() && is_permitted(c as u8) { c } else { '_' }).collect();
    name.push('_');
    name.push_str(&hex(&hash.finalize())[..HASH]);
    name
}
