//! A REST API as tools: its OpenAPI document, a credential that the model never sees, and no tools that delete.
//!
//! The API is a small one in this program. For one of your own, `couplet openapi SPEC` does the same without a program.

use couplet::{
    Client,
    openapi::{Document, OpenApi},
};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
};

const DOCUMENT: &str = include_str!("library.yaml");

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/v1", listener.local_addr()?);
    tokio::spawn(library(listener));

    let server = OpenApi::new(Document::parse(DOCUMENT.as_bytes())?)
        .base_url(&url)?
        .exclude("method:delete".parse()?)
        .auth("key", "the-library-key")
        .into_server()?
        .build();

    let client = Client::new("demo", "1.0.0").connect(server).await?;
    let names: Vec<_> = client.tools().await?.into_iter().map(|tool| tool.name).collect();
    assert_eq!(names, ["searchBooks", "lendBook"]);

    // Lists are a member of the structured content.
    let found: Value = client.call("searchBooks", json!({ "q": "rust & more" })).await?.structured()?;
    assert_eq!(found, json!({ "result": [{ "isbn": "1", "title": "rust & more" }] }));

    // Parameters and members of the body are arguments alike.
    let lent = client.call("lendBook", json!({ "isbn": "1", "reader": "Ada", "days": 7 })).await?;
    assert!(!lent.is_error());

    // Errors of the API are explained to the model.
    let refused = client.call("lendBook", json!({ "isbn": "2", "reader": "Ada" })).await?;
    assert!(refused.is_error() && refused.text().contains("The book is lent already."));

    // An argument cannot lead to another path.
    let hostile = client.call("lendBook", json!({ "isbn": "../readers", "reader": "Ada" })).await?;
    assert!(hostile.is_error());
    Ok(())
}

/// The API: it knows its key, finds every book and lends only the first.
async fn library(listener: TcpListener) {
    while let Ok((stream, _)) = listener.accept().await {
        let _ = answer(stream).await;
    }
}

async fn answer(mut stream: TcpStream) -> std::io::Result<()> {
    let mut request = vec![0; 4096];
    let length = stream.read(&mut request).await?;
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let (status, body) = match request.split_once(" HTTP/1.1").map_or("", |(first, _)| first) {
        _ if !request.to_lowercase().contains("x-library-key: the-library-key") => ("401 Unauthorized", json!({})),
        "GET /v1/books?q=rust%20%26%20more" => ("200 OK", json!([{ "isbn": "1", "title": "rust & more" }])),
        "POST /v1/books/1/loans" => ("201 Created", json!({ "reader": "Ada" })),
        _ => ("409 Conflict", json!({ "until": "2027-01-01" })),
    };
    let body = body.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}",
        body.len()
    );
    stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).await
}
