//! SFC (send followed compress): the elements of a part, line after line in the memory order of the matrix.

use super::Reader;
use crate::partition::Part;
use sparse_core::error::checked_product;
use sparse_core::{Dense, DenseView, Element, Order, Result, Scalar};

/// The elements of a view without padding, rows first if it is row-major, else columns first.
pub fn encode<T: Scalar>(view: DenseView<'_, T>) -> Vec<u8> {
    bytemuck::cast_slice(&pack(view)).to_vec()
}

/// The elements of a view without padding.
pub(crate) fn pack<T: Element>(view: DenseView<'_, T>) -> Vec<T> {
    let (lines, length) = view.major_minor();
    let mut elements = Vec::with_capacity(lines * length);
    if length > 0 {
        view.data()
            .chunks(view.leading_dimension())
            .take(lines)
            .for_each(|line| elements.extend(&line[..length]));
    }
    elements
}

/// The dense part of a message.
///
/// ```
/// use sparse_core::{DenseView, Order};
/// use sparse_distrib::{Partition, wire::dense};
///
/// let matrix = DenseView::row_major(&[1.0, 0.0, 0.0, 2.0], 2, 2)?;
/// let part = Partition::cols(2)?.part((2, 2), 1);
/// let message = dense::encode(part.view(matrix)?);
/// assert_eq!(dense::decode::<f64>(&part, Order::RowMajor, &message)?.data(), &[0.0, 2.0]);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Format`](sparse_core::Error::Format) unless the message has the bytes of the part, no fewer and no more.
pub fn decode<T: Scalar>(part: &Part, order: Order, message: &[u8]) -> Result<Dense<T>> {
    let (rows, cols) = part.shape();
    let mut reader = Reader::new("sfc", message);
    let elements = reader.array("the elements", checked_product("rows x columns", rows, cols)?)?;
    reader.finish()?;
    Dense::new(elements, rows, cols, order)
}
