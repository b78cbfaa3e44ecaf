//! The engine against the compression of each matrix by itself: any shapes, policies, schemes and devices.

use crate::common::{cases, matrices, partitions};
use crate::faulty::{Faults, FaultyWorker, Step};
use crate::suite::matrices::same;
use proptest::prelude::*;
use sparse_core::reference::Reference;
use sparse_core::{Axis, Col, Compressed, Dense, DenseBatchView, DenseView, Order, Row};
use sparse_distrib::schedule::Policy;
use sparse_distrib::{
    DeviceWorker, Engine, Generated, Handle, NpySource, Options, Outcome, Parallelism, Partition, Progress,
    Scheme, Source, Worker,
};
use std::sync::Mutex;
use std::time::Duration;

pub(crate) const POLICIES: [Option<Policy>; 6] = [
    None,
    Some(Policy::Type1),
    Some(Policy::Type2ByCount),
    Some(Policy::Type2ByBytes),
    Some(Policy::Lpt),
    Some(Policy::Pull { chunk_bytes: 320 }),
];

pub(crate) const SCHEMES: [Option<Scheme>; 6] =
    [None, Some(Scheme::Sfc), Some(Scheme::Cfs), Some(Scheme::Ed1), Some(Scheme::Ed2), Some(Scheme::Bitmap)];

pub(crate) type Workers = Vec<Box<dyn Worker<f32, i32, i32>>>;

pub(crate) fn reference(name: &str) -> Box<dyn Worker<f32, i32, i32>> {
    Box::new(DeviceWorker::new(Reference).named(name).with_budget(1 << 30).with_rate(1e9))
}

/// Twenty matrices of 4 x 6 with up to 23 entries each.
pub(crate) fn twenty() -> Vec<Dense<f32>> {
    let element = |k: usize, at: usize| if (at * 7 + k) % 24 < k { (at + 1) as f32 } else { 0.0 };
    let elements = |k| (0..24).map(|at| element(k, at)).collect();
    (0..20).map(|k| Dense::new(elements(k), 4, 6, Order::RowMajor).unwrap()).collect()
}

pub(crate) fn views(matrices: &[Dense<f32>]) -> Vec<DenseView<'_, f32>> {
    matrices.iter().map(Dense::as_view).collect()
}

pub(crate) fn options(policy: Option<Policy>) -> Options<'static, f32> {
    Options { policy, chunk_bytes: 320, patience: Duration::ZERO, ..Options::default() }
}

pub(crate) fn compress<A: Axis>(
    workers: Workers,
    matrices: &[Dense<f32>],
    options: &Options<'_, f32>,
) -> Outcome<A, f32, i32, i32> {
    Engine::new(workers).unwrap().compress(&views(matrices), options).unwrap()
}

/// Every finished matrix has the bytes of its own compression.
pub(crate) fn check<A: Axis>(handle: &Handle<A, f32>, matrices: &[Dense<f32>]) {
    assert_eq!(handle.len(), matrices.len());
    for item in handle.finished() {
        let alone = Compressed::<A, f32>::from_dense(matrices[item].as_view()).unwrap();
        assert!(same(&handle.fetch(item).unwrap(), &alone), "matrix {item}");
        assert_eq!(handle.nnz(item), Some(alone.values().len()));
    }
}

/// All matrices are there, with their bytes.
pub(crate) fn check_all<A: Axis>(
    outcome: Outcome<A, f32, i32, i32>,
    matrices: &[Dense<f32>],
) -> sparse_distrib::Report {
    let (handle, report) = outcome.complete().unwrap();
    check(&handle, matrices);
    assert_eq!((handle.finished().count(), report.items), (matrices.len(), matrices.len()));
    let parts = (0..handle.len()).map(|matrix| handle.partition(matrix).parts()).sum::<usize>();
    assert_eq!(
        (report.bytes_out, report.devices.iter().map(|device| device.items).sum::<usize>()),
        (handle.bytes(), parts)
    );
    report
}

/// Matrices of five shapes and any density, so that many have the same shape.
fn of_few_shapes() -> impl Strategy<Value = Dense<f32>> {
    let shapes = prop::sample::select(&[(0, 5), (5, 0), (1, 9), (9, 1), (4, 6)][..]);
    let percents = prop::sample::select(&[0_u8, 1, 10, 50, 100][..]);
    (shapes, percents).prop_flat_map(|((rows, cols), percent)| {
        let element = (0_u8..100).prop_map(move |n| if n < percent { f32::from(n + 1) } else { 0.0 });
        let elements = prop::collection::vec(element, rows * cols);
        elements.prop_map(move |elements| Dense::new(elements, rows, cols, Order::RowMajor).unwrap())
    })
}

/// Amounts of matrices: a few of any shapes, or many of which some have the same.
pub(crate) fn amounts() -> impl Strategy<Value = Vec<Dense<f32>>> {
    prop_oneof![prop::collection::vec(matrices(), 0..12), prop::collection::vec(of_few_shapes(), 1..60)]
}

