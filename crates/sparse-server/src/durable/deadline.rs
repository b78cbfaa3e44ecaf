//! Times of deletion that no change of the system's clock moves, as records have them for the next process.

use serde::{Deserialize, Serialize};
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// An instant by the time that the machine has run since its last start.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Deadline {
    /// The id of that start.
    boot: String,
    milliseconds: u64,
}

/// The id of the last start of the machine, where the system tells.
static BOOT: LazyLock<Option<String>> = LazyLock::new(|| {
    let id = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
});

impl Deadline {
    /// The deadline at an instant; none where the system does not tell how long it has run.
    pub(crate) fn of(instant: Instant) -> Option<Self> {
        let left = instant.saturating_duration_since(Instant::now());
        let milliseconds = u64::try_from(uptime()?.checked_add(left)?.as_millis()).ok()?;
        Some(Self { boot: BOOT.clone()?, milliseconds })
    }

    /// The instant in this process; none after another start of the machine.
    pub(crate) fn instant(&self) -> Option<Instant> {
        if BOOT.as_ref() != Some(&self.boot) {
            return None;
        }
        let left = Duration::from_millis(self.milliseconds).saturating_sub(uptime()?);
        Instant::now().checked_add(left)
    }
}

/// Time since the start of the machine by the clock of [`Instant`], which stands still while it is suspended.
#[cfg(target_os = "linux")]
fn uptime() -> Option<Duration> {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `time`, which is a value of its type.
    let status = unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut time) };
    let (seconds, nanoseconds) = (u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?);
    (status == 0).then(|| Duration::new(seconds, nanoseconds))
}

/// Nothing: the system's clock has to do.
#[cfg(not(target_os = "linux"))]
fn uptime() -> Option<Duration> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_the_same_instant_later_and_nothing_after_another_start() {
        let now = Instant::now();
        for seconds in [0, 1, 1_000_000] {
            let instant = now + Duration::from_secs(seconds);
            let text = serde_json::to_string(&Deadline::of(instant).unwrap()).unwrap();
            let found = serde_json::from_str::<Deadline>(&text).unwrap().instant().unwrap();
            let late = found.saturating_duration_since(instant).max(instant.saturating_duration_since(found));
            assert!(late < Duration::from_secs(1), "{seconds} s: {late:?}");
        }
        let before = Deadline { boot: "another".into(), milliseconds: 0 };
        assert_eq!(before.instant(), None);
    }
}
