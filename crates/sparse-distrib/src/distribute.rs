//! Distributes a matrix from one rank to all: every rank gets its part compressed, with local indices.

use crate::Block;
use crate::collective::agree;
use crate::dispatch::compress_whole;
use crate::merge::merge;
use crate::partition::{Part, Partition};
use crate::scheme::Scheme;
use crate::transport::Transport;
use crate::wire::{codec, dense, ed2};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{DenseToCsrKernel, ScanElement, ScanKernel};
use sparse_core::{Axis, Compressed, DenseView, Error, Index, Order, Result, Scalar, Space, SparseFormat};
use std::any::Any;

/// The parameters of a distribution, the same on all ranks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Distribution {
    /// The form in which parts travel.
    pub scheme: Scheme,
    /// The parts, one for each rank.
    pub partition: Partition,
    /// The rank that has the matrix.
    pub root: usize,
}

/// A part of a distributed matrix in the memory of a rank's backend.
#[derive(Debug)]
pub struct LocalPart<A: Axis, T: Scalar, S: Space, I: Index, O: Index> {
    /// (rows, columns) of the whole matrix.
    pub shape: (usize, usize),
    /// The rows and columns of this part.
    pub part: Part,
    /// The entries of the part, with indices that start at 0 in each direction.
    pub block: Compressed<A, T, S, I, O>,
}

/// Distributes the matrix of the root: a collective call of all ranks. `A` is the orientation: rows for CSR, columns
/// for CSC.
///
/// The scheme decides whether the sender or the receiver compresses, on its `backend`; the part is stored in the memory
/// of the rank's backend. If a rank fails, all ranks return an error that names it.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_core::{Csr, DenseView};
/// use sparse_distrib::{Distribution, Local, Partition, Scheme, Transport, collect, distribute};
///
/// let elements = [0.0, 1.0, 2.0, 0.0, 3.0, 0.0];
/// let matrix = DenseView::row_major(&elements, 3, 2)?;
/// let distribution = Distribution { scheme: Scheme::Ed2, partition: Partition::rows(2)?, root: 0 };
/// let mut results = Local::run(2, |rank| {
///     let input = (rank.rank() == 0).then_some(matrix);
///     let local = distribute(&rank, &Reference, distribution, input)?;
///     collect(&rank, &Reference, distribution, &local)
/// });
/// let whole: Csr<f64> = results.remove(0)?.unwrap();
/// assert_eq!(whole, Csr::from_dense(matrix)?);
/// # Ok::<(), sparse_core::Error>(())
/// ```
///
/// # Errors
/// [`Error::Shape`] unless there is a part for each rank, [`Error::Operands`] if ranks do not agree on distribution and
/// types or the root has no matrix; the errors of the wire format, of compression and of the transport.
pub fn distribute<X, B, A, T, I, O>(
    transport: &X,
    backend: &B,
    distribution: Distribution,
    matrix: Option<DenseView<'_, T>>,
) -> Result<LocalPart<A, T, SpaceOf<B>, I, O>>
where
    X: Transport,
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    let root = distribution.root;
    let is_root = transport.rank() == root;
    let announced = matrix.filter(|_| is_root).map(|matrix| announcement::<A, T, I>(distribution, matrix));
    let announced = transport.broadcast(root, announced.unwrap_or_default())?;
    let checked = check_announcement::<A, T, I>(transport, distribution, &announced);
    let (shape, order) = agree(transport, root, OP, checked)?;

    let part = distribution.partition.part(shape, transport.rank());
    let message = match matrix {
        Some(matrix) if is_root => send_parts::<X, B, A, T, I, O>(transport, backend, distribution, matrix)?,
        _ => receive_part(transport, root)?,
    };
    let decoded = message.and_then(|message| decode(backend, distribution.scheme, &part, order, &message));
    let block = agree(transport, root, OP, decoded)?;
    Ok(LocalPart { shape, part, block })
}

/// The whole matrix at the root, from the parts of all ranks; `None` elsewhere. A collective call.
///
/// # Errors
/// [`Error::Shape`] if the parts are not those of `distribution`; the errors of [`ed2`], in which parts travel, of
/// [`merge`](crate::merge()) and of the transport.
pub fn collect<X, B, A, T, I, O>(
    transport: &X,
    backend: &B,
    distribution: Distribution,
    local: &LocalPart<A, T, SpaceOf<B>, I, O>,
) -> Result<Option<Block<A, T, I, O>>>
where
    X: Transport,
    B: ScanKernel<O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: ScanElement,
{
    let Distribution { partition, root, .. } = distribution;
    let encoded = local.block.to_host(backend).and_then(|block| ed2::encode(&local.part, &block));
    let message = agree(transport, root, OP, encoded)?;
    let Some(messages) = transport.gather(root, message)? else {
        return Ok(None);
    };
    let blocks: Vec<_> = partition
        .iter(local.shape)
        .zip(&messages)
        .map(|(part, message)| ed2::decode(&part, message))
        .collect::<Result<_>>()?;
    merge(backend, partition, local.shape, &blocks).map(Some)
}

/// The operation in errors.
const OP: &str = "distribute";

/// The words that the root announces: what ranks must agree on, then the matrix's shape and order.
const AGREED: usize = 8;

