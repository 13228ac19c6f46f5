//! Pictures, sounds and files, from the handler to the client, in every revision.

use std::{fs, path::PathBuf};

use couplet::{
    client::{Client, Media},
    server::{
        Server,
        media::{Audio, File, Image, MediaError},
        prompt, resource, tool,
    },
    types::{Annotations, ContentBlock, ProtocolVersion, Resource},
};
use couplet_testing::connect;

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nrest";
const FLAC: &[u8] = b"fLaC\0\0\0\x22";

/// A folder that is gone when the test is.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("couplet-media-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Self(folder)
    }

    fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        fs::write(self.0.join(name), bytes).expect("a file");
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn server(folder: &Folder) -> Server {
    let picture = folder.file("picture.jpg", PNG);
    let notes = folder.file("my notes.md", b"# Notes");
    let again = picture.clone();
    Server::new("media", "1")
        .tool(tool("image", async move || Image::from_path(&picture).await))
        .tool(tool("audio", || Audio::from_bytes(FLAC)))
        .tool(tool("images", || vec![Image::new(PNG, "image/png"), Image::new("x", "image/x-own")]))
        .tool(tool("mixed", || -> Result<Vec<ContentBlock>, MediaError> {
            let image = Image::from_bytes(PNG)?.annotations(Annotations::new().priority(0.5));
            Ok(vec!["a picture".into(), image.into(), File::from_bytes("a.json", "{}").into()])
        }))
        .tool(tool("texts", || vec!["a".to_owned(), "b".to_owned()]))
        .tool(tool("file", async move || File::from_path(&notes).await))
        .tool(tool("blob", || File::from_bytes("a.bin", [0_u8, 255]).uri("x://a")))
        .tool(tool("link", async move || File::link(&again, "pictures://one").await))
        .resource(resource("pictures://one", || Image::from_bytes(PNG)))
        .resource(resource("pages://one", || File::from_bytes("a.html", "<html>")))
        .prompt(prompt("look", || Image::from_bytes(PNG)))
}

async fn media(client: &Client, tool: &str) -> Vec<(String, Vec<u8>)> {
    let media = client.call(tool, ()).await.expect(tool).media().expect("base64");
    media.into_iter().map(|m| (m.mime_type, m.bytes)).collect()
}

#[tokio::test]
async fn a_handler_returns_bytes_and_a_client_gets_them() {
    for &version in ProtocolVersion::ALL {
        let folder = Folder::new(&format!("all-{version}"));
        let client = connect(server(&folder).build(), version).await.unwrap();
        let png = ("image/png".to_owned(), PNG.to_vec());
        assert_eq!(
            media(&client, "image").await,
            std::slice::from_ref(&png),
            "{version}: the bytes count, not the name"
        );
        assert_eq!(media(&client, "images").await, [png.clone(), ("image/x-own".into(), b"x".to_vec())], "{version}");
        let json = ("application/json".to_owned(), b"{}".to_vec());
        assert_eq!(media(&client, "mixed").await, [png.clone(), json], "{version}");
        assert_eq!(media(&client, "file").await, [("text/markdown".into(), b"# Notes".to_vec())], "{version}");
        assert_eq!(media(&client, "blob").await, [("application/octet-stream".into(), vec![0, 255])], "{version}");
        assert_eq!(client.call("texts", ()).await.unwrap().text(), "ab", "{version}");
        for (uri, mime_type, bytes) in [("pictures://one", "image/png", PNG), ("pages://one", "text/html", b"<html>")] {
            let contents = client.read(uri).await.unwrap().contents.remove(0);
            assert_eq!((&*contents.uri, contents.as_text().is_some()), (uri, mime_type == "text/html"), "{version}");
            let read = Media::from_contents(&contents).unwrap();
            assert_eq!((&*read.mime_type, &*read.bytes), (mime_type, bytes), "{version}");
        }
        let prompt = client.prompt("look", ()).await.unwrap();
        assert_eq!(Media::from_block(&prompt.messages[0].content).unwrap().unwrap().bytes, PNG, "{version}");
    }
}

#[tokio::test]
async fn what_a_revision_has_no_block_for_is_told_otherwise() {
    for &version in ProtocolVersion::ALL {
        let folder = Folder::new(&format!("some-{version}"));
        let client = connect(server(&folder).build(), version).await.unwrap();
        let sound = client.call("audio", ()).await.unwrap();
        match version {
            ProtocolVersion::V2024_11_05 => assert!(sound.audio().is_err() && !sound.content().is_empty()),
            _ => assert_eq!(sound.audio().unwrap().bytes, FLAC, "{version}"),
        }
        let link = client.call("link", ()).await.unwrap();
        match version {
            ProtocolVersion::V2024_11_05 | ProtocolVersion::V2025_03_26 => assert!(!link.content().is_empty()),
            _ => {
                let resource = Resource::new("pictures://one", "picture.jpg").mime_type("image/png");
                assert_eq!(link.content(), [resource.size(PNG.len() as u64).into()], "{version}");
            }
        }
    }
}

#[tokio::test]
async fn a_file_has_its_name_and_not_its_place() {
    let folder = Folder::new("name");
    let client = connect(server(&folder).build(), ProtocolVersion::V2026_07_28).await.unwrap();
    let result = client.call("file", ()).await.unwrap();
    let [ContentBlock::Resource(embedded)] = result.content() else { panic!("{result:?}") };
    assert_eq!(embedded.resource.uri, "file:///my%20notes.md");
}

#[tokio::test]
async fn what_cannot_be_content_is_said() {
    let folder = Folder::new("faults");
    let text = folder.file("words.png", b"just words");
    let large = folder.file("large.txt", &[b'a'; 100]);
    let said = |result: Result<(), MediaError>| result.unwrap_err().to_string();
    let missing = said(File::from_path(folder.0.join("none")).await.map(drop));
    assert!(missing.starts_with("`none` cannot be read: ") && !missing.contains("couplet-media"), "{missing}");
    assert_eq!(
        said(Image::from_path(&text).await.map(drop)),
        "`words.png` is `text/plain`, not a picture; `new` takes a type that is known"
    );
    let most = said(File::from_path_within(&large, 99).await.map(drop));
    assert_eq!(most, "`large.txt` has more than the 99 bytes that are read of a file");
    assert_eq!(File::from_path_within(&large, 100).await.unwrap().mime_type(), "text/plain");
    let name = folder.0.file_name().unwrap().to_str().unwrap();
    assert_eq!(said(File::from_path(&folder.0).await.map(drop)), format!("`{name}` cannot be read: it is not a file"));
    assert!(File::link(&folder.0, "x://a").await.is_err());
    // Half a character at the end of what is looked at does not make a text something else.
    let letters = folder.file("letters", format!("a{}", "é".repeat(500)).as_bytes());
    assert_eq!(File::link(&letters, "x://a").await.unwrap().mime_type.as_deref(), Some("text/plain"));
}

#[tokio::test]
async fn a_client_does_not_replace_a_file() {
    let folder = Folder::new("save");
    let client = connect(server(&folder).build(), ProtocolVersion::V2026_07_28).await.unwrap();
    let image = client.call("image", ()).await.unwrap().image().unwrap();
    let saved = image.save(folder.0.join("saved")).await.unwrap();
    assert_eq!(saved, folder.0.join("saved.png"));
    assert_eq!(fs::read(&saved).unwrap(), PNG);
    assert!(image.save(folder.0.join("saved")).await.is_err());
    assert!(client.call("audio", ()).await.unwrap().image().unwrap_err().to_string().contains("no image"));
}
