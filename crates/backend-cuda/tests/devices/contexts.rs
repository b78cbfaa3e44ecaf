//! Contexts, and several devices of one process.

use backend_cuda::Device;
use device_tests::Library;
use device_tests::gradients::Gradients;
use sparse_core::op::{Op, SpmvPlan};
use sparse_core::{Backend, Csr, Error, PlanOptions, Space, SparseFormat};

/// A call restores the current context of its thread.
pub(super) fn the_context_of_the_caller_comes_back(library: &Library) {
    type Get = unsafe extern "C" fn(&mut usize) -> i32;
    // SAFETY: it is the driver's library, which the backend has loaded.
    let cuda = ["libcuda.so.1", "nvcuda.dll"]
        .iter()
        .find_map(|name| unsafe { libloading::Library::new(*name) }.ok());
    let cuda = cuda.expect("the driver's library");
    // SAFETY: the function has this type: a context is a pointer.
    let current = || unsafe {
        let mut context = 0;
        assert_eq!(cuda.get::<Get>(b"cuCtxGetCurrent").unwrap()(&mut context), 0);
        context
    };
    let devices: Vec<_> =
        (0..library.probe().devices.len()).map(|index| library.open(index).unwrap()).collect();
    let before = current();
    for backend in devices.iter().chain(&devices) {
        let mut gradients = Gradients::new(backend).unwrap();
        gradients.enqueue(backend).unwrap();
        assert!(gradients.residual(backend).unwrap().is_finite());
        drop(gradients);
        assert_eq!(current(), before);
    }
    drop(devices);
    assert_eq!(current(), before);
}

/// `A·1` on one device, by a plan that runs 100 times.
fn row_sums(backend: &Device, host: &Csr<f32>) -> Vec<f32> {
    let a = host.to_device(backend).unwrap();
    let ones = backend.upload(&vec![1.0_f32; a.ncols()]).unwrap();
    let mut y = backend.zeros::<f32>(a.nrows()).unwrap();
    let options = PlanOptions { expected_calls: 100, ..PlanOptions::default() };
    let mut plan = SpmvPlan::new(backend, &a, Op::None, &options).unwrap();
    for _ in 0..100 {
        plan.run(1.0, &a, Device::view(&ones), 0.0, Device::view_mut(&mut y)).unwrap();
    }
    backend.download(&y).unwrap()
}

pub(super) fn devices_of_one_process_work_side_by_side(library: &Library) {
    let devices: Vec<_> =
        (0..library.probe().devices.len()).map(|index| library.open(index).unwrap()).collect();
    let [first, second, ..] = &devices[..] else {
        eprintln!("{} CUDA devices: nothing stands side by side", devices.len());
        return;
    };
    let host: Csr<f32> = sparse_generate::stencil_5(300, 200).unwrap();
    let mut expected = vec![0.0; host.nrows()];
    host.triplets().for_each(|(row, _, value)| expected[row] += value);
    std::thread::scope(|scope| {
        let host = &host;
        let run = |backend| scope.spawn(move || row_sums(backend, host));
        let threads: Vec<_> = devices.iter().map(run).collect();
        threads.into_iter().for_each(|thread| assert_eq!(thread.join().unwrap(), expected));
    });
    let a = host.to_device(first).unwrap();
    let elsewhere = second.zeros::<f32>(a.ncols()).unwrap();
    let mut y = first.zeros::<f32>(a.nrows()).unwrap();
    let mut plan = SpmvPlan::new(first, &a, Op::None, &PlanOptions::default()).unwrap();
    let error = plan.run(1.0, &a, Device::view(&elsewhere), 0.0, Device::view_mut(&mut y)).unwrap_err();
    assert!(matches!(error, Error::WrongContext { .. }), "{error}");
}
