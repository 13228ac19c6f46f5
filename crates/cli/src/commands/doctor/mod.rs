//! `couplet doctor`: diagnoses servers: first their configuration, then the servers themselves.

mod live;
mod reasons;

use std::sync::Arc;

use couplet_hosts::{
    Env,
    cli::{DoctorArgs, inspect, report},
    doctor::{Finding, Severity},
};
use tokio::{sync::Semaphore, task::JoinSet};

use super::written;
use crate::{
    exit::Failure,
    output::Output,
    target::{ConnectionArgs, Target, Timeout, environment, is_place, seconds},
};

/// How many servers are checked at once.
const AT_ONCE: usize = 4;

/// The arguments of `couplet doctor`.
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    #[command(flatten)]
    doctor: DoctorArgs,
    /// Check configurations only; do not start or connect to servers
    #[arg(long)]
    no_start: bool,
    /// Timeout for each server
    #[arg(long, value_name = "SECONDS", default_value = "20", value_parser = seconds)]
    timeout: Timeout,
}

pub(crate) async fn run(args: Args, output: &Arc<Output>) -> Result<(), Failure> {
    let env = environment()?;
    let connection = ConnectionArgs { timeout: args.timeout, ..ConnectionArgs::default() };
    let (servers, findings) = match args.doctor.server.as_deref().filter(|text| is_place(text)) {
        Some(text) => {
            let target = Target::find(text, &connection, crate::target::Known::here)?;
            (1, live::look(target, connection).await)
        }
        None => configured(&args, &env, connection).await?,
    };
    written::whole(output, |out| report(&findings, servers, output.json, &env, out))
}

/// Checks the servers of hosts. A server in several hosts is started once; one with a broken configuration is not.
async fn configured(args: &Args, env: &Env, connection: ConnectionArgs) -> Result<(usize, Vec<Finding>), Failure> {
    let (servers, mut findings) = inspect(&args.doctor, env)?;
    let count = servers.len();
    if args.no_start {
        return Ok((count, findings));
    }
    let mut targets: Vec<(Target, Vec<_>)> = Vec::new();
    for server in servers.into_iter().filter(|server| server.enabled) {
        let is_about = |f: &&Finding| (f.host.as_ref(), f.server.as_ref()) == (Some(&server.host), Some(&server.name));
        if findings.iter().filter(is_about).any(|finding| finding.severity == Severity::Error) {
            continue;
        }
        let Ok(target) = Target::configured(&server, env) else { continue };
        match targets.iter_mut().find(|(other, _)| other.place == target.place) {
            Some((_, same)) => same.push(server),
            None => targets.push((target, vec![server])),
        }
    }
    let (free, mut looks) = (Arc::new(Semaphore::new(AT_ONCE)), JoinSet::new());
    for (at, (target, servers)) in targets.into_iter().enumerate() {
        let (free, connection) = (free.clone(), connection.clone());
        looks.spawn(async move {
            let _turn = free.acquire().await;
            let found = live::look(target, connection).await;
            let about = |finding: &Finding| servers.iter().map(|s| finding.clone().about(s)).collect::<Vec<_>>();
            (at, found.iter().flat_map(about).collect::<Vec<_>>())
        });
    }
    let mut found = looks.join_all().await;
    found.sort_by_key(|(at, _)| *at);
    findings.extend(found.into_iter().flat_map(|(_, findings)| findings));
    Ok((count, findings))
}
