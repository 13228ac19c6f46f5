//! Images and files: the server returns a path or bytes, the client saves them. Media types are detected.

use std::path::PathBuf;

use couplet::{
    ProtocolVersion,
    prelude::*,
    server::media::{File, Image, MediaError},
    types::ContentBlock,
};

/// A PNG of one pixel.
const PIXEL: &[u8] =
    b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff!\xf9\x04\x01\0\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;";

/// Draws one pixel.
#[tool]
fn pixel() -> Result<Image, MediaError> {
    Image::from_bytes(PIXEL)
}

/// Returns the notes with their image.
#[tool]
async fn report(State(folder): State<PathBuf>) -> Result<Vec<ContentBlock>, MediaError> {
    let notes = File::from_path(folder.join("notes.md")).await?;
    let picture = Image::from_path(folder.join("picture")).await?;
    Ok(vec!["The notes of today:".into(), notes.into(), picture.into()])
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::temp_dir().join(format!("couplet-pictures-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("notes.md"), "# Today\n")?;
    std::fs::write(folder.join("picture"), PIXEL)?;
    for &version in ProtocolVersion::ALL {
        let server = Server::new("pictures", "1.0.0").tool(pixel).tool(report).with_state(folder.clone()).build();
        let client = Client::new("demo", "1.0.0").versions([version]).connect(server).await?;
        let saved = client.call("pixel", ()).await?.into_result()?.image()?.save(folder.join(version.as_str())).await?;
        assert_eq!(saved.extension().and_then(|e| e.to_str()), Some("gif"), "the bytes tell what they are");
        assert_eq!(std::fs::read(&saved)?, PIXEL);
        let report = client.call("report", ()).await?.into_result()?;
        assert_eq!(report.text(), "The notes of today:");
        let types: Vec<_> = report.media()?.into_iter().map(|media| media.mime_type).collect();
        assert_eq!(types, ["text/markdown", "image/gif"]);
        println!("{version}: {types:?}");
        client.close().await?;
    }
    std::fs::remove_dir_all(folder)?;
    Ok(())
}
