//! A tool with a view: a clock in hosts with MCP Apps, text in others.

use couplet::{
    apps::{AppTool, Apps, ShowsApps, View},
    prelude::*,
};

use crate::{App, clock};

const VIEW: &str = "ui://everything/clock";

pub(crate) fn register(server: Server<App>) -> Server<App> {
    let view = View::new(VIEW, include_str!("../assets/clock.html")).name("Clock").prefers_border(true);
    let show = tool("show-clock", show_clock)
        .title("Show Clock")
        .icons(vec![crate::logo()])
        .description("Shows a clock in hosts that support views, and returns the time as text in others.");
    let refresh = tool("refresh-clock", clock::now)
        .title("Refresh Clock")
        .description("Returns the time to the view of `show-clock`; not for models.");
    server
        .extension(Apps::new().view(view))
        .tool(show.read_only().open_world(false).view(VIEW))
        .tool(refresh.read_only().open_world(false).app_only())
}

async fn show_clock(ctx: Ctx) -> String {
    let now = clock::now();
    if ctx.shows_apps() { format!("A clock is shown; it is {now}.") } else { format!("It is {now}.") }
}
