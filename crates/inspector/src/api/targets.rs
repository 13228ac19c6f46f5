//! Targets: listed, added, connected and removed.

use couplet_types::LoggingLevel;
use http::Response;
use serde::Deserialize;
use serde_json::json;

use super::{Answer, Wrong, ok, target};
use crate::{
    Inspector,
    body::{Body, json},
    target::{TargetState, asked},
};

#[derive(Deserialize)]
pub(super) struct New {
    target: String,
    revision: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Again {
    revision: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct Logs {
    level: Option<LoggingLevel>,
}

pub(super) fn list(inspector: &Inspector) -> Response<Body> {
    let targets: Vec<TargetState> = inspector.targets().iter().map(|target| target.state()).collect();
    json(&json!({ "targets": targets }))
}

pub(super) async fn add(inspector: &Inspector, new: New) -> Answer {
    let revision = asked(new.revision.as_deref())?;
    let find = inspector.0.find.clone();
    let text = new.target;
    // It reads the files of hosts.
    let found = tokio::task::spawn_blocking(move || find.find(&text)).await;
    let place = found.map_err(|error| format!("the target cannot be resolved: {error}"))??;
    Ok(json(&inspector.add_target(place, revision).state()))
}

pub(super) fn connect(inspector: &Inspector, id: &str, again: Again) -> Answer {
    let (target, revision) = (target(inspector, id)?, asked(again.revision.as_deref())?);
    super::place(inspector, id)?;
    target.connect(revision, &inspector.0.mount);
    Ok(json(&target.state()))
}

/// Asks the server for log messages of a level and above; of all levels without one.
pub(super) async fn logs(inspector: &Inspector, id: &str, order: Logs) -> Answer {
    let client = target(inspector, id)?.client().ok_or("the target is not connected")?;
    let level = order.level.unwrap_or(LoggingLevel::Debug);
    client.set_log_level(level).await.map_err(|error| format!("the level cannot be set: {error}"))?;
    Ok(ok())
}

pub(super) fn remove(inspector: &Inspector, id: &str) -> Answer {
    match inspector.remove(id) {
        true => Ok(ok()),
        false => Err(Wrong::missing(format!("there is no target `{id}`"))),
    }
}

pub(super) async fn known(inspector: &Inspector) -> Answer {
    let find = inspector.0.find.clone();
    let known = tokio::task::spawn_blocking(move || find.known()).await;
    let servers = known.map_err(|error| format!("the servers of hosts cannot be read: {error}"))??;
    Ok(json(&json!({ "servers": servers })))
}
