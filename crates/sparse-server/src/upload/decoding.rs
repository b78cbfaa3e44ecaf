//! Matrices that are decoded as their bodies come.

use super::check_magic;
use super::matrix::check_integers;
use crate::memory::ledger::Reservation;
use crate::objects::Store;
use crate::problem::Problem;
use nnz::io::FileKind;
use nnz::io::stream::{Decoder, HEAD_BYTES, Reserve};
use nnz::{Error, Matrix};
use std::sync::Arc;

/// A matrix of which a part has come, with its bytes in the ledger.
#[derive(Debug)]
pub(crate) struct Decoding {
    decoder: Decoder,
    memory: Memory,
}

#[derive(Debug)]
struct Memory {
    store: Arc<Store>,
    tenant: String,
    reserved: Reservation,
}

impl Decoding {
    /// The decoding of a body that starts with `first`; none if it cannot be decoded from front to back.
    pub(super) fn new(
        kind: FileKind,
        first: &[u8],
        store: &Arc<Store>,
        tenant: &str,
    ) -> Result<Option<Self>, Problem> {
        check_magic(first, kind)?;
        let Some(decoder) = Decoder::new(kind, &first[..first.len().min(HEAD_BYTES)])? else {
            return Ok(None);
        };
        let reserved = store.reserve(tenant, 0)?;
        let memory = Memory { store: store.clone(), tenant: tenant.into(), reserved };
        Ok(Some(Self { decoder, memory }))
    }

    pub(super) fn push(&mut self, part: &[u8]) -> Result<(), Problem> {
        self.memory.reserving(|reserve| self.decoder.push(part, reserve))
    }

    /// True for a body of which most bytes are only copied.
    pub(super) fn copies(&self) -> bool {
        self.decoder.copies()
    }

    /// Takes as many of the next bytes as are only copied, and returns their number; see [`Decoder::copy`].
    pub(super) fn copy(&mut self, bytes: &[u8]) -> usize {
        self.decoder.copy(bytes)
    }

    /// The matrix in the device's memory.
    pub(super) fn finish(self) -> Result<(Matrix, Reservation), Problem> {
        let Self { decoder, mut memory } = self;
        let decoded = memory.reserving(|reserve| decoder.finish(reserve))?;
        check_integers(decoded.rounded_integers::<f64>())?;
        memory.reserve(decoded.conversion_bytes())?;
        let matrix = Matrix::from_decoded(&memory.store.device, decoded)?;
        memory.store.settle(&mut memory.reserved, &memory.tenant, matrix.bytes() as u64)?;
        Ok((matrix, memory.reserved))
    }
}

impl Memory {
    /// The result of work that asks for memory; the reason for which that is refused is the problem.
    fn reserving<R>(&mut self, work: impl FnOnce(&mut Reserve<'_>) -> nnz::Result<R>) -> Result<R, Problem> {
        let mut refused = None;
        let done = work(&mut |needed| {
            self.reserve(needed).map_err(|problem| {
                refused = Some(problem);
                Error::OutOfMemory { needed: needed as u64, available: None }
            })
        });
        match refused {
            Some(problem) => Err(problem),
            None => Ok(done?),
        }
    }

    /// Reserves more bytes.
    fn reserve(&mut self, bytes: usize) -> Result<(), Problem> {
        let more = self.store.reserve_beside(&self.tenant, bytes as u64, self.reserved.bytes())?;
        self.reserved.merge(more);
        Ok(())
    }
}
