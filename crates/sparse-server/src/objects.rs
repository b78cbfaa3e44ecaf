//! Objects: matrices by tenant, name and version, in the device's memory or on disk.

use crate::durable::{Disk, ReadError, Record, Recovered, Segment, key};
use crate::labels::{Labels, Selector};
use crate::ledger::{Ledger, Reservation};
use crate::problem::{MemoryShortage, Problem};
use crate::tags::Tags;
use axum::http::{HeaderValue, StatusCode};
use nnz::io::MatrixFile;
use nnz::{DType, Device, Format, Matrix};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Objects that one tenant may have, since even those on disk take some memory.
const OBJECTS_PER_TENANT: usize = 10_000;

/// Everything about a matrix that is known without it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Description {
    pub(crate) format: String,
    pub(crate) dtype: String,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) nnz: usize,
    /// Bytes in the device's memory.
    pub(crate) bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) members: Option<usize>,
    /// Seconds since 1970 at which it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<u64>,
}

impl Description {
    fn of(matrix: &Matrix) -> Self {
        Self {
            format: matrix.format().name().into(),
            dtype: matrix.dtype().name().into(),
            rows: matrix.nrows(),
            cols: matrix.ncols(),
            nnz: matrix.nnz(),
            bytes: matrix.bytes() as u64,
            members: matrix.members(),
            expires: None,
        }
    }
}

/// One version of an object, which never changes.
#[derive(Debug)]
pub(crate) struct Object {
    tenant: String,
    name: String,
    pub(crate) version: u64,
    pub(crate) description: Description,
    is_durable: bool,
    /// Pinned objects are not evicted.
    is_pinned: AtomicBool,
    labels: Mutex<Labels>,
    /// The time of the last use, in uses of any object.
    last_use: AtomicU64,
    content: Mutex<Content>,
}

#[derive(Debug)]
struct Content {
    resident: Option<Arc<Resident>>,
    segment: Option<Segment>,
    /// Why the matrix cannot be read.
    defect: Option<Defect>,
    /// True once nobody can find it by its name.
    is_removed: bool,
}

/// Why a matrix cannot be had any more.
#[derive(Debug, Clone)]
enum Defect {
    /// The segment is damaged.
    Corrupt(String),
    /// The object was in the memory of a process that has ended.
    Lost,
}

/// A matrix in the device's memory, with its bytes in the ledger. Whoever holds it has a lease: it is not evicted.
#[derive(Debug)]
pub(crate) struct Resident {
    pub(crate) matrix: Matrix,
    _bytes: Reservation,
}

/// An object as clients see it.
#[derive(Debug, Serialize)]
pub(crate) struct View {
    name: String,
    version: u64,
    durable: bool,
    pinned: bool,
    /// `device`, `disk`, `moving`, `corrupt` or `lost`.
    tier: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(skip_serializing_if = "Labels::is_empty")]
    labels: Labels,
    #[serde(flatten)]
    description: Description,
}

/// The settings of an upload.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wishes {
    pub(crate) is_durable: bool,
    pub(crate) is_pinned: bool,
    /// Earlier versions go once the new one is ready.
    pub(crate) replaces: bool,
    /// The name must be free.
    pub(crate) is_first: bool,
    /// The newest version must have one of these tags.
    pub(crate) if_match: Option<Tags>,
    /// Seconds after which it is deleted.
    pub(crate) ttl: Option<u64>,
    pub(crate) labels: Labels,
}

#[derive(Debug, Default)]
struct Versions {
    /// The newest version that was ever given.
    last: u64,
    /// True if `last` is on disk too; else it is forgotten with the last object.
    is_recorded: bool,
    ready: BTreeMap<u64, Arc<Object>>,
}

/// The version of a new object under its name, and the objects that it replaces.
#[derive(Debug)]
struct Next {
    version: u64,
    /// True if the numbers of the name's versions are on disk.
    is_recorded: bool,
    replaced: Vec<Arc<Object>>,
}

