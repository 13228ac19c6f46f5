//! A URL as a target by itself.

use couplet_client::Client;
use couplet_core::{Connect, ErrorKind, IntoTarget};

fn name<Kind>(target: impl IntoTarget<Kind>) -> Option<String> {
    target.into_target().server()
}

#[test]
fn a_url_is_a_target() {
    let url = "https://example.com/mcp?team=a";
    let (owned, uri): (String, http::Uri) = (url.to_owned(), url.parse().unwrap());
    for found in [name(url), name(&owned), name(owned), name(uri), name(couplet_http::connect(url))] {
        assert_eq!(found.as_deref(), Some(url));
    }
}

#[tokio::test]
async fn other_text_is_refused_with_a_way_out() {
    let command = "; to start a program, use `Command::new`";
    for (text, hint) in [
        ("npx some-server", command),
        ("example.com/mcp", command),
        ("", command),
        ("ftp://example.com/mcp", ""),
        ("wss://example.com/mcp", ""),
        ("https://user:secret@example.com/mcp", ""),
    ] {
        let error = Client::new("test", "1.0.0").connect(text).await.expect_err(text);
        let what = "the address is not `http://` or `https://` with a host and without a user";
        assert_eq!((error.kind(), error.to_string()), (ErrorKind::Config, format!("{what}{hint}")), "{text}");
    }
}
