//! Servers that do not work, and the errors.

use std::net::TcpListener;

use crate::kit::{check, golden, run, shop};

#[test]
fn servers_that_do_not_work() {
    let shop = &*shop();
    let mode = |mode: &str| format!("{shop} {mode}");
    let (dies, silent, garbage, noisy, old) =
        (mode("dies"), mode("silent"), mode("garbage"), mode("noisy"), mode("2025-06-18"));
    check(
        "failures",
        &[
            &["list", &dies],
            &["list", &dies, "--json"],
            &["list", &silent, "--timeout", "0.2"],
            &["list", &garbage],
            &["call", &noisy, "add", "a=1", "b=2"],
            &["list", &old, "--revision", "2026-07-28"],
            &["ping", &dies, "--verbose"],
        ],
    );
}

#[test]
fn targets_that_are_none() {
    check(
        "targets",
        &[
            &["list", "there-is-no-such-program"],
            &["list", "there-is-no-such-program --at all"],
            &["list", "ftp://example.com"],
            &["list", "http:///mcp"],
            &["list", "a | b"],
            &["list", "say 'hi"],
            &["list", "KEY=1 server"],
            &["list", "http://127.0.0.1:1/mcp", "--env", "A=1"],
            &["list", "./server", "--header", "A: 1"],
            &["list", "./server", "--cwd", "/there/is/no/such/folder"],
            &["list", "./server", "--timeout", "soon"],
            &["list", "./server", "--revision", "2025-06-19"],
        ],
    );
}

#[test]
fn bridges_that_cannot_listen() {
    let shop = &*shop();
    check(
        "run-wrong",
        &[
            &["run", shop, "--http", "systemd"],
            &["run", shop, "--http", "0", "--trust-proxy", "10.0.0.0/99"],
            &["run", shop, "--state-key-file", "/there/is/no/such/file"],
            &["run", shop, "--store", "redis://localhost"],
        ],
    );
}

#[test]
fn an_address_without_a_listener() {
    // Bound and closed, so that the port is free.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    golden("unreachable", &run(&["list", &format!("http://127.0.0.1:{port}/mcp")]));
}

#[test]
fn a_port_that_is_taken() {
    let shop = shop();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let text = [
        run(&["run", &shop, "--http", &address]),
        run(&["demo", "--http", &address]),
        run(&["run", &shop, "--http", "nowhere"]),
    ];
    golden("port", &text.join("\n"));
}

#[test]
fn a_page_that_is_no_endpoint() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            answer(stream);
        }
    });
    golden("page", &run(&["list", &url]));
}

fn answer(mut stream: std::net::TcpStream) {
    use std::io::{Read, Write};
    let mut head = [0; 4096];
    let _ = stream.read(&mut head);
    let _ = stream.write_all(
        b"HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 9\r\nconnection: close\r\n\r\n<p>No</p>",
    );
}