fn agreed<A: Axis, T: Scalar, I: Index>(distribution: Distribution) -> [u64; AGREED] {
    let Distribution { scheme, partition, root } = distribution;
    let (row_blocks, col_blocks) = partition.grid();
    [
        scheme as u64,
        row_blocks as u64,
        col_blocks as u64,
        root as u64,
        u64::from(A::IS_ROW),
        T::DTYPE as u64,
        size_of::<T>() as u64,
        size_of::<I>() as u64,
    ]
}

fn announcement<A: Axis, T: Scalar, I: Index>(
    distribution: Distribution,
    matrix: DenseView<'_, T>,
) -> Vec<u8> {
    let mut words = agreed::<A, T, I>(distribution).to_vec();
    let (rows, cols) = matrix.shape();
    words.extend([rows as u64, cols as u64, u64::from(matrix.order() == Order::RowMajor)]);
    bytemuck::cast_slice(&words).to_vec()
}

/// The shape and order of the matrix, if this rank agrees with the root.
fn check_announcement<A: Axis, T: Scalar, I: Index>(
    transport: &impl Transport,
    distribution: Distribution,
    message: &[u8],
) -> Result<((usize, usize), Order)> {
    let parts = distribution.partition.parts();
    if parts != transport.ranks() {
        let reason = format!(
            "{} has {parts} parts where {} ranks need as many",
            distribution.partition,
            transport.ranks()
        );
        return Err(Error::shape(OP, reason));
    }
    if message.is_empty() {
        return Err(Error::operands(OP, format_args!("rank {}, the root, has no matrix", distribution.root)));
    }
    let words: Vec<u64> = bytemuck::pod_collect_to_vec(message);
    if words.len() != AGREED + 3 || words[..AGREED] != agreed::<A, T, I>(distribution) {
        return Err(Error::operands(
            OP,
            format_args!(
                "{distribution:?} to {} of {} is not what the root distributes",
                A::FORMAT,
                T::DTYPE
            ),
        ));
    }
    let order = if words[AGREED + 2] == 1 { Order::RowMajor } else { Order::ColMajor };
    let extent = |word: u64| {
        usize::try_from(word).map_err(|_| Error::IndexOverflow {
            what: "an extent of the root's matrix".into(),
            value: word.into(),
            target: "usize",
        })
    };
    Ok(((extent(words[AGREED])?, extent(words[AGREED + 1])?), order))
}

/// Sends all parts except the root's own, whose message it returns. An error is sent in place of its part.
fn send_parts<X, B, A, T, I, O>(
    transport: &X,
    backend: &B,
    distribution: Distribution,
    matrix: DenseView<'_, T>,
) -> Result<Result<Vec<u8>>>
where
    X: Transport,
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    let encode = |rank| {
        let part = distribution.partition.part(matrix.shape(), rank);
        encode::<B, A, T, I, O>(backend, distribution.scheme, &part, matrix)
    };
    for rank in (0..transport.ranks()).filter(|&rank| rank != distribution.root) {
        match encode(rank) {
            Ok(message) => {
                transport.send(rank, vec![])?;
                transport.send(rank, message)?;
            }
            Err(error) => transport.send(rank, error.to_string().into_bytes())?,
        }
    }
    Ok(encode(distribution.root))
}

/// The message of a part, or the error that came in its place.
fn receive_part(transport: &impl Transport, root: usize) -> Result<Result<Vec<u8>>> {
    let error = transport.receive(root)?;
    if error.is_empty() {
        return transport.receive(root).map(Ok);
    }
    Ok(Err(Error::operands(OP, String::from_utf8_lossy(&error))))
}

fn encode<B, A, T, I, O>(
    backend: &B,
    scheme: Scheme,
    part: &Part,
    matrix: DenseView<'_, T>,
) -> Result<Vec<u8>>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    let view = part.view(matrix)?;
    let Some((encode, _)) = codec::<A, T, I, O>(scheme) else {
        return Ok(dense::encode(view));
    };
    let block = compress_from_host::<B, A, T, I, O>(backend, view)?;
    let mut message = vec![];
    match (&block as &dyn Any).downcast_ref::<Block<A, T, I, O>>() {
        Some(block) => encode(part, block, &mut message)?,
        None => encode(part, &block.to_host(backend)?, &mut message)?,
    }
    Ok(message)
}

fn decode<B, A, T, I, O>(
    backend: &B,
    scheme: Scheme,
    part: &Part,
    order: Order,
    message: &[u8],
) -> Result<Compressed<A, T, SpaceOf<B>, I, O>>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    match codec::<A, T, I, O>(scheme) {
        Some((_, decode)) => decode(part, message)?.to_device(backend),
        None => {
            let elements = dense::decode::<T>(part, order, message)?;
            compress_from_host(backend, elements.as_view())
        }
    }
}

/// The nonzeros of a part of the host's memory, found by `backend` and in its memory.
///
/// A backend of the host reads the part in place; for another one it is packed without padding and uploaded.
fn compress_from_host<B, A, T, I, O>(
    backend: &B,
    part: DenseView<'_, T>,
) -> Result<Compressed<A, T, SpaceOf<B>, I, O>>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    let ((rows, cols), order) = (part.shape(), part.order());
    if let Some(elements) = SpaceOf::<B>::host_view(part.data()) {
        return compress_whole(
            backend,
            DenseView::new(elements, rows, cols, part.leading_dimension(), order)?,
        );
    }
    let buffer = backend.upload(&dense::pack(part))?;
    let ld = if order == Order::RowMajor { cols } else { rows };
    compress_whole(backend, DenseView::new(SpaceOf::<B>::view(&buffer), rows, cols, ld, order)?)
}