/// All objects of a server.
#[derive(Debug)]
pub(crate) struct Store {
    pub(crate) device: Device,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) disk: Disk,
    /// The versions of each object, by (tenant, name).
    objects: Mutex<HashMap<(String, String), Versions>>,
    /// Held while objects appear and disappear, so that disk and memory change in one order.
    publishing: Mutex<()>,
    clock: AtomicU64,
    pub(crate) evictions: AtomicU64,
}

/// Seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Object {
    pub(crate) fn view(&self) -> View {
        let (tier, sha256) = match self.content.try_lock() {
            Err(_) => ("moving", None),
            Ok(content) => {
                let hash = content.segment.as_ref().filter(|_| self.is_durable);
                (content.tier(), hash.map(|segment| segment.sha256.clone()))
            }
        };
        View {
            name: self.name.clone(),
            version: self.version,
            durable: self.is_durable,
            pinned: self.is_pinned.load(Ordering::Relaxed),
            tier,
            sha256,
            labels: lock(&self.labels).clone(),
            description: self.description.clone(),
        }
    }

    pub(crate) fn set_pinned(&self, is_pinned: bool) {
        self.is_pinned.store(is_pinned, Ordering::Relaxed);
    }

    /// The bytes that evicting would free: none while pinned, in use or moving.
    fn evictable_bytes(&self) -> u64 {
        let Ok(content) = self.content.try_lock() else { return 0 };
        if content.is_idle() && !self.is_pinned.load(Ordering::Relaxed) { self.description.bytes } else { 0 }
    }

    /// True for a matrix whose time is over; it is deleted soon.
    fn is_expired(&self) -> bool {
        self.description.expires.is_some_and(|expires| expires <= now())
    }

    /// `name@version`
    pub(crate) fn label(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    /// The entity tag: the version, in quotes.
    pub(crate) fn tag(&self) -> HeaderValue {
        HeaderValue::from_str(&format!("\"{}\"", self.version)).unwrap_or(HeaderValue::from_static("\"\""))
    }

    fn key(&self) -> String {
        key(&self.tenant, &self.name, self.version)
    }

    fn record(&self, segment: Option<&Segment>) -> Record {
        let id = (&*self.tenant, &*self.name, self.version);
        Record::new(id, segment, self.description.clone(), lock(&self.labels).clone())
    }
}

impl Defect {
    fn problem(&self, object: &str) -> Problem {
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
    fn tier(&self) -> &'static str {
        match (&self.resident, &self.defect) {
            (Some(_), _) => "device",
            (None, Some(Defect::Corrupt(_))) => "corrupt",
            (None, Some(Defect::Lost)) => "lost",
            (None, None) => "disk",
        }
    }

    /// True if it is in the device's memory and nobody uses it.
    fn is_idle(&self) -> bool {
        self.resident.as_ref().is_some_and(|resident| Arc::strong_count(resident) == 1)
    }
}

impl Store {
    pub(crate) fn new(device: Device, ledger: Arc<Ledger>, disk: Disk, recovered: Recovered) -> Self {
        let mut objects: HashMap<(String, String), Versions> = HashMap::new();
        for (name, last) in recovered.versions {
            if let Some((tenant, name)) = name.split_once('/') {
                let versions = Versions { last, is_recorded: true, ready: BTreeMap::new() };
                objects.insert((tenant.into(), name.into()), versions);
            }
        }
        let durable = recovered.records.iter().map(|record| recover_durable(&disk, record));
        let volatile = recovered.volatile.iter().map(|record| recover_volatile(&disk, record));
        for object in durable.chain(volatile) {
            let versions = objects.entry((object.tenant.clone(), object.name.clone())).or_default();
            versions.last = versions.last.max(object.version);
            versions.ready.insert(object.version, Arc::new(object));
        }
        let (objects, publishing) = (Mutex::new(objects), Mutex::new(()));
        let (clock, evictions) = (AtomicU64::new(1), AtomicU64::new(0));
        Self { device, ledger, disk, objects, publishing, clock, evictions }
    }

