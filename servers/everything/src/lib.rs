//! A server that shows every feature of the Model Context Protocol.
//!
//! Its first part is the contract of the official everything server: the same tools, prompts, resources and results, in
//! every revision. The second part is what 2026-07-28 and its extensions add, which works with older clients as far as
//! they support it: multi-round-trip requests, parameters in headers, cacheable results, subscriptions, tasks, apps and
//! skills.
//!
//! [`server`] builds the server; it can be served, mounted in another server, or connected to in a test.
//!
//! It uses `couplet` and nothing below: it is an example to read.

#![cfg_attr(docsrs, feature(doc_cfg))]

mod additions;
mod app;
mod asking;
mod background;
mod caller;
mod clock;
mod contents;
mod env;
mod fetch;
mod gzip;
mod links;
mod listing;
mod logging;
mod prompts;
mod research;
mod resources;
mod rounds;
mod sampling;
mod skill;
mod updates;
mod visiting;
mod work;

use std::time::Duration;

use couplet::{
    prelude::*,
    tasks::Tasks,
    types::{CacheScope, Icon, Implementation},
};

pub use env::ShownEnv;

/// The state that tools share between calls.
#[derive(Clone, Default)]
struct App {
    shown: env::ShownEnv,
    logs: logging::Logs,
    updates: updates::Updates,
    visits: visiting::Prerequisites,
    files: gzip::Files,
}

/// Builds the server. Its handlers need a tokio runtime.
///
/// ```
/// use couplet::prelude::*;
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> couplet::Result<()> {
/// let client = Client::new("reader", "1.0.0").connect(couplet_everything::server().build()).await?;
/// let echo = client.call("echo", serde_json::json!({ "message": "hello" })).await?;
/// assert_eq!(echo.text(), "Echo: hello");
/// # Ok(())
/// # }
/// ```
///
/// Its tool `get-env` shows only variables that start with `COUPLET_`, so that it can be served over HTTP;
/// [`server_showing`] can show more.
pub fn server() -> Server {
    server_showing(ShownEnv::default())
}

/// Builds the server with other environment variables in `get-env`.
pub fn server_showing(shown: ShownEnv) -> Server {
    server_with(shown, Tasks::in_memory())
}

/// Builds the server with other environment variables in `get-env`, and tasks that replicas may share.
pub fn server_with(shown: ShownEnv, tasks: Tasks) -> Server {
    let server = Server::new("couplet-everything", env!("CARGO_PKG_VERSION"))
        .info(info())
        .instructions(resources::INSTRUCTIONS)
        // Some tools are slow on request. Time spent waiting for the client does not count.
        .timeout(Duration::from_secs(600))
        // Lists and documents never change; other results set their own cache hints.
        .cache(Duration::from_secs(300), CacheScope::Public)
        .middleware(listing::fitting);
    // The contract first, in its own order, then the additions.
    let server = server
        .tool(contents::echo)
        .tool(contents::get_annotated_message)
        .tool(env::get_env)
        .tool(links::get_resource_links)
        .tool(links::get_resource_reference)
        .tool(contents::get_structured_content)
        .tool(contents::get_sum)
        .tool(contents::get_tiny_image)
        .tool(gzip::gzip_file_as_resource)
        .tool(logging::toggle_simulated_logging)
        .tool(updates::toggle_subscriber_updates)
        .tool(work::trigger_long_running_operation)
        .tool(asking::get_roots_list)
        .tool(asking::trigger_elicitation_request)
        .tool(visiting::trigger_url_elicitation)
        .tool(sampling::trigger_sampling_request);
    let server = background::register(research::register(server, tasks));
    let server = server
        .tool(additions::get_tiny_sound)
        .tool(additions::get_primes)
        .tool(additions::greet_region)
        .tool(additions::plan_journey)
        .tool(additions::trigger_error)
        .tool(caller::get_caller)
        .tool(sampling::trigger_sampling_with_tools);
    let server = app::register(server).extension(skill::skills());
    let server = resources::register(prompts::register(server));
    rounds::register(server).with_state(App { shown, ..App::default() })
}

fn info() -> Implementation {
    Implementation::new("couplet-everything", env!("CARGO_PKG_VERSION"))
        .title("Everything Server")
        .description("Every feature of the Model Context Protocol, in every revision.")
        .icons(vec![logo()])
}

/// Returns the icon.
fn logo() -> Icon {
    use base64::{Engine, engine::general_purpose::STANDARD};
    let src = format!("data:image/png;base64,{}", STANDARD.encode(contents::LOGO));
    Icon::new(src).mime_type("image/png").sizes(vec!["20x20".to_owned()])
}
