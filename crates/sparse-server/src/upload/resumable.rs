//! Uploads that can be resumed: the parts of a body are received one after the other, on any number of connections,
//! into a file that then is the body of a request. The headers are those of the draft "Resumable Uploads for HTTP" of
//! the IETF, which tus has, too.

use crate::config::Limits;
use crate::durable::empty_folder;
use crate::error::StartError;
use crate::lock::lock;
use crate::problem::Problem;
use crate::security::auth::to_hex;
use crate::upload::UPLOAD;
use axum::http::StatusCode;
use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::NamedTempFile;
use tokio::sync::OwnedMutexGuard;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

/// Uploads that a tenant may have begun.
const UPLOADS_PER_TENANT: usize = 64;
/// Time after its last part until an upload is dropped.
const LIFETIME: Duration = Duration::from_secs(3600);
/// Time after the answer of a request with a key in which the request may be sent again.
const REPEATABLE: Duration = Duration::from_secs(60);

/// The uploads that were begun, by their ids.
#[derive(Debug)]
pub(crate) struct Uploads {
    folder: PathBuf,
    lifetime: Duration,
    pub(crate) limits: Limits,
    begun: Mutex<HashMap<String, Arc<Upload>>>,
}

#[derive(Debug)]
pub(crate) struct Upload {
    tenant: String,
    pub(crate) length: u64,
    /// The parts that were received. Once all have been, nothing changes it any more.
    file: NamedTempFile,
    /// Bytes of the parts.
    received: AtomicU64,
    /// Locked by the request that sends a part.
    turn: Arc<tokio::sync::Mutex<()>>,
    recent: Mutex<Recent>,
    /// True once a request has had it as its body.
    is_used: AtomicBool,
}

#[derive(Debug)]
struct Recent {
    used: Instant,
    /// Ends the request that sends a part, once another takes its place: its client may be gone.
    request: CancellationToken,
}

/// An upload that is complete, as the body of a request at work.
pub(crate) struct WholeUpload {
    uploads: Arc<Uploads>,
    id: String,
    upload: Arc<Upload>,
}

impl Uploads {
    /// No uploads, in a folder of data that is empty then: none survives the server.
    pub(crate) fn open(data: &Path, limits: &Limits) -> Result<Arc<Self>, StartError> {
        let folder = data.join("resumable");
        empty_folder(&folder)?;
        Ok(Arc::new(Self { folder, lifetime: LIFETIME, limits: limits.clone(), begun: Mutex::default() }))
    }

    /// Begins an upload of `length` bytes, and returns its id.
    pub(crate) fn begin(self: &Arc<Self>, tenant: &str, length: u64) -> Result<String, Problem> {
        let limit = self.limits.upload_bytes;
        let mut begun = lock(&self.begun);
        begun.retain(|_, upload| upload.tenant != tenant || !upload.is_used.load(Ordering::Relaxed));
        let own: Vec<_> = begun.values().filter(|upload| upload.tenant == tenant).collect();
        let bytes = own.iter().fold(length, |bytes, upload| bytes.saturating_add(upload.length));
        if length > limit {
            return Err(Problem::too_large(limit));
        }
        if own.len() >= UPLOADS_PER_TENANT || bytes > limit {
            let detail = format!(
                "{} uploads were begun, of {bytes} bytes with this one: {UPLOADS_PER_TENANT} of {limit} bytes in all may be",
                own.len()
            );
            return Err(Problem::busy(detail));
        }
        let mut random = [0; 16];
        getrandom::fill(&mut random).map_err(Problem::internal)?;
        let id = to_hex(&random);
        let recent = Recent { used: Instant::now(), request: CancellationToken::new() };
        let upload = Upload {
            tenant: tenant.into(),
            length,
            file: NamedTempFile::new_in(&self.folder)?,
            received: AtomicU64::new(0),
            turn: Arc::default(),
            recent: Mutex::new(recent),
            is_used: AtomicBool::new(false),
        };
        begun.insert(id.clone(), Arc::new(upload));
        tokio::spawn(self.clone().remove_when_over(id.clone()));
        Ok(id)
    }