    /// An object by its name, in its newest version unless one is named.
    pub(crate) fn get(&self, tenant: &str, name: &str, version: Option<u64>) -> Result<Arc<Object>, Problem> {
        let objects = lock(&self.objects);
        let found = objects.get(&(tenant.into(), name.into())).and_then(|versions| match version {
            None => versions.ready.values().rev().find(|object| !object.is_expired()),
            Some(version) => versions.ready.get(&version).filter(|object| !object.is_expired()),
        });
        found.cloned().ok_or_else(|| {
            let version = version.map(|version| format!("@{version}")).unwrap_or_default();
            Problem::not_found(format!("there is no matrix `{name}{version}`: GET /v1/matrices lists them"))
        })
    }

    /// The objects of a tenant with the labels that are asked for, by name and version.
    pub(crate) fn list(&self, tenant: &str, selector: &Selector) -> Vec<Arc<Object>> {
        let mut found = self.all();
        found.retain(|object| {
            object.tenant == tenant && !object.is_expired() && selector.matches(&lock(&object.labels))
        });
        found.sort_by(|a, b| (&a.name, a.version).cmp(&(&b.name, b.version)));
        found
    }

    pub(crate) fn all(&self) -> Vec<Arc<Object>> {
        lock(&self.objects).values().flat_map(|versions| versions.ready.values().cloned()).collect()
    }

    /// A lease on the matrix of an object, which is read from disk if it was evicted.
    pub(crate) fn lease(&self, object: &Object) -> Result<Arc<Resident>, Problem> {
        self.lease_beside(object, 0)
    }

    /// As [`lease`](Self::lease), for a request that has `held` bytes already.
    pub(crate) fn lease_beside(&self, object: &Object, held: u64) -> Result<Arc<Resident>, Problem> {
        object.last_use.store(self.clock.fetch_add(1, Ordering::Relaxed), Ordering::Relaxed);
        let mut content = lock(&object.content);
        if let Some(resident) = &content.resident {
            return Ok(resident.clone());
        }
        let loaded = match (&content.defect, &content.segment) {
            (Some(defect), _) => Err(defect.clone()),
            (None, None) => Err(Defect::Corrupt("it has no file".into())),
            (None, Some(segment)) => {
                let bytes = self.reserve_beside(&object.tenant, object.description.bytes, held)?;
                match read_segment(segment, &object.description, &self.device) {
                    Ok(matrix) => Ok((matrix, bytes)),
                    Err(ReadError::Corrupt(reason)) => Err(Defect::Corrupt(reason)),
                    Err(ReadError::Passing(problem)) => return Err(problem.within(&object.label())),
                }
            }
        };
        match loaded {
            Ok((matrix, bytes)) => {
                let resident = Arc::new(Resident { matrix, _bytes: bytes });
                content.resident = Some(resident.clone());
                Ok(resident)
            }
            Err(defect) => {
                let problem = defect.problem(&object.label());
                tracing::error!(tenant = object.tenant, "{problem:?}");
                content.defect = Some(defect);
                Err(problem)
            }
        }
    }

    /// Bytes of the device's memory, for which idle objects are evicted where they do not suffice.
    pub(crate) fn reserve(&self, tenant: &str, bytes: u64) -> Result<Reservation, Problem> {
        self.reserve_beside(tenant, bytes, 0)
    }

    /// As [`reserve`](Self::reserve), for a request that has `held` bytes, which do not come back while it waits.
    pub(crate) fn reserve_beside(&self, tenant: &str, bytes: u64, held: u64) -> Result<Reservation, Problem> {
        loop {
            let refused = match self.ledger.reserve(tenant, bytes) {
                Ok(reservation) => return Ok(reservation),
                Err(refused) => refused,
            };
            let only = refused.by_quota.then_some(tenant);
            let evictable = self.evictable_bytes(only);
            if refused.free.saturating_add(evictable) >= bytes && self.evict(only)? {
                continue;
            }
            let shortage = MemoryShortage { needed: bytes, free: refused.free, evictable };
            let capacity =
                if refused.by_quota { self.ledger.tenant_capacity() } else { self.ledger.capacity() };
            // What other requests in flight hold comes back; what is pinned does not.
            let fixed = self.pinned_bytes(only).saturating_add(held);
            let may_retry = bytes <= capacity.saturating_sub(fixed);
            let whose = if refused.by_quota { "your quota" } else { "the device's memory" };
            let detail = format!(
                "{bytes} bytes are needed, {} of {whose} are free and {evictable} more can be evicted",
                refused.free
            );
            return Err(Problem::memory(shortage, may_retry, detail));
        }
    }

