//! CSR to ELL, HYB and SELL: the host reads the lengths of the rows and lays out the target, the device fills it.

use super::formats::{CsrOn, EllOn, HybOn, SellOn};
use super::reference_plan;
use crate::buffer::RawBuffer;
use crate::op::available_algorithms::Needs;
use crate::primitive::padded_entries::FILE;
use crate::primitive::positions::Positions;
use crate::primitive::raw::RawCompressed;
use crate::primitive::rearrangement::{Rearrangement, Source};
use crate::{Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::format::IndexOrder;
use sparse_core::format::estimate::{self, Sizes};
use sparse_core::{
    Algorithm, Backend, Choice, Coo, Ell, EllLayout, Hyb, HybWidth, Index, Result, Scalar, Sell, SellLayout,
    algorithms,
};

algorithms! {
    /// The algorithms of conversions to ELL, HYB and SELL.
    pub(super) enum PaddedAlgorithm needs Needs {
        Gather = Algorithm::new("gather", "always").preprocessing(
            "the pattern of the result and the place of every value: of rows in order on the device, by their lengths, which the host reads; of others by the serial reference on the host",
        ),
        Needs::Nothing;
    }
}

/// Sorted rows without duplicates, whose lengths the host knows.
struct Rows<'a> {
    backend: &'a Device,
    a: RawCompressed<'a>,
    lengths: Vec<usize>,
    sizes: Sizes,
}

/// The columns of a part, its values, and the source of the values.
struct PaddedEntries {
    cols: RawBuffer,
    values: RawBuffer,
    source: Source,
}

/// The COO part of HYB, with the rows of its entries.
struct Overflow {
    row_idx: RawBuffer,
    part: PaddedEntries,
}

/// All entries in slices.
struct Slices {
    slice_ptr: RawBuffer,
    row_order: RawBuffer,
    part: PaddedEntries,
}

/// The rows of a matrix, if the order of every part of them is known.
fn rows<'a, T: Scalar, I: Index, O: Index>(
    backend: &'a Device,
    a: &'a CsrOn<T, I, O>,
) -> Result<Option<Rows<'a>>> {
    if a.order() != IndexOrder::CANONICAL {
        return Ok(None);
    }
    let lengths = backend.row_lengths(a)?;
    Ok(Some(Rows { backend, a: a.into(), lengths, sizes: Sizes::of::<T, I, O>() }))
}

impl Rows<'_> {
    fn kernel(&self, entry: &'static str, positions: &Positions) -> Result<Kernel> {
        self.backend.kernel(FILE, entry, self.a.defines().set("POS", positions.type_name()))
    }

    /// Allocates the columns of `n` elements, padding included, and the positions of their values.
    fn allocate_columns(&self, n: usize) -> Result<(RawBuffer, Positions)> {
        let cols = self.backend.allocate_raw(n, self.sizes.index)?;
        Ok((cols, Positions::allocate(self.backend, n, self.a.nnz())?))
    }

    /// The part with these columns and the values at these positions, whose array is allocated and not yet written.
    fn part(&self, cols: RawBuffer, positions: Positions) -> Result<PaddedEntries> {
        let values = self.backend.allocate_raw(cols.len, self.sizes.scalar)?;
        Ok(PaddedEntries { cols, values, source: Source::gather(self.backend, self.a.dtype, positions)? })
    }

    /// The first `width` entries of each row.
    fn ell(&self, width: usize) -> Result<PaddedEntries> {
        let (backend, a) = (self.backend, self.a);
        let slots = checked_product("rows x width", a.rows, width)?;
        let (cols, positions) = self.allocate_columns(slots)?;
        let kernel = self.kernel("padded_ell", &positions)?;
        let launch = backend.launch(&kernel).size(a.rows).size(width).buffer(a.offsets);
        launch.buffer(a.indices).buffer(&cols).positions(&positions).items(slots)?;
        self.part(cols, positions)
    }

    /// The entries of each row from the first `width` on.
    fn overflow(&self, width: usize) -> Result<Overflow> {
        let (backend, a) = (self.backend, self.a);
        let (mut nnz, mut starts) = (0, vec![]);
        for length in &self.lengths {
            starts.push(nnz as i64);
            nnz += length.saturating_sub(width);
        }
        let starts = backend.upload(&starts)?;
        let row_idx = backend.allocate_raw(nnz, self.sizes.index)?;
        let (cols, positions) = self.allocate_columns(nnz)?;
        let kernel = self.kernel("padded_overflow", &positions)?;
        let launch = backend.launch(&kernel).size(a.rows).size(width).buffer(a.offsets);
        let launch = launch.buffer(a.indices).buffer(&starts).buffer(&row_idx).buffer(&cols);
        launch.positions(&positions).warps(if nnz > 0 { a.rows } else { 0 })?;
        Ok(Overflow { row_idx, part: self.part(cols, positions)? })
    }

    /// All entries in slices.
    fn slices(&self, layout: SellLayout) -> Result<Slices> {
        let (backend, a, height) = (self.backend, self.a, layout.slice_height);
        let row_order = layout.row_order(&self.lengths)?;
        let mut slots = 0;
        let mut slice_ptr = vec![0];
        for width in layout.slice_widths(&self.lengths, &row_order) {
            slots += width * height;
            slice_ptr.push(slots);
        }
        let slices = slice_ptr.len() - 1;
        let (index, offset) = (a.indices.index_type(), a.offsets.index_type());
        let slice_ptr = backend.upload_indices("slots of sell", &slice_ptr, offset)?;
        let row_order = backend.upload_indices("a row", &row_order, index)?;
        let (cols, positions) = self.allocate_columns(slots)?;
        let kernel = self.kernel("padded_sell", &positions)?;
        let launch = backend.launch(&kernel).size(a.rows).size(slices).size(height).buffer(&slice_ptr);
        let launch = launch.buffer(&row_order).buffer(a.offsets).buffer(a.indices);
        launch.buffer(&cols).positions(&positions).items(slices * height)?;
        Ok(Slices { slice_ptr, row_order, part: self.part(cols, positions)? })
    }

    /// The first `width` entries of each row as ELL, and the source of their values.
    fn as_ell<T: Scalar, I: Index>(&self, width: usize) -> Result<(EllOn<T, I>, Source)> {
        let PaddedEntries { cols, values, source } = self.ell(width)?;
        let nnz = self.lengths.iter().map(|&length| length.min(width)).sum();
        let (shape, order) = ((self.a.rows, self.a.cols), IndexOrder::CANONICAL);
        // SAFETY: the kernel wrote the columns of the first entries of each row of a checked matrix and −1 after them;
        // a part of a sorted row is sorted. The values are replaced before they are read.
        let ell = unsafe { Ell::new_unchecked(shape, width, nnz, cols.of(), values.of(), order) };
        Ok((ell, source))
    }
}

