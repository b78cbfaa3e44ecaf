//! Matrices that ranks compress together, against those of one rank alone.

use super::matrices::{dense, same, ten_by_eight};
use sparse_core::reference::Reference;
use sparse_core::{Axis, Col, Compressed, Dense, Order, Row};
use sparse_distrib::{DeviceWorker, Engine, Options, Partition, Scheme, Transport};

/// Whole matrices, and matrices in parts by rows, columns and meshes, in both orientations.
pub(crate) fn all(transport: &impl Transport) {
    let empty = Dense::new(vec![], 0, 3, Order::RowMajor).unwrap();
    let column = Dense::new(vec![0.0, 2.0, -0.0, 3.0], 4, 1, Order::ColMajor).unwrap();
    let matrices = [ten_by_eight(), dense(4, 6, &[(1, 5, 7.0)]), empty, ten_by_eight(), column];
    let partitions = [None, Some(Partition::rows(3)), Some(Partition::cols(2)), Some(Partition::mesh(2, 2))];
    for (partition, scheme) in partitions.into_iter().zip([None, Some(Scheme::Ed2), None, Some(Scheme::Cfs)])
    {
        let partition = partition.map(Result::unwrap);
        check::<Row>(transport, &matrices, partition, scheme);
        check::<Col>(transport, &matrices[..2], partition, scheme);
    }
    check::<Row>(transport, &[], None, None);
}

fn check<A: Axis>(
    transport: &impl Transport,
    matrices: &[Dense<f32>],
    partition: Option<Partition>,
    scheme: Option<Scheme>,
) {
    let source: Vec<_> = matrices.iter().map(Dense::as_view).collect();
    let mut engine = Engine::<f32>::new(vec![Box::new(DeviceWorker::new(Reference))]).unwrap();
    let options = Options { partition, scheme, ..Options::default() };
    let (set, report) = engine.compress_on_ranks::<A>(transport, &source, &options).unwrap();
    assert!(report.unfinished.is_empty());
    assert_eq!(set.is_some(), transport.rank() == 0);
    let Some(set) = set else { return };
    assert_eq!(set.len(), matrices.len());
    for (k, matrix) in matrices.iter().enumerate() {
        let alone = Compressed::<A, f32>::from_dense(matrix.as_view()).unwrap();
        assert!(same(&set.fetch(k).unwrap(), &alone), "matrix {k}, {partition:?}");
        assert_eq!((set.nnz(k), set.placement(k)), (Some(alone.nnz()), Some("host")));
        assert_eq!(set.partition(k).parts(), partition.map_or(1, |partition| partition.parts()));
    }
}
