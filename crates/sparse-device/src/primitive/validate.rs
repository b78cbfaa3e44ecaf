//! Compressed matrices from arrays in the device's memory, which are checked on the device.

use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::{Buffer, Device};
use sparse_core::{Axis, Backend, Compressed, Error, Host, Index, IndexOrder, Result, Scalar, SparseFormat};

/// The file of the kernels.
const FILE: &str = "validate";

/// Problems as bits, which the kernels set.
const OFFSETS: i32 = 1;
const RANGE: i32 = 2;
const FALLS: i32 = 4;
const REPEATS: i32 = 8;

/// The order of indices with these problems.
fn order_of(problems: i32) -> IndexOrder {
    let sorted = problems & FALLS == 0;
    IndexOrder { major_sorted: true, sorted, unique: sorted && problems & REPEATS == 0 }
}

fn defines(offsets: &RawBuffer, indices: &RawBuffer) -> Defines {
    Defines::default().index(indices.index_type()).offset(offsets.index_type())
}

impl Device {
    /// A matrix from arrays on this device, whose indices may be in any order and may repeat. Their order is determined
    /// and stored. Only one word is read back, unless there is an error.
    ///
    /// # Errors
    /// Those of [`Compressed::new_unsorted`]; [`Error::WrongContext`] for arrays of another device;
    /// [`Error::Unsupported`] for arrays that a recorded graph shares; an error of the device's runtime.
    pub fn compressed<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
        (rows, cols): (usize, usize),
        offsets: Buffer<O>,
        indices: Buffer<I>,
        values: Buffer<T>,
    ) -> Result<Compressed<A, T, Self, I, O>> {
        let arrays = [("offsets", offsets.context), ("indices", indices.context), ("values", values.context)];
        if let Some(&(operand, found)) = arrays.iter().find(|array| array.1 != self.context()) {
            let (expected, found) = (self.context().number(), found.number());
            return Err(Error::WrongContext { op: A::FORMAT, operand, expected, found });
        }
        if offsets.memory.is_shared() || indices.memory.is_shared() {
            return Err(Error::unsupported("a matrix of these arrays", "a recorded graph may write to them"));
        }
        let (major, minor) = A::swap(rows, cols);
        let fits = offsets.len.checked_sub(1) == Some(major) && values.len == indices.len;
        let problems = if fits { self.problems((major, minor), &offsets, &indices)? } else { OFFSETS };
        if problems & (OFFSETS | RANGE) != 0 {
            // The host repeats the checks, to describe the error.
            let (offsets, indices) = (self.download(&offsets)?, self.download(&indices)?);
            let matrix = Compressed::<A, T, Host, I, O>::new_unsorted(
                rows,
                cols,
                offsets,
                indices,
                self.download(&values)?,
            );
            return matrix?.to_device(self);
        }
        I::try_new("rows", rows)?;
        I::try_new("cols", cols)?;
        let order = order_of(problems);
        // SAFETY: the lengths are right; the kernels found the offsets to rise from 0 to the number of indices, every
        // index to be in range, and this order; the extents fit.
        Ok(unsafe { Compressed::new_unchecked(rows, cols, offsets, indices, values, order) })
    }

    /// The order of the indices between sound offsets; all of them are below `minor`.
    pub(crate) fn index_order(
        &self,
        minor: usize,
        offsets: &RawBuffer,
        indices: &RawBuffer,
    ) -> Result<IndexOrder> {
        let problems = self.zeros::<i32>(1)?;
        self.check_indices(minor, offsets, indices, &problems)?;
        Ok(order_of(self.download(&problems)?[0]))
    }

    /// The problems of offsets and indices, as bits.
    fn problems(
        &self,
        (major, minor): (usize, usize),
        offsets: &RawBuffer,
        indices: &RawBuffer,
    ) -> Result<i32> {
        let problems = self.zeros::<i32>(1)?;
        let found = || Ok(self.download(&problems)?[0]);
        let check = self.kernel(FILE, "validate_offsets", defines(offsets, indices))?;
        let launch = self.launch(&check).size(major).size(indices.len).buffer(offsets);
        launch.buffer(&problems).items(major + 1)?;
        let wrong_offsets = found()?;
        if wrong_offsets != 0 {
            return Ok(wrong_offsets);
        }
        self.check_indices(minor, offsets, indices, &problems)?;
        found()
    }

    /// Sets the bits of the problems of indices between sound offsets.
    fn check_indices(
        &self,
        minor: usize,
        offsets: &RawBuffer,
        indices: &RawBuffer,
        problems: &Buffer<i32>,
    ) -> Result<()> {
        let major = offsets.len - 1;
        let check = self.kernel(FILE, "validate_indices", defines(offsets, indices))?;
        let launch = self.launch(&check).size(major).size(minor).buffer(offsets).buffer(indices);
        launch.buffer(problems).warps(major)
    }
}
