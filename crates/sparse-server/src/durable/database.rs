//! Databases (redb) in the folder of data: how they are opened, and what is said of one that is damaged.

use super::commit_file::{CommitFile, PendingHeader};
use super::integrity;
use crate::error::StartError;
use crate::lock::lock;
use crate::problem::Problem;
use redb::backends::FileBackend;
use redb::{Database, DatabaseError, StorageBackend, StorageError};
use std::any::Any;
use std::error::Error;
use std::fs::{self, File};
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time that another process which goes, as a worker whose front end was killed, may still hold a database.
const WAIT: Duration = Duration::from_secs(5);

/// Bytes of a database that are kept in memory. By default redb keeps up to 1 GiB of pages, old ones among them.
const CACHE: usize = 8 << 20;

/// Opens a database, which is made if it is not there, and fails for one that is damaged. A commit that could not be
/// undone before is undone first.
pub(super) fn open_database(path: &Path, pending: &PendingHeader) -> Result<Database, DatabaseError> {
    if !path.try_exists()? {
        make_database(path)?;
    }
    open_storage(CommitFile::new(locked_file(path)?, pending.clone())?)
}

/// Makes an empty database, whole under its name: one that is not could not be opened.
fn make_database(path: &Path) -> Result<(), DatabaseError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder)?;
    let storage = CommitFile::new(FileBackend::new(new.reopen()?)?, PendingHeader::default())?;
    drop(Database::builder().create_with_backend(storage)?);
    match new.persist_noclobber(path) {
        // Another process has made it meanwhile.
        Err(error) if error.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error.error.into()),
        Ok(_) => Ok(File::open(folder)?.sync_all()?),
    }
}

/// The file of a database, once no other process has it.
fn locked_file(path: &Path) -> Result<FileBackend, DatabaseError> {
    let began = Instant::now();
    loop {
        let file = File::options().read(true).write(true).open(path)?;
        match FileBackend::new(file) {
            Err(DatabaseError::DatabaseAlreadyOpen) if began.elapsed() < WAIT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            locked => return locked,
        }
    }
}

fn open_storage(storage: impl StorageBackend) -> Result<Database, DatabaseError> {
    integrity::check(&storage).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => StorageError::Corrupted(format!("{error}: put a copy of it in its place")),
        _ => StorageError::Io(error),
    })?;
    Database::builder().set_cache_size(CACHE).create_with_backend(storage)
}

/// A database that is opened when it is needed, and again after an error of the disk: redb refuses everything after one,
/// also once the disk has space again.
#[derive(Debug)]
pub(crate) struct ReopenedDatabase {
    path: PathBuf,
    open: fn(&Path, &PendingHeader) -> Result<Database, DatabaseError>,
    opened: Mutex<Option<Database>>,
    pending: PendingHeader,
}

impl ReopenedDatabase {
    /// The database at `path`, which is not opened yet.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, open: open_database, opened: Mutex::default(), pending: PendingHeader::default() }
    }

    /// True unless a commit has failed, and could not be undone yet: after a failure of the machine it may have taken
    /// effect.
    pub(crate) fn is_settled(&self) -> bool {
        lock(&self.pending).is_none()
    }

    /// The result of work with the database; what it has not committed, or could not commit, is undone if it fails.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, redb::Error> {
        let mut opened = lock(&self.opened);
        let database = match opened.take() {
            Some(database) => database,
            None => (self.open)(&self.path, &self.pending)?,
        };
        let done = work(&database);
        if !matches!(done, Err(redb::Error::Io(_) | redb::Error::PreviousIo)) {
            *opened = Some(database);
        }
        done
    }
}

/// The problem of a request whose work with a database, `what`, has failed.
pub(crate) fn database_problem(what: &str, error: redb::Error) -> Problem {
    match error {
        redb::Error::Io(error) => Problem::disk(&error),
        error => Problem::internal(format!("{what}: {error}")),
    }
}

/// The result of work with a database when the server starts. One that was not closed, and damaged since, may make redb
/// panic, which is an error here.
pub(crate) fn checked<T>(
    path: &Path,
    work: impl FnOnce() -> Result<T, Box<dyn Error>>,
) -> Result<T, StartError> {
    let damaged = |panic: Box<dyn Any + Send>| {
        let reason = match (panic.downcast_ref::<String>(), panic.downcast_ref::<&str>()) {
            (Some(text), _) => text,
            (None, Some(text)) => *text,
            (None, None) => "for an unknown reason",
        };
        let reason = reason.lines().next().unwrap_or_default();
        StartError::file(path, format!("it is damaged: {reason}: put a copy of it in its place"))
    };
    // What a panic leaves behind is not used any more.
    let done = catch_unwind(AssertUnwindSafe(work)).map_err(damaged)?;
    done.map_err(|error| match error.downcast_ref() {
        Some(redb::Error::DatabaseAlreadyOpen) => {
            StartError::file(path, "another server has this folder: each needs one of its own")
        }
        _ => StartError::file(path, error),
    })
}

