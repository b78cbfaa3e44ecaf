//! Contexts: operands of another one are refused, and several of them work side by side.

use crate::{each_device, values};
use sparse_core::op::{Keep, Op, Operations, SpmvPlan};
use sparse_core::reference::Reference;
use sparse_core::{
    Backend, BatchCsr, Coo, Csr, DenseView, Ell, EllLayout, Error, Hyb, HybWidth, Order, PlanOptions, Result,
    Scalar, Sell, SellLayout, Space, SparseFormat, c32, c64, f16,
};
use sparse_device::{Device, Library};
use sparse_generate::stencil_5;
use std::fmt::Debug;
use std::thread;

/// Asserts that an operation names the operand of another context.
fn is_of_another_context<T: Debug>(result: Result<T>, what: &str) {
    assert!(matches!(result, Err(Error::WrongContext { .. })), "{what}: {result:?}");
}

/// Copies between unequal lengths and other contexts are errors that leave their target as it was.
pub fn copies_are_checked_before_anything_is_written(library: &Library) {
    each_device(library, |backend| {
        let other = library.open_preferred().unwrap();
        let (four, elsewhere) =
            (backend.upload(&[1_i32, 2, 3, 4]).unwrap(), other.upload(&[9_i32; 4]).unwrap());
        for len in [3, 5] {
            let mut host = vec![7; len];
            let read = backend.download_into(Device::view(&four), &mut host);
            assert!(matches!(read, Err(Error::Shape { op: "download", .. })), "{len}: {read:?}");
            assert_eq!(host, vec![7; len]);
            let mut target = backend.upload(&host).unwrap();
            let copied = backend.copy(Device::view(&four), Device::view_mut(&mut target));
            assert!(matches!(copied, Err(Error::Shape { op: "copy", .. })), "{len}: {copied:?}");
            assert_eq!(backend.download(&target).unwrap(), host);
        }
        let mut host = [7; 4];
        is_of_another_context(backend.download_into(Device::view(&elsewhere), &mut host), "download");
        assert_eq!(host, [7; 4]);
        let mut target = backend.upload(&host).unwrap();
        is_of_another_context(
            backend.copy(Device::view(&elsewhere), Device::view_mut(&mut target)),
            "copy from",
        );
        assert_eq!(backend.download(&target).unwrap(), host);
        is_of_another_context(other.copy(Device::view(&elsewhere), Device::view_mut(&mut target)), "copy to");
        assert_eq!(backend.download(&target).unwrap(), host);
    });
}

/// Values of another context than the pattern's are refused, in every format.
pub fn values_of_another_context_are_refused(library: &Library) {
    let csr: Csr<f32> = stencil_5(6, 5).unwrap();
    let coo: Coo<f32> = Coo::from_triplets(30, 30, csr.triplets()).unwrap();
    let ell: Ell<f32> = Operations::convert(&Reference, &csr, &EllLayout::default()).unwrap();
    let hyb: Hyb<f32> = Operations::convert(&Reference, &csr, &HybWidth::Width(3)).unwrap();
    let sell: Sell<f32> = Operations::convert(&Reference, &csr, &SellLayout::default()).unwrap();
    let (offsets, indices, numbers) = csr.clone().into_parts();
    let batch = BatchCsr::new((30, 30), vec![0, indices.len()], offsets, indices, numbers).unwrap();
    each_device(library, |backend| {
        let other = library.open_preferred().unwrap();
        let elsewhere = |len: usize| other.upload(&values::<f32>(len, 1)).unwrap();
        let here = |len: usize| backend.upload(&values::<f32>(len, 1)).unwrap();
        let a = csr.to_device(backend).unwrap();
        is_of_another_context(a.with_values(elsewhere(a.nnz())), "csr");
        let pattern = a.pattern().clone();
        is_of_another_context(Csr::<f32, Device>::from_pattern(pattern, elsewhere(a.nnz())), "a pattern");
        assert!(a.with_values(here(a.nnz())).is_ok());
        let a = coo.to_device(backend).unwrap();
        is_of_another_context(a.with_values(elsewhere(a.nnz())), "coo");
        let a = ell.to_device(backend).unwrap();
        is_of_another_context(a.with_values(elsewhere(ell.values().len())), "ell");
        let a = sell.to_device(backend).unwrap();
        is_of_another_context(a.with_values(elsewhere(sell.values().len())), "sell");
        let a = batch.to_device(backend).unwrap();
        is_of_another_context(a.with_values(elsewhere(batch.nnz())), "batch");
        let a = hyb.to_device(backend).unwrap();
        let (slots, overflow) = (hyb.ell().values().len(), hyb.coo().nnz());
        is_of_another_context(a.with_values(elsewhere(slots), here(overflow)), "the ell part");
        is_of_another_context(a.with_values(here(slots), elsewhere(overflow)), "the coo part");
    });
}

