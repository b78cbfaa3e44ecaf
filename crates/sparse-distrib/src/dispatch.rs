//! Dense to CSR and CSC by several tasks of one processor.
//!
//! A dispatch divides a matrix among tasks as a [`Partition`] divides it among processors. Each task compresses its
//! part with local indices; [`merge`](crate::merge()) brings the parts together by prefix sums. Any backend compresses.
//!
//! Where tasks own their rows (CSR) or columns (CSC), [`compress_counted`] does without prefix sums over them: the
//! result has counts in place of offsets.

use crate::Block;
use crate::merge::merge;
use crate::partition::Partition;
use crate::pointers::{PtrBase, PtrFlavour, counts, import};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel, Keep, ScanElement, ScanKernel};
use sparse_core::{Axis, Compressed, DenseView, Error, Index, PlanOptions, Result, Scalar, SparseFormat};
use std::marker::PhantomData;

/// The nonzeros of a dense matrix, compressed by the tasks of `dispatch` and merged.
///
/// The result does not depend on the dispatch.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_core::{Csc, DenseView};
/// use sparse_distrib::{Partition, dispatch};
///
/// let dense = DenseView::row_major(&[0.0, 1.0, 2.0, 0.0, 3.0, 0.0], 3, 2)?;
/// let csc: Csc<f64> = dispatch::compress(&Reference, dense, Partition::rows(3)?)?;
/// assert_eq!((&csc.col_ptr()[..], &csc.row_idx()[..]), (&[0, 2, 3][..], &[1, 2, 0][..]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::IndexOverflow`] if an extent does not fit `I` or nnz does not fit `O`; an error of the device's runtime.
pub fn compress<B, A, T, I, O>(
    backend: &B,
    matrix: DenseView<'_, T, SpaceOf<B>>,
    dispatch: Partition,
) -> Result<Block<A, T, I, O>>
where
    B: DenseToCsrKernel<T, I, O> + ScanKernel<O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: ScanElement,
{
    merge(backend, dispatch, matrix.shape(), &compress_tasks(backend, matrix, dispatch)?)
}

/// The compressed part of each task, with local indices, in the order of `dispatch`.
///
/// # Errors
/// As for [`compress`].
pub fn compress_tasks<B, A, T, I, O>(
    backend: &B,
    matrix: DenseView<'_, T, SpaceOf<B>>,
    dispatch: Partition,
) -> Result<Vec<Block<A, T, I, O>>>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    dispatch
        .iter(matrix.shape())
        .map(|part| compress_whole::<B, A, T, I, O>(backend, part.view(matrix)?)?.to_host(backend))
        .collect()
}

/// The nonzeros of a dense matrix as one task finds them, in the memory of `backend`.
pub(crate) fn compress_whole<B, A, T, I, O>(
    backend: &B,
    matrix: DenseView<'_, T, SpaceOf<B>>,
) -> Result<Compressed<A, T, SpaceOf<B>, I, O>>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    DenseToCompressedPlan::new(backend, matrix, Keep::NonZero, &PlanOptions::once())?.run(matrix)
}

/// A compressed matrix with the count of each row (CSR) or column (CSC) in place of offsets.
#[derive(Debug, Clone, PartialEq)]
pub struct Counted<A: Axis, T: Scalar, I: Index = i32, O: Index = i32> {
    shape: (usize, usize),
    counts: Vec<O>,
    indices: Vec<I>,
    values: Vec<T>,
    task_starts: Vec<usize>,
    axis: PhantomData<A>,
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Counted<A, T, I, O> {
    /// (rows, columns).
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The number of entries of each row (CSR) or column (CSC).
    pub fn counts(&self) -> &[O] {
        &self.counts
    }

    /// One column (CSR) or row (CSC) per entry.
    pub fn indices(&self) -> &[I] {
        &self.indices
    }

    /// One value per entry.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// The first entry of each task, and nnz: sums over tasks, not over rows.
    pub fn task_starts(&self) -> &[usize] {
        &self.task_starts
    }

    /// The matrix with offsets.
    ///
    /// # Errors
    /// [`Error::IndexOverflow`] if nnz does not fit `O`.
    pub fn into_compressed(self) -> Result<Block<A, T, I, O>> {
        let offsets = import(&self.counts, PtrFlavour::Counts, PtrBase::Zero)?;
        Compressed::new(self.shape.0, self.shape.1, offsets, self.indices, self.values)
    }
}

/// The nonzeros of a dense matrix, compressed by the tasks of `dispatch`, without prefix sums over rows.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_core::{Col, DenseView};
/// use sparse_distrib::{Partition, dispatch};
///
/// let dense = DenseView::row_major(&[0.0, 1.0, 2.0, 0.0, 3.0, 0.0], 3, 2)?;
/// let cols = Partition::cols(2)?;
/// let counted = dispatch::compress_counted::<_, Col, f64, i32, i32>(&Reference, dense, cols)?;
/// assert_eq!((counted.counts(), counted.indices()), (&[2, 1][..], &[1, 2, 0][..]));
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Unsupported`] where tasks share rows of CSR or columns of CSC; else as for [`compress`].
pub fn compress_counted<B, A, T, I, O>(
    backend: &B,
    matrix: DenseView<'_, T, SpaceOf<B>>,
    dispatch: Partition,
) -> Result<Counted<A, T, I, O>>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    if !dispatch.is_along::<A>() {
        return Err(Error::unsupported(
            format_args!("{} by {dispatch} without prefix sums", A::FORMAT),
            format_args!("tasks share every {0}; dispatch {0}s only, or use prefix sums", A::MAJOR),
        ));
    }
    let shape = matrix.shape();
    let (mut counts_of_all, mut indices, mut values) = (vec![], vec![], vec![]);
    let mut task_starts = vec![0];
    for block in compress_tasks::<B, A, T, I, O>(backend, matrix, dispatch)? {
        counts_of_all.extend(counts(block.offsets()).map(O::cast));
        let (_, block_indices, block_values) = block.into_parts();
        indices.extend(block_indices);
        values.extend(block_values);
        task_starts.push(values.len());
    }
    Ok(Counted { shape, counts: counts_of_all, indices, values, task_starts, axis: PhantomData })
}
