//! `couplet card`: cards that are served, made and refused.

use std::{
    io::{BufRead, BufReader, Write},
    net::TcpListener,
    thread,
};

use crate::kit::{golden, run, shop};

const CARD: &str = r#"{"$schema":"https://static.modelcontextprotocol.io/schemas/v2/server-card.schema.json",
"name":"com.example/weather","version":"1.2.0","description":"Forecasts.","title":"Weather",
"remotes":[{"type":"streamable-http","url":"https://example.com/mcp","supportedProtocolVersions":["2026-07-28"]}]}"#;

/// A server with a card at each path that has one. It ends with the test.
fn site() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
            let head: Vec<String> = lines.take_while(|line| !line.is_empty()).collect();
            let (status, body) = match head[0].split(' ').nth(1).unwrap() {
                "/good/server-card" => ("200 OK", CARD.to_owned()),
                "/wrong/server-card" => ("200 OK", CARD.replace("com.example/weather", "weather")),
                "/odd/server-card" => ("200 OK", "[]".to_owned()),
                _ => ("404 Not Found", String::new()),
            };
            let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
            let _ = stream.write_all(format!("{head}{body}").as_bytes());
        }
    });
    url
}

#[test]
fn cards_are_fetched_checked_and_made() {
    let (site, shop) = (site(), &*shop());
    let [good, card, wrong, odd, none] =
        ["good", "good/server-card", "wrong/", "odd", "none"].map(|path| format!("{site}/{path}"));
    let runs: [&[&str]; 9] = [
        &["card", &good],
        &["card", &card, "--json"],
        &["card", &wrong],
        &["card", &odd],
        &["card", &none],
        &["card", shop],
        &["card", shop, "--make", "com.example/shop"],
        &["card", shop, "--make", "shop", "--url", "https://example.com/mcp"],
        &["card", shop, "--make", "com.example/shop", "--url", "https://example.com/mcp"],
    ];
    let shown = runs.map(run);
    golden("card", &shown.join("\n"));
}
