//! Compression of dense matrices and batches by every algorithm, against the reference.

use crate::operations::spmv;
use crate::{each_device, values};
use sparse_core::op::{DenseToCompressedPlan, DenseToCsrKernel, Keep, Operations};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, Backend, BatchCsr, Csr, Dense, DenseBatchView, Order, PlanOptions, Row, Scalar, Space,
    SparseFormat, c64, f16,
};
use sparse_device::{Device, Library};

/// The algorithms of a compression, the default first.
pub(crate) fn algorithms<T: Scalar>(backend: &Device) -> &'static [Algorithm] {
    DenseToCsrKernel::<T, i32, i32>::dense_to_csr_algorithms(backend)
}

/// A plan allocates by the matrix before: for the same number of entries, some fewer, far fewer, none, and far more.
pub fn a_plan_compresses_matrices_with_more_and_with_fewer_entries(library: &Library) {
    each_device(library, |backend| {
        let (rows, cols) = (130, 300);
        for algorithm in algorithms::<f32>(backend) {
            let mut plan = None;
            for one_in in [10, 10, 11, 400, usize::MAX, 2] {
                let element = |k: usize| if k % one_in == 1 { k as f32 } else { 0.0 };
                let elements: Vec<_> = (0..rows * cols).map(element).collect();
                let host = Dense::<f32>::new(elements, rows, cols, Order::RowMajor).unwrap();
                let data = backend.upload(host.data()).unwrap();
                let device = Dense::<f32, Device>::new(data, rows, cols, Order::RowMajor).unwrap();
                let plan = plan.get_or_insert_with(|| {
                    let options = PlanOptions::forced(algorithm.name).relaxed();
                    DenseToCompressedPlan::new(backend, device.as_view(), Keep::NonZero, &options).unwrap()
                });
                let found: Csr<f32, _> = plan.run(device.as_view()).unwrap();
                let expected = Operations::dense_to_csr(&Reference, host.as_view(), Keep::NonZero).unwrap();
                assert_eq!(found.to_host(backend).unwrap(), expected, "{}: one in {one_in}", algorithm.name);
            }
        }
    });
}

/// A single pass with more tiles than all work-groups have in flight at once, of rows of whole tiles and of others.
pub fn many_tiles_are_compressed_in_a_single_pass(library: &Library) {
    each_device(library, |backend| {
        if !algorithms::<f32>(backend).iter().any(|algorithm| algorithm.name == "look_back") {
            return;
        }
        for (rows, cols) in [(3400, 4096), (3100, 4500)] {
            let element = |k: usize| if k * 7919 % 31 < k % 13 { k as f32 } else { 0.0 };
            let elements: Vec<_> = (0..rows * cols).map(element).collect();
            let host = Dense::<f32>::new(elements, rows, cols, Order::RowMajor).unwrap();
            let data = backend.upload(host.data()).unwrap();
            let device = Dense::<f32, Device>::new(data, rows, cols, Order::RowMajor).unwrap();
            let options = PlanOptions::forced("look_back");
            let mut plan =
                DenseToCompressedPlan::new(backend, device.as_view(), Keep::NonZero, &options).unwrap();
            let expected = Operations::dense_to_csr(&Reference, host.as_view(), Keep::NonZero).unwrap();
            for run in ["a guess of nnz", "the nnz of before"] {
                let found: Csr<f32, _> = plan.run(device.as_view()).unwrap();
                assert!(found.to_host(backend).unwrap() == expected, "{rows} x {cols}, {run}");
            }
        }
    });
}

/// The same for a batch whose rows do not begin at words of 16 bytes, in types of 2, 8 and 16 bytes.
pub fn many_tiles_of_a_batch_are_compressed_in_a_single_pass(library: &Library) {
    each_device(library, |backend| {
        batch_in_a_single_pass::<f16>(backend, (1500, 4501));
        batch_in_a_single_pass::<f64>(backend, (1100, 2301));
        batch_in_a_single_pass::<c64>(backend, (1100, 1501));
    });
}

