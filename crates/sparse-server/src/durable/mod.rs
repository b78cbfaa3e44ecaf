//! Objects on disk: segments, each a matrix in an `.npz` file, and the manifest of those that are durable.
//!
//! A segment is written and synced, and only then the manifest names it, in one transaction of redb. So a
//! process that dies at any instant leaves at most a segment that no manifest names, which the next start removes.
//!
//! A worker process records the objects that are not durable, too, in a file each: the worker that follows it has those
//! that were spilled, and knows the names of those that are lost.

mod commit_file;
mod database;
mod deadline;
mod description;
mod folders;
mod integrity;
mod record;
mod segment;

use crate::error::StartError;
use crate::problem::Problem;
use crate::request::labels::Labels;
use nnz::Matrix;
use redb::{ReadTransaction, ReadableDatabase, ReadableTable, ReadableTableMetadata, TableDefinition};
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::TempPath;

use commit_file::PendingHeader;
use database::check_names_segments;
use database::open_database;
pub(crate) use database::{ReopenedDatabase, checked, database_problem};
pub(crate) use deadline::Deadline;
pub(crate) use description::Description;
#[cfg(unix)]
pub(crate) use folders::empty_folder;
pub(crate) use folders::{check_folders, folder_of_device};
use record::{FileRecord, RECORD, record_name};
pub(crate) use record::{Record, key};
pub(crate) use segment::{ReadError, Segment};
use segment::{SegmentFile, WrittenFile, hash};

/// Records by the key of the object.
const OBJECTS: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("objects");
/// The newest version of every `tenant/name` that ever was durable.
const VERSIONS: TableDefinition<'_, &str, u64> = TableDefinition::new("versions");

/// The folders of a server's data, and the manifest.
#[derive(Debug)]
pub(crate) struct Disk {
    manifest: ReopenedDatabase,
    segments: PathBuf,
    spilled: PathBuf,
    uploads: PathBuf,
    /// The folder of the records of objects that are not durable, in a worker process.
    volatile: Option<PathBuf>,
}

/// The name of the manifest in the folder of data.
const MANIFEST: &str = "manifest.redb";
/// True for a manifest that names objects, or knows numbers of versions that must not be given again; also for one that
/// cannot be read.
fn has_records(path: &Path) -> bool {
    let are_empty = || -> Result<bool, redb::Error> {
        let database = open_database(path, &PendingHeader::default())?;
        let read = database.begin_read()?;
        Ok(read.open_table(OBJECTS)?.is_empty()? && read.open_table(VERSIONS)?.is_empty()?)
    };
    path.exists() && !checked(path, || Ok(are_empty()?)).unwrap_or(false)
}

/// The contents of a manifest.
#[derive(Debug, Default)]
pub(crate) struct Recovered {
    pub(crate) records: Vec<Record>,
    /// True if the manifest has records that cannot be read, and are not served.
    has_unread_records: bool,
    /// Objects of the worker process before this one that were not durable.
    pub(crate) volatile: Vec<Record>,
    /// (`tenant/name`, newest version)
    pub(crate) versions: Vec<(String, u64)>,
}

impl Disk {
    /// Opens the folder, which only one server may use, and removes what an earlier process left unfinished.
    ///
    /// A worker process has its number among those of its service, and finds what those before it have spilled.
    pub(crate) fn open(data: &Path, generation: Option<u64>) -> Result<(Self, Recovered), StartError> {
        let folder = |name: &str| {
            let path = data.join(name);
            fs::create_dir_all(&path).map_err(|error| StartError::file(&path, error)).map(|()| path)
        };
        let segments = folder("segments")?;
        let path = data.join(MANIFEST);
        check_names_segments(&path, &segments)?;
        let manifest = ReopenedDatabase::at(path.clone());
        checked(&path, || Ok(manifest.with(|_| Ok(()))?))?;
        // From here on no other server is at work in the folder.
        let succeeds = generation.is_some_and(|generation| generation > 0);
        let left = if succeeds { &["uploads"][..] } else { &["uploads", "spilled", "volatile"] };
        for name in left {
            let path = folder(name)?;
            fs::remove_dir_all(&path).map_err(|error| StartError::file(&path, error))?;
        }
        let (spilled, uploads) = (folder("spilled")?, folder("uploads")?);
        let volatile = generation.map(|_| folder("volatile")).transpose()?;
        let disk = Self { manifest, segments, spilled, uploads, volatile };
        let mut recovered = checked(&path, || Ok(disk.read_manifest()?))?;
        if let Some(folder) = &disk.volatile {
            recovered.volatile = read_volatile(folder).map_err(|error| StartError::file(folder, error))?;
        }
        let unnamed = |folder: &PathBuf, records: &[Record]| {
            remove_unnamed(folder, records).map_err(|error| StartError::file(folder, error))
        };
        unnamed(&disk.spilled, &recovered.volatile)?;
        // One of them may be that of a record which cannot be read.
        if !recovered.has_unread_records {
            unnamed(&disk.segments, &recovered.records)?;
        }
        Ok((disk, recovered))
    }

