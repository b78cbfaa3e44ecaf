//! One version of an object: its description, and its matrix in memory or on disk.

use crate::durable::{Deadline, Description, Record, Segment, key};
use crate::lock::lock;
use crate::memory::ledger::Reservation;
use crate::problem::Problem;
use crate::request::labels::Labels;
use crate::request::media::extension;
use axum::http::{HeaderValue, StatusCode};
use nnz::Matrix;
use nnz::io::FileKind;
use serde::Serialize;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// One version of an object, which never changes.
#[derive(Debug)]
pub(crate) struct Object {
    pub(super) tenant: String,
    pub(crate) name: String,
    pub(crate) version: u64,
    /// The number of its device, if the service has several.
    pub(super) device: Option<usize>,
    pub(crate) description: Description,
    pub(super) is_durable: bool,
    /// Pinned objects are not evicted.
    pub(super) is_pinned: AtomicBool,
    pub(super) labels: Mutex<Labels>,
    /// The time at which it is deleted, which no change of the system's clock moves.
    pub(super) deadline: Option<Instant>,
    /// The time of the last use, in uses of any object.
    pub(super) last_use: AtomicU64,
    /// Nanoseconds since 1970 at which this process made it: another object may have its name and version later.
    pub(super) made: u128,
    pub(super) content: Mutex<Content>,
}

#[derive(Debug, Default)]
pub(super) struct Content {
    pub(super) resident: Option<Arc<Resident>>,
    /// The matrix in the host's memory, while it is not in the device's.
    pub(super) host: Option<Resident>,
    pub(super) segment: Option<Segment>,
    /// The reason why the matrix cannot be read.
    pub(super) defect: Option<Defect>,
    /// True once nobody can find it by its name.
    pub(super) is_removed: bool,
}

/// The reason why a matrix is lost.
#[derive(Debug, Clone)]
pub(super) enum Defect {
    /// The segment is damaged.
    Corrupt(String),
    /// The object was in the memory of a process that has ended.
    Lost,
}

/// A matrix in memory, with its bytes in the ledger. In the device's whoever holds it has a lease: it is not evicted.
#[derive(Debug)]
pub(crate) struct Resident {
    pub(crate) matrix: Matrix,
    pub(super) _bytes: Reservation,
}

/// An object as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    name: String,
    version: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    device: Option<usize>,
    durable: bool,
    pinned: bool,
    /// `device`, `host`, `disk`, `moving`, `corrupt` or `lost`.
    tier: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Labels::is_empty")]
    labels: Labels,
    #[serde(flatten)]
    description: Description,
}

/// The tiers of matrices that can be had.
pub(super) const DEVICE: &str = "device";
pub(super) const HOST: &str = "host";
pub(super) const DISK: &str = "disk";
pub(crate) const TIERS: [&str; 3] = [DEVICE, HOST, DISK];

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The time at which the object of a record is deleted, if it has one.
fn deadline_of(record: &Record) -> Option<Instant> {
    let instant = record.deadline.as_ref().and_then(Deadline::instant);
    instant.or_else(|| record.description.expires.and_then(instant_of))
}

/// The instant of a time in seconds since 1970, by the clock as it is now; none if it is too far away.
fn instant_of(time: u64) -> Option<Instant> {
    after(time.saturating_sub(now()))
}

/// The instant in so many seconds; none if it is too far away.
pub(super) fn after(seconds: u64) -> Option<Instant> {
    Instant::now().checked_add(Duration::from_secs(seconds))
}

/// The time for a new object.
pub(super) fn time_of_making() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos())
}

impl Object {
    /// The object of a record, without its matrix.
    pub(crate) fn of(record: &Record, is_durable: bool) -> Self {
        Self {
            tenant: record.tenant.clone(),
            name: record.name.clone(),
            version: record.version,
            device: None,
            description: record.description.clone(),
            is_durable,
            is_pinned: AtomicBool::new(false),
            labels: Mutex::new(record.labels.clone()),
            deadline: deadline_of(record),
            last_use: AtomicU64::new(0),
            made: time_of_making(),
            content: Mutex::default(),
        }
    }

    pub(crate) fn view(&self) -> View {
        let (tier, sha256) = match self.content.try_lock() {
            Err(_) => ("moving", None),
            Ok(content) => {
                let hash = content.segment.as_ref().and_then(|segment| segment.sha256.clone());
                (content.tier(), hash)
            }
        };
        View {
            name: self.name.clone(),
            version: self.version,
            device: self.device,
            durable: self.is_durable,
            pinned: self.is_pinned.load(Ordering::Relaxed),
            tier,
            sha256,
            labels: lock(&self.labels).clone(),
            description: self.description.clone(),
        }
    }