fn batch_in_a_single_pass<T: Scalar>(backend: &Device, (rows, cols): (usize, usize)) {
    if !algorithms::<T>(backend).iter().any(|algorithm| algorithm.name == "look_back") {
        return;
    }
    let (count, stride) = (3, rows * (cols + 2));
    let element = |k: usize| if k * 7919 % 31 < k % 13 { (k % 61) as f64 + 1.0 } else { 0.0 };
    let elements: Vec<T> = (0..count * stride).map(|k| T::from_c64(element(k).into())).collect();
    let view = |elements| {
        DenseBatchView::new(elements, count, stride, (rows, cols), cols + 2, Order::RowMajor).unwrap()
    };
    let options = PlanOptions::default();
    let mut reference = DenseToCompressedPlan::<_, Row, T, i32, i32>::new(
        &Reference,
        view(&elements[..]),
        Keep::NonZero,
        &options,
    )
    .unwrap();
    let expected: BatchCsr<T> = reference.run_batch(view(&elements[..])).unwrap();
    let uploaded = backend.upload(&elements).unwrap();
    let device =
        DenseBatchView::new(Device::view(&uploaded), count, stride, (rows, cols), cols + 2, Order::RowMajor)
            .unwrap();
    let options = PlanOptions::forced("look_back");
    let mut plan =
        DenseToCompressedPlan::<_, Row, T, i32, i32>::new(backend, device, Keep::NonZero, &options).unwrap();
    let found = plan.run_batch(device).unwrap().to_host(backend).unwrap();
    assert!(found == expected, "{} of {rows} x {cols}", T::DTYPE);
}

/// A batch: compressed, and multiplied by vectors.
pub fn a_batch_of_unequal_members_is_compressed_in_one_launch_and_multiplied(library: &Library) {
    each_device(library, |backend| {
        let (count, rows, cols) = (5, 7, 40);
        let keep = |k: usize| (k * 7919).is_multiple_of(k / (rows * cols) + 2);
        let numbers = values::<f32>(count * rows * cols, 1).into_iter().enumerate();
        let dense: Vec<_> = numbers.map(|(k, value)| if keep(k) { value } else { 0.0 }).collect();
        let host =
            DenseBatchView::new(&dense[..], count, rows * cols, (rows, cols), cols, Order::RowMajor).unwrap();
        let options = PlanOptions::default();
        let plan =
            DenseToCompressedPlan::<_, Row, f32, i32, i64>::new(&Reference, host, Keep::Above(1.5), &options);
        let expected: BatchCsr<f32, _, i32, i64> = plan.unwrap().run_batch(host).unwrap();
        let uploaded = backend.upload(&dense).unwrap();
        let view = Device::view(&uploaded);
        let device =
            DenseBatchView::new(view, count, rows * cols, (rows, cols), cols, Order::RowMajor).unwrap();
        for algorithm in algorithms::<f32>(backend) {
            let options = PlanOptions::forced(algorithm.name).relaxed();
            let plan = DenseToCompressedPlan::<_, Row, f32, i32, i64>::new(
                backend,
                device,
                Keep::Above(1.5),
                &options,
            );
            let found = plan.unwrap().run_batch(device).unwrap().to_host(backend).unwrap();
            assert_eq!(found, expected, "{}", algorithm.name);
        }
        spmv(backend, "a batch", &expected);
    });
}

/// Batches of many small matrices, whose rows do not begin at steps of 32 elements, and matrices without elements.
pub fn many_small_matrices_are_compressed_alike_by_every_algorithm(library: &Library) {
    each_device(library, |backend| {
        for (count, rows, cols) in
            [(300, 5, 3), (70, 1, 1), (9, 3, 100), (40, 8, 8), (3, 64, 64), (4, 3, 0), (4, 0, 3), (0, 3, 3)]
        {
            let all = count * rows * cols;
            let numbers = values::<f32>(all, 1).into_iter().enumerate();
            let dense: Vec<_> =
                numbers.map(|(k, value)| if k * 7919 % 11 % 3 == 0 { value } else { 0.0 }).collect();
            let uploaded = backend.upload(&dense).unwrap();
            for (order, ld) in [(Order::RowMajor, cols), (Order::ColMajor, rows)] {
                let (shape, stride, keep) = ((rows, cols), rows * cols, Keep::NonZero);
                let options = PlanOptions::default();
                let host = DenseBatchView::new(&dense[..], count, stride, shape, ld, order).unwrap();
                let plan =
                    DenseToCompressedPlan::<_, Row, f32, i32, i32>::new(&Reference, host, keep, &options);
                let expected = plan.unwrap().run_batch(host).unwrap();
                let view = Device::view(&uploaded);
                let device = DenseBatchView::new(view, count, stride, shape, ld, order).unwrap();
                for algorithm in algorithms::<f32>(backend) {
                    let options = PlanOptions::forced(algorithm.name).relaxed();
                    let plan =
                        DenseToCompressedPlan::<_, Row, f32, i32, i32>::new(backend, device, keep, &options);
                    let found = plan.unwrap().run_batch(device).unwrap().to_host(backend).unwrap();
                    let what = format!("{}: {count} x {shape:?} {order:?}", algorithm.name);
                    assert_eq!(found, expected, "{what}");
                }
            }
        }
    });
}
