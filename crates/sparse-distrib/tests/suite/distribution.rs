//! Matrices distributed and collected, by every scheme, partition and orientation.

use super::matrices::{same, slice, ten_by_eight};
use sparse_core::op::{DenseToCsrKernel, ScanKernel};
use sparse_core::{Axis, Col, Compressed, Dense, Order, Row, SparseFormat};
use sparse_distrib::wire::ed2;
use sparse_distrib::{Distribution, Part, Partition, SCHEMES, Transport, collect, distribute};

/// A backend that does all that a distribution needs.
pub(crate) trait Compresses: DenseToCsrKernel<f32, i32, i32> + ScanKernel<i32> {}

impl<B: DenseToCsrKernel<f32, i32, i32> + ScanKernel<i32>> Compresses for B {}

/// Compares this rank's part and what it collects with the oracle, and returns both as bytes.
pub(crate) fn check<A: Axis>(
    transport: &impl Transport,
    backend: &impl Compresses,
    distribution: Distribution,
    matrix: &Dense<f32>,
) -> Vec<u8> {
    let whole = Compressed::<A, f32>::from_dense(matrix.as_view()).unwrap();
    let is_root = transport.rank() == distribution.root;
    let input = is_root.then(|| matrix.as_view());
    let local_part = distribute::<_, _, A, f32, i32, i32>(transport, backend, distribution, input).unwrap();
    assert_eq!(local_part.part, distribution.partition.part(matrix.shape(), transport.rank()));
    let block = local_part.block.to_host(backend).unwrap();
    assert!(same(&block, &slice(&whole, &local_part.part)), "{distribution:?}, rank {}", transport.rank());

    let mut bytes = ed2::encode(&local_part.part, &block).unwrap();
    let collected = collect(transport, backend, distribution, &local_part).unwrap();
    assert_eq!(collected.is_some(), is_root);
    if let Some(collected) = collected {
        assert!(same(&collected, &whole), "{distribution:?}");
        let (rows, cols) = matrix.shape();
        bytes.extend(ed2::encode(&Part { rows: 0..rows, cols: 0..cols }, &collected).unwrap());
    }
    bytes
}

/// Every scheme, partition and orientation, from several roots: the bytes of all parts of this rank and of all that it
/// collects.
pub(crate) fn all(transport: &impl Transport, backend: &impl Compresses) -> Vec<u8> {
    let ranks = transport.ranks();
    let mut bytes = vec![];
    for matrix in [ten_by_eight(), five_by_twenty_one(), Dense::new(vec![], 3, 0, Order::RowMajor).unwrap()] {
        for row_blocks in (1..=ranks).filter(|row_blocks| ranks.is_multiple_of(*row_blocks)) {
            let partition = Partition::mesh(row_blocks, ranks / row_blocks).unwrap();
            for (k, info) in SCHEMES.iter().enumerate() {
                let distribution = Distribution { scheme: info.scheme, partition, root: k % ranks };
                bytes.extend(check::<Row>(transport, backend, distribution, &matrix));
                bytes.extend(check::<Col>(transport, backend, distribution, &matrix));
            }
        }
    }
    bytes
}

/// Columns one after another, with values at which a test for zero could go wrong.
fn five_by_twenty_one() -> Dense<f32> {
    let values = [0.0, 3.0, -0.0, 0.0, f32::NAN, 0.0, f32::from_bits(1), 0.0, f32::NEG_INFINITY, 0.0, 0.0];
    let elements = (0..5 * 21).map(|k| values[k % values.len()]).collect();
    Dense::new(elements, 5, 21, Order::ColMajor).unwrap()
}