    /// The tier of the matrix, and its bytes there; none while it moves.
    pub(super) fn tier_bytes(&self) -> Option<(&'static str, u64)> {
        let content = self.content.try_lock().ok()?;
        let on_disk = content.segment.as_ref().map_or(0, |segment| segment.bytes);
        let tier = content.tier();
        Some((tier, if tier == DISK { on_disk } else { self.description.bytes }))
    }

    pub(crate) fn set_pinned(&self, is_pinned: bool) {
        self.is_pinned.store(is_pinned, Ordering::Relaxed);
    }

    /// The bytes that evicting would free: none while pinned, in use or moving.
    pub(super) fn evictable_bytes(&self) -> u64 {
        let Ok(content) = self.content.try_lock() else { return 0 };
        if content.is_idle() && !self.is_pinned.load(Ordering::Relaxed) { self.description.bytes } else { 0 }
    }

    /// A lease on the matrix, if it is in the device's memory and nobody moves it now.
    pub(crate) fn resident(&self) -> Option<Arc<Resident>> {
        self.content.try_lock().ok()?.resident.clone()
    }

    /// True for a matrix whose time is over; it is deleted soon.
    pub(super) fn is_expired(&self) -> bool {
        self.deadline.is_some_and(|deadline| deadline <= Instant::now())
    }

    /// `name@version`
    pub(crate) fn label(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    pub(crate) fn tag(&self) -> HeaderValue {
        tag_of(self.version)
    }

    /// The entity tag of the object's file of this kind, with its name: an alias may be that of another matrix later. The
    /// number of a durable version is not given again, but that of another may be.
    pub(crate) fn file_tag(&self, kind: FileKind) -> HeaderValue {
        let (label, kind) = (self.label(), extension(kind));
        let tag = match self.is_durable {
            true => format!("\"{label}{kind}\""),
            false => format!("\"{label}-{:x}{kind}\"", self.made),
        };
        HeaderValue::from_str(&tag).unwrap_or(HeaderValue::from_static("\"\""))
    }

    pub(super) fn key(&self) -> String {
        key(&self.tenant, &self.name, self.version)
    }

    pub(super) fn record(&self, segment: Option<&Segment>) -> Record {
        let id = (&*self.tenant, &*self.name, self.version);
        Record::new(id, segment, self.description.clone(), lock(&self.labels).clone()).until(self.deadline)
    }
}

/// The entity tag of a version: its number, in quotes.
pub(crate) fn tag_of(version: u64) -> HeaderValue {
    HeaderValue::from_str(&format!("\"{version}\"")).unwrap_or(HeaderValue::from_static("\"\""))
}

impl Defect {
    pub(super) fn problem(&self, object: &str) -> Problem {
        match self {
            Self::Corrupt(reason) => {
                let detail = format!("`{object}` is corrupt: {reason}");
                Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "corrupt", detail)
            }
            Self::Lost => Problem::lost(format!(
                "`{object}` was in the memory of a process that has ended: upload it again, with durable=1 to keep it"
            )),
        }
    }
}

impl Content {
    pub(super) fn tier(&self) -> &'static str {
        match (&self.resident, &self.host, &self.defect) {
            (Some(_), ..) => DEVICE,
            (None, Some(_), _) => HOST,
            (None, None, Some(Defect::Corrupt(_))) => "corrupt",
            (None, None, Some(Defect::Lost)) => "lost",
            (None, None, None) => DISK,
        }
    }

    /// True if it is in the device's memory and nobody uses it.
    pub(super) fn is_idle(&self) -> bool {
        self.resident.as_ref().is_some_and(|resident| Arc::strong_count(resident) == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_clock_does_not_move_the_time_of_deletion() {
        let object = |expires| {
            let (format, dtype, expires) = ("csr".into(), "f64".into(), Some(expires));
            let description =
                Description { format, dtype, rows: 1, cols: 1, nnz: 1, bytes: 24, members: None, expires };
            Object::of(&Record::new(("tenant", "a", 1), None, description, Labels::default()), true)
        };
        let [mut later, mut earlier] = [now() + 1000, now()].map(object);
        assert!(!later.is_expired() && earlier.is_expired());
        (later.description.expires, earlier.description.expires) = (Some(0), Some(u64::MAX));
        assert!(!later.is_expired() && earlier.is_expired(), "what the clock says by now has no effect");
        assert!(!object(u64::MAX).is_expired(), "it is too far away");
        // The clock was set forward, or back, before the next process.
        later.description.expires = Some(0);
        earlier.description.expires = Some(u64::MAX);
        let [later, earlier] = [later, earlier].map(|object| Object::of(&object.record(None), true));
        let by_uptime = cfg!(target_os = "linux");
        assert_eq!((later.is_expired(), earlier.is_expired()), (!by_uptime, by_uptime));
    }
}
