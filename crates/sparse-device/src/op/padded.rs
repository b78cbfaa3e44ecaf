//! CSR to ELL, HYB and SELL: the host reads the lengths of the rows and lays out the target, the device fills it.

use super::convert::{GATHER, Rearrangement, Source};
use super::positions::Positions;
use crate::program::Defines;
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::format::IndexOrder;
use sparse_core::format::estimate::{self, Sizes};
use sparse_core::{
    Backend, Choice, Coo, Csr, Ell, EllLayout, Hyb, HybWidth, Index, Matrix, PlanOptions, Result, Scalar,
    Sell, SellLayout,
};

/// The file of the kernels.
pub(super) const FILE: &str = "padded";

type CsrOn<T, I, O> = Csr<T, Device, I, O>;
type EllOn<T, I> = Ell<T, Device, I>;
type CooOn<T, I> = Coo<T, Device, I>;
type HybOn<T, I> = Hyb<T, Device, I>;
type SellOn<T, I, O> = Sell<T, Device, I, O>;

/// A pattern, and where its values come from.
type Filled<M> = (M, Source);

/// Rows in order without duplicates, of which the host knows the lengths.
struct Rows<'a, T: Scalar, I: Index, O: Index> {
    backend: &'a Device,
    a: &'a CsrOn<T, I, O>,
    choice: Choice,
    lengths: Vec<usize>,
    sizes: Sizes,
}

/// The rows of a matrix, if the order of every part of them is known.
fn rows<'a, T: Scalar, I: Index, O: Index>(
    backend: &'a Device,
    a: &'a CsrOn<T, I, O>,
    options: &PlanOptions,
) -> Result<Option<Rows<'a, T, I, O>>> {
    if a.order() != IndexOrder::CANONICAL {
        return Ok(None);
    }
    let choice = options.choose("convert", GATHER, GATHER[0].name, "there is no other")?;
    let offsets = backend.download(a.offsets())?;
    let lengths = offsets.windows(2).map(|ends| ends[1].as_usize() - ends[0].as_usize()).collect();
    Ok(Some(Rows { backend, a, choice, lengths, sizes: Sizes::of::<T, I, O>() }))
}

impl<T: Scalar, I: Index, O: Index> Rows<'_, T, I, O> {
    fn kernel(&self, entry: &'static str, positions: &Positions) -> Result<Kernel> {
        let defines = Defines::default().index::<I>().offset::<O>().set("POS", positions.type_name());
        self.backend.kernel(FILE, entry, defines)
    }

    /// Room for the positions of entries in `slots` slots.
    fn positions(&self, slots: usize) -> Result<Positions> {
        Positions::room(self.backend, slots, self.a.nnz())
    }

    /// The first `width` entries of each row, and where their values come from.
    fn ell(&self, width: usize) -> Result<Filled<EllOn<T, I>>> {
        let (backend, a) = (self.backend, self.a);
        let slots = checked_product("rows x width", a.rows(), width)?;
        let (cols, positions) = (backend.allocate(slots)?, self.positions(slots)?);
        let kernel = self.kernel("padded_ell", &positions)?;
        let launch = backend.launch(&kernel).size(a.rows()).size(width).buffer(a.offsets());
        launch.buffer(a.indices()).buffer(&cols).positions(&positions).items(slots)?;
        let nnz = self.lengths.iter().map(|&length| length.min(width)).sum();
        let (shape, values) = ((a.rows(), a.cols()), backend.allocate(slots)?);
        // SAFETY: the kernel wrote the columns of the first entries of each row of a checked matrix and −1 behind them;
        // a part of a row in order is in order. The values are replaced before they are read.
        let ell = unsafe { Ell::new_unchecked(shape, width, nnz, cols, values, IndexOrder::CANONICAL) };
        Ok((ell, Source::gather::<T>(backend, positions)?))
    }

    /// The entries of each row from the first `width` on, and where their values come from.
    fn overflow(&self, width: usize) -> Result<Filled<CooOn<T, I>>> {
        let (backend, a) = (self.backend, self.a);
        let (mut nnz, mut starts) = (0, vec![]);
        for length in &self.lengths {
            starts.push(nnz as i64);
            nnz += length.saturating_sub(width);
        }
        let (starts, positions) = (backend.upload(&starts)?, self.positions(nnz)?);
        let (row_idx, col_idx) = (backend.allocate(nnz)?, backend.allocate(nnz)?);
        let kernel = self.kernel("padded_overflow", &positions)?;
        let launch = backend.launch(&kernel).size(a.rows()).size(width).buffer(a.offsets());
        let launch = launch.buffer(a.indices()).buffer(&starts).buffer(&row_idx).buffer(&col_idx);
        launch.positions(&positions).warps(if nnz > 0 { a.rows() } else { 0 })?;
        let values = backend.allocate(nnz)?;
        let order = IndexOrder::CANONICAL;
        // SAFETY: the kernel wrote the coordinates of the last entries of each row of a checked matrix in their order.
        // The values are replaced before they are read.
        let coo = unsafe { Coo::new_unchecked(a.rows(), a.cols(), row_idx, col_idx, values, order) };
        Ok((coo, Source::gather::<T>(backend, positions)?))
    }

    /// All entries in slices, and where their values come from.
    fn sell(&self, layout: SellLayout) -> Result<Filled<SellOn<T, I, O>>> {
        let (backend, a, height) = (self.backend, self.a, layout.slice_height);
        let row_order = layout.row_order(&self.lengths)?;
        let mut slots = 0;
        let mut slice_ptr = vec![O::default()];
        for width in layout.slice_widths(&self.lengths, &row_order) {
            slots += width * height;
            slice_ptr.push(O::cast(slots));
        }
        let slices = slice_ptr.len() - 1;
        let row_order: Vec<_> = row_order.into_iter().map(I::cast).collect();
        let (slice_ptr, row_order) = (backend.upload(&slice_ptr)?, backend.upload(&row_order)?);
        let (cols, positions) = (backend.allocate(slots)?, self.positions(slots)?);
        let kernel = self.kernel("padded_sell", &positions)?;
        let launch = backend.launch(&kernel).size(a.rows()).size(slices).size(height).buffer(&slice_ptr);
        let launch = launch.buffer(&row_order).buffer(a.offsets()).buffer(a.indices());
        launch.buffer(&cols).positions(&positions).items(slices * height)?;
        let (shape, order) = ((a.rows(), a.cols()), IndexOrder::CANONICAL);
        let values: Buffer<T> = backend.allocate(slots)?;
        // SAFETY: the slices have room for their longest rows, and the kernel wrote the columns of each row of a checked
        // matrix in their order and −1 behind them. The values are replaced before they are read.
        let sell =
            unsafe { Sell::new_unchecked(shape, a.nnz(), height, slice_ptr, row_order, cols, values, order) };
        Ok((sell, Source::gather::<T>(backend, positions)?))
    }
}

