//! Dense matrices that the engine reads one by one: from memory of the host or of a device, from a function, or from
//! files.

mod chain;
mod ekmr_layout;
mod npy;
mod on_device;

pub use chain::SourceChain;
pub use npy::{ArrayReading, NpySource};
pub use on_device::{DeviceMatrices, DeviceStack};

use crate::partition::Part;
use sparse_core::error::checked_product;
use sparse_core::{DenseBatchView, DenseView, Error, Order, Result, Scalar};
use std::fmt::Debug;
use std::ops::Range;

/// Dense matrices, possibly of unequal shapes, which are copied to the caller's memory or lent in place.
///
/// Several threads read at once, each item at least once: an item whose device fails is read again.
pub trait Source<T: Scalar>: Sync {
    /// The number of matrices.
    fn len(&self) -> usize;

    /// True if there are no matrices.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// (rows, columns) of matrix `item`, which is below [`len`](Self::len).
    fn shape(&self, item: usize) -> (usize, usize);

    /// The order in which [`fill`](Self::fill) writes the elements of matrix `item`.
    fn order(&self, _item: usize) -> Order {
        Order::RowMajor
    }

    /// Writes all elements of matrix `item`, without padding; `elements` has rows · columns of them, with arbitrary
    /// values before.
    ///
    /// # Errors
    /// Those of the source: the item is then tried once more.
    fn fill(&self, item: usize, elements: &mut [T]) -> Result<()>;

    /// The elements of consecutive matrices in the order of [`fill`](Self::fill), if they are contiguous in the
    /// source's memory. The engine then copies none of them on the host, and a CUDA device copies them at the full rate
    /// of its link if they are pinned.
    fn lend(&self, _items: Range<usize>) -> Option<&[T]> {
        None
    }

    /// Consecutive matrices in the memory of a device, if all of them are there. The device with that memory compresses
    /// them in place, with every policy and scheme; others [read](Self::fill_part) them.
    fn on_device(&self, _items: Range<usize>) -> Option<DeviceMatrices<'_>> {
        None
    }

    /// Writes the elements of a part of matrix `item`, as [`fill`](Self::fill) does those of all of it. By default the
    /// whole matrix is read: sources of large matrices override this.
    ///
    /// # Errors
    /// As for [`fill`](Self::fill), and [`Error::OutOfMemory`] if there is no memory for all.
    fn fill_part(&self, item: usize, part: &Part, elements: &mut [T]) -> Result<()> {
        let (rows, cols) = self.shape(item);
        if *part == Part::whole((rows, cols)) {
            return self.fill(item, elements);
        }
        let mut whole = vec![];
        resize(&mut whole, checked_product("rows x columns", rows, cols)?)?;
        self.fill(item, &mut whole)?;
        let order = self.order(item);
        let ld = if order == Order::RowMajor { cols } else { rows };
        copy_lines(part.view(DenseView::new(&whole[..], rows, cols, ld, order)?)?, elements);
        Ok(())
    }

    /// True if the time of [`fill_part`](Self::fill_part) is proportional to the part, so that several threads read a
    /// large matrix `item` together, each a range of its lines. False by default, since each part then reads the whole
    /// matrix.
    fn is_divisible(&self, _item: usize) -> bool {
        false
    }
}

/// Extends the elements to at least `len`.
pub(super) fn resize<T: Scalar>(elements: &mut Vec<T>, len: usize) -> Result<()> {
    elements
        .try_reserve_exact(len.saturating_sub(elements.len()))
        .map_err(|_| Error::out_of_memory::<T>(len))?;
    elements.resize(len.max(elements.len()), T::ZERO);
    Ok(())
}

impl<T: Scalar> Source<T> for DenseBatchView<'_, T> {
    fn len(&self) -> usize {
        self.count()
    }

    fn shape(&self, _item: usize) -> (usize, usize) {
        DenseBatchView::shape(self)
    }

    fn order(&self, _item: usize) -> Order {
        DenseBatchView::order(self)
    }

    fn fill(&self, item: usize, elements: &mut [T]) -> Result<()> {
        copy_lines(self.member(item), elements);
        Ok(())
    }

    fn lend(&self, items: Range<usize>) -> Option<&[T]> {
        let (rows, cols) = DenseBatchView::shape(self);
        let length = if DenseBatchView::order(self) == Order::RowMajor { cols } else { rows };
        let is_packed = self.stride() == rows * cols && self.leading_dimension() == length;
        is_packed.then(|| &self.data()[items.start * self.stride()..items.end * self.stride()])
    }

    fn fill_part(&self, item: usize, part: &Part, elements: &mut [T]) -> Result<()> {
        copy_lines(part.view(self.member(item))?, elements);
        Ok(())
    }

    fn is_divisible(&self, _item: usize) -> bool {
        true
    }
}

