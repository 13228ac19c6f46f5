//! Schema validation: a range in a type, a schema written by hand, and an output schema.

use couplet::{
    ProtocolVersion,
    prelude::*,
    schema::Schema,
    server::extract::RawArgs,
    types::{CallToolResult, RawJson},
};
use serde::Deserialize;
use serde_json::json;

#[derive(Deserialize, JsonSchema)]
struct Stay {
    #[schemars(range(min = 1, max = 14))]
    nights: u8,
}

/// Books a room.
async fn book(Args(stay): Args<Stay>) -> String {
    format!("{} nights", stay.nights)
}

/// Looks up a price, as untyped JSON. That of a suite violates the output schema.
fn price(RawArgs(args): RawArgs) -> CallToolResult {
    let amount = if args.as_str().contains("suite") { json!("much") } else { json!(90) };
    CallToolResult::default().structured_content(RawJson::from(json!({ "amount": amount })))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    for &version in ProtocolVersion::ALL {
        let room = json!({ "type": "object", "properties": { "room": { "enum": ["single", "suite"] } } });
        let amount = json!({ "type": "object", "properties": { "amount": { "type": "number" } } });
        let price = tool("price", price).input_schema(room).output_schema(amount);
        let server = Server::new("hotel", "1.0.0").tool(tool("book", book)).tool(price).build();
        let client = Client::new("demo", "1.0.0").versions([version]).connect(server).await?;
        // The error goes to the model; in older revisions, to the client.
        let said = |answer: couplet::Result<couplet::client::ToolResult>| {
            answer.map_or_else(|error| error.to_string(), |result| result.text())
        };
        assert_eq!(said(client.call("book", json!({ "nights": 3 })).await), "3 nights");
        let long = said(client.call("book", json!({ "nights": 30 })).await);
        assert!(long.ends_with("argument `nights`: expected a number of at most 14, got the number 30"), "{long}");
        let other = said(client.call("price", json!({ "room": "barn" })).await);
        assert!(other.ends_with(r#"expected one of `single`, `suite`, got the string "barn""#), "{other}");
        client.call("price", json!({ "room": "single" })).await?.into_result()?;
        let broken = client.call("price", json!({ "room": "suite" })).await.unwrap_err();
        assert_eq!(broken.rpc().map(|e| e.code), Some(-32603), "the result violates the output schema");
        println!("{version}: {long}");
        client.close().await?;
    }
    // The validator alone: any schema, within a budget.
    let outside = Schema::new(r#"{ "$ref": "http://example.com/schema.json" }"#).unwrap_err();
    assert!(outside.to_string().ends_with("nothing is fetched"), "{outside}");
    Ok(())
}
