//! The server of the benchmark with `turbomcp`: `bench-turbomcp stdio | http PORT`.

use turbomcp::http::{HttpConfig, serve_http};
use turbomcp::prelude::*;

#[derive(Clone)]
struct Bench;

/// `#[server]` reads the whole impl block, so the 100 dummies are spelled by a macro.
macro_rules! server {
    ($($dummy:ident)*) => {
        #[server(name = "bench", version = "1.0.0")]
        impl Bench {
            #[tool(description = "Add two integers")]
            async fn add(&self, a: i64, b: i64) -> String { (a + b).to_string() }
            #[tool(description = "Return the text unchanged")]
            async fn echo(&self, text: String) -> String { text }
            #[tool(description = "Return a text of the given size")]
            async fn payload(&self, bytes: u64) -> String { "x".repeat(bytes as usize) }
            $(
                #[tool(description = "Dummy tool number n")]
                async fn $dummy(&self, query: String, limit: Option<i64>) -> String { let _ = (query, limit); "ok".into() }
            )*
        }
    };
}
server! {
    dummy_000 dummy_001 dummy_002 dummy_003 dummy_004 dummy_005 dummy_006 dummy_007 dummy_008 dummy_009
    dummy_010 dummy_011 dummy_012 dummy_013 dummy_014 dummy_015 dummy_016 dummy_017 dummy_018 dummy_019
    dummy_020 dummy_021 dummy_022 dummy_023 dummy_024 dummy_025 dummy_026 dummy_027 dummy_028 dummy_029
    dummy_030 dummy_031 dummy_032 dummy_033 dummy_034 dummy_035 dummy_036 dummy_037 dummy_038 dummy_039
    dummy_040 dummy_041 dummy_042 dummy_043 dummy_044 dummy_045 dummy_046 dummy_047 dummy_048 dummy_049
    dummy_050 dummy_051 dummy_052 dummy_053 dummy_054 dummy_055 dummy_056 dummy_057 dummy_058 dummy_059
    dummy_060 dummy_061 dummy_062 dummy_063 dummy_064 dummy_065 dummy_066 dummy_067 dummy_068 dummy_069
    dummy_070 dummy_071 dummy_072 dummy_073 dummy_074 dummy_075 dummy_076 dummy_077 dummy_078 dummy_079
    dummy_080 dummy_081 dummy_082 dummy_083 dummy_084 dummy_085 dummy_086 dummy_087 dummy_088 dummy_089
    dummy_090 dummy_091 dummy_092 dummy_093 dummy_094 dummy_095 dummy_096 dummy_097 dummy_098 dummy_099
}

#[tokio::main]
async fn main() -> Result<(), turbomcp::ProtocolError> {
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).is_some_and(|m| m == "http") {
        let addr = format!("127.0.0.1:{}", args[2]).parse().expect("port");
        serve_http(addr, Bench.into_server().build(), HttpConfig::new()).await?;
    } else {
        Bench.run_stdio().await?;
    }
    Ok(())
}
