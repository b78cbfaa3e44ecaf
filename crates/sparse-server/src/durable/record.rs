//! Records of objects, as the manifest and the files of worker processes have them.

use super::deadline::Deadline;
use super::description::Description;
use super::segment::Segment;
use crate::request::labels::Labels;
use crate::security::auth::to_hex;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::time::Instant;

/// An object in the manifest, or in the records of a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) version: u64,
    /// None for an object that is in the device's memory alone.
    #[serde(flatten)]
    pub(super) file: Option<FileRecord>,
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub(crate) labels: Labels,
    pub(crate) description: Description,
    /// The time at which it is deleted while the machine runs on; `expires` of the description is for later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) deadline: Option<Deadline>,
}

/// The file of a segment in its folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct FileRecord {
    #[serde(rename = "file")]
    pub(super) name: String,
    pub(super) bytes: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
}

impl Record {
    pub(crate) fn new(
        id: (&str, &str, u64),
        segment: Option<&Segment>,
        description: Description,
        labels: Labels,
    ) -> Self {
        let (tenant, name, version) = (id.0.to_owned(), id.1.to_owned(), id.2);
        let file = segment.map(|segment| FileRecord {
            name: segment.file_name(),
            bytes: segment.bytes,
            sha256: segment.sha256.clone(),
        });
        Self { tenant, name, version, file, labels, description, deadline: None }
    }

    /// The record of an object that is deleted at this instant, if there is one.
    pub(crate) fn until(self, deadline: Option<Instant>) -> Self {
        Self { deadline: deadline.and_then(Deadline::of), ..self }
    }
}

/// The extension of files of records.
pub(super) const RECORD: &str = "json";

/// The name of the file of a record: names may be too long for one.
pub(super) fn record_name(key: &str) -> String {
    format!("{}.{RECORD}", to_hex(&Sha256::digest(key)))
}

/// The key of an object in the manifest.
pub(crate) fn key(tenant: &str, name: &str, version: u64) -> String {
    format!("{tenant}/{name}@{version}")
}
