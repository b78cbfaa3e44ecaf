//! Changes of the objects of a tenant: new versions, labels, deletion.

use super::object::{Content, Object, Resident, after, now, tag_of, time_of_making};
use super::{Store, Versions};
use crate::durable::{Description, Record, Segment};
use crate::execution::task::Task;
use crate::limits::usage::check_stored;
use crate::lock::lock;
use crate::memory::ledger::Reservation;
use crate::problem::Problem;
use crate::request::etag::Tags;
use crate::request::labels::{Labels, Selector};
use axum::http::StatusCode;
use nnz::{DType, Matrix};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Objects that one tenant may have, since even those on disk take some memory.
const OBJECTS_PER_TENANT: usize = 10_000;

/// The settings of an upload.
#[derive(Debug, Clone, Default)]
pub(crate) struct PutOptions {
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

impl PutOptions {
    /// Fails unless the conditions hold for what is there under a name.
    fn check_conditions(&self, name: &str, versions: Option<&Versions>) -> Result<(), Problem> {
        // One whose time is over is not there for any other request, either.
        let newest =
            versions.and_then(|versions| versions.ready.values().rev().find(|object| !object.is_expired()));
        check_match(self.if_match.as_ref(), newest.map(|newest| newest.version))?;
        if self.is_first && newest.is_some() {
            let detail = format!("there is a matrix `{name}` already, and If-None-Match: * was sent");
            return Err(Problem::new(StatusCode::PRECONDITION_FAILED, "exists", detail));
        }
        Ok(())
    }
}

/// The version of a new object under its name, and the objects that it replaces.
#[derive(Debug)]
struct Next {
    version: u64,
    /// True if the numbers of the name's versions are on disk.
    is_recorded: bool,
    replaced: Vec<Arc<Object>>,
}

impl Store {
    /// Publishes a matrix as a new version. A durable one is on disk before anybody sees it; its task needs no worker
    /// while it waits for that, or for others that do.
    pub(crate) fn put(
        &self,
        (tenant, name): (&str, &str),
        (matrix, bytes): (Matrix, Reservation),
        options: PutOptions,
        task: &Task,
    ) -> Result<Arc<Object>, Problem> {
        check_storable(&matrix)?;
        let expires = options.ttl.map(|ttl| now().saturating_add(ttl));
        let deadline = options.ttl.and_then(after);
        let description = Description { expires, ..Description::of(&matrix) };
        let written = options.is_durable.then(|| self.disk.write_durable(&matrix)).transpose()?;
        // What follows waits for the disk, or for those that do.
        if options.is_durable || self.publishing.try_lock().is_err() {
            task.release_worker();
        }
        let segment = written.map(|written| self.disk.sync_durable(written)).transpose()?;
        let publishing = lock(&self.publishing);
        let next = self.next_version(tenant, name, &options).and_then(|next| {
            self.check_stored(tenant, &next, description.bytes)?;
            let id = (tenant, name, next.version);
            let labels = options.labels.clone();
            let record = Record::new(id, segment.as_ref(), description.clone(), labels).until(deadline);
            self.record(&record, options.is_durable, &next).map(|()| next)
        });
        let Next { version, is_recorded, replaced } = match next {
            Ok(next) => next,
            Err(problem) => {
                segment.inspect(|segment| self.disk.discard(segment));
                return Err(problem);
            }
        };
        let resident = Some(Arc::new(Resident { matrix, _bytes: bytes }));
        let object = Arc::new(Object {
            tenant: tenant.into(),
            name: name.into(),
            version,
            device: self.device_number,
            description,
            is_durable: options.is_durable,
            is_pinned: AtomicBool::new(options.is_pinned),
            labels: Mutex::new(options.labels),
            deadline,
            last_use: AtomicU64::new(self.clock.fetch_add(1, Ordering::Relaxed)),
            made: time_of_making(),
            content: Mutex::new(Content { resident, segment, ..Content::default() }),
        });
        self.enlist(&object, is_recorded, &replaced);
        drop(publishing);
        self.remove_files(&replaced);
        Ok(object)
    }

    /// Lists a new object, of a name whose versions may be recorded, in place of those that it replaces.
    fn enlist(&self, object: &Arc<Object>, is_recorded: bool, replaced: &[Arc<Object>]) {
        let mut objects = lock(&self.objects);
        let versions = objects.entry((object.tenant.clone(), object.name.clone())).or_default();
        versions.last = versions.last.max(object.version);
        versions.is_recorded |= object.is_durable || is_recorded;
        versions.ready.insert(object.version, object.clone());
        replaced.iter().for_each(|replaced| drop(versions.ready.remove(&replaced.version)));
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
    fn next_version(&self, tenant: &str, name: &str, options: &PutOptions) -> Result<Next, Problem> {
        let objects = lock(&self.objects);
        let versions = objects.get(&(tenant.into(), name.into()));
        options.check_conditions(name, versions)?;
        let Some(versions) = versions else {
            // The disk may take its time; nothing else is published meanwhile.
            drop(objects);
            let recorded = self.disk.recorded_version(tenant, name)?;
            let version = recorded.unwrap_or(0) + 1;
            return Ok(Next { version, is_recorded: recorded.is_some(), replaced: vec![] });
        };
        let replaced = versions.ready.values().filter(|_| options.replaces).cloned().collect();
        Ok(Next { version: versions.last + 1, is_recorded: versions.is_recorded, replaced })
    }

    /// Fails if the conditions of a request for a new version do not hold now.
    pub(crate) fn check_conditions(
        &self,
        tenant: &str,
        name: &str,
        options: &PutOptions,
    ) -> Result<(), Problem> {
        options.check_conditions(name, lock(&self.objects).get(&(tenant.into(), name.into())))
    }

    /// Fails if a new matrix of `bytes` bytes would exceed the tenant's limit of matrices or of their bytes.
    fn check_stored(&self, tenant: &str, next: &Next, bytes: u64) -> Result<(), Problem> {
        let (count, stored) = self.stored_by(tenant);
        let elsewhere = self.ledger.elsewhere.of(tenant);
        let count = count + elsewhere.matrices;
        if count >= OBJECTS_PER_TENANT {
            let detail = format!("there are {count} matrices already, as many as may be: delete some");
            return Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, "too-many-objects", detail));
        }
        let replaced: u64 = next.replaced.iter().map(|object| object.description.bytes).sum();
        let stored = stored.saturating_sub(replaced).saturating_add(elsewhere.stored_bytes);
        check_stored(stored, bytes, self.tenant_storage)
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
        check_match(if_match, Some(newest.version))?;
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
            if versions.ready.is_empty() {
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
pub(crate) fn check_match(tags: Option<&Tags>, found: Option<u64>) -> Result<(), Problem> {
    let Some(tags) = tags else { return Ok(()) };
    if found.is_some_and(|version| tags.contain(&tag_of(version))) {
        return Ok(());
    }
    let found = found.map_or("nothing is there".into(), |version| format!("version {version} is there"));
    let detail = format!("If-Match: {found}");
    Err(Problem::new(StatusCode::PRECONDITION_FAILED, "no-match", detail))
}

fn durable_keys(objects: &[Arc<Object>]) -> Vec<String> {
    objects.iter().filter(|object| object.is_durable).map(|object| object.key()).collect()
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
