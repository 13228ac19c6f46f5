//! MCP Apps: a tool with a view, a page that a host shows beside the result. Hosts without views get the text.

use couplet::{
    apps::{AppTool, Apps, Bridge, ClientApps, Csp, Host, HostApps, ShowsApps, View, ViewEvent},
    prelude::*,
    types::Implementation,
};
use serde_json::json;

async fn forecast(ctx: Ctx) -> &'static str {
    if ctx.shows_apps() { "The forecast is on the screen." } else { "Sunny today, rain tomorrow." }
}

fn server() -> couplet::server::ServerHandle {
    let page = "<!doctype html><title>Forecast</title><script src=https://cdn.example.com/app.js></script>";
    let view = View::new("ui://weather/forecast", page).csp(Csp::new().resources(["https://cdn.example.com"]));
    Server::new("weather", "1.0.0")
        .extension(Apps::new().view(view))
        .tool(tool("forecast", forecast).view("ui://weather/forecast"))
        .tool(tool("refresh", || "22 degrees").app_only())
        .build()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> couplet::Result<()> {
    let plain = Client::new("terminal", "1.0.0").connect(server()).await?;
    assert_eq!(plain.call("forecast", ()).await?.into_result()?.text(), "Sunny today, rain tomorrow.");

    let client = Client::new("desktop", "1.0.0").extension(ClientApps::new()).connect(server()).await?;
    let tools = client.model_tools().await?;
    assert_eq!(tools.len(), 1, "`refresh` is for the view alone");
    let view = client.view_of(&tools[0]).await?.expect("the tool has a view");
    println!("{} with {}", view.uri, view.policy());
    assert!(view.policy().contains("script-src 'self' 'unsafe-inline' https://cdn.example.com;"));

    // The host shows the page in a frame and forwards its messages.
    let mut bridge = Bridge::new(Host::new(Implementation::new("desktop", "1.0.0")), client.app_tools().await?);
    bridge.receive(&json!({ "jsonrpc": "2.0", "id": 1, "method": "ui/initialize", "params": {} }));
    bridge.receive(&json!({ "jsonrpc": "2.0", "method": "ui/notifications/initialized" }));
    let result = client.call("forecast", ()).await?;
    let input = bridge.tool_input(&json!({})).expect("the view is ready");
    let output = bridge.tool_result(&result.into_inner()).expect("the view has the input");
    assert_eq!([&input["method"], &output["method"]], ["ui/notifications/tool-input", "ui/notifications/tool-result"]);

    // The view calls a tool.
    let ask = json!({ "jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": { "name": "refresh" } });
    let ViewEvent::CallTool(id, call) = bridge.receive(&ask) else { panic!("the view may call it") };
    let refreshed = client.call(call.name, call.arguments).await?.into_result()?;
    assert_eq!(refreshed.text(), "22 degrees");
    println!("{}", bridge.answer(&id, &refreshed.into_inner()));
    Ok(())
}
