//! Media types of files, from their first bytes or their names.
//!
//! The tables have the types that hosts show and models read. All others are `application/octet-stream`.

/// Returns the media type of a file: by its first bytes, then by its extension, then by whether it is text.
///
/// ```
/// use couplet_types::mime;
///
/// assert_eq!(mime::of(b"\x89PNG\r\n\x1a\n", "wrong.jpg"), "image/png");
/// assert_eq!(mime::of(b"# Notes", "notes.md"), "text/markdown");
/// assert_eq!(mime::of(b"plain words", ""), "text/plain");
/// assert_eq!(mime::of(b"\0\x01\x02", "a.unknown"), "application/octet-stream");
/// ```
pub fn of(bytes: &[u8], name: &str) -> &'static str {
    let named = of_name(name);
    match sniff(bytes) {
        // Many formats are archives inside, and some containers hold pictures, sound or both: the name knows which.
        Some("application/zip") => named.filter(|n| n.starts_with("application/")).unwrap_or("application/zip"),
        Some(container @ ("video/mp4" | "video/webm" | "audio/ogg")) => {
            let same = |n: &&str| n.split_once('/').map(|n| n.1) == container.split_once('/').map(|c| c.1);
            named.filter(same).unwrap_or(container)
        }
        Some(sniffed) => sniffed,
        // The first bytes of these are as good as any text's.
        None => match named {
            Some(named) if !is_binary(named) || !is_text(bytes) => named,
            _ if is_text(bytes) => "text/plain",
            _ => "application/octet-stream",
        },
    }
}

/// Returns the media type by the first bytes of a file, if they are known.
pub fn sniff(bytes: &[u8]) -> Option<&'static str> {
    let at = |place: usize, magic: &[u8]| bytes.get(place..).is_some_and(|rest| rest.starts_with(magic));
    if let Some((_, kind)) = MAGIC.iter().find(|(magic, _)| at(0, magic)) {
        return Some(kind);
    }
    if at(0, b"RIFF") {
        return RIFF.iter().find(|(kind, _)| at(8, kind)).map(|(_, mime)| *mime);
    }
    if at(4, b"ftyp") {
        return Some(BRANDS.iter().find(|(brand, _)| at(8, brand)).map_or("video/mp4", |(_, mime)| *mime));
    }
    // Frames of sound without a header: eleven bits in a row, and a layer (MP3) or none (AAC).
    match bytes {
        [0xff, second, ..] if second & 0xf6 == 0xf0 => Some("audio/aac"),
        [0xff, second, ..] if second & 0xe0 == 0xe0 && second & 0x06 != 0 && *second != 0xff => Some("audio/mpeg"),
        _ => sniff_text(bytes),
    }
}

/// Returns the media type by the extension of a file's name, if it is known.
pub fn of_name(name: &str) -> Option<&'static str> {
    let (_, extension) = name.rsplit_once('.')?;
    NAMES.iter().find(|(known, _)| known.eq_ignore_ascii_case(extension)).map(|(_, mime)| *mime)
}

/// Returns the usual extension of files of this type.
///
/// ```
/// assert_eq!(couplet_types::mime::extension("image/jpeg"), Some("jpg"));
/// ```
pub fn extension(mime_type: &str) -> Option<&'static str> {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    NAMES.iter().find(|(_, mime)| mime.eq_ignore_ascii_case(essence)).map(|(extension, _)| *extension)
}

/// Returns whether a media type is text, which needs no base64.
pub fn is_textual(mime_type: &str) -> bool {
    let essence = mime_type.split(';').next().unwrap_or_default().trim();
    let structured = essence.ends_with("+json") || essence.ends_with("+xml") || essence.ends_with("+yaml");
    essence.starts_with("text/")
        || structured
        || ["json", "xml", "javascript", "yaml", "toml", "sql"]
            .iter()
            .any(|name| essence.strip_prefix("application/") == Some(name))
}

fn is_binary(mime_type: &str) -> bool {
    !is_textual(mime_type)
}

fn is_text(bytes: &[u8]) -> bool {
    std::str::from_utf8(bytes).is_ok_and(|text| !text.contains('\0'))
}

/// Image and document formats that are text.
fn sniff_text(bytes: &[u8]) -> Option<&'static str> {
    let head = String::from_utf8_lossy(bytes.get(..512).unwrap_or(bytes)).to_ascii_lowercase();
    let head = head.trim_start_matches('\u{feff}').trim_start();
    let is_page = head.starts_with("<!doctype html") || head.starts_with("<html");
    let is_picture =
        head.starts_with("<svg") || ((head.starts_with("<?xml") || head.starts_with("<!")) && head.contains("<svg"));
    match (is_page, is_picture) {
        (true, _) => Some("text/html"),
        (_, true) => Some("image/svg+xml"),
        _ => None,
    }
}

