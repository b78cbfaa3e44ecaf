//! The storage of a database, which undoes a commit that the disk has not taken.
//!
//! redb writes the pages of a commit where no page of the one before lies, then the header, which names the current
//! commit, and syncs the file. If that fails nobody knows what the disk has: Linux forgets pages that it could not
//! write, and the next sync succeeds without them. So the header of the last sync is written once more, at once or
//! before the database is opened again. The file has the commit before then, all pages of which are on disk.
//!
//! A process that is killed between cannot do so. Of a file that was not closed all bytes are written and synced once
//! more before it is opened, so that what is read from memory is on disk, too.

use super::integrity::{HEADER, was_closed};
use crate::lock::lock;
use redb::StorageBackend;
use std::io;
use std::sync::{Arc, Mutex};

/// Bytes that are written at once where a file is filled or written again.
const PAGE: u64 = 4096;

/// The header that is to be written before a database is opened again, if the disk has not taken it yet.
pub(super) type PendingHeader = Arc<Mutex<Option<Vec<u8>>>>;

/// A storage that has the state of the last successful commit after one that has failed.
#[derive(Debug)]
pub(super) struct CommitFile<B> {
    storage: B,
    headers: Mutex<Headers>,
    pending: PendingHeader,
}

/// The headers of a file; they are empty before it has one.
#[derive(Debug)]
struct Headers {
    /// The header that was written last.
    written: Vec<u8>,
    /// The header that was synced last.
    synced: Vec<u8>,
    /// The header that was synced before that.
    previous: Vec<u8>,
}

impl<B: StorageBackend> CommitFile<B> {
    /// Writes the pending header, if there is one.
    pub(super) fn new(storage: B, pending: PendingHeader) -> io::Result<Self> {
        if let Some(header) = &*lock(&pending) {
            write_synced(&storage, header)?;
        }
        *lock(&pending) = None;
        let mut header = vec![0; storage.len()?.min(HEADER as u64) as usize];
        storage.read(0, &mut header)?;
        if !was_closed(&header) {
            rewrite(&storage)?;
        }
        let headers = Headers { written: header.clone(), synced: header.clone(), previous: header };
        Ok(Self { storage, headers: Mutex::new(headers), pending })
    }

    /// Makes the commit of this header the current one again.
    fn restore(&self, header: Vec<u8>) {
        if let Err(error) = write_synced(&self.storage, &header) {
            tracing::error!("a commit that failed is not undone yet: {error}");
            *lock(&self.pending) = Some(header);
        }
    }

    fn restore_synced(&self) {
        let synced = lock(&self.headers).synced.clone();
        self.restore(synced);
    }
}

/// Writes the bytes of a file where they are, so that its next sync tells whether the disk has them.
///
/// A page of zeros that a full disk has no space for is a hole: the disk has nothing else there, where a file system writes
/// in place.
fn rewrite(storage: &impl StorageBackend) -> io::Result<()> {
    let (len, mut page) = (storage.len()?, vec![0; PAGE as usize]);
    for start in (0..len).step_by(PAGE as usize) {
        page.truncate((len - start) as usize);
        storage.read(start, &mut page)?;
        let is_zero = page.iter().all(|byte| *byte == 0);
        storage.write(start, &page).or_else(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded if is_zero => Ok(()),
            _ => Err(error),
        })?;
    }
    storage.sync_data()
}

/// Makes a file longer, with space on the disk for all of it: where a file system writes in place, a later write to a page
/// of it cannot find the disk full, as one to a hole could.
fn lengthen(storage: &impl StorageBackend, from: u64, to: u64) -> io::Result<()> {
    const ZEROS: [u8; PAGE as usize] = [0; PAGE as usize];
    storage.set_len(to)?;
    let filled = (from..to)
        .step_by(ZEROS.len())
        .try_for_each(|start| storage.write(start, &ZEROS[..(to - start).min(PAGE) as usize]));
    if filled.is_err() {
        storage.set_len(from)?;
    }
    filled
}

