//! All running servers that this process has started, for programs that may end otherwise than by returning from `main`.
//!
//! A server that is a child process ends with its connection. What ends a program early ends no connection: a signal,
//! [`std::process::exit`], a panic that aborts. A server that reads its input sees the end of it and ends; one that does
//! not would stay behind.
//!
//! ```no_run
//! use std::time::Duration;
//! use couplet_stdio::children;
//!
//! # async fn work() {}
//! # async fn terminated() {}
//! # async fn example() -> std::io::Result<()> {
//! // Once, at the start: also `SIGKILL` leaves no server behind.
//! children::guard()?;
//! tokio::select! {
//!     () = work() => {}
//!     () = terminated() => children::stop(Duration::from_secs(2)).await,
//! }
//! # Ok(())
//! # }
//! ```

use std::{
    io,
    sync::{Arc, Mutex, MutexGuard, Weak},
    time::Duration,
};

use couplet_core::sync::lock;
use tokio::time::{Instant, sleep};

use crate::{
    child::{Group, Process},
    leash::Leash,
};

static LIVE: Mutex<Table> = Mutex::new(Table { last: 0, entries: Vec::new() });

struct Table {
    last: u64,
    entries: Vec<Entry>,
}

struct Entry {
    number: u64,
    group: Group,
    /// The mark of what the server starts, if that is to be ended.
    #[cfg_attr(not(unix), expect(dead_code, reason = "there is no guard"))]
    mark: Option<String>,
    leash: Weak<Leash>,
}

/// Returns the number of running servers.
pub fn count() -> usize {
    table().entries.len()
}

/// Ends all servers in three steps, as closing each connection does: their input ends; those that are there after
/// `grace` get `SIGTERM`; those that are there two seconds later get `SIGKILL`. Returns when none is left.
///
/// Connections that are opened meanwhile are ended, too. The drivers of the connections should go on running; without
/// them the input does not end, and the other steps still happen.
pub async fn stop(grace: Duration) {
    let started = Instant::now();
    close();
    if gone(started + grace).await {
        return;
    }
    each(Group::terminate);
    if gone(Instant::now() + Process::EXIT_TIMEOUT).await {
        return;
    }
    kill();
    // Killed means gone soon; the driver of the connection then removes the entry.
    gone(Instant::now() + Process::EXIT_TIMEOUT).await;
}

/// Kills all servers at once, with everything that they have started, and waits for none: for where nothing can be
/// waited for.
pub fn kill() {
    each(Group::kill);
}

/// Starts a small shell process that ends the servers which are left when this process is gone, however it ends.
///
/// It is started once, costs about a megabyte, and ends with this process. (`PR_SET_PDEATHSIG` would need no process,
/// but is sent when the *thread* ends that has started the child.) Elsewhere than on Unix nothing is done.
///
/// # Errors
/// When `/bin/sh` cannot be started.
pub fn guard() -> io::Result<()> {
    #[cfg(unix)]
    return crate::guard::start(|| table().entries.iter().map(|entry| (entry.group, entry.mark.clone())).collect());
    #[cfg(not(unix))]
    Ok(())
}

/// Adds a process group that this program has started itself to the [`guard`], such as a server whose bytes it forwards.
/// `leader` is the id of the process that leads the group.
///
/// The group is removed when the returned value is dropped.
pub fn watch(leader: u32) -> Watched {
    let group = Group::led_by(leader);
    #[cfg(unix)]
    crate::guard::watch(group, None);
    Watched(group)
}

/// A process group that the guard ends when this process is gone; made by [`watch`].
#[derive(Debug)]
#[must_use = "the group is not watched any more when this is dropped"]
pub struct Watched(#[cfg_attr(not(unix), expect(dead_code, reason = "there is no guard"))] Group);

#[cfg(unix)]
impl Drop for Watched {
    fn drop(&mut self) {
        crate::guard::forget(self.0, None);
    }
}

/// The entry of a server; it goes when this is dropped.
pub(crate) struct Live {
    number: u64,
    group: Group,
    mark: Option<String>,
}

impl Live {
    pub(crate) fn new(group: Group, mark: Option<String>, leash: &Arc<Leash>) -> Self {
        let mut table = table();
        table.last += 1;
        let number = table.last;
        table.entries.push(Entry { number, group, mark: mark.clone(), leash: Arc::downgrade(leash) });
        drop(table);
        #[cfg(unix)]
        crate::guard::watch(group, mark.as_deref());
        Self { number, group, mark }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        table().entries.retain(|entry| entry.number != self.number);
        #[cfg(unix)]
        crate::guard::forget(self.group, self.mark.as_deref());
    }
}

/// Closes all connections.
fn close() {
    let all: Vec<_> = table().entries.iter().filter_map(|entry| entry.leash.upgrade()).collect();
    all.iter().for_each(|leash| couplet_core::Channel::close(&**leash));
}

fn each(act: impl Fn(Group)) {
    table().entries.iter().for_each(|entry| act(entry.group));
}

/// Waits until none is left; false if some are at the deadline.
async fn gone(deadline: Instant) -> bool {
    while count() > 0 {
        if Instant::now() >= deadline {
            return false;
        }
        close();
        sleep(Process::POLL_INTERVAL).await;
    }
    true
}

fn table() -> MutexGuard<'static, Table> {
    lock(&LIVE)
}