impl<T: Scalar> Source<T> for Vec<DenseView<'_, T>> {
    fn len(&self) -> usize {
        Vec::len(self)
    }

    fn shape(&self, item: usize) -> (usize, usize) {
        self[item].shape()
    }

    fn order(&self, item: usize) -> Order {
        self[item].order()
    }

    fn fill(&self, item: usize, elements: &mut [T]) -> Result<()> {
        copy_lines(self[item], elements);
        Ok(())
    }

    fn fill_part(&self, item: usize, part: &Part, elements: &mut [T]) -> Result<()> {
        copy_lines(part.view(self[item])?, elements);
        Ok(())
    }

    fn is_divisible(&self, _item: usize) -> bool {
        true
    }
}

/// Copies the elements of a view without its padding.
fn copy_lines<T: Scalar>(view: DenseView<'_, T>, elements: &mut [T]) {
    let (lines, length) = view.major_minor();
    if length == 0 {
        return;
    }
    let ld = view.leading_dimension();
    for (line, target) in elements.chunks_exact_mut(length).take(lines).enumerate() {
        target.copy_from_slice(&view.data()[line * ld..][..length]);
    }
}

/// Matrices that a function writes.
///
/// ```
/// use sparse_distrib::{Generated, Source};
///
/// let diagonals = Generated::new(vec![(2, 2), (3, 3)], |item, elements: &mut [f64]| {
///     elements.fill(0.0);
///     elements.iter_mut().step_by(item + 3).for_each(|element| *element = 1.0);
///     Ok(())
/// });
/// let mut second = [0.0; 9];
/// diagonals.fill(1, &mut second)?;
/// assert_eq!(second, [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Clone)]
pub struct Generated<F> {
    shapes: Vec<(usize, usize)>,
    fill: F,
}

impl<F> Generated<F> {
    /// Matrices of these shapes; `fill` writes the elements of one, row by row.
    pub fn new<T: Scalar>(shapes: Vec<(usize, usize)>, fill: F) -> Self
    where
        F: Fn(usize, &mut [T]) -> Result<()> + Sync,
    {
        Self { shapes, fill }
    }

    /// Matrices of these shapes; `fill` writes the elements of any part of one, row by row, so that several threads
    /// write a large one together.
    ///
    /// ```
    /// use sparse_distrib::{Generated, Part, Source};
    ///
    /// // The element in row i and column j is i·j.
    /// let table = Generated::by_parts(vec![(1000, 1000)], |_, part: &Part, elements: &mut [f64]| {
    ///     let products = part.rows.clone().flat_map(|i| part.cols.clone().map(move |j| (i * j) as f64));
    ///     elements.iter_mut().zip(products).for_each(|(element, product)| *element = product);
    ///     Ok(())
    /// });
    /// let mut corner = [0.0; 4];
    /// table.fill_part(0, &Part { rows: 2..4, cols: 998..1000 }, &mut corner)?;
    /// assert_eq!(corner, [1996.0, 1998.0, 2994.0, 2997.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn by_parts<T: Scalar>(shapes: Vec<(usize, usize)>, fill: F) -> GeneratedParts<F>
    where
        F: Fn(usize, &Part, &mut [T]) -> Result<()> + Sync,
    {
        GeneratedParts(Self { shapes, fill })
    }
}

/// Matrices that a function writes part by part: [`Generated::by_parts`].
#[derive(Debug, Clone)]
pub struct GeneratedParts<F>(Generated<F>);

impl<F> Debug for Generated<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Generated").field("matrices", &self.shapes.len()).finish_non_exhaustive()
    }
}

impl<T: Scalar, F: Fn(usize, &mut [T]) -> Result<()> + Sync> Source<T> for Generated<F> {
    fn len(&self) -> usize {
        self.shapes.len()
    }

    fn shape(&self, item: usize) -> (usize, usize) {
        self.shapes[item]
    }

    fn fill(&self, item: usize, elements: &mut [T]) -> Result<()> {
        (self.fill)(item, elements)
    }
}

impl<T: Scalar, F: Fn(usize, &Part, &mut [T]) -> Result<()> + Sync> Source<T> for GeneratedParts<F> {
    fn len(&self) -> usize {
        self.0.shapes.len()
    }

    fn shape(&self, item: usize) -> (usize, usize) {
        self.0.shapes[item]
    }

    fn fill(&self, item: usize, elements: &mut [T]) -> Result<()> {
        self.fill_part(item, &Part::whole(self.0.shapes[item]), elements)
    }

    fn fill_part(&self, item: usize, part: &Part, elements: &mut [T]) -> Result<()> {
        (self.0.fill)(item, part, elements)
    }

    fn is_divisible(&self, _item: usize) -> bool {
        true
    }
}
