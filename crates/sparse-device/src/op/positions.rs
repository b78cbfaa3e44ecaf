//! Positions of entries in arrays of values, in four bytes each where they fit.

use crate::launch::Launch;
use crate::program::c_name;
use crate::{Buffer, Device};
use sparse_core::{Backend, Error, Result};
use std::ops::Range;

/// Where entries stand; −1 is padding.
#[derive(Debug)]
pub(super) enum Positions {
    /// Below 2³¹.
    Narrow(Buffer<i32>),
    /// Any.
    Wide(Buffer<i64>),
}

/// Whether positions of `n` entries, and their number, fit into four bytes.
pub(super) fn are_narrow(n: usize) -> bool {
    i32::try_from(n).is_ok()
}

impl Positions {
    /// The numbers of a range, as positions of entries of which there are `n`.
    pub(super) fn counted(backend: &Device, numbers: Range<usize>, n: usize) -> Result<Self> {
        match are_narrow(n) {
            true => Ok(Self::Narrow(backend.count_up(numbers)?)),
            false => Ok(Self::Wide(backend.count_up(numbers)?)),
        }
    }

    /// Those that stand at these positions.
    pub(super) fn gather(&self, backend: &Device, at: &Self) -> Result<Self> {
        match self {
            Self::Narrow(from) => Ok(Self::Narrow(backend.gathered(at, from)?)),
            Self::Wide(from) => Ok(Self::Wide(backend.gathered(at, from)?)),
        }
    }

    /// Others behind these, positions of the same entries.
    pub(super) fn joined(&self, backend: &Device, tail: &Self) -> Result<Self> {
        match (self, tail) {
            (Self::Narrow(head), Self::Narrow(tail)) => Ok(Self::Narrow(backend.joined(head, tail)?)),
            (Self::Wide(head), Self::Wide(tail)) => Ok(Self::Wide(backend.joined(head, tail)?)),
            _ => Err(Error::unsupported("joining positions", "they are of two types")),
        }
    }

    /// Those at which a run begins, as `starts` say, of which there are `kept`.
    pub(super) fn compact(&self, backend: &Device, starts: &Buffer<i64>, kept: usize) -> Result<Self> {
        match self {
            Self::Narrow(from) => Ok(Self::Narrow(backend.compact(starts, from, kept)?)),
            Self::Wide(from) => Ok(Self::Wide(backend.compact(starts, from, kept)?)),
        }
    }

    /// Room for `len` positions of entries of which there are `n`.
    pub(super) fn room(backend: &Device, len: usize, n: usize) -> Result<Self> {
        match are_narrow(n) {
            true => Ok(Self::Narrow(backend.allocate(len)?)),
            false => Ok(Self::Wide(backend.allocate(len)?)),
        }
    }

    /// Positions that the host has found.
    pub(super) fn upload(backend: &Device, positions: &[i64]) -> Result<Self> {
        let narrow: std::result::Result<Vec<i32>, _> = positions.iter().map(|&p| i32::try_from(p)).collect();
        match narrow {
            Ok(narrow) => Ok(Self::Narrow(backend.upload(&narrow)?)),
            Err(_) => Ok(Self::Wide(backend.upload(positions)?)),
        }
    }

    /// What kernels call their type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Narrow(_) => c_name::<i32>(),
            Self::Wide(_) => c_name::<i64>(),
        }
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Narrow(positions) => positions.len,
            Self::Wide(positions) => positions.len,
        }
    }

    /// Bytes that they take.
    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Narrow(positions) => positions.bytes(),
            Self::Wide(positions) => positions.bytes(),
        }
    }
}

impl<'a> Launch<'a> {
    /// Positions, for a kernel that was made for their type.
    pub(super) fn positions(self, positions: &'a Positions) -> Self {
        match positions {
            Positions::Narrow(positions) => self.buffer(positions),
            Positions::Wide(positions) => self.buffer(positions),
        }
    }
}
