//! URL elicitation: data that must not pass through the client, such as a password, is entered on a page of the server.
//! The user agrees to open it; in 2025-11-25 the client is notified when the elicitation is complete.

use couplet::{
    ProtocolVersion,
    prelude::*,
    types::{ElicitAction, ElicitParams, ElicitationComplete},
};

const PAGE: &str = "https://bank.example.com/sign-in?visit=7";

/// Pays a bill.
#[tool]
async fn pay(ctx: Ctx) -> Result<&'static str, ToolError> {
    let visit = ElicitParams::visit("Sign in at the bank", PAGE).elicitation_id("visit-7");
    let answer = ctx.elicit_with("sign-in", visit).await?;
    if answer.action != ElicitAction::Accept {
        return Err(ToolError::new("the user did not sign in"));
    }
    // Here the server waits for its own page: consent to open it does not mean that the user signed in.
    ctx.elicitation_complete("visit-7").await;
    Ok("paid")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let server = Server::new("bills", "1.0.0").tool(pay).build();
    for version in [ProtocolVersion::V2025_11_25, ProtocolVersion::V2026_07_28] {
        let client = Client::new("desk", "1.0.0").versions([version]).on_elicit_url(|ask| async move {
            // A host shows the whole URL and its host name, and opens a browser if the user agrees.
            println!("{}: {}", ask.url_host().unwrap_or("?"), ask.url().unwrap_or("?"));
            if ask.is_suspicious_url() { ask.decline() } else { ask.accept_url() }
        });
        let client = client.connect(server.clone()).await?;
        let mut notices = client.notifications();
        assert_eq!(client.call("pay", ()).await?.into_result()?.text(), "paid");
        if version == ProtocolVersion::V2025_11_25 {
            let over = notices.next().await.and_then(|notice| notice.read::<ElicitationComplete>());
            assert_eq!(over.map(|over| over.elicitation_id).as_deref(), Some("visit-7"));
        }
        println!("{version}: paid");
    }
    // A client without URL elicitation gets a tool error, which the model sees.
    let plain = Client::new("plain", "1.0.0").connect(server).await?;
    let refused = plain.call("pay", ()).await?;
    assert!(refused.is_error());
    println!("{}", refused.text());
    Ok(())
}
