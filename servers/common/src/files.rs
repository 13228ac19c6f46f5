//! The number of files that the process may open: each connection is one.

/// Files beside connections: logs, databases, connections to other servers.
#[cfg(unix)]
const OTHERS: u64 = 64;

/// Raises the limit of open files as far as so many connections require, and warns if the system does not allow it.
#[cfg(unix)]
pub(crate) fn allow(connections: usize) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let wanted = u64::try_from(connections).unwrap_or(u64::MAX).saturating_add(OTHERS);
    let limit = getrlimit(Resource::Nofile);
    let Some(raised) = raised(wanted, limit.current, limit.maximum) else { return };
    let is_set = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum: limit.maximum }).is_ok();
    let allowed = if is_set { Some(raised) } else { limit.current };
    if let Some(allowed) = allowed.filter(|allowed| *allowed < wanted) {
        tracing::warn!(
            "{connections} connections need {wanted} open files, and the process may have {allowed}: raise the hard limit \
             (`LimitNOFILE=` of systemd, `ulimit -Hn`), or lower --max-connections"
        );
    }
}

#[cfg(not(unix))]
pub(crate) fn allow(_: usize) {}

/// The soft limit to set, if it is too low; `None` is no limit.
#[cfg(unix)]
fn raised(wanted: u64, soft: Option<u64>, hard: Option<u64>) -> Option<u64> {
    soft.filter(|soft| *soft < wanted).map(|_| hard.map_or(wanted, |hard| hard.min(wanted)))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn the_limit_is_raised_to_what_is_wanted_or_allowed() {
        for (wanted, soft, hard, expected) in [
            (4160, Some(1024), Some(524_288), Some(4160)),
            (4160, Some(1024), None, Some(4160)),
            (4160, Some(1024), Some(2048), Some(2048)),
            (4160, Some(1024), Some(1024), Some(1024)),
            (4160, Some(4160), Some(4160), None),
            (4160, None, None, None),
        ] {
            assert_eq!(raised(wanted, soft, hard), expected, "{wanted} {soft:?} {hard:?}");
        }
    }
}
