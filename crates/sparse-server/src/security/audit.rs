//! The audit log: who stored, changed or deleted what, each request as a line of JSON in a file that is appended to.

use crate::error::StartError;
use crate::lock::lock;
use crate::observability::running_requests::Subject;
use crate::security::auth::Identity;
use crate::upload::{RESULT_ARRAY, RESULT_DESCRIPTOR, RESULT_FILE};
use axum::extract::{Query, Request};
use axum::http::{Method, StatusCode, header};
use axum::response::Response;
use serde::Serialize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{SystemTime, UNIX_EPOCH};

/// Files of the log: the one that grows, and older ones, of which the last goes when another is begun.
const FILES: u64 = 8;

/// The files of the log, which is at most as large as it may be.
#[derive(Debug)]
pub(crate) struct AuditLog {
    folder: PathBuf,
    file_bytes: u64,
    current: Mutex<Current>,
}

#[derive(Debug)]
struct Current {
    file: File,
    bytes: u64,
}

/// A line of the log.
#[derive(Debug, Default, Serialize)]
struct Record {
    /// Seconds since 1970.
    time: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    request: Option<String>,
    /// The first digits of the hash of the token, by which the file of tokens shows whose it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    action: String,
    /// The name of the address, perhaps with a version, or the id of a job.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    /// The name under which a result is stored.
    #[serde(skip_serializing_if = "Option::is_none")]
    into: Option<String>,
    /// The matrix to which an alias is to point.
    #[serde(skip_serializing_if = "Option::is_none")]
    to: Option<String>,
    /// The version that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    /// The job that was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    job: Option<String>,
    /// The status of the answer; none if the client was gone before it.
    status: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// A request at work. It is recorded once it is answered, or once nobody waits for its answer any more.
#[derive(Debug)]
pub(crate) struct Entry {
    log: Arc<AuditLog>,
    record: Record,
}

impl AuditLog {
    /// Opens the log in the folder of data; all of its files have at most `bytes`.
    pub(crate) fn open(folder: &Path, bytes: u64) -> Result<Arc<Self>, StartError> {
        let path = path(folder, 0);
        let current = Current::open(&path).map_err(|error| StartError::file(&path, error))?;
        let file_bytes = bytes / FILES;
        Ok(Arc::new(Self { folder: folder.into(), file_bytes, current: Mutex::new(current) }))
    }

    /// Begins the record of a request and its caller.
    pub(crate) fn begin(
        self: &Arc<Self>,
        subject: &Subject,
        identity: &Identity,
        request: &Request,
    ) -> Entry {
        let record = Record {
            request: Some(subject.id.clone()),
            token: identity.token.clone(),
            tenant: Some(identity.tenant.clone()),
            action: subject.action.clone(),
            object: subject.object.clone(),
            into: parameter(request, "into"),
            to: parameter(request, "to"),
            ..Record::default()
        };
        Entry { log: self.clone(), record }
    }

    /// Records what the service does by itself or for its operator.
    pub(crate) fn event(&self, action: &str, error: Option<String>) {
        self.append(Record { action: action.into(), error, ..Record::default() });
    }

    /// Appends a line. It goes to the system's cache, in some microseconds; the log does not fail a request.
    fn append(&self, mut record: Record) {
        record.time = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
        let mut current = lock(&self.current);
        if let Err(error) = self.write(&mut current, &record) {
            tracing::error!("the audit log: {error}: {record:?}");
        }
    }

    fn write(&self, current: &mut Current, record: &Record) -> io::Result<()> {
        let line = format!("{}\n", serde_json::to_string(record)?);
        let bytes = line.len() as u64;
        if current.bytes > 0 && current.bytes + bytes > self.file_bytes {
            *current = self.next_file()?;
        }
        current.file.write_all(line.as_bytes())?;
        current.bytes += bytes;
        Ok(())
    }

    /// Begins another file; each older one takes the next number, and the last is gone.
    fn next_file(&self) -> io::Result<Current> {
        for number in (1..FILES).rev() {
            match fs::rename(path(&self.folder, number - 1), path(&self.folder, number)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => (),
            }
        }
        Current::open(&path(&self.folder, 0))
    }
}

/// The path of a file of the log: the one that grows has the number 0.
fn path(folder: &Path, number: u64) -> PathBuf {
    folder.join(if number == 0 { "audit.jsonl".into() } else { format!("audit.{number}.jsonl") })
}

impl Current {
    fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(path)?;
        Ok(Self { bytes: file.metadata()?.len(), file })
    }
}

impl Entry {
    /// Adds how the request was answered.
    pub(crate) fn answered(mut self, response: &Response) {
        let text = |name| response.headers().get(name)?.to_str().ok();
        let is_made = response.status() == StatusCode::CREATED;
        let version = text(header::ETAG).filter(|_| is_made).map(|tag| tag.trim_matches('"').to_owned());
        let job = text(header::LOCATION).and_then(|job| job.strip_prefix("/v1/jobs/")).map(str::to_owned);
        let status = Some(response.status().as_u16());
        self.record = Record { version, job, status, ..std::mem::take(&mut self.record) };
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.log.append(std::mem::take(&mut self.record));
    }
}

/// True for requests that store, change or delete something, if they are not refused.
pub(crate) fn is_change(request: &Request) -> bool {
    match *request.method() {
        Method::PUT | Method::DELETE => true,
        Method::POST if parameter(request, "into").is_some() => true,
        _ => [RESULT_FILE, RESULT_DESCRIPTOR, RESULT_ARRAY]
            .iter()
            .any(|header| request.headers().contains_key(*header)),
    }
}

/// A parameter of a request: the name under which it stores its result, or that of the target of an alias.
fn parameter(request: &Request, name: &str) -> Option<String> {
    let Query(pairs) = Query::<Vec<(String, String)>>::try_from_uri(request.uri()).ok()?;
    pairs.into_iter().find(|(key, _)| key == name).map(|(_, value)| shortened(&value))
}

/// A text of the client, of which a wrong one can be long.
pub(crate) fn shortened(text: &str) -> String {
    text.chars().take(160).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_and_its_newest_lines_are_there() {
        let folder = tempfile::tempdir().unwrap();
        let log = AuditLog::open(folder.path(), 8 * 400).unwrap();
        (0..100).for_each(|k| log.event(&format!("event {k}"), None));
        drop(log);
        AuditLog::open(folder.path(), 8 * 400).unwrap().event("event 100", Some("for the test".into()));
        let texts: Vec<_> =
            (0..FILES).rev().map(|k| fs::read_to_string(path(folder.path(), k)).unwrap()).collect();
        assert!(texts.iter().all(|text| text.len() <= 400));
        let lines: Vec<serde_json::Value> = texts
            .iter()
            .flat_map(|text| text.lines())
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let first = 101 - lines.len();
        assert!(lines.len() > 20, "{lines:?}");
        for (k, line) in lines.iter().enumerate() {
            assert_eq!(line["action"], format!("event {}", first + k));
        }
        assert_eq!(lines.last().unwrap()["error"], "for the test");
    }
}
