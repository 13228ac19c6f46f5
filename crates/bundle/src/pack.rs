//! Packing of bundles.

use std::io::{Cursor, Write};

use serde_json::Value;
use zip::{CompressionMethod, DateTime, ZipWriter, write::SimpleFileOptions};

use crate::{Error, ErrorKind, Files, Problem, manifest};

/// A packed bundle.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Packed {
    /// The content of the file.
    pub bytes: Vec<u8>,
    /// The SHA-256 digest in hexadecimal digits, as `server.json` needs it.
    pub sha256: String,
    /// The suggested file name: name, version, `.mcpb`.
    pub file_name: String,
    /// Warnings about the manifest.
    pub warnings: Vec<Problem>,
}

/// Packs a bundle. Packing is reproducible: the same files give the same bytes. Names are sorted, times are constant,
/// and of the permissions only the executable bit is preserved.
///
/// ```
/// use couplet_bundle::{Files, pack};
///
/// let mut files = Files::default();
/// files.add("manifest.json", r#"{
///     "manifest_version": "0.3", "name": "weather", "version": "1.0.0", "description": "Tells the weather.",
///     "author": { "name": "Ann" },
///     "server": { "type": "binary", "entry_point": "weather", "mcp_config": { "command": "${__dirname}/weather" } }
/// }"#);
/// files.add_program("weather", b"\x7fELF");
/// let packed = pack(files)?;
/// assert_eq!(packed.file_name, "weather-1.0.0.mcpb");
/// # Ok::<(), couplet_bundle::Error>(())
/// ```
///
/// # Errors
/// If the manifest is missing or invalid; see [`Error::problems`].
pub fn pack(mut files: Files) -> Result<Packed, Error> {
    let text = files.get("manifest.json").ok_or_else(|| {
        Error::new(ErrorKind::Broken, "there is no `manifest.json` in the folder")
            .with_hint("write one, or generate one from `Cargo.toml` with `--binary`")
    })?;
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    let value: Value = serde_json::from_slice(text).map_err(|e| {
        Error::new(ErrorKind::Broken, format!("`manifest.json` is not JSON: {e}")).with_hint("correct the file")
    })?;
    let problems = manifest::check(&value, &files);
    if let Some(error) = Error::for_problems("`manifest.json`", &problems) {
        return Err(error);
    }
    let field = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    let is_binary = value["server"]["type"] == "binary";
    if let (true, Some(entry)) = (is_binary, value["server"]["entry_point"].as_str()) {
        files.make_program(entry);
    }
    let bytes = zipped(&files).map_err(|e| Error::new(ErrorKind::Io, format!("the bundle cannot be packed: {e}")))?;
    let sha256 = hex(&hmac_sha256::Hash::hash(&bytes));
    let file_name = format!("{}-{}.mcpb", plain(&field("name")), plain(&field("version")));
    Ok(Packed { bytes, sha256, file_name, warnings: problems })
}

fn zipped(files: &Files) -> zip::result::ZipResult<Vec<u8>> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, file) in files.iter() {
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(9))
            .last_modified_time(DateTime::default())
            .unix_permissions(if file.is_program { 0o755 } else { 0o644 });
        writer.start_file(name, options)?;
        writer.write_all(&file.bytes)?;
    }
    Ok(writer.finish()?.into_inner())
}

/// Replaces all characters that are not portable in file names.
fn plain(text: &str) -> String {
    let keep = |c: char| c.is_ascii_alphanumeric() || "-_.+".contains(c);
    let text: String = text.chars().map(|c| if keep(c) { c.to_ascii_lowercase() } else { '-' }).collect();
    text.trim_matches(['-', '.']).to_owned()
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