    /// Removes an upload some time after its last part.
    async fn remove_when_over(self: Arc<Self>, id: String) {
        let time_left =
            || lock(&self.begun).get(&id).map(|upload| self.lifetime.saturating_sub(upload.idle_time()));
        while let Some(time_left) = time_left().filter(|left| !left.is_zero()) {
            sleep(time_left).await;
        }
        self.remove(&id);
    }

    pub(crate) fn find(&self, tenant: &str, id: &str) -> Result<Arc<Upload>, Problem> {
        let found = lock(&self.begun).get(id).cloned();
        let found = found.filter(|upload| upload.tenant == tenant);
        found.ok_or_else(|| Problem::not_found("there is no such upload: POST /v1/uploads begins one"))
    }

    pub(crate) fn remove(&self, id: &str) {
        let removed = lock(&self.begun).remove(id);
        drop(removed);
    }

    /// The body of a request, of an upload that is complete.
    pub(crate) async fn whole(self: &Arc<Self>, tenant: &str, id: &str) -> Result<WholeUpload, Problem> {
        let upload = self.find(tenant, id)?;
        let (received, length) = (upload.settled().await, upload.length);
        if received != length {
            return Err(Problem::conflict(format!("{UPLOAD}: {received} of its {length} bytes are there")));
        }
        Ok(WholeUpload { uploads: self.clone(), id: id.into(), upload })
    }
}

impl Upload {
    /// Says that a part has come just now.
    pub(crate) fn touch(&self) {
        lock(&self.recent).used = Instant::now();
    }

    /// The time since its last part, or since the last request for it.
    fn idle_time(&self) -> Duration {
        lock(&self.recent).used.elapsed()
    }

    pub(crate) fn received(&self) -> u64 {
        self.received.load(Ordering::Acquire)
    }

    /// Ends the request that sends a part, and takes its place.
    pub(crate) async fn take_over(&self) -> (OwnedMutexGuard<()>, CancellationToken) {
        let next = CancellationToken::new();
        let recent = Recent { used: Instant::now(), request: next.clone() };
        std::mem::replace(&mut *lock(&self.recent), recent).request.cancel();
        (self.turn.clone().lock_owned().await, next)
    }

    /// The bytes that are there, to which the request that sends a part, which ends, adds none.
    pub(crate) async fn settled(&self) -> u64 {
        let _turn = self.take_over().await;
        self.received()
    }

    /// Adds bytes behind those that are there; of some that were not written whole none count.
    pub(crate) fn append(&self, part: &[u8]) -> Result<(), Problem> {
        let received = self.received();
        self.file.as_file().write_all_at(part, received)?;
        self.received.store(received + part.len() as u64, Ordering::Release);
        Ok(())
    }
}

impl WholeUpload {
    pub(crate) fn file(&self) -> Result<File, Problem> {
        Ok(self.upload.file.reopen()?)
    }

    /// Forgets the upload if the request has been answered well: at once, or, for one with a key, once it is no longer
    /// sent again or another upload begins.
    pub(crate) fn answered(self, status: StatusCode, has_key: bool) {
        let Self { uploads, id, upload } = self;
        match (status.is_success(), has_key) {
            (false, _) => (),
            (true, false) => uploads.remove(&id),
            (true, true) => {
                upload.is_used.store(true, Ordering::Relaxed);
                tokio::spawn(async move {
                    sleep(REPEATABLE).await;
                    uploads.remove(&id);
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_upload_goes_some_time_after_its_last_part() {
        let data = tempfile::tempdir().unwrap();
        let opened = Uploads::open(data.path(), &Limits::default()).unwrap();
        let (folder, limits) = (opened.folder.clone(), opened.limits.clone());
        let lifetime = Duration::from_millis(200);
        let uploads = Arc::new(Uploads { folder, lifetime, limits, begun: Mutex::default() });
        let files = || std::fs::read_dir(&uploads.folder).unwrap().count();
        let [id, other] = [1, 2].map(|length| uploads.begin("t", length).unwrap());
        for _ in 0..4 {
            sleep(lifetime / 2).await;
            assert!(uploads.find("t", &id).is_ok());
            uploads.find("t", &id).unwrap().take_over().await;
        }
        assert!(uploads.find("t", &other).is_err() && files() == 1, "nobody has asked for it");
        sleep(2 * lifetime).await;
        assert!(uploads.find("t", &id).is_err() && files() == 0);
    }
}