/// A driver reads only memory of its own context, and none past its end.
pub fn memory_of_another_context_is_refused(library: &Library) {
    each_device(library, |backend| {
        let other = library.open_preferred().unwrap();
        let (own, elsewhere) = (backend.upload(&[1_u64; 8]).unwrap(), other.upload(&[1_u64; 8]).unwrap());
        let mut host = [7; 8];
        let (memory, _) = Device::view(&elsewhere).place();
        let read = backend.driver().read(memory, 0, &mut host);
        assert!(matches!(read, Err(Error::Unsupported { .. })), "{read:?}");
        let (memory, _) = Device::view(&own).place();
        for offset in [57, 64, usize::MAX - 7, usize::MAX] {
            let read = backend.driver().read(memory, offset, &mut host);
            assert!(matches!(read, Err(Error::Shape { .. })), "{offset}: {read:?}");
        }
        assert_eq!(host, [7; 8]);
    });
}

/// A product on a device, repeated.
struct Product<'a> {
    backend: &'a Device,
    a: Csr<f32, Device>,
    x: sparse_device::Buffer<f32>,
    y: sparse_device::Buffer<f32>,
    plan: SpmvPlan<Device, Csr<f32, Device>>,
    expected: Vec<f32>,
}

impl<'a> Product<'a> {
    fn new(backend: &'a Device, seed: usize) -> Self {
        let host: Csr<f32> = stencil_5(20 + seed, 30).unwrap();
        let x = values::<f32>(host.ncols(), seed);
        let mut expected = vec![0.0; host.nrows()];
        host.triplets().for_each(|(row, col, value)| expected[row] += value * x[col]);
        let a = host.to_device(backend).unwrap();
        Self {
            backend,
            x: backend.upload(&x).unwrap(),
            y: backend.upload(&vec![f32::NAN; host.nrows()]).unwrap(),
            plan: SpmvPlan::new(backend, &a, Op::None, &PlanOptions::default()).unwrap(),
            a,
            expected,
        }
    }

    fn enqueue(&mut self) {
        let (x, y) = (Device::view(&self.x), Device::view_mut(&mut self.y));
        self.plan.run(1.0, &self.a, x, 0.0, y).unwrap();
    }

    fn check(&self, what: &str) {
        assert_eq!(self.backend.download(&self.y).unwrap(), self.expected, "{what}");
    }
}

/// Two devices, or two contexts of one, work in one thread in turns.
pub fn two_devices_in_one_thread_take_turns(library: &Library) {
    let last = library.probe().devices.len() - 1;
    let (first, second) = (library.open(0).unwrap(), library.open(last).unwrap());
    let mut products = [Product::new(&first, 1), Product::new(&second, 2), Product::new(&first, 3)];
    for round in 0..5 {
        products.iter_mut().for_each(Product::enqueue);
        for (position, product) in products.iter().enumerate() {
            product.check(&format!("product {position} of round {round}"));
        }
        let (zeros, ones) = (first.zeros::<u8>(100).unwrap(), second.upload(&[1_u8; 100]).unwrap());
        assert_eq!(second.download(&ones).unwrap(), [1; 100]);
        assert_eq!(first.download(&zeros).unwrap(), [0; 100]);
    }
}

/// Threads that share a device see their own results.
pub fn eight_threads_share_a_device(library: &Library) {
    each_device(library, |backend| {
        thread::scope(|scope| {
            for seed in 0..8 {
                scope.spawn(move || {
                    for round in 0..3 {
                        let mut product = Product::new(backend, seed);
                        product.enqueue();
                        product.check(&format!("thread {seed} in round {round}"));
                    }
                });
            }
        });
    });
}

/// A device that is dropped with work in its queue, and with memory that outlives it, takes nothing else with it.
pub fn a_device_is_dropped_with_work_in_its_queue(library: &Library) {
    for index in 0..library.probe().devices.len() {
        for round in 0..5 {
            let device = library.open(index).unwrap();
            let mut product = Product::new(&device, round);
            (0..50).for_each(|_| product.enqueue());
            let Product { y, .. } = product;
            drop(device);
            drop(y);
        }
        let device = library.open(index).unwrap();
        let mut product = Product::new(&device, 1);
        product.enqueue();
        product.check("after devices that were dropped");
    }
}

/// Compresses a dense matrix of 200 rows, with every third value a zero, as often as a race needs.
fn compress<T: Scalar>(backend: &Device) {
    let (rows, cols) = (200, 333);
    let mut dense = values::<T>(rows * cols, 1);
    dense.iter_mut().step_by(3).for_each(|value| *value = T::ZERO);
    let expected = dense.iter().filter(|value| !value.is_zero()).count();
    let a = backend.upload(&dense).unwrap();
    for _ in 0..3 {
        let view = || DenseView::new(Device::view(&a), rows, cols, cols, Order::RowMajor).unwrap();
        let made: Csr<T, Device> = backend.dense_to_csr(view(), Keep::NonZero).unwrap();
        assert_eq!(made.nnz(), expected, "{}", T::DTYPE);
    }
}

/// Plans of several types request dynamic shared memory of their own size at the same time.
pub fn plans_of_several_types_compress_at_once(library: &Library) {
    each_device(library, |backend| {
        thread::scope(|scope| {
            scope.spawn(|| compress::<f16>(backend));
            scope.spawn(|| compress::<f32>(backend));
            scope.spawn(|| compress::<c32>(backend));
            if backend.caps().f64 {
                scope.spawn(|| compress::<f64>(backend));
                scope.spawn(|| compress::<c64>(backend));
            }
        });
    });
}