/// Fails if there is no manifest at `path`, or an empty one, and yet there are segments: none of them has a name then,
/// and the server would remove them.
pub(super) fn check_names_segments(path: &Path, segments: &Path) -> Result<(), StartError> {
    let is_there = fs::metadata(path).is_ok_and(|manifest| manifest.len() > 0);
    // A folder that is not there has none.
    let count = fs::read_dir(segments).map_or(0, Iterator::count);
    if is_there || count == 0 {
        return Ok(());
    }
    let reason = format!(
        "it is not there or empty, and {} has {count} files, which it should name: put a copy of it in its place, or \
         move the files away",
        segments.display()
    );
    Err(StartError::file(path, reason))
}

#[cfg(test)]
mod tests {
    use super::super::{Disk, MANIFEST};
    use super::*;
    use redb::{ReadableDatabase, ReadableTable, TableDefinition};
    use std::collections::{BTreeMap, BTreeSet};
    use std::io;
    use std::ops::Range;

    const NUMBERS: TableDefinition<'_, u64, u64> = TableDefinition::new("numbers");
    const PAGE: usize = 4096;

    /// A file and its pages in memory, as Linux has them: pages that could not be written are not tried again.
    #[derive(Debug, Default)]
    struct Simulation {
        memory: Vec<u8>,
        disk: Vec<u8>,
        unwritten: BTreeSet<usize>,
        /// Calls that change the file.
        calls: usize,
        /// The calls that fail.
        failing: Range<usize>,
    }

    static SIMULATION: Mutex<Simulation> = Mutex::new(Simulation {
        memory: vec![],
        disk: vec![],
        unwritten: BTreeSet::new(),
        calls: 0,
        failing: 0..0,
    });

    impl Simulation {
        fn call(&mut self) -> io::Result<()> {
            self.calls += 1;
            if self.failing.contains(&self.calls) { Err(ErrorKind::StorageFull.into()) } else { Ok(()) }
        }

        fn set_len(&mut self, len: usize) -> io::Result<()> {
            self.call()?;
            self.memory.resize(len, 0);
            self.disk.resize(len, 0);
            self.unwritten.retain(|page| page * PAGE < len);
            Ok(())
        }

        fn write(&mut self, offset: usize, data: &[u8]) -> io::Result<()> {
            self.call()?;
            self.memory[offset..offset + data.len()].copy_from_slice(data);
            self.unwritten.extend(offset / PAGE..=(offset + data.len() - 1) / PAGE);
            Ok(())
        }

        /// Writes all pages to the disk, or, where it fails, some of them.
        fn sync(&mut self) -> io::Result<()> {
            let done = self.call();
            let calls = self.calls;
            for page in std::mem::take(&mut self.unwritten) {
                let bytes = page * PAGE..((page + 1) * PAGE).min(self.memory.len());
                if done.is_ok() || (page * 7 + calls).is_multiple_of(3) {
                    self.disk[bytes.clone()].copy_from_slice(&self.memory[bytes]);
                }
            }
            done
        }
    }

    /// The storage of the only simulation.
    #[derive(Debug)]
    struct Simulated;

    impl StorageBackend for Simulated {
        fn len(&self) -> io::Result<u64> {
            Ok(lock(&SIMULATION).memory.len() as u64)
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            out.copy_from_slice(&lock(&SIMULATION).memory[offset as usize..][..out.len()]);
            Ok(())
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            lock(&SIMULATION).set_len(len as usize)
        }

        fn sync_data(&self) -> io::Result<()> {
            lock(&SIMULATION).sync()
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            lock(&SIMULATION).write(offset as usize, data)
        }
    }

    fn simulated() -> ReopenedDatabase {
        let open =
            |_: &Path, pending: &PendingHeader| open_storage(CommitFile::new(Simulated, pending.clone())?);
        let (path, pending) = (PathBuf::new(), PendingHeader::default());
        ReopenedDatabase { path, open, opened: Mutex::default(), pending }
    }

    /// Locked by a test with the simulation.
    static ALONE: Mutex<()> = Mutex::new(());

    type Numbers = BTreeMap<u64, u64>;

    fn put(database: &Database, number: u64, value: u64) -> Result<(), redb::Error> {
        let write = database.begin_write()?;
        write.open_table(NUMBERS)?.insert(number, value)?;
        Ok(write.commit()?)
    }

    fn all(database: &Database) -> Result<Numbers, redb::Error> {
        let numbers = database.begin_read()?.open_table(NUMBERS)?;
        let entries =
            numbers.iter()?.map(|entry| entry.map(|(number, value)| (number.value(), value.value())));
        Ok(entries.collect::<Result<_, _>>()?)
    }

    /// The numbers that a machine finds on the disk after its failure.
    fn on_disk(folder: &Path) -> Numbers {
        let path = folder.join("disk.redb");
        fs::write(&path, &lock(&SIMULATION).disk).unwrap();
        all(&open_database(&path, &PendingHeader::default()).unwrap()).unwrap()
    }