    fn read_manifest(&self) -> Result<Recovered, redb::Error> {
        self.manifest.with(|manifest| {
            let write = manifest.begin_write()?;
            write.open_table(OBJECTS)?;
            write.open_table(VERSIONS)?;
            write.commit()?;
            read_records(&manifest.begin_read()?)
        })
    }

    /// The folder of bodies that are being received and sent.
    pub(crate) fn uploads(&self) -> &Path {
        &self.uploads
    }

    /// Writes a matrix that the manifest does not name yet, and hashes its file.
    pub(crate) fn write_durable(&self, matrix: &Matrix) -> Result<(WrittenFile, String), Problem> {
        let file = WrittenFile::new(&self.segments, matrix)?;
        let sha256 = hash(file.path())?;
        Ok((file, sha256))
    }

    /// The segment of a file, once it is on the disk.
    pub(crate) fn sync_durable(&self, (file, sha256): (WrittenFile, String)) -> Result<Segment, Problem> {
        let (path, bytes) = file.sync()?;
        File::open(&self.segments)?.sync_all()?;
        let path = path.keep().map_err(|error| Problem::disk(&error.error))?;
        Ok(Segment { file: SegmentFile::Durable(path), bytes, sha256: Some(sha256) })
    }

    /// Removes the segment of an object that was not committed. Where the commit may have taken effect all the same the
    /// file stays until the next start, which knows.
    pub(crate) fn discard(&self, segment: &Segment) {
        if self.manifest.is_settled() {
            segment.remove();
        }
    }

    /// Writes a matrix that is evicted; its file goes with the segment. It is synced, though it is of no use after the
    /// end of the machine: a full quota, or a file system of another machine, may fail only then, and the matrix is
    /// nowhere else.
    pub(crate) fn write_spilled(&self, matrix: &Matrix) -> Result<Segment, Problem> {
        let (path, bytes) = WrittenFile::new(&self.spilled, matrix)?.sync()?;
        Ok(Segment { file: SegmentFile::Spilled(path), bytes, sha256: None })
    }

    /// The segment of a durable object, if the file is there and of the right length.
    pub(crate) fn segment(&self, record: &Record) -> Result<Segment, String> {
        let file = record.file.as_ref().ok_or("the manifest names no file of it")?;
        let path = self.segments.join(&file.name);
        let found = fs::metadata(&path).map_err(|error| format!("its file cannot be read: {error}"))?;
        if found.len() != file.bytes {
            return Err(format!("its file has {} bytes where {} were written", found.len(), file.bytes));
        }
        Ok(Segment { file: SegmentFile::Durable(path), bytes: file.bytes, sha256: file.sha256.clone() })
    }

    /// The segment of an object that an earlier worker has spilled, if it has.
    pub(crate) fn spilled_segment(&self, record: &Record) -> Option<Segment> {
        let FileRecord { name, bytes, sha256 } = record.file.clone()?;
        let path = TempPath::try_from_path(self.spilled.join(name)).ok()?;
        path.exists().then_some(Segment { file: SegmentFile::Spilled(path), bytes, sha256 })
    }

