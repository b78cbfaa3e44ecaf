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
fn rewrite(storage: &impl StorageBackend) -> io::Result<()> {
    const CHUNK: u64 = 1 << 20;
    let len = storage.len()?;
    for start in (0..len).step_by(CHUNK as usize) {
        let mut bytes = vec![0; (len - start).min(CHUNK) as usize];
        storage.read(start, &mut bytes)?;
        storage.write(start, &bytes)?;
    }
    storage.sync_data()
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
        let is_shorter = len < self.storage.len()?;
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
