//! The tools that `rmcp-openapi` makes of a document, on stdio: `openapi-rmcp DOCUMENT`.

use std::error::Error;

use rmcp::{ServiceExt, transport::stdio};
use rmcp_openapi::Server;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: openapi-rmcp DOCUMENT")?;
    let document = serde_json::from_slice(&std::fs::read(path)?)?;
    let mut server = Server::builder().openapi_spec(document).base_url("https://api.example.com".parse()?).build();
    server.load_openapi_spec()?;
    server.serve(stdio()).await?.waiting().await?;
    Ok(())
}
