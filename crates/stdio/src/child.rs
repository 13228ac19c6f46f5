//! A child process and the processes that it started: waiting for them, and ending them.

use std::{process::ExitStatus, sync::Arc, time::Duration};

use tokio::{
    process::Child,
    time::{Instant, sleep, timeout, timeout_at},
};

#[cfg(target_os = "linux")]
use crate::strays;
use crate::{children::Live, leash::Leash};

/// A child process that leads a process group. Dropping it kills the group.
pub(crate) struct Process {
    child: Child,
    group: Group,
    grace: Duration,
    /// The child was waited for and nothing of the group is left to kill.
    over: bool,
    /// The mark of everything that the child starts, if that is to be ended.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "processes cannot be found by their environment"))]
    mark: Option<String>,
    _live: Live,
}

/// The way in which a child ended.
#[derive(Debug)]
pub(crate) enum Exit {
    /// By itself.
    Itself(ExitStatus),
    /// By a signal of ours.
    Forced,
}

impl Process {
    /// The timeout for the group to end after `SIGTERM`, and after `SIGKILL`.
    pub(crate) const EXIT_TIMEOUT: Duration = Duration::from_secs(2);
    /// The interval at which the group is polled.
    pub(crate) const POLL_INTERVAL: Duration = Duration::from_millis(10);

    pub(crate) fn new(child: Child, grace: Duration, mark: Option<String>, leash: &Arc<Leash>) -> Self {
        let group = Group::of(&child);
        let live = Live::new(group, mark.clone(), leash);
        Self { group, child, grace, over: false, mark, _live: live }
    }

    /// Waits until the child has ended by itself.
    pub(crate) async fn ended(&mut self) {
        // It cannot fail for a child of ours, and if it does there is nothing left to wait for.
        let _ = self.child.wait().await;
    }

    /// Ends the child and everything that it started, after its input was closed: waits, sends `SIGTERM`, waits, sends
    /// `SIGKILL`.
    pub(crate) async fn stop(&mut self) -> Exit {
        let exit = match timeout(self.grace, self.child.wait()).await {
            Ok(Ok(status)) => Exit::Itself(status),
            Ok(Err(_)) | Err(_) => Exit::Forced,
        };
        if self.is_alive() {
            self.group.terminate();
            self.gone(Instant::now() + Self::EXIT_TIMEOUT).await;
        }
        if self.is_alive() {
            self.kill();
        }
        // Killed means gone soon, unless the kernel holds it; then the runtime reaps it some day.
        let _ = timeout(Self::EXIT_TIMEOUT, self.child.wait()).await;
        #[cfg(target_os = "linux")]
        if let Some(mark) = self.mark.clone() {
            let _ = timeout(Self::EXIT_TIMEOUT, tokio::task::spawn_blocking(move || strays::kill(&mark))).await;
        }
        self.over = true;
        exit
    }

    async fn gone(&mut self, deadline: Instant) {
        let _ = timeout_at(deadline, self.child.wait()).await;
        // There is no event for the end of a grandchild.
        while self.is_alive() && Instant::now() < deadline {
            sleep(Self::POLL_INTERVAL).await;
        }
    }

    /// Whether the child, or anything it started, is there.
    fn is_alive(&self) -> bool {
        self.child.id().is_some() || self.group.is_alive()
    }

    fn kill(&mut self) {
        self.group.kill();
        let _ = self.child.start_kill();
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if !self.over {
            self.kill();
            #[cfg(target_os = "linux")]
            if let Some(mark) = self.mark.take() {
                // It may be dropped where nothing must block. Without a thread, only those in the group are ended.
                let _ = std::thread::Builder::new().spawn(move || strays::kill(&mark));
            }
        }
    }
}

/// The process group of a child.
///
/// A group keeps its number for as long as it has a member, even when the child that gave it the number is gone. When
/// the last member is gone the number is free again; it is asked about right after the child was waited for, long
/// before the system comes around to that number.
#[cfg(unix)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group(Option<rustix::process::Pid>);

#[cfg(unix)]
impl Group {
    fn of(child: &Child) -> Self {
        child.id().map_or(Self(None), Self::led_by)
    }

    /// The group whose leader has this process id.
    pub(crate) fn led_by(id: u32) -> Self {
        Self(i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw))
    }

    /// The number of the group.
    pub(crate) fn number(self) -> Option<i32> {
        self.0.map(rustix::process::Pid::as_raw_pid)
    }

    pub(crate) fn is_alive(self) -> bool {
        self.0.is_some_and(|id| rustix::process::test_kill_process_group(id) != Err(rustix::io::Errno::SRCH))
    }

    pub(crate) fn terminate(self) {
        self.signal(rustix::process::Signal::TERM);
    }

    pub(crate) fn kill(self) {
        self.signal(rustix::process::Signal::KILL);
    }

    fn signal(self, signal: rustix::process::Signal) {
        if let Some(id) = self.0 {
            // It fails when the group is gone, which is what is wanted.
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }
}

/// Without process groups only the child itself can be ended, and only by force.
#[cfg(not(unix))]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group;

#[cfg(not(unix))]
impl Group {
    fn of(_: &Child) -> Self {
        Self
    }

    pub(crate) fn led_by(_: u32) -> Self {
        Self
    }

    pub(crate) fn number(self) -> Option<i32> {
        None
    }

    pub(crate) fn is_alive(self) -> bool {
        false
    }

    pub(crate) fn terminate(self) {}

    pub(crate) fn kill(self) {}
}
