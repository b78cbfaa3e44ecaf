//! Conversions of arrays in the caller's memory, which are checked by all threads and not copied.

use super::bucket::Coordinates;
use super::compress::{by_major, compressed};
use super::transpose::Lines;
use super::{compress, serial};
use crate::Cpu;
use crate::op::compiled::{borrowed_table, find};
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use crate::primitive::fill::Arrays;
use crate::primitive::row_sort::sort_in_place;
use sparse_core::error::checked_product;
use sparse_core::op::Duplicates;
use sparse_core::{Axis, Compressed, Coo, Csc, Error, Host, HostCsr, Index, Result, Scalar};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

/// The functions for one triple of types, which are compiled in this crate.
pub(in crate::op) struct Functions<T: Scalar, I: Index, O: Index> {
    along_other_axis: AlongOtherAxis<T, I, O>,
    add_up: AddUp<T, I, O>,
    sort: Sort<T, I, O>,
    add_to_dense: AddToDense<T, I, O>,
}

type AlongOtherAxis<T, I, O> = fn(&Cpu, usize, Lines<'_, T, I, O>) -> Result<Option<Arrays<T, I, O>>>;
type AddUp<T, I, O> = fn(&Cpu, (usize, usize), Coordinates<'_, T, I>) -> Result<Arrays<T, I, O>>;
type Sort<T, I, O> = fn(&Cpu, &[O], &mut [I], &mut [T]);
type AddToDense<T, I, O> = fn(&Cpu, usize, Lines<'_, T, I, O>, &mut [T]) -> bool;

impl<T: Scalar, I: Index, O: Index> Functions<T, I, O> {
    pub(in crate::op) const ALL: Self = Self { along_other_axis, add_up, sort: sort_in_place, add_to_dense };
}

/// Lines of entries in any order, with duplicates added.
fn add_up<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    extents: (usize, usize),
    entries: Coordinates<'_, T, I>,
) -> Result<Arrays<T, I, O>> {
    let len = entries.values.len();
    // Those in the order of the other axis need no sort.
    if serial::are_few(cpu, len, extents.0)
        || serial::is_small(cpu, len, extents.0) && entries.minor.is_sorted()
    {
        // SAFETY: `compress_coo` has compared both indices.
        return unsafe { serial::add_up(cpu, extents.0, entries) };
    }
    by_major(cpu, extents, entries, Duplicates::Sum, |major, minor| (major, minor))
}

/// The lines along the other axis, where there are `minor`; `None` if an index is not below that.
fn along_other_axis<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    minor: usize,
    lines: Lines<'_, T, I, O>,
) -> Result<Option<Arrays<T, I, O>>> {
    // SAFETY: `csr_to_csc` has compared the offsets.
    unsafe {
        if serial::is_small(cpu, lines.1.len(), minor) {
            return serial::along_other_axis(cpu, minor, lines);
        }
        compress::along_other_axis(cpu, minor, lines)
    }
}

/// Adds the entries of each row to the rows of a dense matrix by rows; false if a column is not below `cols`.
fn add_to_dense<T: Scalar, I: Index, O: Index>(
    cpu: &Cpu,
    cols: usize,
    (offsets, indices, values): Lines<'_, T, I, O>,
    dense: &mut [T],
) -> bool {
    let parts = rows_by_entries(offsets, CHUNK);
    let elements: Vec<_> = parts.iter().map(|rows| rows.start * cols..rows.end * cols).collect();
    let work = parts.into_iter().zip(split_mut(dense, &elements)).collect();
    let has_fault = AtomicBool::new(false);
    // In runs, so that threads do not wait for one another to clear the same new page of 2 MiB.
    cpu.for_each_in_runs(indices.len(), work, |(rows, dense): (Range<usize>, &mut [T])| {
        for (row, dense) in rows.zip(dense.chunks_exact_mut(cols)) {
            let entries = offsets[row].as_usize()..offsets[row + 1].as_usize();
            for (column, value) in indices[entries.clone()].iter().zip(&values[entries]) {
                match dense.get_mut(column.as_usize()) {
                    Some(element) => *element = T::from_acc(element.to_acc() + value.to_acc()),
                    None => has_fault.store(true, Ordering::Relaxed),
                }
            }
        }
    });
    !has_fault.into_inner()
}

impl Cpu {
    /// Sorts the entries of each row of the arrays of a matrix in CSR by column; equal columns keep their order.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// let (mut columns, mut values) = ([0, 1, 0], [1.0, 2.0, 3.0]);
    /// Cpu::new()?.sort_csr((2, 2), &[0, 1, 3], &mut columns, &mut values)?;
    /// assert_eq!((columns, values), ([0, 0, 1], [1.0, 3.0, 2.0]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`HostCsr::borrow`], with nothing changed.
    pub fn sort_csr<T: Scalar, I: Index, O: Index>(
        &self,
        shape: (usize, usize),
        offsets: &[O],
        indices: &mut [I],
        values: &mut [T],
    ) -> Result<()> {
        let functions: &Functions<T, I, O> = find(borrowed_table(), "sort", "csr")?;
        // SAFETY: the slices outlive the matrix, which is only checked.
        unsafe { self.borrow_csr(shape, offsets, indices, values) }.map(drop::<HostCsr<T, I, O>>)?;
        (functions.sort)(self, offsets, indices, values);
        Ok(())
    }

    /// Adds the entries of the arrays of a matrix in CSR to a dense matrix by rows, without gaps between them.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// let mut dense = [0.0; 4];
    /// Cpu::new()?.add_csr_to_dense((2, 2), &[0, 0, 2], &[1, 1], &[1.0, 2.0], &mut dense)?;
    /// assert_eq!(dense, [0.0, 0.0, 0.0, 3.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`HostCsr::borrow`], after which `dense` may have any values; [`Error::Shape`] for one of another size.
    pub fn add_csr_to_dense<T: Scalar, I: Index, O: Index>(
        &self,
        shape: (usize, usize),
        offsets: &[O],
        indices: &[I],
        values: &[T],
        dense: &mut [T],
    ) -> Result<()> {
        let (rows, cols) = shape;
        if dense.len() != checked_product("rows x columns", rows, cols)? {
            let reason =
                format!("the dense matrix has {} elements where {rows} x {cols} are right", dense.len());
            return Err(Error::shape("to_dense", reason));
        }
        let functions: &Functions<T, I, O> = find(borrowed_table(), "to_dense", "csr")?;
        if cols > 0 && self.is_framed(shape, offsets, indices, values.len()) {
            let lines = (offsets, indices, values);
            if (functions.add_to_dense)(self, cols, lines, dense) {
                return Ok(());
            }
        }
        // It finds the same fault, and says where. SAFETY: the slices outlive the matrix, which is only checked.
        unsafe { HostCsr::borrow(rows, cols, offsets, indices, values) }.map(drop)
    }

    /// CSC of the arrays of a matrix in CSR.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// let csc = Cpu::new()?.csr_to_csc((2, 2), &[0, 1, 3], &[1, 0, 1], &[1.0, 2.0, 3.0])?;
    /// assert_eq!((&csc.offsets()[..], &csc.indices()[..]), (&[0, 1, 3][..], &[1, 0, 1][..]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Csr::new_unsorted`](sparse_core::Compressed::new_unsorted).
    pub fn csr_to_csc<T: Scalar, I: Index, O: Index>(
        &self,
        shape: (usize, usize),
        offsets: &[O],
        indices: &[I],
        values: &[T],
    ) -> Result<Csc<T, Host, I, O>> {
        let functions: &Functions<T, I, O> = find(borrowed_table(), "convert", "csr")?;
        if self.is_framed(shape, offsets, indices, values.len()) {
            let arrays = (functions.along_other_axis)(self, shape.1, (offsets, indices, values))?;
            if let Some(arrays) = arrays {
                return Ok(compressed(shape.0, shape.1, arrays, false));
            }
        }
        // It finds the same fault, and says where. SAFETY: the slices outlive the matrix, which is only checked.
        unsafe { HostCsr::borrow(shape.0, shape.1, offsets, indices, values)? };
        Err(Error::unsupported("arrays that change while they are converted", "nobody may write them"))
    }

    /// CSR (`A` is [`Row`](sparse_core::Row)) or CSC ([`Col`](sparse_core::Col)) of the arrays of coordinates in any
    /// order, with those of one coordinate added in their order.
    ///
    /// ```
    /// # use backend_cpu::Cpu;
    /// # use sparse_core::Row;
    /// let csr = Cpu::new()?.compress_coo::<Row, f64, i32>((2, 2), &[1, 0, 1], &[0, 1, 0], &[1.0, 2.0, 3.0])?;
    /// assert_eq!(csr.values()[..], [2.0, 4.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Coo::new`].
    pub fn compress_coo<A: Axis, T: Scalar, I: Index>(
        &self,
        (rows, cols): (usize, usize),
        row_idx: &[I],
        col_idx: &[I],
        values: &[T],
    ) -> Result<Compressed<A, T, Host, I, I>> {
        let alike = row_idx.len() == values.len() && col_idx.len() == values.len();
        let fits = rows <= I::MAX && cols <= I::MAX && values.len() <= I::MAX;
        if !(alike && fits && self.lie_below(row_idx, rows) && self.lie_below(col_idx, cols)) {
            // It finds the same fault, and says where.
            Coo::<T, Host, I>::new(rows, cols, row_idx.to_vec(), col_idx.to_vec(), values.to_vec())?;
        }
        let (major, minor) = if A::IS_ROW { (row_idx, col_idx) } else { (col_idx, row_idx) };
        let functions: &Functions<T, I, I> = find(borrowed_table(), "convert", "coo")?;
        let entries = Coordinates { major, minor, values };
        let arrays = (functions.add_up)(self, A::swap(rows, cols), entries)?;
        Ok(compressed(rows, cols, arrays, true))
    }
}