fn write_synced(storage: &impl StorageBackend, header: &[u8]) -> io::Result<()> {
    storage.write(0, header)?;
    storage.sync_data()
}

impl<B: StorageBackend> StorageBackend for CommitFile<B> {
    fn len(&self) -> io::Result<u64> {
        self.storage.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.storage.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let before = self.storage.len()?;
        if len > before {
            return lengthen(&self.storage, before, len);
        }
        let is_shorter = len < before;
        self.storage.set_len(len).inspect_err(|_| {
            // redb shortens the file at the end of a commit, once it is synced.
            if is_shorter {
                let previous = lock(&self.headers).previous.clone();
                self.restore(previous);
            }
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        self.storage.sync_data().inspect_err(|_| self.restore_synced())?;
        let mut headers = lock(&self.headers);
        let written = headers.written.clone();
        headers.previous = std::mem::replace(&mut headers.synced, written);
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset == 0 {
            lock(&self.headers).written = data[..HEADER.min(data.len())].to_vec();
        }
        self.storage.write(offset, data).inspect_err(|_| self.restore_synced())
    }

    fn close(&self) -> io::Result<()> {
        self.storage.close()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A file on a disk with so many free pages; those that were never written take no space.
    #[derive(Debug, Clone, Default)]
    struct Sparse(Arc<Mutex<SparseFile>>);

    #[derive(Debug, Default)]
    struct SparseFile {
        pages: BTreeMap<u64, Vec<u8>>,
        free: usize,
        len: u64,
    }

    impl StorageBackend for Sparse {
        fn len(&self) -> io::Result<u64> {
            Ok(lock(&self.0).len)
        }

        fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
            let file = lock(&self.0);
            for (at, byte) in (offset..).zip(out) {
                *byte = file.pages.get(&(at / PAGE)).map_or(0, |page| page[(at % PAGE) as usize]);
            }
            Ok(())
        }

        fn set_len(&self, len: u64) -> io::Result<()> {
            let mut file = lock(&self.0);
            file.len = len;
            let cut = file.pages.split_off(&len.div_ceil(PAGE));
            file.free += cut.len();
            Ok(())
        }

        fn sync_data(&self) -> io::Result<()> {
            Ok(())
        }

        fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
            let mut file = lock(&self.0);
            for (at, byte) in (offset..).zip(data) {
                let number = at / PAGE;
                if !file.pages.contains_key(&number) {
                    file.free = file.free.checked_sub(1).ok_or(io::ErrorKind::StorageFull)?;
                    file.pages.insert(number, vec![0; PAGE as usize]);
                }
                file.pages.get_mut(&number).unwrap()[(at % PAGE) as usize] = *byte;
            }
            Ok(())
        }
    }

    fn opened(storage: &Sparse) -> io::Result<CommitFile<Sparse>> {
        CommitFile::new(storage.clone(), PendingHeader::default())
    }

    #[test]
    fn a_file_with_holes_that_was_not_closed_is_opened_on_a_full_disk() {
        let storage = Sparse::default();
        lock(&storage.0).free = 1;
        storage.set_len(10 * PAGE).unwrap();
        let not_closed = [0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
        storage.write(0, &not_closed).unwrap();
        assert_eq!(opened(&storage).unwrap().len().unwrap(), 10 * PAGE);
    }

    #[test]
    fn what_a_file_is_lengthened_by_has_space() {
        let storage = Sparse::default();
        lock(&storage.0).free = 10;
        let file = opened(&storage).unwrap();
        file.set_len(7 * PAGE + 5).unwrap();
        assert_eq!(lock(&storage.0).free, 2);
        assert!(file.set_len(11 * PAGE).is_err());
        assert_eq!((file.len().unwrap(), lock(&storage.0).free), (7 * PAGE + 5, 2));
        lock(&storage.0).free = 0;
        file.write(3 * PAGE, &[1; 2 * PAGE as usize]).unwrap();
    }
}
