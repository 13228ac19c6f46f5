//! Log messages of servers.

use couplet_client::Client;
use couplet_server::{Ctx, Server, tool};
use couplet_types::{LogMessage, LoggingLevel, ProtocolVersion};

use crate::kit::{File, SHORT, Upstream};

/// A server over HTTP may send its last messages together with the response.
#[tokio::test]
async fn log_messages_that_arrive_with_the_response_are_forwarded() {
    let talk = |ctx: Ctx| async move {
        for line in ["one", "two", "three"] {
            ctx.info(line).await;
        }
        "said"
    };
    let upstream = Upstream::serve(Server::new("upstream", "1.0.0").tool(tool("talk", talk))).await;
    let file = File::new(&format!(r#"{{ "mcpServers": {{ "a": {} }}, "names": "bare" }}"#, upstream.entry("")));
    let gateway = file.start().await.unwrap();
    gateway.ready(SHORT).await;
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let client = Client::new("test", "1.0.0").versions([version]);
        let client = client.connect(gateway.service(None).unwrap()).await.unwrap();
        client.set_log_level(LoggingLevel::Info).await.unwrap();
        let mut notices = client.notifications();
        assert_eq!(client.call("talk", ()).await.unwrap().text(), "said");
        let mut lines = Vec::new();
        for _ in 0..3 {
            let notice = tokio::time::timeout(SHORT, notices.next()).await.expect("three messages").unwrap();
            lines.push(notice.read::<LogMessage>().unwrap().data.get().to_owned());
        }
        assert_eq!(lines, [r#""one""#, r#""two""#, r#""three""#], "{version}");
    }
}