const MAGIC: &[(&[u8], &str)] = &[
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\0", "image/tiff"),
    (b"MM\0*", "image/tiff"),
    (b"\0\0\x01\0", "image/x-icon"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
    (b"\x1a\x45\xdf\xa3", "video/webm"),
    (b"%PDF-", "application/pdf"),
    (b"PK\x03\x04", "application/zip"),
    (b"PK\x05\x06", "application/zip"),
    (b"\x1f\x8b", "application/gzip"),
];

const RIFF: &[(&[u8], &str)] = &[(b"WEBP", "image/webp"), (b"WAVE", "audio/wav"), (b"AVI ", "video/x-msvideo")];

const BRANDS: &[(&[u8], &str)] = &[
    (b"avif", "image/avif"),
    (b"avis", "image/avif"),
    (b"heic", "image/heic"),
    (b"heix", "image/heic"),
    (b"mif1", "image/heif"),
    (b"M4A ", "audio/mp4"),
    (b"M4B ", "audio/mp4"),
    (b"qt  ", "video/quicktime"),
];

/// The first extension of a type is the usual one.
const NAMES: &[(&str, &str)] = &[
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("svg", "image/svg+xml"),
    ("bmp", "image/bmp"),
    ("avif", "image/avif"),
    ("heic", "image/heic"),
    ("heif", "image/heif"),
    ("tiff", "image/tiff"),
    ("tif", "image/tiff"),
    ("ico", "image/x-icon"),
    ("wav", "audio/wav"),
    ("mp3", "audio/mpeg"),
    ("ogg", "audio/ogg"),
    ("oga", "audio/ogg"),
    ("opus", "audio/ogg"),
    ("flac", "audio/flac"),
    ("aac", "audio/aac"),
    ("m4a", "audio/mp4"),
    ("weba", "audio/webm"),
    ("webm", "video/webm"),
    ("mp4", "video/mp4"),
    ("mov", "video/quicktime"),
    ("avi", "video/x-msvideo"),
    ("ogv", "video/ogg"),
    ("pdf", "application/pdf"),
    ("zip", "application/zip"),
    ("gz", "application/gzip"),
    ("docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"),
    ("xlsx", "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"),
    ("pptx", "application/vnd.openxmlformats-officedocument.presentationml.presentation"),
    ("odt", "application/vnd.oasis.opendocument.text"),
    ("epub", "application/epub+zip"),
    ("wasm", "application/wasm"),
    ("json", "application/json"),
    ("jsonl", "application/jsonl"),
    ("xml", "application/xml"),
    ("yaml", "application/yaml"),
    ("yml", "application/yaml"),
    ("toml", "application/toml"),
    ("sql", "application/sql"),
    ("html", "text/html"),
    ("htm", "text/html"),
    ("css", "text/css"),
    ("js", "text/javascript"),
    ("mjs", "text/javascript"),
    ("csv", "text/csv"),
    ("tsv", "text/tab-separated-values"),
    ("md", "text/markdown"),
    ("markdown", "text/markdown"),
    ("txt", "text/plain"),
    ("log", "text/plain"),
    ("rs", "text/x-rust"),
    ("py", "text/x-python"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(bytes: &[u8], name: &str, expected: &str) {
        assert_eq!(of(bytes, name), expected, "{name} {bytes:?}");
    }

    #[test]
    fn the_first_bytes_tell() {
        for (bytes, expected) in [
            (&b"\x89PNG\r\n\x1a\n..."[..], "image/png"),
            (b"\xff\xd8\xff\xe0..JFIF", "image/jpeg"),
            (b"GIF89a..", "image/gif"),
            (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
            (b"RIFF\x10\0\0\0WAVEfmt ", "audio/wav"),
            (b"\0\0\0\x20ftypavif", "image/avif"),
            (b"\0\0\0\x20ftypM4A ", "audio/mp4"),
            (b"\0\0\0\x20ftypisom", "video/mp4"),
            (b"II*\0\x08\0", "image/tiff"),
            (b"\0\0\x01\0\x01\0", "image/x-icon"),
            (b"BM\x36\0", "image/bmp"),
            (b"ID3\x04", "audio/mpeg"),
            (b"\xff\xfb\x90\x44", "audio/mpeg"),
            (b"\xff\xf1\x50\x80", "audio/aac"),
            (b"fLaC\0", "audio/flac"),
            (b"OggS\0", "audio/ogg"),
            (b"%PDF-1.7", "application/pdf"),
            (b"PK\x03\x04", "application/zip"),
            (b"  <svg xmlns='x'>", "image/svg+xml"),
            (b"\xef\xbb\xbf<?xml version='1.0'?><!-- a --><svg>", "image/svg+xml"),
            (b"<!DOCTYPE HTML><p>", "text/html"),
        ] {
            check(bytes, "", expected);
            check(bytes, "lies.txt", expected);
        }
    }

    #[test]
    fn the_name_tells_what_the_bytes_do_not() {
        check(b"PK\x03\x04", "a.docx", NAMES.iter().find(|n| n.0 == "docx").unwrap().1);
        check(b"PK\x03\x04", "a.png", "application/zip");
        check(b"\x1a\x45\xdf\xa3", "a.weba", "audio/webm");
        check(b"\0\0\0\x20ftypisom", "a.m4a", "audio/mp4");
        check(b"{}", "a.JSON", "application/json");
        check(b"{}", "a.b/json", "text/plain");
        check(b"just words", "fake.png", "text/plain");
        check(b"\0\xff\xfe", "fake.png", "image/png");
        check(b"", "", "text/plain");
        check(b"\xff\xff", "x", "application/octet-stream");
    }

    #[test]
    fn types_have_an_ending() {
        assert_eq!(extension("text/plain; charset=utf-8"), Some("txt"));
        assert_eq!(extension("Image/PNG"), Some("png"));
        assert_eq!(extension("application/x-none"), None);
    }
}