    /// Makes a reservation for an estimate one for the bytes that were needed.
    pub(crate) fn settle(&self, reserved: &mut Reservation, tenant: &str, bytes: u64) -> Result<(), Problem> {
        match bytes.checked_sub(reserved.bytes()) {
            None | Some(0) => reserved.shrink_to(bytes),
            Some(more) => reserved.merge(self.reserve_beside(tenant, more, reserved.bytes())?),
        }
        Ok(())
    }

    /// Bytes of the objects of a request that are not pinned, which it leases while it computes.
    pub(crate) fn leased_bytes<'a>(&self, objects: impl IntoIterator<Item = &'a Arc<Object>>) -> u64 {
        let mut objects: Vec<_> = objects.into_iter().collect();
        objects.sort_by_key(|object| Arc::as_ptr(object));
        objects.dedup_by_key(|object| Arc::as_ptr(object));
        objects.retain(|object| !object.is_pinned.load(Ordering::Relaxed));
        objects.iter().map(|object| object.description.bytes).sum()
    }

    fn evictable_bytes(&self, tenant: Option<&str>) -> u64 {
        self.owned_by(tenant).map(|object| object.evictable_bytes()).sum()
    }

    fn pinned_bytes(&self, tenant: Option<&str>) -> u64 {
        let pinned = self.owned_by(tenant).filter(|object| object.is_pinned.load(Ordering::Relaxed));
        pinned.map(|object| object.description.bytes).sum()
    }

    fn owned_by(&self, tenant: Option<&str>) -> impl Iterator<Item = Arc<Object>> {
        self.all().into_iter().filter(move |object| tenant.is_none_or(|tenant| object.tenant == tenant))
    }

    /// Moves the object whose last use is longest ago to disk; false if there is none to move.
    fn evict(&self, tenant: Option<&str>) -> Result<bool, Problem> {
        let mut candidates: Vec<_> =
            self.owned_by(tenant).filter(|object| object.evictable_bytes() > 0).collect();
        candidates.sort_by_key(|object| object.last_use.load(Ordering::Relaxed));
        for object in candidates {
            let Ok(mut content) = object.content.try_lock() else { continue };
            if content.is_removed || !content.is_idle() {
                continue;
            }
            if let (None, Some(resident)) = (&content.segment, &content.resident) {
                let segment = self.disk.write_spilled(&resident.matrix)?;
                self.disk.note(&object.record(Some(&segment)))?;
                content.segment = Some(segment);
            }
            content.resident = None;
            self.evictions.fetch_add(1, Ordering::Relaxed);
            return Ok(true);
        }
        Ok(false)
    }

    /// Publishes a matrix as a new version. A durable one is on disk before anybody sees it.
    pub(crate) fn put(
        &self,
        (tenant, name): (&str, &str),
        (matrix, bytes): (Matrix, Reservation),
        wishes: Wishes,
    ) -> Result<Arc<Object>, Problem> {
        check_storable(&matrix)?;
        let expires = wishes.ttl.map(|ttl| now().saturating_add(ttl));
        let description = Description { expires, ..Description::of(&matrix) };
        let segment = wishes.is_durable.then(|| self.disk.write_durable(&matrix)).transpose()?;
        let publishing = lock(&self.publishing);
        let next = self.next_version(tenant, name, &wishes).and_then(|next| {
            let id = (tenant, name, next.version);
            let record = Record::new(id, segment.as_ref(), description.clone(), wishes.labels.clone());
            self.record(&record, wishes.is_durable, &next).map(|()| next)
        });
        let Next { version, replaced: old, .. } = match next {
            Ok(next) => next,
            Err(problem) => {
                segment.inspect(Segment::remove);
                return Err(problem);
            }
        };
        let resident = Some(Arc::new(Resident { matrix, _bytes: bytes }));
        let object = Arc::new(Object {
            tenant: tenant.into(),
            name: name.into(),
            version,
            description,
            is_durable: wishes.is_durable,
            is_pinned: AtomicBool::new(wishes.is_pinned),
            labels: Mutex::new(wishes.labels),
            last_use: AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed)),
            content: Mutex::new(Content { resident, segment, defect: None, is_removed: false }),
        });
        let mut objects = lock(&self.objects);
        let versions = objects.entry((tenant.into(), name.into())).or_default();
        versions.last = versions.last.max(version);
        versions.is_recorded |= wishes.is_durable;
        versions.ready.insert(version, object.clone());
        old.iter().for_each(|old| drop(versions.ready.remove(&old.version)));
        drop(objects);
        drop(publishing);
        self.remove_files(&old);
        Ok(object)
    }

    /// Brings the manifest up to date with a new object and those that it replaces, and notes one that is not durable.
    fn record(&self, record: &Record, is_durable: bool, next: &Next) -> Result<(), Problem> {
        let removed = durable_keys(&next.replaced);
        if is_durable {
            return self.disk.commit(record, &removed);
        }
        self.disk.note(record)?;
        // Else the number would be given again after a restart.
        if next.is_recorded { self.disk.commit_version(record, &removed) } else { Ok(()) }
    }

    /// The version of a new object, and the objects that it replaces.
    fn next_version(&self, tenant: &str, name: &str, wishes: &Wishes) -> Result<Next, Problem> {
        let objects = lock(&self.objects);
        let of_tenant = objects.iter().filter(|((owner, _), _)| owner == tenant);
        let count: usize = of_tenant.map(|(_, versions)| versions.ready.len()).sum();
        if count >= OBJECTS_PER_TENANT {
            let detail = format!("there are {count} matrices already, as many as may be: delete some");
            return Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, "too-many-objects", detail));
        }
        let versions = objects.get(&(tenant.into(), name.into()));
        let newest = versions.and_then(|versions| versions.ready.values().next_back());
        check_match(wishes.if_match.as_ref(), newest)?;
        let Some(versions) = versions else {
            return Ok(Next { version: 1, is_recorded: false, replaced: vec![] });
        };
        if wishes.is_first && !versions.ready.is_empty() {
            let detail = format!("there is a matrix `{name}` already, and If-None-Match: * was sent");
            return Err(Problem::new(StatusCode::PRECONDITION_FAILED, "exists", detail));
        }
        let replaced = versions.ready.values().filter(|_| wishes.replaces).cloned().collect();
        Ok(Next { version: versions.last + 1, is_recorded: versions.is_recorded, replaced })
    }

    /// Gives an object these labels in place of those that it has; of a durable one they survive the server.
    pub(crate) fn set_labels(&self, object: &Object, labels: Labels) -> Result<(), Problem> {
        let _publishing = lock(&self.publishing);
        // It may have been deleted meanwhile.
        self.get(&object.tenant, &object.name, Some(object.version))?;
        if object.is_durable {
            self.disk.set_labels(&object.key(), &labels)?;
        }
        // Before its segment is written, if that is at work.
        let content = lock(&object.content);
        *lock(&object.labels) = labels;
        if object.is_durable { Ok(()) } else { self.disk.note(&object.record(content.segment.as_ref())) }
    }

    /// Deletes one version, or all; those who use one keep it until they are done.
    pub(crate) fn delete(
        &self,
        (tenant, name, version): (&str, &str, Option<u64>),
        if_match: Option<&Tags>,
    ) -> Result<(), Problem> {
        let _publishing = lock(&self.publishing);
        let newest = self.get(tenant, name, version)?;
        check_match(if_match, Some(&newest))?;
        match version {
            Some(_) => self.remove(&[newest]),
            None => {
                let mut all = self.list(tenant, &Selector::default());
                all.retain(|object| object.name == name);
                self.remove(&all)
            }
        }
    }

    /// Deletes the objects whose time is over.
    pub(crate) fn delete_expired(&self) -> Result<(), Problem> {
        let _publishing = lock(&self.publishing);
        let mut expired = self.all();
        expired.retain(|object| object.is_expired());
        if expired.is_empty() { Ok(()) } else { self.remove(&expired) }
    }

    /// Removes objects from manifest, memory and disk; nothing else appears or disappears meanwhile.
    fn remove(&self, old: &[Arc<Object>]) -> Result<(), Problem> {
        let keys = durable_keys(old);
        if !keys.is_empty() {
            self.disk.forget(&keys)?;
        }
        let mut objects = lock(&self.objects);
        for object in old {
            let id = (object.tenant.clone(), object.name.clone());
            let Some(versions) = objects.get_mut(&id) else { continue };
            versions.ready.remove(&object.version);
            if versions.ready.is_empty() && !versions.is_recorded {
                objects.remove(&id);
            }
        }
        drop(objects);
        self.remove_files(old);
        Ok(())
    }

    /// Removes the files and records of objects that nobody can find any more.
    fn remove_files(&self, objects: &[Arc<Object>]) {
        for object in objects {
            let mut content = lock(&object.content);
            content.is_removed = true;
            content.segment.iter().for_each(Segment::remove);
            if !object.is_durable {
                self.disk.unnote(&object.key());
            }
        }
    }
}

