//! Matrices in parts: the rows of one matrix on several devices of a service, a part on each.
//!
//! The front end knows them, and no worker does. It receives the file, a worker divides its rows, and each worker reads
//! those of its part from there. A part is a [copy](super::copies): it has its bytes in the ledger of its device, is
//! not evicted, and is dropped with the front end's record of the matrix. A worker that ends takes its parts with it,
//! and the matrix is lost.

use super::copies::Copy;
use super::device_workers::key;
use crate::durable::Description;
use crate::limits::usage::check_stored;
use crate::lock::lock;
use crate::objects::{PutOptions, check_match, tag_of};
use crate::problem::Problem;
use crate::request::etag::Tags;
use crate::request::idempotency::Keys;
use crate::request::name;
use axum::Json;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard};

/// Versions of matrices in parts that a tenant may have: each part holds a connection to its worker.
const PER_TENANT: usize = 64;

/// The matrices in parts of all tenants.
#[derive(Debug, Default)]
pub(super) struct DistributedMatrices {
    names: Mutex<HashMap<String, Versions>>,
    /// The matrices that uploads with an `Idempotency-Key` have made.
    pub(super) keys: Arc<Keys>,
}

/// The versions of one `tenant/name`.
#[derive(Debug, Default)]
struct Versions {
    /// The newest version that was given while the name was in use.
    last: u64,
    /// Uploads at work.
    uploads: usize,
    ready: BTreeMap<u64, Arc<DistributedMatrix>>,
}

/// A version of a matrix in parts, which never changes.
#[derive(Debug)]
pub(super) struct DistributedMatrix {
    pub(super) name: String,
    pub(super) version: u64,
    pub(super) parts: Vec<Part>,
}

/// Consecutive rows on a device.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) device: usize,
    pub(super) rows: Range<usize>,
    pub(super) description: Description,
    pub(super) copy: Copy,
}

/// A matrix in parts as clients see it.
#[derive(Debug, Serialize)]
pub(super) struct View {
    name: String,
    version: u64,
    durable: bool,
    pinned: bool,
    /// `device`, or `lost` once a worker with a part has ended.
    tier: &'static str,
    parts: Vec<PartView>,
    #[serde(flatten)]
    description: Description,
}

#[derive(Debug, Serialize)]
struct PartView {
    device: usize,
    /// The first row, and the one after the last.
    rows: [usize; 2],
    nnz: usize,
    bytes: u64,
}

/// A name to which an upload is about to give a version.
#[derive(Debug)]
pub(super) struct NewVersion<'a> {
    matrices: &'a DistributedMatrices,
    tenant: &'a str,
    key: String,
    pub(super) version: u64,
}

impl DistributedMatrix {
    pub(super) fn rows(&self) -> usize {
        self.parts.last().map_or(0, |part| part.rows.end)
    }

    /// `name@version`
    pub(super) fn label(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }

    fn bytes(&self) -> u64 {
        self.parts.iter().map(|part| part.description.bytes).sum()
    }

    fn is_lost(&self) -> bool {
        self.parts.iter().any(|part| !part.copy.is_there())
    }

    /// Fails if a worker with a part has ended.
    pub(super) fn check_there(&self) -> Result<(), Problem> {
        if !self.is_lost() {
            return Ok(());
        }
        let label = self.label();
        Err(Problem::lost(format!(
            "`{label}` had a part in a process that has ended: delete it and upload it again"
        )))
    }

    pub(super) fn view(&self) -> View {
        let first = &self.parts[0].description;
        View {
            name: self.name.clone(),
            version: self.version,
            durable: false,
            pinned: true,
            tier: if self.is_lost() { "lost" } else { "device" },
            parts: self.parts.iter().map(Part::view).collect(),
            description: Description {
                rows: self.rows(),
                nnz: self.parts.iter().map(|part| part.description.nnz).sum(),
                bytes: self.bytes(),
                ..first.clone()
            },
        }
    }

    pub(super) fn respond(&self, status: StatusCode) -> Response {
        (status, [(header::ETAG, tag_of(self.version))], Json(self.view())).into_response()
    }
}

impl Part {
    fn view(&self) -> PartView {
        let Description { nnz, bytes, .. } = self.description;
        PartView { device: self.device, rows: [self.rows.start, self.rows.end], nnz, bytes }
    }
}

impl DistributedMatrices {
    /// The matrix in parts of `name` or `name@version`; none if the name is not that of one.
    pub(super) fn find(&self, tenant: &str, text: &str) -> Result<Option<Arc<DistributedMatrix>>, Problem> {
        find_in(&self.lock(), tenant, text)
    }

    /// True for the name of a matrix in parts, and for one that an upload is about to make.
    pub(super) fn is_taken(&self, tenant: &str, name: &str) -> bool {
        self.lock().contains_key(&key(tenant, name))
    }

    /// Fails for the name of a matrix in parts, where a whole one is to be stored.
    pub(super) fn check_free(&self, tenant: &str, name: &str) -> Result<(), Problem> {
        if !self.is_taken(tenant, name) {
            return Ok(());
        }
        Err(Problem::conflict(format!(
            "`{name}` is in parts on several devices: delete it first, or take another name"
        )))
    }

