//! Databases (redb) in the folder of data: how they are opened, and what is said of one that is damaged.

use super::integrity;
use crate::error::StartError;
use crate::lock::lock;
use crate::problem::Problem;
use redb::{Database, DatabaseError, StorageError};
use std::any::Any;
use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Time that another process which goes, as a worker whose front end was killed, may still hold a database.
const WAIT: Duration = Duration::from_secs(5);

/// Bytes of a database that are kept in memory. By default redb keeps up to 1 GiB of pages, old ones among them.
const CACHE: usize = 8 << 20;

/// Opens a database, which is made if it is not there, and fails for one that is damaged.
pub(crate) fn open_database(path: &Path) -> Result<Database, DatabaseError> {
    let began = Instant::now();
    loop {
        integrity::check(path).map_err(|error| match error.kind() {
            ErrorKind::InvalidData => {
                StorageError::Corrupted(format!("{error}: put a copy of it in its place"))
            }
            _ => StorageError::Io(error),
        })?;
        match Database::builder().set_cache_size(CACHE).create(path) {
            Err(DatabaseError::DatabaseAlreadyOpen) if began.elapsed() < WAIT => {
                std::thread::sleep(Duration::from_millis(20));
            }
            opened => return opened,
        }
    }
}

/// A database that is opened when it is needed, and again after an error of the disk: redb refuses everything after one,
/// also once the disk has space again.
#[derive(Debug)]
pub(crate) struct ReopenedDatabase {
    path: PathBuf,
    open: fn(&Path) -> Result<Database, DatabaseError>,
    opened: Mutex<Option<Database>>,
}

impl ReopenedDatabase {
    /// The database at `path`, which is not opened yet.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { path, open: open_database, opened: Mutex::default() }
    }

    /// The result of work with the database; what it has not committed is undone if it fails.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(&Database) -> Result<T, redb::Error>,
    ) -> Result<T, redb::Error> {
        let mut opened = lock(&self.opened);
        let database = match opened.take() {
            Some(database) => database,
            None => (self.open)(&self.path)?,
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
    done.map_err(|error| StartError::file(path, error))
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
    use redb::backends::FileBackend;
    use redb::{ReadableDatabase, StorageBackend, TableDefinition};
    use std::fs::File;
    use std::io;
    use std::sync::atomic::{AtomicBool, Ordering};

    const NUMBERS: TableDefinition<'_, u64, u64> = TableDefinition::new("numbers");
    static IS_FULL: AtomicBool = AtomicBool::new(false);

    /// A file on a disk that may be full.
    #[derive(Debug)]
    struct FullDisk(FileBackend);

    fn space<T>(work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if IS_FULL.load(Ordering::Relaxed) { Err(ErrorKind::StorageFull.into()) } else { work() }
    }

    impl StorageBackend for FullDisk {
        fn len(&self) -> io::Result<u64> {
            self.0.len()
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            self.0.read(offset, out)
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            space(|| self.0.set_len(len))
        }

        fn sync_data(&self) -> io::Result<()> {
            self.0.sync_data()
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            space(|| self.0.write(offset, data))
        }

        fn close(&self) -> io::Result<()> {
            self.0.close()
        }
    }

    #[test]
    fn a_database_goes_on_after_the_disk_was_full() {
        let data = tempfile::tempdir().unwrap();
        let open = |path: &Path| {
            let file = File::options().read(true).write(true).create(true).truncate(false).open(path);
            let backend = FullDisk(FileBackend::new(file.map_err(StorageError::Io)?)?);
            Database::builder().create_with_backend(backend)
        };
        let database = ReopenedDatabase { path: data.path().join("a.redb"), open, opened: Mutex::default() };
        let put = |number: u64| {
            database.with(|database| {
                let write = database.begin_write()?;
                write.open_table(NUMBERS)?.insert(number, number)?;
                Ok(write.commit()?)
            })
        };
        put(1).unwrap();
        IS_FULL.store(true, Ordering::Relaxed);
        for _ in 0..2 {
            let problem = database_problem("numbers", put(2).unwrap_err());
            assert_eq!(problem.status.as_u16(), 507, "{}", problem.detail());
        }
        IS_FULL.store(false, Ordering::Relaxed);
        let get = |number: u64| {
            database.with(|database| {
                let numbers = database.begin_read()?.open_table(NUMBERS)?;
                Ok(numbers.get(number)?.map(|number| number.value()))
            })
        };
        assert_eq!((get(1).unwrap(), get(2).unwrap()), (Some(1), None));
        put(3).unwrap();
        assert_eq!(get(3).unwrap(), Some(3));
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