    #[test]
    fn a_failed_commit_has_no_effect_and_the_database_goes_on() {
        let (folder, _alone) = (tempfile::tempdir().unwrap(), lock(&ALONE));
        let mut unsettled = 0;
        // The last ones so many calls after the first that no commit fails.
        for (first, count) in (1..60).flat_map(|first| [1, 2, 3, 9].map(|count| (first, count))) {
            *lock(&SIMULATION) = Simulation::default();
            let database = simulated();
            database.with(|database| put(database, 0, 0)).unwrap();
            let mut expected = Numbers::from([(0, 0)]);
            // What the disk may have in place of it after a failure of the machine.
            let mut other = expected.clone();
            let calls = lock(&SIMULATION).calls;
            lock(&SIMULATION).failing = calls + first..calls + first + count;
            for number in 1..12 {
                let label = format!("{number}, {count} calls from {first}");
                let value = number * 10;
                let attempt: Numbers = expected.clone().into_iter().chain([(number % 5, value)]).collect();
                let was_settled = database.is_settled();
                let done = database.with(|database| put(database, number % 5, value));
                if was_settled {
                    other = attempt.clone();
                }
                match done {
                    Ok(()) => expected = attempt,
                    Err(error) => {
                        let problem = database_problem("numbers", error);
                        assert_eq!(problem.status.as_u16(), 507, "{label}: {}", problem.detail());
                        let (found, is_settled) = (on_disk(folder.path()), database.is_settled());
                        unsettled += usize::from(!is_settled);
                        let is_right = found == expected || (!is_settled && found == other);
                        assert!(is_right, "{label}, on disk: {found:?}");
                    }
                }
                if let Ok(found) = database.with(all) {
                    assert_eq!(found, expected, "{label}");
                }
            }
            lock(&SIMULATION).failing = 0..0;
            assert_eq!(database.with(all).unwrap(), expected);
        }
        assert!(unsettled > 50, "{unsettled}");
    }

    /// The process ends before it can undo the commit, and another one finds its pages in memory alone.
    #[test]
    fn what_a_killed_process_has_not_synced_is_synced_before_it_is_read() {
        let (folder, _alone) = (tempfile::tempdir().unwrap(), lock(&ALONE));
        let mut failed = 0;
        for first in 1..10 {
            *lock(&SIMULATION) = Simulation::default();
            let database = simulated();
            database.with(|database| put(database, 0, 0)).unwrap();
            let calls = lock(&SIMULATION).calls;
            lock(&SIMULATION).failing = calls + first..usize::MAX;
            failed += usize::from(database.with(|database| put(database, 1, 10)).is_err());
            std::mem::forget(database);
            lock(&SIMULATION).failing = 0..0;
            let next = simulated();
            next.with(|database| put(database, 2, 20)).unwrap();
            let found = next.with(all).unwrap();
            assert!(found.contains_key(&0) && found.contains_key(&2), "{found:?}");
            assert_eq!(on_disk(folder.path()), found, "from call {first} on");
        }
        assert!(failed >= 5, "{failed}");
    }

    #[test]
    fn a_database_is_made_whole_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.redb");
        fs::write(&path, [0; 5000]).unwrap();
        assert!(open_database(&path, &PendingHeader::default()).is_err());
        fs::remove_file(&path).unwrap();
        put(&open_database(&path, &PendingHeader::default()).unwrap(), 1, 2).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert_eq!(all(&open_database(&path, &PendingHeader::default()).unwrap()).unwrap(), [(1, 2)].into());
    }

    #[test]
    fn no_segment_is_removed_where_the_manifest_is_damaged() {
        let data = tempfile::tempdir().unwrap();
        let (manifest, segment) = (data.path().join(MANIFEST), data.path().join("segments/a.npz"));
        let open = || Disk::open(data.path(), None);
        drop(open().unwrap());
        fs::write(&segment, "of a matrix").unwrap();
        let whole = fs::read(&manifest).unwrap();
        for damaged in [&whole[..whole.len() / 2], &[7; 5000], &[]] {
            fs::write(&manifest, damaged).unwrap();
            let refused = open().unwrap_err().to_string();
            assert!(refused.contains(MANIFEST), "{refused}");
        }
        fs::remove_file(&manifest).unwrap();
        let refused = open().unwrap_err().to_string();
        assert!(refused.contains("has 1 files") && segment.exists(), "{refused}");

        fs::write(&manifest, &whole).unwrap();
        drop(open().unwrap());
        assert!(!segment.exists(), "the manifest does not name it");
        let (disk, _) = open().unwrap();
        disk.change(&[], |objects, _| objects.insert("t/a@1", &b"{"[..]).map(drop)).unwrap();
        drop(disk);
        fs::write(&segment, "of a record that cannot be read").unwrap();
        let (_, recovered) = open().unwrap();
        assert!(recovered.records.is_empty() && segment.exists());
    }
}
