//! Copies of matrices of other devices, each for one request.

use super::Store;
use super::memory::to_format_named;
use super::object::{Content, Description, Object, Resident};
use crate::durable::Record;
use crate::labels::Labels;
use crate::ledger::Reservation;
use crate::lock::lock;
use crate::problem::Problem;
use nnz::Matrix;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

impl Store {
    /// Keeps a copy of a matrix, in the format that it has on its own device, and returns the number of the copy.
    pub(crate) fn keep_copy(
        &self,
        id: (&str, &str, u64),
        (matrix, mut bytes): (Matrix, Reservation),
        format: &str,
    ) -> Result<u64, Problem> {
        let matrix = to_format_named(matrix, format)?;
        self.settle(&mut bytes, id.0, matrix.bytes() as u64)?;
        let record = Record::new(id, None, Description::of(&matrix), Labels::default());
        let resident = Some(Arc::new(Resident { matrix, _bytes: bytes }));
        let content = Content { resident, segment: None, defect: None, is_removed: false };
        let copy = Object { content: Mutex::new(content), ..Object::of(&record, false) };
        let number = self.clock.fetch_add(1, Ordering::Relaxed);
        lock(&self.copies).insert(number, Arc::new(copy));
        Ok(number)
    }

    /// The copy with a number, which is not evicted.
    pub(crate) fn copy(&self, number: u64) -> Result<Arc<Object>, Problem> {
        let found = lock(&self.copies).get(&number).cloned();
        found.ok_or_else(|| Problem::internal("the copy of a matrix of another device is gone"))
    }

    /// Drops a copy; those who use it keep it until they are done.
    pub(crate) fn drop_copy(&self, number: u64) {
        let dropped = lock(&self.copies).remove(&number);
        drop(dropped);
    }
}