/// Fails unless the version that is there has one of these tags, if they are given.
fn check_match(tags: Option<&Tags>, found: Option<&Arc<Object>>) -> Result<(), Problem> {
    let Some(tags) = tags else { return Ok(()) };
    if found.is_some_and(|object| tags.contain(&object.tag())) {
        return Ok(());
    }
    let found =
        found.map_or("nothing is there".into(), |object| format!("version {} is there", object.version));
    let detail = format!("If-Match: {found}");
    Err(Problem::new(StatusCode::PRECONDITION_FAILED, "no-match", detail))
}

fn durable_keys(objects: &[Arc<Object>]) -> Vec<String> {
    objects.iter().filter(|object| object.is_durable).map(|object| object.key()).collect()
}

/// A durable object, which is read when it is first used.
fn recover_durable(disk: &Disk, record: &Record) -> Object {
    match disk.segment(record) {
        Ok(segment) => recover(record, true, Some(segment), None),
        Err(reason) => {
            tracing::error!(tenant = record.tenant, "{}@{}: {reason}", record.name, record.version);
            recover(record, true, None, Some(Defect::Corrupt(reason)))
        }
    }
}

/// An object of the worker process before this one: lost, unless it was spilled.
fn recover_volatile(disk: &Disk, record: &Record) -> Object {
    let segment = disk.spilled_segment(record);
    let defect = segment.is_none().then_some(Defect::Lost);
    recover(record, false, segment, defect)
}

