//! Copies of matrices of other devices, each for one request.

use super::Store;
use super::memory::to_format_named;
use super::object::{Content, Object, Resident};
use crate::durable::{Description, Record};
use crate::lock::lock;
use crate::memory::ledger::Reservation;
use crate::problem::Problem;
use crate::request::labels::Labels;
use nnz::Matrix;
use std::sync::{Arc, Mutex};

/// Removes a copy, which is found by its number, from the store when it is dropped; leases on the copy stay valid.
#[derive(Debug)]
pub(crate) struct CopyGuard {
    store: Arc<Store>,
    number: u64,
}

impl Store {
    /// Inserts a copy of a matrix, in the format that it has on its own device. One that is pinned stays for longer than
    /// a request.
    pub(crate) fn insert_copy(
        self: &Arc<Self>,
        number: u64,
        id: (&str, &str, u64),
        (matrix, mut bytes): (Matrix, Reservation),
        (format, is_pinned): (&str, bool),
    ) -> Result<CopyGuard, Problem> {
        let matrix = to_format_named(matrix, format)?;
        self.settle(&mut bytes, id.0, matrix.bytes() as u64)?;
        let record = Record::new(id, None, Description::of(&matrix), Labels::default());
        let resident = Some(Arc::new(Resident { matrix, _bytes: bytes }));
        let content = Content { resident, ..Content::default() };
        let copy = Object { content: Mutex::new(content), ..Object::of(&record, false) };
        copy.set_pinned(is_pinned);
        lock(&self.copies).insert(number, Arc::new(copy));
        Ok(CopyGuard { store: self.clone(), number })
    }

    pub(super) fn all_copies(&self) -> Vec<Arc<Object>> {
        lock(&self.copies).values().cloned().collect()
    }

    /// The copy with a number, which is not evicted.
    pub(crate) fn copy(&self, number: u64) -> Result<Arc<Object>, Problem> {
        let found = lock(&self.copies).get(&number).cloned();
        found.ok_or_else(|| {
            let detail =
                "the worker process that had a copy of a matrix of another device has ended: try again";
            Problem::unavailable(detail)
        })
    }
}

impl Drop for CopyGuard {
    fn drop(&mut self) {
        let dropped = lock(&self.store.copies).remove(&self.number);
        drop(dropped);
    }
}
