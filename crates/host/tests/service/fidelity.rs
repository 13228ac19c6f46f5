//! Messages through the host are those of the server, byte for byte but for names.

use couplet_core::{JsonText, Outcome, Reply, ResultBody, message::Params};
use couplet_host::Host;
use couplet_types::{ListTools, PaginatedParams, ProtocolVersion};
use serde_json::{Value, json};

use crate::{
    evil::Evil,
    kit::{able, connect, in_time},
};

/// Numbers, spaces, the order of keys, and members that are not known here.
const RESULT: &str = r#"{"content":[{"type":"text","text":"\u0041 /\/","x":1.50}],"odd" : {"z": 1e3,"a":[1.0,-0,1E+2]},"structuredContent":{"n":12345678901234567890}}"#;
const TOOL: &str =
    r#"{"title":"Odd","name":"odd","x-future":{"z":1.0,"a":0.10},"inputSchema":{"type":"object","default":{"n":1e2}}}"#;

fn odd(version: ProtocolVersion) -> Evil {
    let tools = json!([serde_json::from_str::<Value>(TOOL).unwrap()]);
    Evil::new(version, tools, json!([]), |_| {
        Box::pin(async { Reply::Complete(ResultBody::json(&JsonText::new(RESULT).unwrap())) })
    })
}

fn members(text: &JsonText) -> Vec<(String, String)> {
    let members = Params::from_text(text.clone()).unwrap();
    let own = members.iter().filter(|(key, _)| !matches!(&**key, "_meta" | "resultType"));
    own.map(|(key, value)| (key.into_owned(), value.as_str().to_owned())).collect()
}

#[tokio::test]
async fn results_are_those_of_the_server() {
    for &version in ProtocolVersion::ALL {
        in_time(version, async {
            let server = odd(version);
            let direct = connect(able(version).0, server.service()).await;
            let host = Host::builder().server("odd", server.service()).server("other", odd(version).service()).build();
            let through = connect(able(version).0, host.service()).await;
            through.tools().await.unwrap();
            let Outcome::Complete(direct) = direct.call_outcome("odd", ()).await.unwrap() else { panic!("{version}") };
            let Outcome::Complete(through) = through.call_outcome("odd__odd", ()).await.unwrap() else {
                panic!("{version}")
            };
            assert_eq!(members(&through), members(&direct), "{version}");
            assert!(
                through.as_str().contains(r#""odd" : {"z": 1e3,"a":[1.0,-0,1E+2]}"#)
                    || !direct.as_str().contains("\"odd\" :")
            );
        })
        .await;
    }
}

#[tokio::test]
async fn definitions_are_those_of_the_server() {
    for &version in ProtocolVersion::ALL {
        in_time(version, async {
            let server = odd(version);
            let direct = connect(able(version).0, server.service()).await;
            let host = Host::builder().server("odd", server.service()).build();
            let through = connect(able(version).0, host.service()).await;
            let list = |client: couplet_client::Client| async move {
                let request = client.request::<ListTools>(PaginatedParams::new()).raw_outcome();
                let Outcome::Complete(text) = request.await.unwrap() else { panic!("{version}") };
                Params::from_text(text).unwrap().get("tools").unwrap().as_str().to_owned()
            };
            let (direct, through) = (list(direct).await, list(through).await);
            assert_eq!(through, direct.replace(r#""name":"odd""#, r#""name":"odd__odd""#), "{version}");
        })
        .await;
    }
}
