//! Objects on disk: segments, each a matrix in an `.npz` file, and the manifest of those that are durable.
//!
//! A segment is written, synced and renamed, and only then the manifest names it, in one transaction of redb. So a process
//! that dies at any instant leaves at most a segment that no manifest names, which the next start removes.

use crate::auth::to_hex;
use crate::error::StartError;
use crate::labels::Labels;
use crate::objects::Description;
use crate::problem::Problem;
use nnz::Matrix;
use nnz::io::{FileKind, Output};
use redb::{Database, ReadableDatabase, ReadableTable, TableDefinition};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

/// Records by the key of the object.
const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
/// The newest version of every `tenant/name` that ever was durable.
const VERSIONS: TableDefinition<'_, &str, u64> = TableDefinition::new("versions");

/// The folders of a server's data, and the manifest.
#[derive(Debug)]
pub(crate) struct Disk {
    manifest: Database,
    segments: PathBuf,
    spilled: PathBuf,
    uploads: PathBuf,
}

/// A durable object in the manifest.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) tenant: String,
    pub(crate) name: String,
    pub(crate) version: u64,
    /// The name of the file in the folder of segments.
    file: String,
    bytes: u64,
    sha256: String,
    #[serde(default, skip_serializing_if = "Labels::is_empty")]
    pub(crate) labels: Labels,
    pub(crate) description: Description,
}

/// A matrix in a file.
#[derive(Debug)]
pub(crate) struct Segment {
    file: SegmentFile,
    pub(crate) bytes: u64,
    pub(crate) sha256: String,
}

#[derive(Debug)]
enum SegmentFile {
    /// Stays until the object is deleted.
    Durable(PathBuf),
    /// Is removed with the value.
    Spilled(TempPath),
}

/// The contents of a manifest.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) records: Vec<Record>,
    /// (`tenant/name`, newest version)
    pub(crate) versions: Vec<(String, u64)>,
}

impl Disk {
    /// Opens the folder, which only one server may use, and removes what an earlier process left unfinished.
    pub(crate) fn open(data: &Path) -> Result<(Self, Recovered), StartError> {
        let folder = |name: &str| {
            let path = data.join(name);
            fs::create_dir_all(&path).map_err(|error| StartError::file(&path, error)).map(|()| path)
        };
        let segments = folder("segments")?;
        let path = data.join("manifest.redb");
        let manifest = Database::create(&path).map_err(|error| StartError::file(&path, error))?;
        // From here on no other server is at work in the folder.
        for name in ["spilled", "uploads"] {
            let path = folder(name)?;
            fs::remove_dir_all(&path).map_err(|error| StartError::file(&path, error))?;
        }
        let (spilled, uploads) = (folder("spilled")?, folder("uploads")?);
        let disk = Self { manifest, segments, spilled, uploads };
        let recovered = disk.read_manifest().map_err(|error| StartError::file(&path, error))?;
        disk.remove_unnamed(&recovered).map_err(|error| StartError::file(&disk.segments, error))?;
        Ok((disk, recovered))
    }

    fn read_manifest(&self) -> Result<Recovered, Box<dyn std::error::Error>> {
        let write = self.manifest.begin_write()?;
        write.open_table(OBJECTS)?;
        write.open_table(VERSIONS)?;
        write.commit()?;
        let read = self.manifest.begin_read()?;
        let mut recovered = Recovered::default();
        for entry in read.open_table(OBJECTS)?.iter()? {
            let (key, record) = entry?;
            match serde_json::from_slice::<Record>(record.value()) {
                Ok(record) => recovered.records.push(record),
                Err(error) => tracing::error!("manifest: {}: {error}", key.value()),
            }
        }
        for entry in read.open_table(VERSIONS)?.iter()? {
            let (name, version) = entry?;
            recovered.versions.push((name.value().into(), version.value()));
        }
        Ok(recovered)
    }