    /// Fails if one of these is in parts, which an operation takes whole.
    pub(super) fn check_whole<'a>(
        &self,
        tenant: &str,
        names: impl IntoIterator<Item = &'a String>,
    ) -> Result<(), Problem> {
        for name in names {
            if let Some(matrix) = self.find(tenant, name)? {
                return Err(needs_whole(&matrix));
            }
        }
        Ok(())
    }

    /// The bytes of a tenant's matrices.
    pub(super) fn stored_bytes(&self, tenant: &str) -> u64 {
        stored_bytes(&self.lock(), tenant)
    }

    /// The matrices of a tenant.
    pub(super) fn views(&self, tenant: &str) -> Vec<View> {
        let prefix = key(tenant, "");
        let names = self.lock();
        let own = names.iter().filter(|(key, _)| key.starts_with(&prefix));
        own.flat_map(|(_, versions)| versions.ready.values().map(|matrix| matrix.view())).collect()
    }

    /// Takes a name and a version for an upload.
    pub(super) fn begin<'a>(&'a self, tenant: &'a str, name: &str) -> Result<NewVersion<'a>, Problem> {
        let (prefix, key) = (key(tenant, ""), key(tenant, name));
        let mut names = self.lock();
        let own = names.iter().filter(|(key, _)| key.starts_with(&prefix));
        let count: usize = own.map(|(_, versions)| versions.ready.len() + versions.uploads).sum();
        if count >= PER_TENANT {
            let detail =
                format!("there are {count} matrices in parts already, as many as may be: delete some");
            return Err(Problem::new(StatusCode::INSUFFICIENT_STORAGE, "too-many-objects", detail));
        }
        let versions = names.entry(key.clone()).or_default();
        versions.uploads += 1;
        versions.last += 1;
        Ok(NewVersion { matrices: self, tenant, version: versions.last, key })
    }

    /// Deletes a version, or all; those who use one keep it until they are done.
    pub(super) fn remove(&self, tenant: &str, text: &str, if_match: Option<&Tags>) -> Result<(), Problem> {
        let (name, version) = name::parse(text).map_err(Problem::bad_request)?;
        let key = key(tenant, name);
        let mut names = self.lock();
        let found = find_in(&names, tenant, text)?;
        check_match(if_match, found.map(|found| found.version))?;
        let Some(versions) = names.get_mut(&key) else { return Ok(()) };
        let removed = match version {
            Some(version) => versions.ready.remove(&version).into_iter().collect(),
            None => std::mem::take(&mut versions.ready).into_values().collect::<Vec<_>>(),
        };
        if versions.is_unused() {
            names.remove(&key);
        }
        drop(names);
        drop(removed);
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, Versions>> {
        lock(&self.names)
    }
}

impl Versions {
    fn is_unused(&self) -> bool {
        self.uploads == 0 && self.ready.is_empty()
    }
}

impl NewVersion<'_> {
    /// Lists the matrix, in place of earlier versions if it replaces them. With the tenant's whole matrices, which have
    /// `whole` bytes, it and the others have `limit` at most.
    pub(super) fn publish(
        self,
        matrix: Arc<DistributedMatrix>,
        options: &PutOptions,
        (whole, limit): (u64, u64),
    ) -> Result<(), Problem> {
        let mut names = self.matrices.lock();
        let stored = stored_bytes(&names, self.tenant).saturating_add(whole);
        let Some(versions) = names.get_mut(&self.key) else { return Ok(()) };
        check_match(options.if_match.as_ref(), versions.ready.keys().next_back().copied())?;
        if options.is_first && !versions.ready.is_empty() {
            let detail =
                format!("there is a matrix `{}` already, and If-None-Match: * was sent", matrix.name);
            return Err(Problem::new(StatusCode::PRECONDITION_FAILED, "exists", detail));
        }
        let earlier = versions.ready.range(..self.version).filter(|_| options.replaces);
        let replaced: u64 = earlier.map(|(_, earlier)| earlier.bytes()).sum();
        check_stored(stored.saturating_sub(replaced), matrix.bytes(), limit)?;
        // A later upload may have been faster.
        let newer = versions.ready.split_off(&self.version);
        let earlier = std::mem::replace(&mut versions.ready, newer);
        let replaced = if options.replaces {
            earlier
        } else {
            versions.ready.extend(earlier);
            BTreeMap::new()
        };
        versions.ready.insert(self.version, matrix);
        drop(names);
        drop(replaced);
        Ok(())
    }
}

impl Drop for NewVersion<'_> {
    fn drop(&mut self) {
        let mut names = self.matrices.lock();
        let Some(versions) = names.get_mut(&self.key) else { return };
        versions.uploads -= 1;
        if versions.is_unused() {
            names.remove(&self.key);
        }
    }
}

/// The bytes of the matrices of a tenant among `names`.
fn stored_bytes(names: &HashMap<String, Versions>, tenant: &str) -> u64 {
    let prefix = key(tenant, "");
    let own = names.iter().filter(|(key, _)| key.starts_with(&prefix));
    own.flat_map(|(_, versions)| versions.ready.values()).map(|matrix| matrix.bytes()).sum()
}

/// As [`DistributedMatrices::find`], among `names`.
fn find_in(
    names: &HashMap<String, Versions>,
    tenant: &str,
    text: &str,
) -> Result<Option<Arc<DistributedMatrix>>, Problem> {
    let Ok((name, version)) = name::parse(text) else { return Ok(None) };
    let ready =
        names.get(&key(tenant, name)).map(|versions| &versions.ready).filter(|ready| !ready.is_empty());
    let Some(ready) = ready else { return Ok(None) };
    let found = match version {
        None => ready.values().next_back(),
        Some(version) => ready.get(&version),
    };
    let missing = || Problem::not_found(format!("there is no matrix `{text}`: GET /v1/matrices lists them"));
    found.cloned().map(Some).ok_or_else(missing)
}

/// The problem of an operation that takes whole matrices alone.
pub(super) fn needs_whole(matrix: &DistributedMatrix) -> Problem {
    let label = matrix.label();
    Problem::unprocessable(format!(
        "`{label}` is in parts on several devices: spmv, spmm, GET and DELETE are all that it takes; without `parts` a \
         matrix is stored whole"
    ))
}
