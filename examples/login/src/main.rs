//! OAuth: a server that requires authentication, a client that logs in when needed, and the authorization server of the
//! test helpers. Nothing leaves the machine, and the browser is a function.

use couplet::{
    auth::{
        client::{Keychain, OAuth},
        server::{Claims, Verifier},
    },
    http::server::HttpTransport,
    prelude::*,
};
use couplet_testing::auth::{AuthServer, log_in};
use tokio::net::TcpListener;

/// Returns the caller.
#[tool]
fn whoami(claims: Auth<Claims>) -> String {
    claims.subject.clone().unwrap_or_default()
}

/// Writes a note, which requires a scope.
#[tool(scopes("notes:write"))]
fn write(text: String, claims: Auth<Claims>) -> String {
    format!("{} wrote: {text}", claims.subject.as_deref().unwrap_or_default())
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let issuer = AuthServer::start().await?;

    // The server: its URL, as clients know it, and the issuer of its tokens.
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = format!("http://{}/mcp", listener.local_addr()?);
    let verifier = Verifier::new(&*address, issuer.issuer())?.scopes(["notes:read"]);
    let transport = HttpTransport::from_listener(listener).endpoint(|endpoint| endpoint.authorize(verifier));
    let shutdown = transport.shutdown();
    let serving = tokio::spawn(Server::new("notes", "1.0.0").tool(whoami).tool(write).serve(transport));

    // The client: `OAuth::new("Demo")` alone would open a browser.
    let login = OAuth::new("Demo").browser(|page| async move {
        tokio::spawn(async move { log_in(&page).await });
        Ok(())
    });
    // Without the flag, tokens end with the program.
    let login = if std::env::args().any(|flag| flag == "--keychain") {
        login.store(Keychain::system("couplet-example-login")?)
    } else {
        login
    };
    let client = Client::new("demo", "1.0.0").connect(couplet::http::connect(&*address).authorize(login)).await?;
    assert_eq!(client.call("whoami", ()).await?.into_result()?.text(), "alice");

    // Step-up authorization: a call that needs another scope opens the page again.
    let pages = issuer.requests("/authorize").len();
    let note = serde_json::json!({ "text": "hello" });
    assert_eq!(client.call("write", &note).await?.into_result()?.text(), "alice wrote: hello");
    assert_eq!(issuer.requests("/authorize").len(), pages + 1);
    println!("alice logged in, and agreed to more when it was needed");

    client.close().await?;
    shutdown.trigger();
    serving.await.expect("the server does not panic")
}