    /// Records an object that is not durable, for the worker process that may follow. The record outlives the process,
    /// but is not synced: it would be of no use after a failure of the machine.
    pub(crate) fn note(&self, record: &Record) -> Result<(), Problem> {
        let Some(folder) = &self.volatile else { return Ok(()) };
        let bytes = serde_json::to_vec(record).map_err(Problem::internal)?;
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&bytes)?;
        let key = key(&record.tenant, &record.name, record.version);
        file.persist(folder.join(record_name(&key))).map_err(|error| Problem::disk(&error.error))?;
        Ok(())
    }

    /// Removes the record of an object that is not durable.
    pub(crate) fn unnote(&self, key: &str) {
        let Some(path) = self.volatile.as_ref().map(|folder| folder.join(record_name(key))) else { return };
        if let Err(error) = fs::remove_file(&path) {
            tracing::warn!("{}: {error}", path.display());
        }
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

    /// Remembers the version of an object that is not durable, of a name that has been, and forgets others, in one
    /// step.
    pub(crate) fn commit_version(&self, added: &Record, removed: &[String]) -> Result<(), Problem> {
        self.change(removed, |_, versions| {
            versions.insert(&*format!("{}/{}", added.tenant, added.name), added.version).map(drop)
        })
    }

    /// Changes the labels of an object that the manifest names; nothing else changes it meanwhile.
    pub(crate) fn set_labels(&self, key: &str, labels: &Labels) -> Result<(), Problem> {
        let record = self.manifest.with(|manifest| {
            let objects = manifest.begin_read()?.open_table(OBJECTS)?;
            Ok(objects.get(key)?.map(|record| record.value().to_vec()))
        });
        let record = record.map_err(manifest_problem)?;
        let record = record.ok_or_else(|| Problem::internal(format!("the manifest has no {key}")))?;
        let record = serde_json::from_slice::<Record>(&record)
            .map_err(|error| Problem::internal(format!("the manifest: {error}")))?;
        let record = Record { labels: labels.clone(), ..record };
        let bytes = serde_json::to_vec(&record).map_err(Problem::internal)?;
        self.change(&[], |objects, _| objects.insert(key, &*bytes).map(drop))
    }

    /// The newest version of a name that ever was durable.
    pub(crate) fn recorded_version(&self, tenant: &str, name: &str) -> Result<Option<u64>, Problem> {
        let version = self.manifest.with(|manifest| {
            let versions = manifest.begin_read()?.open_table(VERSIONS)?;
            Ok(versions.get(&*format!("{tenant}/{name}"))?.map(|version| version.value()))
        });
        version.map_err(manifest_problem)
    }

    /// Each `tenant/name` that ever was durable.
    #[cfg(unix)]
    pub(crate) fn recorded_names(&self) -> Result<Vec<String>, Problem> {
        let names = self.manifest.with(|manifest| {
            let versions = manifest.begin_read()?.open_table(VERSIONS)?;
            versions
                .iter()?
                .map(|entry| Ok(entry?.0.value().into()))
                .collect::<Result<Vec<String>, redb::Error>>()
        });
        names.map_err(manifest_problem)
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
        let committed = self.manifest.with(|manifest| {
            let write = manifest.begin_write()?;
            {
                let (mut objects, mut versions) = (write.open_table(OBJECTS)?, write.open_table(VERSIONS)?);
                for key in removed {
                    objects.remove(&**key)?;
                }
                add(&mut objects, &mut versions)?;
            }
            Ok(write.commit()?)
        });
        committed.map_err(manifest_problem)
    }
}

/// All that a manifest has.
fn read_records(read: &ReadTransaction) -> Result<Recovered, redb::Error> {
    let mut recovered = Recovered::default();
    for entry in read.open_table(OBJECTS)?.iter()? {
        let (key, record) = entry?;
        match serde_json::from_slice::<Record>(record.value()) {
            Ok(record) => recovered.records.push(record),
            Err(error) => {
                tracing::error!("manifest: {}: {error}; no segment is removed", key.value());
                recovered.has_unread_records = true;
            }
        }
    }
    for entry in read.open_table(VERSIONS)?.iter()? {
        let (name, version) = entry?;
        recovered.versions.push((name.value().into(), version.value()));
    }
    Ok(recovered)
}

fn manifest_problem(error: redb::Error) -> Problem {
    database_problem("the manifest", error)
}

/// The records of a folder; files of records that were not written to their end are removed.
fn read_volatile(folder: &Path) -> io::Result<Vec<Record>> {
    let mut records = vec![];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        match serde_json::from_slice(&fs::read(&path)?) {
            Ok(record) if path.extension().is_some_and(|extension| extension == RECORD) => {
                records.push(record)
            }
            _ => fs::remove_file(&path)?,
        }
    }
    Ok(records)
}

/// Removes segments that were not committed, or whose object was deleted.
fn remove_unnamed(folder: &Path, records: &[Record]) -> io::Result<()> {
    let named: HashSet<&str> =
        records.iter().filter_map(|record| Some(&*record.file.as_ref()?.name)).collect();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if !entry.file_name().to_str().is_some_and(|name| named.contains(name)) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}
