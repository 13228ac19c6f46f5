//! Arguments that are written so that a gateway reads something else than the handler does.

use crate::support::{STATELESS, endpoint, request, send};

/// Sends a call of `region` with these arguments, as they are written, and these headers; the status and the error.
async fn call(arguments: &str, headers: &[(&str, &str)]) -> (u16, Option<i64>) {
    let (endpoint, _) = endpoint();
    let meta =
        r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"region","arguments":{arguments},"_meta":{meta}}}}}"#
    );
    let mut all = vec![("mcp-protocol-version", STATELESS), ("mcp-method", "tools/call"), ("mcp-name", "region")];
    all.extend(headers);
    let reply = send(&endpoint, request("POST", &all, body)).await;
    let status = reply.status.as_u16();
    (status, reply.json().await["error"]["code"].as_i64())
}

/// The arguments, the headers, and what becomes of the call.
type Row<'a> = (&'a str, &'a [(&'a str, &'a str)], (u16, Option<i64>));

const REFUSED: (u16, Option<i64>) = (400, Some(-32020));
const GOOD: (u16, Option<i64>) = (200, None);

#[tokio::test]
async fn attack_02_arguments_that_can_be_read_in_two_ways() {
    let east = [("mcp-param-region", "east")];
    let west = [("mcp-param-region", "west")];
    let many: String = (0..256).map(|n| format!(r#""x{n}":{n},"#)).collect();
    let crowded = format!(r#"{{{many}"region":"west"}}"#);
    let crowded_inside = format!(r#"{{"where":{{{many}"dry":true}}}}"#);
    let rows: [Row<'_>; 16] = [
        (r#"{"region":"west"}"#, &west, GOOD),
        (r#"{"region":"west"}"#, &east, REFUSED),
        // A key twice: an unknown one, the argument itself in either order, and one that is written with an escape.
        (r#"{"region":"west","x":1,"x":2}"#, &east, REFUSED),
        (r#"{"region":"west","x":1,"x":2}"#, &west, REFUSED),
        (r#"{"region":"west","region":"east"}"#, &east, REFUSED),
        (r#"{"region":"east","region":"west"}"#, &east, REFUSED),
        (r#"{"region":"west","r\u0065gion":"east"}"#, &east, REFUSED),
        // Without the header as well: what the argument is cannot be told.
        (r#"{"x":1,"x":2}"#, &[], REFUSED),
        // More members than are compared.
        (&crowded, &east, REFUSED),
        // The same on the way to an argument that is deeper.
        (r#"{"where":{"dry":true,"x":1,"x":2}}"#, &[("mcp-param-dry-run", "false")], REFUSED),
        (r#"{"where":{"dry":true,"dry":false}}"#, &[("mcp-param-dry-run", "false")], REFUSED),
        (r#"{"where":{"dry":false},"where":{"dry":true}}"#, &[("mcp-param-dry-run", "false")], REFUSED),
        (&crowded_inside, &[("mcp-param-dry-run", "false")], REFUSED),
        // A number that fits into nothing.
        (r#"{"count":1e999}"#, &[("mcp-param-count", "1")], REFUSED),
        // A header for an argument that the body does not have.
        (r"{}", &east, REFUSED),
        (r#"{"region":null}"#, &east, REFUSED),
    ];
    for (arguments, headers, expected) in rows {
        assert_eq!(call(arguments, headers).await, expected, "{arguments:.80} with {headers:?}");
    }
}
