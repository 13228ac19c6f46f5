//! An MCP endpoint inside an axum application: the application's own routes beside it, callers identified by a header
//! that the application's middleware has checked, the inspector's page below it, and a graceful shutdown that lets
//! running calls finish. It serves until its standard input ends.

use axum::{Router, routing::get};
use couplet::{http::server::Endpoint, prelude::*};
use tokio::{net::TcpListener, sync::oneshot};

/// Returns the caller.
#[tool]
fn whoami(ctx: Ctx) -> String {
    ctx.call().caller.as_ref().map_or("a guest", |caller| caller.principal()).to_owned()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let server = Server::new("inside-axum", "1.0.0").tool(whoami).build();
    // Requests to other host names than this machine's need `.allow_host("mcp.example.com")`, pages in a browser
    // `.allow_origin("https://app.example.com")`. With OAuth, `.authorize(Verifier::new(..)?)`, and the endpoint is
    // mounted at `/.well-known/oauth-protected-resource/mcp` as well: it serves that document itself.
    let endpoint = Endpoint::new(server).inspector().principal(|request| {
        let user = request.headers.get("x-user")?;
        user.to_str().ok().map(str::to_owned)
    });

    let app = Router::new().route("/health", get(|| async { "ok" }));
    // The endpoint, and the page of the inspector.
    let places = ["/mcp", "/mcp/inspector/", "/mcp/inspector/{file}"];
    let app = places.iter().fold(app, |app, place| app.route_service(place, endpoint.clone()));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let url = format!("http://{}/mcp", listener.local_addr()?);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = tokio::spawn(async move {
        // In your program: `tokio::signal::ctrl_c()`.
        let signal = async move {
            let _ = stopped.await;
            // Ends open streams, which axum would wait for; running calls finish.
            // With tasks or idempotency keys, also await `endpoint.drain(..)` before the process exits.
            endpoint.shut_down();
        };
        axum::serve(listener, app).with_graceful_shutdown(signal).await
    });

    let guest = Client::new("demo", "1.0.0").connect(&url).await?;
    assert_eq!(guest.call("whoami", ()).await?.into_result()?.text(), "a guest");
    let ada = Client::new("demo", "1.0.0").connect(couplet::http::connect(&*url).header("x-user", "ada")).await?;
    assert_eq!(ada.call("whoami", ()).await?.into_result()?.text(), "ada");
    println!("one endpoint, two callers");
    println!("inspector: {url}/inspector/");
    let input = tokio::task::spawn_blocking(|| std::io::stdin().lines().count());
    input.await.expect("reading does not panic");

    ada.close().await?;
    guest.close().await?;
    let _ = stop.send(());
    serving.await.expect("the server does not panic")?;
    Ok(())
}