fn recover(record: &Record, is_durable: bool, segment: Option<Segment>, defect: Option<Defect>) -> Object {
    Object {
        tenant: record.tenant.clone(),
        name: record.name.clone(),
        version: record.version,
        description: record.description.clone(),
        is_durable,
        is_pinned: AtomicBool::new(false),
        labels: Mutex::new(record.labels.clone()),
        last_use: AtomicU64::new(0),
        content: Mutex::new(Content { resident: None, segment, defect, is_removed: false }),
    }
}

/// Fails for values that no file holds, so that every object can be evicted.
fn check_storable(matrix: &Matrix) -> Result<(), Problem> {
    match matrix.dtype() {
        DType::F32 | DType::F64 | DType::C32 | DType::C64 => Ok(()),
        half @ (DType::F16 | DType::Bf16) => Err(Problem::unprocessable(format!(
            "a matrix of {half} cannot be stored: f32, f64, c32 and c64 can"
        ))),
    }
}

fn read_segment(segment: &Segment, description: &Description, device: &Device) -> Result<Matrix, ReadError> {
    let file = MatrixFile::open(segment.verified_path()?)?;
    if description.members.is_some() {
        return Ok(Matrix::read_batch(device, &file, file.value_type()?)?);
    }
    let matrix = Matrix::read_csr(device, &file, file.value_type()?)?;
    Ok(match description.format.parse() {
        Ok(Format::Csr) | Err(_) => matrix,
        Ok(format) => matrix.to_format(format)?,
    })
}
