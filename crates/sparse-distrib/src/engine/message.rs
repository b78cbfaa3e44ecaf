//! Matrices that are compressed on the host and travel to a device as messages.

use crate::Block;
use crate::partition::Part;
use crate::scheme::Scheme;
use crate::wire::{bitmap, codec, ed2};
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel, Keep, PackedPattern};
use sparse_core::{
    Backend, BatchCsr, DenseView, Element, Error, Host, Index, Order, PlanOptions, Result, Row, Scalar,
};
use std::ops::Range;

/// A backend of the host that compresses matrices for schemes that send them compressed.
pub(crate) trait HostCompressor<T: Scalar, I: Index, O: Index>: Send + Sync {
    /// A compressor for one thread.
    fn start(&self) -> Box<dyn MatrixCompressor<T, I, O> + '_>;
}

/// Compresses matrices one by one.
pub(crate) trait MatrixCompressor<T: Scalar, I: Index, O: Index> {
    /// The entries of a matrix by rows.
    fn compress(&mut self, matrix: DenseView<'_, T>, keep: Keep<T>) -> Result<Block<Row, T, I, O>>;
}

impl<B, T, I, O> HostCompressor<T, I, O> for B
where
    B: DenseToCsrKernel<T, I, O> + Backend<Space = Host>,
    T: Scalar,
    I: Index,
    O: Index,
{
    fn start(&self) -> Box<dyn MatrixCompressor<T, I, O> + '_> {
        Box::new(Planned { backend: self, last: None })
    }
}

/// A backend and the plan of the last matrix, for the next ones of its shape.
struct Planned<'b, B: DenseToCsrKernel<T, I, O>, T: Scalar, I: Index, O: Index> {
    backend: &'b B,
    last: Option<CachedPlan<B, T, I, O>>,
}

/// A plan and what it was made for.
struct CachedPlan<B: DenseToCsrKernel<T, I, O>, T: Scalar, I: Index, O: Index> {
    shape: Shape<T>,
    plan: DenseToCompressedPlan<B, Row, T, I, O>,
}

/// Shape, order and rule: matrices that agree in these have one plan.
type Shape<T> = ((usize, usize), Order, Keep<T>);

impl<B, T, I, O> MatrixCompressor<T, I, O> for Planned<'_, B, T, I, O>
where
    B: DenseToCsrKernel<T, I, O> + Backend<Space = Host>,
    T: Scalar,
    I: Index,
    O: Index,
{
    fn compress(&mut self, matrix: DenseView<'_, T>, keep: Keep<T>) -> Result<Block<Row, T, I, O>> {
        let shape = (matrix.shape(), matrix.order(), keep);
        let last = match self.last.take().filter(|last| last.shape == shape) {
            Some(last) => last,
            None => {
                let options = PlanOptions::default();
                CachedPlan { shape, plan: DenseToCompressedPlan::new(self.backend, matrix, keep, &options)? }
            }
        };
        self.last.insert(last).plan.run(matrix)
    }
}

