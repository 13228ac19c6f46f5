//! A custom extension: a method, under an identifier that both sides declare. It uses the same API as tasks, apps and
//! skills; peers that do not declare it never see it.

use couplet::{
    client,
    core::{Reply, ResultBody},
    prelude::*,
    server,
    types::{Meta, Request, RpcError},
};
use serde::{Deserialize, Serialize};
use serde_json::json;

const CLOCK: &str = "com.example/clock";

/// `clock/now`: returns the time.
#[derive(Debug)]
struct Now;

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
struct Text {
    text: String,
    #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
    meta: Option<Meta>,
}

couplet::core::extension_messages!(Text);

impl Request for Now {
    const METHOD: &'static str = "clock/now";
    const EXTENSION: Option<&'static str> = Some(CLOCK);
    type Params = Text;
    type Result = Text;
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let text = |text: &str| Text { text: text.to_owned(), meta: None };
    let clock =
        server::Extension::new(CLOCK).settings(&json!({ "zones": ["UTC"] })).method(Now::METHOD, move |call, _| {
            let reply = match call.params.read_str("text") {
                Ok(Some(zone)) if zone == "UTC" => Reply::Complete(ResultBody::value(&text("12:00"))),
                Ok(zone) => Reply::Error(RpcError::invalid_params(format!("no zone `{}`", zone.unwrap_or_default()))),
                Err(error) => Reply::Error(error),
            };
            async { reply }
        });
    let server = Server::new("app", "1.0.0").extension(clock).build();

    let client = Client::new("demo", "1.0.0").extension(client::Extension::new(CLOCK)).connect(server.clone()).await?;
    let time = client.request::<Now>(text("UTC")).await?.text;
    println!("{time}");
    assert_eq!(time, "12:00");
    let error = client.request::<Now>(text("Mars")).await.expect_err("there is no such zone");
    println!("{error}");

    let other = Client::new("other", "1.0.0").connect(server).await?;
    assert!(other.request::<Now>(text("UTC")).await.is_err(), "it does not know of clocks");
    Ok(())
}
