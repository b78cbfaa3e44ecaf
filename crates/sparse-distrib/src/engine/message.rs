//! Matrices that are compressed on the host and travel to a device as messages.

use crate::Block;
use crate::partition::Part;
use crate::scheme::Scheme;
use crate::wire::codec;
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel, Keep};
use sparse_core::{Backend, BatchCsr, DenseView, Error, Host, Index, PlanOptions, Result, Row, Scalar};

/// A backend of the host, which compresses where the scheme has the sender do so.
pub(super) trait HostCompressor<T: Scalar, I: Index, O: Index>: Send + Sync {
    /// The entries of a matrix by rows.
    fn compress(&self, matrix: DenseView<'_, T>, keep: Keep<T>) -> Result<Block<Row, T, I, O>>;
}

impl<B, T, I, O> HostCompressor<T, I, O> for B
where
    B: DenseToCsrKernel<T, I, O> + Backend<Space = Host>,
    T: Scalar,
    I: Index,
    O: Index,
{
    fn compress(&self, matrix: DenseView<'_, T>, keep: Keep<T>) -> Result<Block<Row, T, I, O>> {
        DenseToCompressedPlan::<B, Row, T, I, O>::new(self, matrix, keep, &PlanOptions::once())?.run(matrix)
    }
}

/// The message of a part, whose elements are `matrix`, in a buffer that is cleared first.
pub(super) fn encode<T: Scalar, I: Index, O: Index>(
    host: &dyn HostCompressor<T, I, O>,
    scheme: Scheme,
    part: &Part,
    matrix: DenseView<'_, T>,
    keep: Keep<T>,
    message: &mut Vec<u8>,
) -> Result<()> {
    let Some((encode, _)) = codec::<Row, T, I, O>(scheme) else {
        return Err(no_message(scheme));
    };
    encode(part, &host.compress(matrix, keep)?, message)
}

/// The batch of the matrices of messages, with local indices; their parts have one shape.
pub(super) fn decode<T: Scalar, I: Index, O: Index>(
    scheme: Scheme,
    parts: impl Iterator<Item = Part>,
    messages: &[Vec<u8>],
) -> Result<BatchCsr<T, Host, I, O>> {
    let Some((_, decode)) = codec::<Row, T, I, O>(scheme) else {
        return Err(no_message(scheme));
    };
    let blocks: Vec<_> =
        parts.zip(messages).map(|(part, message)| decode(&part, message)).collect::<Result<_>>()?;
    BatchCsr::from_members(&blocks.iter().collect::<Vec<_>>())
}

fn no_message(scheme: Scheme) -> Error {
    Error::unsupported(format_args!("a message of compressed matrices by {scheme}"), "sfc sends elements")
}
