//! Batches of dense matrices of one shape.

use super::dense::{DenseLayout, DenseView, Order, layout_accessors};
use crate::error::{Error, Result, checked_product};
use crate::space::{Element, Host, Space, View};

/// A view of `count` dense matrices of one shape; matrix `k` starts at `k·stride`.
#[derive(Debug)]
pub struct DenseBatchView<'a, T: Element, S: Space = Host> {
    data: S::View<'a, T>,
    count: usize,
    stride: usize,
    layout: DenseLayout,
}

impl<T: Element, S: Space> Clone for DenseBatchView<'_, T, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Element, S: Space> Copy for DenseBatchView<'_, T, S> {}

impl<'a, T: Element, S: Space> DenseBatchView<'a, T, S> {
    /// A batch whose members are laid out as [`DenseView::new`] says, `stride` elements apart.
    ///
    /// ```
    /// use sparse_core::{DenseBatchView, Order};
    ///
    /// let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    /// let batch = DenseBatchView::<f64>::new(&data, 2, 4, (2, 2), 2, Order::RowMajor)?;
    /// assert_eq!(batch.member(1).at(0, 1), 6.0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Format`] if members overlap or `data` is too short; [`Error::IndexOverflow`] if the size does not
    /// fit `usize`.
    pub fn new(
        data: S::View<'a, T>,
        count: usize,
        stride: usize,
        (rows, cols): (usize, usize),
        ld: usize,
        order: Order,
    ) -> Result<Self> {
        let last = checked_product("count x stride", count.saturating_sub(1), stride)?;
        let available = if count == 0 { usize::MAX } else { data.len().saturating_sub(last) };
        let layout = DenseLayout::checked(rows, cols, ld, order, available)?;
        let needed = layout.required_len()?;
        if count > 1 && stride < needed {
            return Err(Error::format(
                "dense batch",
                format_args!("the stride {stride} is below {needed}, the size of a member"),
            ));
        }
        Ok(Self { data, count, stride, layout })
    }

    layout_accessors!();

    /// The number of matrices.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The distance between the first elements of two neighbouring matrices.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The underlying memory, padding included.
    pub fn data(&self) -> S::View<'a, T> {
        self.data
    }

    /// Matrix `k`.
    ///
    /// ```
    /// # use sparse_core::{DenseBatchView, Order};
    /// let two = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
    /// let batch = DenseBatchView::<f64>::new(&two, 2, 4, (2, 2), 2, Order::RowMajor)?;
    /// assert_eq!(batch.member(1).at(0, 1), 6.0);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Panics
    /// If `k` is not below [`count`](Self::count).
    pub fn member(&self, k: usize) -> DenseView<'a, T, S> {
        assert!(k < self.count, "there is no matrix {k} among {}", self.count);
        // Matrices without elements may begin beyond the end of the data.
        let start = k.saturating_mul(self.stride).min(self.data.len());
        DenseView { data: S::slice(self.data, start..self.data.len()), layout: self.layout }
    }

    /// The transposes, without a copy.
    #[must_use]
    pub fn transposed(self) -> Self {
        Self { layout: self.layout.transposed(), ..self }
    }
}

impl<'a, T: Element, S: Space> From<DenseView<'a, T, S>> for DenseBatchView<'a, T, S> {
    fn from(view: DenseView<'a, T, S>) -> Self {
        Self { data: view.data, count: 1, stride: view.data.len(), layout: view.layout }
    }
}
