//! Simulated updates of resources.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use couplet::{
    core::{Service, sync::lock},
    prelude::*,
    server::WeakServerHandle,
};
use tokio::task::AbortHandle;

use crate::App;

const PACE: Duration = Duration::from_secs(5);

/// The background task, while it runs.
#[derive(Clone, Default)]
pub(crate) struct Updates(Arc<Mutex<Option<AbortHandle>>>);

/// Toggles simulated resource subscription updates on or off.
#[tool(
    name = "toggle-subscriber-updates",
    title = "Toggle Subscriber Updates",
    destructive = false,
    open_world = false
)]
pub(crate) async fn toggle_subscriber_updates(State(app): State<App>, ctx: Ctx) -> &'static str {
    let mut running = lock(&app.updates.0);
    if let Some(task) = running.take() {
        task.abort();
        return "Stopped simulated resource updates for all subscribers";
    }
    *running = Some(tokio::spawn(go_on(ctx.server().downgrade())).abort_handle());
    "Started simulated resource updated notifications for all subscribers at a 5 second pace. Client will receive updates \
     for any resources the it is subscribed to."
}

/// Sends update notifications for all subscribed resources, repeatedly.
async fn go_on(server: WeakServerHandle) {
    while let Some(server) = server.upgrade() {
        for uri in server.hub().interest().uris {
            server.updated(uri);
        }
        drop(server);
        tokio::time::sleep(PACE).await;
    }
}
