//! What happens to replicas while clients use them.

use std::{thread::sleep, time::Duration};

use super::rig::Process;
use crate::{Failure, interop::rolling::Disturbance};

/// The time between two disturbances, so that a load balancer knows of the last one.
const PAUSE: Duration = Duration::from_secs(2);
/// The time between two looks at clients that nothing happens to.
const QUIET: Duration = Duration::from_millis(100);
/// How long a killed replica is gone.
const GONE: Duration = Duration::from_millis(500);

/// Disturbs one replica after the other.
pub(super) struct Turns {
    disturbance: Disturbance,
    /// How many there were.
    pub(super) taken: usize,
}

impl Turns {
    pub(super) const fn new(disturbance: Disturbance) -> Self {
        Self { disturbance, taken: 0 }
    }

    /// Waits, and disturbs the next replica until it serves again. Returns whether it was killed.
    pub(super) fn next(&mut self, replicas: &mut [Process]) -> Result<bool, Failure> {
        if self.disturbance == Disturbance::None {
            sleep(QUIET);
            return Ok(false);
        }
        sleep(PAUSE);
        let at = self.taken % replicas.len();
        let is_killed = self.disturbance == Disturbance::Killed && self.taken.is_multiple_of(2);
        self.taken += 1;
        if is_killed {
            replicas[at].kill();
            sleep(GONE);
            replicas[at].start()?;
        } else {
            replicas[at].roll()?;
        }
        Ok(is_killed)
    }
}
