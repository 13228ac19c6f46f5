//! The card of a server: where it is, and what it says.

use couplet_http::{
    card::{MEDIA_TYPE, ServerCard},
    server::Endpoint,
};
use couplet_server::{Server, tool};
use couplet_types::{Implementation, ProtocolVersion};

use crate::{
    authorize::Door,
    support::{Reply, request, send},
};

fn endpoint() -> Endpoint {
    let info = Implementation::new("weather", "1.2.0").title("Weather").description("Forecasts.");
    let server = Server::new("weather", "1.2.0").info(info).tool(tool("today", || "rain")).build();
    Endpoint::new(server)
}

const PATH: &str = "/mcp/server-card";

async fn ask(endpoint: &Endpoint, method: &str, headers: &[(&str, &str)]) -> Reply {
    let mut request = request(method, headers, "");
    *request.uri_mut() = PATH.parse().unwrap();
    send(endpoint, request).await
}

#[tokio::test]
async fn a_card_is_public_and_says_what_the_server_says() {
    let endpoint = endpoint().authorize(Door).card("com.example/weather", "https://example.com/mcp");
    let mut reply = ask(&endpoint, "GET", &[]).await;
    assert_eq!((reply.status.as_u16(), reply.header("content-type")), (200, Some(MEDIA_TYPE)));
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
    let text = reply.body.text().await;
    let card: ServerCard = serde_json::from_slice(&text).unwrap();
    assert_eq!(card.problems(), Vec::<String>::new());
    assert_eq!((&*card.name, &*card.version, &*card.description), ("com.example/weather", "1.2.0", "Forecasts."));
    assert_eq!(card.remotes[0].url, "https://example.com/mcp");
    let all: Vec<_> = ProtocolVersion::ALL.iter().rev().map(|version| version.as_str()).collect();
    assert_eq!(card.remotes[0].supported_protocol_versions, all);
    assert!(!String::from_utf8_lossy(&text).contains("today"), "a card lists no tools");

    let tag = reply.header("etag").unwrap().to_owned();
    let mut known = ask(&endpoint, "GET", &[("if-none-match", &tag)]).await;
    assert_eq!((known.status.as_u16(), known.body.text().await.len()), (304, 0));
    assert_eq!(ask(&endpoint, "GET", &[("if-none-match", "\"other\"")]).await.status.as_u16(), 200);
    assert_eq!(ask(&endpoint, "POST", &[]).await.status.as_u16(), 405);
}

#[tokio::test]
async fn there_is_none_by_default() {
    assert_eq!(ask(&endpoint(), "GET", &[]).await.status.as_u16(), 400);
}

#[test]
fn a_card_that_would_be_invalid_is_refused() {
    for (name, url) in [("weather", "https://example.com/mcp"), ("com.example/weather", "ftp://example.com")] {
        let build = std::panic::AssertUnwindSafe(|| endpoint().card(name, url));
        assert!(std::panic::catch_unwind(build).is_err(), "{name} {url}");
    }
}