/// CSR to ELL.
pub(super) fn to_ell<T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &CsrOn<T, I, O>,
    layout: &EllLayout,
    options: &PlanOptions,
) -> Result<Rearrangement<EllOn<T, I>>> {
    let Some(rows) = rows(backend, from, options)? else {
        return backend.plan_gather(from, layout, Sizes::of::<T, I, O>(), options);
    };
    let (ell, values) = rows.ell(layout.resolve(&rows.lengths, rows.sizes)?)?;
    Ok(Rearrangement::new(rows.choice, ell, vec![values]))
}

/// CSR to HYB.
pub(super) fn to_hyb<T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &CsrOn<T, I, O>,
    layout: &HybWidth,
    options: &PlanOptions,
) -> Result<Rearrangement<HybOn<T, I>>> {
    let Some(rows) = rows(backend, from, options)? else {
        return backend.plan_gather(from, layout, Sizes::of::<T, I, O>(), options);
    };
    let width = layout.resolve(&rows.lengths, from.cols(), rows.sizes);
    let bytes = estimate::hyb(&rows.lengths, width, rows.sizes)?;
    estimate::check_cap(bytes, &rows.lengths, rows.sizes, None)?;
    let ((ell, head), (coo, tail)) = (rows.ell(width)?, rows.overflow(width)?);
    Ok(Rearrangement::new(rows.choice, Hyb::new(ell, coo)?, vec![head, tail]))
}

/// CSR to SELL.
pub(super) fn to_sell<T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &CsrOn<T, I, O>,
    layout: &SellLayout,
    options: &PlanOptions,
) -> Result<Rearrangement<SellOn<T, I, O>>> {
    let Some(rows) = rows(backend, from, options)? else {
        return backend.plan_gather(from, layout, Sizes::of::<T, I, O>(), options);
    };
    let bytes = estimate::sell(&rows.lengths, *layout, rows.sizes)?;
    O::try_new("slots of sell", bytes.slots as usize)?;
    estimate::check_cap(bytes, &rows.lengths, rows.sizes, None)?;
    let (sell, values) = rows.sell(*layout)?;
    Ok(Rearrangement::new(rows.choice, sell, vec![values]))
}
