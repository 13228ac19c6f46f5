//! Attributes in code that has its own `Result`, `String`, `Option`, `Vec` and `Input`.

use couplet::Server;
use serde_json::json;

use crate::support::Client;

#[allow(dead_code, missing_docs, reason = "the names are the point")]
mod shadowed {
    pub(super) struct Result;
    pub(super) struct String;
    pub(super) struct Option;
    pub(super) struct Vec;
    pub(super) struct Box;
    pub(super) struct Input;
    pub(super) struct Args;
    pub(super) struct ToolDef;
    pub(super) trait Clone {}
    pub(super) trait Copy {}
    pub(super) trait Debug {}
    pub(super) trait Send {}
    pub(super) trait Sync {}
    pub(super) trait From {}
    pub(super) trait Into {}
    pub(super) trait Default {}
    pub(super) trait Future {}
    pub(super) trait Deserialize {}
    pub(super) trait JsonSchema {}
    pub(super) mod core {}
    pub(super) mod std {}
    pub(super) mod couplet {}
    pub(super) mod serde {}
    pub(super) mod schemars {}

    #[::couplet::tool(read_only)]
    pub(super) async fn add(
        a: f64,
        b: ::core::option::Option<f64>,
        #[default("x")] input: ::std::string::String,
    ) -> f64 {
        a + b.unwrap_or(input.len() as f64)
    }

    #[::couplet::resource("calc://{call}")]
    pub(super) fn read(call: u8) -> u8like::U8 {
        call.into()
    }

    #[::couplet::prompt]
    pub(super) fn say(input: ::std::string::String) -> ::std::string::String {
        input
    }

    pub(super) mod u8like {
        pub(crate) type U8 = u32;
    }
}

/// A function may call itself, and name a variable like itself.
#[couplet::tool]
fn factorial(n: u64) -> u64 {
    let factorial = if n == 0 { 1 } else { factorial(n - 1) };
    factorial * n.max(1)
}

#[couplet::tool]
async fn again(again: String) -> String {
    again.repeat(2)
}

/// The facade under another path.
mod renamed {
    pub(super) mod elsewhere {
        pub(crate) use couplet::{schemars, serde, server};
    }

    #[couplet::tool(crate = "crate::hygiene::renamed::elsewhere")]
    pub(super) fn twice(n: u32) -> u32 {
        n * 2
    }
}

/// Conditions, lints and deprecation stay where they are.
mod attributes {
    #[couplet::tool]
    #[cfg(any())]
    fn absent(nothing: NoSuchType) {}

    #[couplet::tool]
    #[cfg(not(any()))]
    #[allow(non_snake_case, unused_variables)]
    pub(super) fn Present(unusedHere: u8) -> &'static str {
        "present"
    }

    #[couplet::tool]
    #[deprecated]
    pub(super) fn old() {}
}

#[tokio::test]
async fn names_around_an_attribute_do_not_matter() {
    #[allow(deprecated)]
    let server = Server::new("test", "1")
        .tool(shadowed::add)
        .tool(renamed::twice)
        .tool(factorial)
        .tool(again)
        .tool(attributes::Present)
        .tool(attributes::old)
        .resource(shadowed::read)
        .prompt(shadowed::say);
    let mut client = Client::new(server).await;
    assert_eq!(client.call("add", json!({ "a": 1 })).await, "2");
    assert_eq!(client.call("twice", json!({ "n": 2 })).await, "4");
    assert_eq!(client.call("factorial", json!({ "n": 5 })).await, "120");
    assert_eq!(client.call("again", json!({ "again": "a" })).await, "aa");
    assert_eq!(again::call("b".to_owned()).await, "bb");
    assert_eq!(client.call("Present", json!({ "unusedHere": 2 })).await, "present");
    assert_eq!(client.read("calc://7").await, "7");
    assert_eq!(client.get("say", json!({ "input": "hello" })).await, "hello");
    // A variable may be called like a tool.
    let factorial = factorial::call(3);
    assert_eq!(factorial, 6);
}
