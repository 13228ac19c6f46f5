//! Sessions and calls in large numbers leave nothing behind.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use couplet_client::{Client, Filter};
use couplet_core::Service;
use couplet_host::Host;
use couplet_server::{Ctx, Server, ToolError, resource, tool};
use couplet_types::ProtocolVersion;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tokio::{
    task::{JoinSet, LocalSet},
    time::Instant,
};

use crate::{
    child::{Folder, open_files, state},
    kit::{SESSIONS, STATELESS, memory},
};

/// The variable with the number of sessions at full size: `cargo xtask full gateway` sets it.
const FULL: &str = "COUPLET_ENDURANCE_SESSIONS";
/// The number of sessions unless it is set. There are too few to wait until all connections are closed.
const FEW: usize = 400;
/// The level of the connections that stay open for further callers, at most: 16 at each of two servers with sessions.
const POOLED: Level = Level { files: 2 * 16 * 3, tasks: 2 * 16 * 8, children: 16 };
/// The calls of each session.
const CALLS: usize = 10;
/// The sessions that are open at the same time.
const AT_ONCE: usize = 8;
/// Of so many sessions, one uses the child process, which is started for it.
const WITH_CHILD: usize = 100;
/// The growth of memory that counts as none: less than 200 bytes for each of 100,000 sessions.
const GROWTH: usize = 16 << 20;
/// The time in which unused connections are closed: five minutes, with room for a slow machine.
const SETTLE: Duration = Duration::from_secs(400);

#[derive(Deserialize, JsonSchema)]
struct Sure {
    yes: bool,
}

fn server(name: &str, version: ProtocolVersion) -> couplet_server::ServerHandle {
    let sure = |ctx: Ctx| async move {
        let sure = ctx.elicit::<Sure>("sure", "are you sure?").await?.accepted()?;
        Ok::<_, ToolError>(sure.yes.to_string())
    };
    let work = |ctx: Ctx| async move {
        ctx.progress_with(1.0, Some(1.0), None).await;
        "worked"
    };
    Server::new(name, "1")
        .versions([version])
        .tool(tool("ping", || "pong"))
        .tool(tool("sure", sure))
        .tool(tool("work", work))
        .resource(resource(format!("{name}://one"), || "one").subscribable())
        .build()
}

/// One session, from its handshake to its end; returns the number of calls.
async fn session(at: usize, service: Arc<dyn Service>) -> usize {
    let near = if at.is_multiple_of(2) { SESSIONS } else { STATELESS };
    let client = Client::new("near", "1")
        .versions([near])
        .on_elicit(|ask| async move { ask.accept(json!({ "yes": true })) })
        .connect(service)
        .await
        .unwrap();
    let server = if (at / 2).is_multiple_of(2) { "old" } else { "new" };
    let subscribed = match at % 10 {
        0 => Some(client.listen(Filter::new().resource(format!("{server}://one"))).await.unwrap()),
        _ => None,
    };
    for call in 0..CALLS {
        let (tool, expected) = match call {
            0 if at.is_multiple_of(WITH_CHILD) => ("child__ping".to_owned(), "ping"),
            1 if at.is_multiple_of(4) => {
                // The caller gives up.
                let _ = tokio::time::timeout(Duration::ZERO, client.call(format!("{server}__ping"), ())).await;
                continue;
            }
            2 => (format!("{server}__work"), "worked"),
            3 if at.is_multiple_of(20) => (format!("{server}__sure"), "true"),
            _ => (format!("{server}__ping"), "pong"),
        };
        let text = client.call(tool.as_str(), ()).await.unwrap().text();
        assert_eq!(text, expected, "{tool}");
    }
    drop(subscribed);
    // Every second one is lost without a goodbye.
    if at.is_multiple_of(2) {
        let _ = client.close().await;
    }
    CALLS
}

/// Opens and closes sessions; returns the number of calls.
async fn load(host: &Host, sessions: usize) -> usize {
    let (next, calls) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (local, mut workers) = (LocalSet::new(), JoinSet::new());
    for _ in 0..AT_ONCE {
        let (next, calls, service) = (next.clone(), calls.clone(), host.service());
        let work = async move {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= sessions {
                    return;
                }
                calls.fetch_add(session(at, service.clone()).await, Ordering::Relaxed);
            }
        };
        workers.spawn_local_on(work, &local);
    }
    local
        .run_until(async {
            while let Some(done) = workers.join_next().await {
                done.unwrap();
            }
        })
        .await;
    calls.load(Ordering::Relaxed)
}

/// The resources of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Level {
    files: usize,
    tasks: usize,
    children: usize,
}

impl Level {
    fn now(folder: &Folder) -> Self {
        let is_alive = |pid: &String| state(pid).is_some_and(|state| state != 'Z');
        Self {
            files: open_files().unwrap_or_default(),
            tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
            children: folder.pids().iter().filter(|pid| is_alive(pid)).count(),
        }
    }

    fn is_at_most(self, other: Self) -> bool {
        self.files <= other.files && self.tasks <= other.tasks && self.children <= other.children
    }

    /// The sum of two levels.
    fn plus(self, other: Self) -> Self {
        let (files, tasks) = (self.files + other.files, self.tasks + other.tasks);
        Self { files, tasks, children: self.children + other.children }
    }

    /// Waits until the level is at most that of a host whose clients are gone, or until it does not change any more, and
    /// returns it.
    async fn settled(folder: &Folder, before: Option<Self>) -> Self {
        let began = Instant::now();
        let mut last = (Self::now(folder), Instant::now());
        loop {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let now = Self::now(folder);
            if now != last.0 {
                last = (now, Instant::now());
            }
            // Ended sessions are looked for every 30 s.
            let is_quiet = last.1.elapsed() >= Duration::from_secs(40);
            if before.map_or(is_quiet, |before| now.is_at_most(before)) || began.elapsed() >= SETTLE {
                return now;
            }
        }
    }
}

/// Memory, open files, processes and tasks return to where they were.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acceptance_08_sessions_and_calls_leave_nothing_behind() {
    let full: Option<usize> = std::env::var(FULL).ok().map(|size| size.parse().unwrap());
    let sessions = full.unwrap_or(FEW);
    let folder = Folder::new("endurance");
    let host = Host::builder()
        .server("old", server("old", SESSIONS))
        .server("new", server("new", STATELESS))
        .server("child", folder.command(SESSIONS))
        .build();
    host.ready(Duration::from_secs(60)).await;
    // Caches and arenas are filled first.
    load(&host, (sessions / 10).max(2 * WITH_CHILD)).await;
    let start = match full {
        Some(_) => Level::settled(&folder, None).await,
        None => Level::now(&folder),
    };
    let (before, used) = (start, memory());
    let began = Instant::now();
    let calls = load(&host, sessions).await;
    let took = began.elapsed();
    // At full size, the time until unused connections are closed is waited for, too.
    let goal = if full.is_some() { before } else { before.plus(POOLED) };
    let (after, uses) = (Level::settled(&folder, Some(goal)).await, memory());
    let grown = uses.zip(used).map(|(uses, used)| uses.saturating_sub(used));
    println!(
        "acceptance 8: {sessions} sessions and {calls} calls in {} s, {} processes: {before:?} before, {after:?} after, \
         memory {} MiB, grown by {} KiB",
        took.as_secs(),
        folder.pids().len(),
        used.unwrap_or_default() >> 20,
        grown.unwrap_or_default() >> 10,
    );
    assert!(after.is_at_most(before.plus(POOLED)), "{before:?}, {after:?}");
    assert!(grown.is_none_or(|grown| grown <= GROWTH), "{grown:?}");
}
