//! Positions of entries in arrays of values, in four bytes each where they fit.

use crate::launch::Launch;
use crate::program::c_name;
use crate::{Buffer, Device, Driver};
use sparse_core::{Backend, Result};

/// Where entries stand; −1 is padding.
#[derive(Debug)]
pub(super) enum Positions<D: Driver> {
    /// Below 2³¹.
    Narrow(Buffer<D, i32>),
    /// Any.
    Wide(Buffer<D, i64>),
}

/// Whether positions of `n` entries, and their number, fit into four bytes.
pub(super) fn are_narrow(n: usize) -> bool {
    i32::try_from(n).is_ok()
}

impl<D: Driver> Positions<D> {
    /// 0, 1, … `n` − 1.
    pub(super) fn up_to(backend: &Device<D>, n: usize) -> Result<Self> {
        match are_narrow(n) {
            true => Ok(Self::Narrow(backend.count_up(n)?)),
            false => Ok(Self::Wide(backend.count_up(n)?)),
        }
    }

    /// Room for `len` positions of entries of which there are `n`.
    pub(super) fn room(backend: &Device<D>, len: usize, n: usize) -> Result<Self> {
        match are_narrow(n) {
            true => Ok(Self::Narrow(backend.allocate(len)?)),
            false => Ok(Self::Wide(backend.allocate(len)?)),
        }
    }

    /// Positions that the host has found.
    pub(super) fn upload(backend: &Device<D>, positions: &[i64]) -> Result<Self> {
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

impl<'a, D: Driver> Launch<'a, D> {
    /// Positions, for a kernel that was made for their type.
    pub(super) fn positions(self, positions: &'a Positions<D>) -> Self {
        match positions {
            Positions::Narrow(positions) => self.buffer(positions),
            Positions::Wide(positions) => self.buffer(positions),
        }
    }
}