/// CSR to ELL.
pub(super) fn to_ell<T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &CsrOn<T, I, O>,
    layout: &EllLayout,
    choice: Choice,
) -> Result<Rearrangement<EllOn<T, I>>> {
    let Some(rows) = rows(backend, from)? else {
        return reference_plan::plan(backend, from, layout, Sizes::of::<T, I, O>(), choice);
    };
    let (ell, source) = rows.as_ell(layout.resolve(&rows.lengths, rows.sizes)?)?;
    Ok(Rearrangement::new(choice, ell, vec![source]))
}

/// CSR to HYB.
pub(super) fn to_hyb<T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &CsrOn<T, I, O>,
    layout: &HybWidth,
    choice: Choice,
) -> Result<Rearrangement<HybOn<T, I>>> {
    let Some(rows) = rows(backend, from)? else {
        return reference_plan::plan(backend, from, layout, Sizes::of::<T, I, O>(), choice);
    };
    let width = layout.resolve(&rows.lengths, from.ncols(), rows.sizes);
    let bytes = estimate::hyb(&rows.lengths, width, rows.sizes)?;
    estimate::check_cap(bytes, &rows.lengths, rows.sizes, None)?;
    let (ell, head) = rows.as_ell(width)?;
    let Overflow { row_idx, part: PaddedEntries { cols, values, source: tail } } = rows.overflow(width)?;
    let (row_idx, col_idx, order) = (row_idx.of(), cols.of(), IndexOrder::CANONICAL);
    // SAFETY: the kernel wrote the coordinates of the last entries of each row of a checked matrix in their order. The
    // values are replaced before they are read.
    let coo = unsafe { Coo::new_unchecked(from.nrows(), from.ncols(), row_idx, col_idx, values.of(), order) };
    Ok(Rearrangement::new(choice, Hyb::new(ell, coo)?, vec![head, tail]))
}

/// CSR to SELL.
pub(super) fn to_sell<T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &CsrOn<T, I, O>,
    layout: &SellLayout,
    choice: Choice,
) -> Result<Rearrangement<SellOn<T, I, O>>> {
    let Some(rows) = rows(backend, from)? else {
        return reference_plan::plan(backend, from, layout, Sizes::of::<T, I, O>(), choice);
    };
    let bytes = estimate::sell(&rows.lengths, *layout, rows.sizes)?;
    O::try_new("slots of sell", bytes.slots as usize)?;
    estimate::check_cap(bytes, &rows.lengths, rows.sizes, None)?;
    let Slices { slice_ptr, row_order, part: PaddedEntries { cols, values, source } } =
        rows.slices(*layout)?;
    let (shape, nnz, height) = ((from.nrows(), from.ncols()), from.nnz(), layout.slice_height);
    let (slice_ptr, row_order, order) = (slice_ptr.of(), row_order.of(), IndexOrder::CANONICAL);
    let (cols, values) = (cols.of(), values.of());
    // SAFETY: the slices are as wide as their longest rows, and the kernel wrote the columns of each row of a checked
    // matrix in their order and −1 after them. The values are replaced before they are read.
    let sell = unsafe { Sell::new_unchecked(shape, nnz, height, slice_ptr, row_order, cols, values, order) };
    Ok(Rearrangement::new(choice, sell, vec![source]))
}
