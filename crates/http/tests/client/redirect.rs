//! Redirects.

use couplet_client::Client;
use couplet_core::{Error, ErrorKind};

use crate::mock::{Mock, Seen, discovered, empty, reply, with};

/// Connects to a server that redirects everything at the first address.
async fn connect(mock: &Mock) -> Result<Client, Error> {
    let target = mock.target().bearer("secret").header("x-key", "k");
    Client::new("test", "1").connect(target).await
}

fn redirecting(status: u16, to: &'static str) -> Mock {
    Mock::new(move |seen| {
        if seen.uri == crate::mock::URL {
            return with(empty(status), "location", to);
        }
        reply(200, &seen.result(discovered()))
    })
}

fn secrets(seen: &Seen) -> usize {
    ["authorization", "x-key"].iter().filter(|h| seen.headers.contains_key(**h)).count()
}

#[tokio::test(start_paused = true)]
async fn secrets_stay_with_their_origin() {
    for (status, to, arrives, known) in [
        (307, "/other", "https://server.example/other", 2),
        (308, "https://SERVER.example:443/other", "https://SERVER.example:443/other", 2),
        (307, "https://server.example:8443/mcp", "https://server.example:8443/mcp", 0),
        (308, "https://evil.example/mcp", "https://evil.example/mcp", 0),
        (307, "//evil.example/", "https://evil.example/", 0),
    ] {
        let mock = redirecting(status, to);
        connect(&mock).await.unwrap();
        let seen = &mock.seen()[1];
        assert!(seen.uri.eq_ignore_ascii_case(arrives), "{} {arrives}", seen.uri);
        assert_eq!(secrets(seen), known, "{to}");
        // What the protocol says is still said.
        assert_eq!((&*seen.verb, seen.header("mcp-method")), ("POST", Some("server/discover")));
        assert_eq!(seen.body["method"], "server/discover");
    }
}

#[tokio::test(start_paused = true)]
async fn some_redirects_are_not_followed() {
    for (status, to) in [
        (301, "/other"),
        (302, "/other"),
        (303, "/other"),
        (307, "http://server.example/mcp"),
        (307, "ftp://server.example/mcp"),
        (307, "https://a:b@server.example/mcp"),
    ] {
        let mock = redirecting(status, to);
        let error = connect(&mock).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Transport, "{status} {to}");
        assert_eq!(mock.seen().len(), 1, "{status} {to}");
    }
}

#[tokio::test(start_paused = true)]
async fn redirects_come_to_an_end() {
    let mock = Mock::new(|_| with(empty(307), "location", crate::mock::URL));
    assert_eq!(connect(&mock).await.unwrap_err().kind(), ErrorKind::Transport);
    assert_eq!(mock.seen().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn a_secret_that_was_left_behind_does_not_come_back() {
    let mock = Mock::new(|seen| match &*seen.uri {
        crate::mock::URL => with(empty(307), "location", "https://evil.example/"),
        "https://evil.example/" => with(empty(307), "location", "https://server.example/back"),
        _ => reply(200, &seen.result(discovered())),
    });
    connect(&mock).await.unwrap();
    assert_eq!(secrets(&mock.seen()[2]), 0);
}