/// The message of a compressed part, in a buffer that is cleared first.
pub(crate) fn encode<T: Scalar, I: Index, O: Index>(
    scheme: Scheme,
    part: &Part,
    block: &Block<Row, T, I, O>,
    message: &mut Vec<u8>,
) -> Result<()> {
    let Some((encode, _)) = codec::<Row, T, I, O>(scheme) else {
        return Err(no_message(scheme));
    };
    encode(part, block, message)
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

/// Matrices of one shape from checked messages, for a device that computes offsets and indices itself.
#[derive(Debug, Clone)]
pub struct PackedBatch<T, I> {
    shape: (usize, usize),
    member_ptr: Vec<usize>,
    pattern: Pattern<I>,
    values: Vec<T>,
}

/// The patterns of all messages, plane by plane.
#[derive(Debug, Clone)]
enum Pattern<I> {
    Bits(Vec<u8>),
    Counts { counts: Vec<I>, indices: Vec<I>, bases: Vec<usize> },
}

/// True if messages of a scheme can be unpacked on a device.
pub(super) fn can_be_packed(scheme: Scheme) -> bool {
    match scheme {
        Scheme::Ed2 | Scheme::Bitmap => true,
        Scheme::Sfc | Scheme::Cfs | Scheme::Ed1 => false,
    }
}

impl<T, I> Default for PackedBatch<T, I> {
    fn default() -> Self {
        Self { shape: (0, 0), member_ptr: vec![0], pattern: Pattern::Bits(vec![]), values: vec![] }
    }
}

impl<I> Pattern<I> {
    /// Clears the pattern for messages of `scheme`; its memory is reused.
    fn clear_for(&mut self, scheme: Scheme) {
        match (scheme, &mut *self) {
            (Scheme::Bitmap, Self::Bits(bits)) => bits.clear(),
            (Scheme::Bitmap, Self::Counts { .. }) => *self = Self::Bits(vec![]),
            (_, Self::Counts { counts, indices, bases }) => {
                counts.clear();
                indices.clear();
                bases.clear();
            }
            (_, Self::Bits(_)) => *self = Self::Counts { counts: vec![], indices: vec![], bases: vec![] },
        }
    }
}

impl<T: Scalar, I: Index> PackedBatch<T, I> {
    /// Replaces the matrices by those of `messages`, whose parts have one shape; memory is reused. Each message passes
    /// the checks of its decoder.
    pub(crate) fn refill<O: Index>(
        &mut self,
        scheme: Scheme,
        parts: impl Iterator<Item = Part>,
        messages: &[Vec<u8>],
    ) -> Result<()> {
        self.pattern.clear_for(scheme);
        self.values.clear();
        self.member_ptr.truncate(1);
        for (part, message) in parts.zip(messages) {
            self.shape = part.shape();
            let values = match &mut self.pattern {
                Pattern::Bits(bits) => {
                    let planes = bitmap::open::<Row, T, I, O>(&part, message)?;
                    bits.extend_from_slice(planes.bits);
                    planes.values
                }
                Pattern::Counts { counts, indices, bases } => {
                    let planes = ed2::open::<Row, T, I, O>(&part, message)?;
                    extend(counts, planes.counts);
                    extend(indices, planes.indices);
                    bases.push(part.cols.start);
                    planes.values
                }
            };
            extend(&mut self.values, values);
            self.member_ptr.push(self.values.len());
        }
        Ok(())
    }

    /// A batch of the matrices in `range`.
    pub(crate) fn members(&self, range: Range<usize>) -> Self {
        let (members, rows) = (self.member_ptr.len() - 1, self.shape.0);
        let entries = self.member_ptr[range.start]..self.member_ptr[range.end];
        let pattern = match &self.pattern {
            Pattern::Bits(bits) => {
                let bytes = bits.len() / members;
                Pattern::Bits(bits[range.start * bytes..range.end * bytes].to_vec())
            }
            Pattern::Counts { counts, indices, bases } => Pattern::Counts {
                counts: counts[range.start * rows..range.end * rows].to_vec(),
                indices: indices[entries.clone()].to_vec(),
                bases: bases[range.clone()].to_vec(),
            },
        };
        let starts = self.member_ptr[range.start..=range.end].iter();
        let member_ptr = starts.map(|start| start - entries.start).collect();
        Self { shape: self.shape, member_ptr, pattern, values: self.values[entries].to_vec() }
    }

    /// (rows, columns) of each matrix.
    pub fn shape(&self) -> (usize, usize) {
        self.shape
    }

    /// The first entry of each matrix, and nnz.
    pub fn member_ptr(&self) -> &[usize] {
        &self.member_ptr
    }

    /// The patterns, which meet the requirements of [`UnpackKernel`](sparse_core::op::UnpackKernel).
    pub fn pattern(&self) -> PackedPattern<'_, I> {
        match &self.pattern {
            Pattern::Bits(bits) => PackedPattern::Bits(bits),
            Pattern::Counts { counts, indices, bases } => PackedPattern::Counts { counts, indices, bases },
        }
    }

    /// The values of all entries.
    pub fn values(&self) -> &[T] {
        &self.values
    }

    /// Copies of the planes on a device: the pattern's, and the values.
    pub(crate) fn upload<B: Backend>(&self, backend: &B) -> Result<impl Sized + use<B, T, I>> {
        let pattern = match &self.pattern {
            Pattern::Bits(bits) => (Some(backend.upload(bits)?), None),
            Pattern::Counts { counts, indices, .. } => {
                (None, Some((backend.upload(counts)?, backend.upload(indices)?)))
            }
        };
        Ok((pattern, backend.upload(&self.values)?))
    }

    /// Bytes that a device needs at most to unpack it: the planes, the prefix sums, and the arrays of the result.
    pub(super) fn peak_bytes<O: Index>(&self) -> u64 {
        let (rows, members, nnz) = (self.shape.0, self.member_ptr.len() - 1, self.values.len());
        let (planes, counted) = match &self.pattern {
            Pattern::Bits(bits) => (bits.len(), bits.len() / 4 + rows * members),
            Pattern::Counts { counts, .. } => (size_of_val(&counts[..]), counts.len()),
        };
        // The prefix sums have totals of their own, far fewer than half as many.
        let sums = (counted + counted / 2 + 1) * size_of::<i64>();
        let offsets = members * (rows + 1) * size_of::<O>();
        (planes + sums + offsets + nnz * (size_of::<I>() + size_of::<T>())) as u64
    }
}

