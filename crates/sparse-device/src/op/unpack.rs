//! Packed patterns to compressed rows: counts of words or rows, their prefix sums, and the indices. Values are already
//! in their final order.

use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::primitive::prefix_sum::PrefixSum;
use crate::{Buffer, Device};
use sparse_core::error::checked_product;
use sparse_core::op::{CompressedArrays, PackedPattern, UnpackKernel};
use sparse_core::{Backend, Index, Result, Scalar};

/// The file of the kernels.
const FILE: &str = "unpack";

/// Bytes of the bitmap that a work-item counts.
const COUNTED_BYTES: usize = 4;

/// The device, the defines and the index type that all kernels of a call have in common.
struct Unpacking<'d> {
    device: &'d Device,
    defines: Defines,
    index: IndexType,
    offset: IndexType,
    /// Matrices, and rows of each.
    count: usize,
    rows: usize,
}

impl Unpacking<'_> {
    fn kernel(&self, entry: &'static str) -> Result<crate::Kernel> {
        self.device.kernel(FILE, entry, self.defines.clone())
    }

    /// Offsets and indices of bits, `nnz` of which are set.
    fn bits(&self, cols: usize, bitmap: &[u8], nnz: usize) -> Result<(RawBuffer, RawBuffer)> {
        let line_bytes = cols.div_ceil(8);
        let line_words = line_bytes.div_ceil(COUNTED_BYTES);
        let words = checked_product("rows x words of a row", self.count * self.rows, line_words)?;
        let bitmap = self.device.upload(bitmap)?;
        let starts = self.device.allocate::<i64>(words + 1)?;
        let count = self.kernel("unpack_count_bits")?;
        let launch = self.device.launch(&count).size(words).size(line_words).size(line_bytes);
        launch.buffer(&bitmap).buffer(&starts).items(words + 1)?;
        PrefixSum::series(self.device, words + 1)?.starts(self.device, &starts)?;
        let indices = self.device.allocate_raw(nnz, self.index.bytes())?;
        let fill = self.kernel("unpack_bits")?;
        let launch = self.device.launch(&fill).size(words).size(line_words).size(line_bytes);
        launch.buffer(&bitmap).buffer(&starts).buffer(&indices).items(words)?;
        Ok((self.offsets(line_words, &starts)?, indices))
    }

    /// Offsets and local indices of counted rows.
    fn counts<I: Index>(
        &self,
        counts: &[I],
        indices: &[I],
        bases: &[usize],
    ) -> Result<(RawBuffer, RawBuffer)> {
        let all_rows = counts.len();
        let counts = self.device.upload(counts)?;
        let starts = self.device.allocate::<i64>(all_rows + 1)?;
        let widen = self.kernel("unpack_counts")?;
        let launch = self.device.launch(&widen).size(all_rows).buffer(&counts);
        launch.buffer(&starts).items(all_rows + 1)?;
        PrefixSum::series(self.device, all_rows + 1)?.starts(self.device, &starts)?;
        let indices = self.device.upload(indices)?;
        if bases.iter().any(|&base| base > 0) {
            let bases = self.device.upload_indices("a part's first column", bases, IndexType::I64)?;
            let subtract = self.kernel("unpack_local")?;
            let launch = self.device.launch(&subtract).size(all_rows).size(self.rows).buffer(&starts);
            launch.buffer(&bases).buffer(&indices).items(all_rows)?;
        }
        Ok((self.offsets(1, &starts)?, indices.raw))
    }

    /// The offsets of all members, whose row r begins at `starts[r * step]`.
    fn offsets(&self, step: usize, starts: &Buffer<i64>) -> Result<RawBuffer> {
        let n = checked_product("count x offsets", self.count, self.rows + 1)?;
        let offsets = self.device.allocate_raw(n, self.offset.bytes())?;
        let kernel = self.kernel("unpack_offsets")?;
        let launch = self.device.launch(&kernel).size(n).size(self.rows).size(step);
        launch.buffer(starts).buffer(&offsets).items(n)?;
        Ok(offsets)
    }
}

// SAFETY: the kernels write prefix sums of the counts, and the indices of the set bits or of the message, in order.
unsafe impl<T: Scalar, I: Index, O: Index> UnpackKernel<T, I, O> for Device {
    unsafe fn unpack(
        &self,
        (rows, cols): (usize, usize),
        member_ptr: Vec<usize>,
        pattern: PackedPattern<'_, I>,
        values: &[T],
    ) -> Result<CompressedArrays<Self, T, I, O>> {
        let (index, offset) = (IndexType::of::<I>(), IndexType::of::<O>());
        let defines = Defines::default().index(index).offset(offset);
        let unpacking = Unpacking { device: self, defines, index, offset, count: member_ptr.len() - 1, rows };
        let (offsets, indices) = match pattern {
            PackedPattern::Bits(bitmap) => unpacking.bits(cols, bitmap, values.len())?,
            PackedPattern::Counts { counts, indices, bases } => unpacking.counts(counts, indices, bases)?,
        };
        let values = self.upload(values)?;
        Ok(CompressedArrays { member_ptr, offsets: offsets.of(), indices: indices.of(), values })
    }
}
