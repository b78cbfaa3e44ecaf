//! Unpacking of packed patterns, which messages carry instead of offsets and indices, to compressed rows.

use super::CompressedArrays;
use crate::backend::Backend;
use crate::error::Result;
use crate::index::Index;
use crate::scalar::Scalar;

/// The packed patterns of matrices of one shape, one after the other.
#[derive(Debug, Clone, Copy)]
pub enum PackedPattern<'a, I> {
    /// A bit for each element, set where there is an entry. Rows are padded to whole bytes, the lowest bit is the
    /// first.
    Bits(&'a [u8]),
    /// The entries of each row.
    Counts {
        /// The number of entries of each row.
        counts: &'a [I],
        /// The index of each entry, in a larger matrix.
        indices: &'a [I],
        /// The index in the larger matrix of each matrix's first column.
        bases: &'a [usize],
    },
}

/// Packed patterns to CSR on a backend. Not every backend has it: what is packed can be unpacked on the host before.
///
/// # Safety
/// As for [`DenseToCsrKernel`](super::DenseToCsrKernel): a matrix is made of the arrays without another check.
pub unsafe trait UnpackKernel<T: Scalar, I: Index, O: Index>: Backend {
    /// The arrays of matrices of `rows` rows and `cols` columns; matrix k has entries
    /// `member_ptr[k]..member_ptr[k + 1]`.
    ///
    /// # Errors
    /// An error of the device's runtime.
    ///
    /// # Safety
    /// `member_ptr` rises from 0 to the number of values, by numbers that fit `O`, and `cols` fits `I`. The pattern has
    /// as many rows, and each matrix as many entries, as these say. No bit after the last column is set. Indices less
    /// their base are below `cols` and ascend in each row.
    unsafe fn unpack(
        &self,
        shape: (usize, usize),
        member_ptr: Vec<usize>,
        pattern: PackedPattern<'_, I>,
        values: &[T],
    ) -> Result<CompressedArrays<Self, T, I, O>>;
}