/// Appends the elements of a plane.
fn extend<T: Element>(elements: &mut Vec<T>, plane: &[u8]) {
    if let Ok(plane) = bytemuck::try_cast_slice(plane) {
        return elements.extend_from_slice(plane);
    }
    let before = elements.len();
    elements.resize(before + plane.len() / size_of::<T>(), T::default());
    bytemuck::cast_slice_mut(&mut elements[before..]).copy_from_slice(plane);
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::reference::Reference;

    #[test]
    fn members_of_a_batch_are_the_batch_of_their_messages() {
        let part = Part { rows: 0..3, cols: 2..7 };
        let element =
            |member: usize, at: usize| if at.is_multiple_of(2 + member) { 1.0 + at as f32 } else { 0.0 };
        let message = |scheme, member: usize| {
            let elements: Vec<f32> = (0..15).map(|at| element(member, at)).collect();
            let view = DenseView::row_major(&elements, 3, 5).unwrap();
            let mut compressor = HostCompressor::<f32, i32, i32>::start(&Reference);
            let block = compressor.compress(view, Keep::NonZero).unwrap();
            let mut message = vec![];
            encode(scheme, &part, &block, &mut message).unwrap();
            message
        };
        for scheme in [Scheme::Ed2, Scheme::Bitmap] {
            let messages: Vec<_> = (0..4).map(|member| message(scheme, member)).collect();
            let packed = |range: Range<usize>| {
                let parts = range.clone().map(|_| part.clone());
                let mut batch = PackedBatch::<f32, i32>::default();
                // The previous contents are gone.
                batch
                    .refill::<i32>(Scheme::Bitmap, [part.clone()].into_iter(), &[message(Scheme::Bitmap, 2)])
                    .unwrap();
                batch.refill::<i32>(scheme, parts, &messages[range]).unwrap();
                batch
            };
            for range in [0..4, 1..3, 3..4] {
                let (found, expected) = (packed(0..4).members(range.clone()), packed(range.clone()));
                assert_eq!(format!("{found:?}"), format!("{expected:?}"), "{scheme} {range:?}");
            }
        }
    }
}