    /// Removes segments that were not committed, or whose object was deleted.
    fn remove_unnamed(&self, recovered: &Recovered) -> io::Result<()> {
        let named: HashSet<&str> = recovered.records.iter().map(|record| &*record.file).collect();
        for entry in fs::read_dir(&self.segments)? {
            let entry = entry?;
            if !entry.file_name().to_str().is_some_and(|name| named.contains(name)) {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }

    /// The folder of bodies that are being received and sent.
    pub(crate) fn uploads(&self) -> &Path {
        &self.uploads
    }

    /// Writes a matrix that the manifest does not name yet.
    pub(crate) fn write_durable(&self, matrix: &Matrix) -> Result<Segment, Problem> {
        let path = new_segment(&self.segments)?;
        let (bytes, sha256) = write(matrix, &path)?;
        File::open(&self.segments)?.sync_all()?;
        let path = path.keep().map_err(|error| Problem::disk(&error.error))?;
        Ok(Segment { file: SegmentFile::Durable(path), bytes, sha256 })
    }

    /// Writes a matrix that is evicted; its file goes with the segment.
    pub(crate) fn write_spilled(&self, matrix: &Matrix) -> Result<Segment, Problem> {
        let path = new_segment(&self.spilled)?;
        let (bytes, sha256) = write(matrix, &path)?;
        Ok(Segment { file: SegmentFile::Spilled(path), bytes, sha256 })
    }

    /// The segment of a record, if the file is there and of the right length.
    pub(crate) fn segment(&self, record: &Record) -> Result<Segment, String> {
        let path = self.segments.join(&record.file);
        let found = fs::metadata(&path).map_err(|error| format!("its file cannot be read: {error}"))?;
        if found.len() != record.bytes {
            return Err(format!("its file has {} bytes where {} were written", found.len(), record.bytes));
        }
        let (bytes, sha256) = (record.bytes, record.sha256.clone());
        Ok(Segment { file: SegmentFile::Durable(path), bytes, sha256 })
    }

    /// Names an object in the manifest, and forgets others, in one step.
    pub(crate) fn commit(&self, added: &Record, removed: &[String]) -> Result<(), Problem> {
        let bytes = serde_json::to_vec(added).map_err(Problem::internal)?;
        self.change(removed, |objects, versions| {
            objects.insert(&*key(&added.tenant, &added.name, added.version), &*bytes)?;
            versions.insert(&*format!("{}/{}", added.tenant, added.name), added.version)?;
            Ok(())
        })
    }

    /// Changes the labels of an object that the manifest names; nothing else changes it meanwhile.
    pub(crate) fn set_labels(&self, key: &str, labels: &Labels) -> Result<(), Problem> {
        let read = || -> Result<Option<Record>, Box<dyn std::error::Error>> {
            let objects = self.manifest.begin_read()?.open_table(OBJECTS)?;
            Ok(objects.get(key)?.map(|record| serde_json::from_slice(record.value())).transpose()?)
        };
        let record = read().map_err(|error| Problem::internal(format!("the manifest: {error}")))?;
        let record = record.ok_or_else(|| Problem::internal(format!("the manifest has no {key}")))?;
        let record = Record { labels: labels.clone(), ..record };
        let bytes = serde_json::to_vec(&record).map_err(Problem::internal)?;
        self.change(&[], |objects, _| objects.insert(key, &*bytes).map(drop))
    }

    /// Forgets objects, in one step.
    pub(crate) fn forget(&self, removed: &[String]) -> Result<(), Problem> {
        self.change(removed, |_, _| Ok(()))
    }

    fn change(
        &self,
        removed: &[String],
        add: impl FnOnce(
            &mut redb::Table<'_, &'static str, &'static [u8]>,
            &mut redb::Table<'_, &'static str, u64>,
        ) -> Result<(), redb::StorageError>,
    ) -> Result<(), Problem> {
        let commit = || -> Result<(), redb::Error> {
            let write = self.manifest.begin_write()?;
            {
                let (mut objects, mut versions) = (write.open_table(OBJECTS)?, write.open_table(VERSIONS)?);
                for key in removed {
                    objects.remove(&**key)?;
                }
                add(&mut objects, &mut versions)?;
            }
            Ok(write.commit()?)
        };
        commit().map_err(|error| match error {
            redb::Error::Io(error) => Problem::disk(&error),
            error => Problem::internal(format!("the manifest: {error}")),
        })
    }
}

impl Record {
    pub(crate) fn new(
        id: (&str, &str, u64),
        segment: &Segment,
        description: Description,
        labels: Labels,
    ) -> Option<Self> {
        let (tenant, name, version) = id;
        let file = segment.path().file_name()?.to_str()?.to_owned();
        let (tenant, name) = (tenant.to_owned(), name.to_owned());
        let (bytes, sha256) = (segment.bytes, segment.sha256.clone());
        Some(Self { tenant, name, version, file, bytes, sha256, labels, description })
    }
}

impl Segment {
    fn path(&self) -> &Path {
        match &self.file {
            SegmentFile::Durable(path) => path,
            SegmentFile::Spilled(path) => path,
        }
    }

    /// The path, once the bytes have been found to be those that were written.
    pub(crate) fn verified_path(&self) -> Result<&Path, String> {
        let path = self.path();
        match hash(path) {
            Ok(found) if found == self.sha256 => Ok(path),
            Ok(_) => Err("its file does not have the bytes that were written".into()),
            Err(error) => Err(format!("its file cannot be read: {error}")),
        }
    }

    /// Removes the file of a durable object that the manifest no longer names.
    pub(crate) fn remove(&self) {
        if let SegmentFile::Durable(path) = &self.file
            && let Err(error) = fs::remove_file(path)
        {
            tracing::warn!("{}: {error}; the next start removes it", path.display());
        }
    }
}

/// The key of an object in the manifest.
pub(crate) fn key(tenant: &str, name: &str, version: u64) -> String {
    format!("{tenant}/{name}@{version}")
}

/// A new, empty file, which is removed unless it is kept.
fn new_segment(folder: &Path) -> io::Result<TempPath> {
    Ok(tempfile::Builder::new().suffix(".npz").tempfile_in(folder)?.into_temp_path())
}

/// Writes a file whole, synced and renamed; its length and hash.
fn write(matrix: &Matrix, path: &Path) -> Result<(u64, String), Problem> {
    matrix.write_as(Output::Path(path), FileKind::Npz)?;
    Ok((fs::metadata(path)?.len(), hash(path)?))
}

fn hash(path: &Path) -> io::Result<String> {
    let (mut file, mut hash) = (File::open(path)?, Sha256::new());
    let mut buffer = vec![0; 1 << 18];
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok(to_hex(&hash.finalize())),
            read => hash.update(&buffer[..read]),
        }
    }
}