proptest! {
    #![proptest_config(cases(40))]

    #[test]
    fn policies_and_devices_change_nothing(
        matrices in amounts(),
        policy in prop::sample::select(&POLICIES[..]),
        scheme in prop::sample::select(&SCHEMES[..]),
        partition in prop::option::of(partitions()),
        devices in 1_usize..5,
        slots in 0_usize..3,
        parallelism in prop::sample::select(&Parallelism::ALL[..]),
    ) {
        let options = Options { scheme, partition, slots, parallelism, ..options(policy) };
        let workers = || (0..devices).map(|k| reference(&k.to_string())).collect();
        check_all(compress::<Row>(workers(), &matrices, &options), &matrices);
        check_all(compress::<Col>(workers(), &matrices, &options), &matrices);
    }
}

#[test]
fn a_plan_serves_all_chunks_of_one_shape() {
    let matrices = twenty();
    let faults = Faults::none();
    let workers = vec![FaultyWorker::boxed("only", &faults, 1 << 20)];
    check_all(compress::<Row>(workers, &matrices, &options(Some(Policy::Lpt))), &matrices);
    assert_eq!((faults.count(Step::Kernel), faults.count(Step::Plan)), (10, 1));
}

#[test]
fn progress_rises_to_the_whole() {
    let (matrices, seen) = (twenty(), Mutex::new(vec![]));
    let progress = |progress: Progress| seen.lock().unwrap().push(progress);
    let options = Options { progress: Some(&progress), ..options(None) };
    check_all(compress::<Row>(vec![reference("a"), reference("b")], &matrices, &options), &matrices);
    let seen = seen.into_inner().unwrap();
    assert!(seen.is_sorted_by(|a, b| a.items < b.items && a.bytes < b.bytes && a.elapsed <= b.elapsed));
    let last = seen.last().unwrap();
    assert_eq!((last.items, last.bytes, last.remaining()), (20, 20 * 96, Some(Duration::ZERO)));
}

/// The matrices of a source, in rows.
fn read(source: &dyn Source<f32>) -> Vec<Dense<f32>> {
    let read = |item| {
        let (rows, cols) = source.shape(item);
        let mut elements = vec![f32::NAN; rows * cols];
        source.fill(item, &mut elements).unwrap();
        Dense::new(elements, rows, cols, source.order(item)).unwrap()
    };
    (0..source.len()).map(read).collect()
}

#[test]
fn sources_agree_on_the_same_matrices() {
    // Three matrices of 2 x 4: in memory with padding, in one file of either order, and in a folder.
    let at = |k: usize, i: usize, j: usize| (100 * k + 10 * i + j) as f32;
    let folder = tempfile::tempdir().unwrap();
    let c_order: Vec<f32> = (0..24).map(|n| at(n / 8, n / 4 % 2, n % 4)).collect();
    let fortran: Vec<f64> = (0..24).map(|n| at(n % 3, n / 3 % 2, n / 6).into()).collect();
    let (c_path, f_path) = (folder.path().join("c.npy"), folder.path().join("f.npy"));
    sparse_io::npy::write(&c_path, &c_order, &[3, 2, 4], Order::RowMajor).unwrap();
    sparse_io::npy::write(&f_path, &fortran, &[3, 2, 4], Order::ColMajor).unwrap();
    let singles = folder.path().join("singles");
    std::fs::create_dir(&singles).unwrap();
    for k in 0..3 {
        let elements: Vec<f32> = (0..8).map(|n| at(k, n % 2, n / 2)).collect();
        sparse_io::npy::write(&singles.join(format!("{k}.npy")), &elements, &[2, 4], Order::ColMajor)
            .unwrap();
    }
    let padded: Vec<f32> =
        (0..33).map(|n| if n % 11 < 10 { at(n / 11, n % 11 / 5, n % 11 % 5) } else { -1.0 }).collect();
    let generated = Generated::new(vec![(2, 4); 3], |k, elements: &mut [f32]| {
        elements.iter_mut().enumerate().for_each(|(n, element)| *element = at(k, n / 4, n % 4));
        Ok(())
    });
    let sources: [Box<dyn Source<f32>>; 5] = [
        Box::new(generated),
        Box::new(DenseBatchView::new(&padded[..], 3, 11, (2, 4), 5, Order::RowMajor).unwrap()),
        Box::new(NpySource::open(&c_path).unwrap()),
        Box::new(NpySource::open(&f_path).unwrap()),
        Box::new(NpySource::open_folder(&singles).unwrap()),
    ];
    for source in &sources {
        let found = read(source.as_ref());
        assert_eq!(found.len(), 3);
        for (k, matrix) in found.iter().enumerate() {
            for (i, j) in (0..2).flat_map(|i| (0..4).map(move |j| (i, j))) {
                assert_eq!(matrix.at(i, j), at(k, i, j));
            }
            for part in Partition::mesh(2, 3).unwrap().iter((2, 4)) {
                let mut elements = vec![f32::NAN; part.rows.len() * part.cols.len()];
                source.fill_part(k, &part, &mut elements).unwrap();
                let (rows, cols) = part.shape();
                let found = Dense::new(elements, rows, cols, source.order(k)).unwrap();
                let positions = (0..rows).flat_map(|i| (0..cols).map(move |j| (i, j)));
                assert!(
                    positions
                        .into_iter()
                        .all(|(i, j)| { found.at(i, j) == at(k, part.rows.start + i, part.cols.start + j) })
                );
            }
        }
    }
    std::fs::write(singles.join("short.npy"), &std::fs::read(&c_path).unwrap()[..200]).unwrap();
    assert!(NpySource::open_folder(&singles).unwrap_err().to_string().contains("short.npy"));
    assert!(NpySource::open_folder(folder.path().join("none")).is_err());
}
