//! A process that ends while the device has work, or the runtime still compiles a kernel for it, ends as it should.
#![cfg(target_os = "linux")]

use backend_opencl::{Device, OPENCL};
use sparse_core::op::{Op, SpmvPlan};
use sparse_core::{Backend, Csr, Error, PlanOptions, Space, SparseFormat};
use std::process::Command;

/// Set in the processes that end early.
const CHILD: &str = "NNZ_ENDS_EARLY";

/// Processes, each with an empty compiler cache.
const RUNS: usize = 2;

/// Enqueues products, is refused an operand, and leaves.
fn ends_early() {
    for index in 0..OPENCL.probe().devices.len() {
        let device = OPENCL.open(index).unwrap();
        let a = sparse_generate::stencil_5::<f32>(100, 100).unwrap().to_device(&device).unwrap();
        let x = device.upload(&vec![1.0_f32; a.ncols()]).unwrap();
        let mut y = device.zeros::<f32>(a.nrows()).unwrap();
        let mut plan =
            SpmvPlan::<Device, Csr<f32, Device>>::new(&device, &a, Op::None, &PlanOptions::default())
                .unwrap();
        for _ in 0..20 {
            plan.run(1.0, &a, Device::view(&x), 0.0, Device::view_mut(&mut y)).unwrap();
        }
        let short = Device::slice(Device::view(&x), 0..3);
        let refused = plan.run(1.0, &a, short, 0.0, Device::view_mut(&mut y));
        assert!(matches!(refused, Err(Error::Shape { .. })), "{refused:?}");
    }
}

#[test]
fn a_process_that_ends_early_ends_well() {
    if std::env::var_os(CHILD).is_some() {
        return ends_early();
    }
    for run in 0..RUNS {
        let cache = tempfile::tempdir().unwrap();
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.env(CHILD, "1").env("POCL_CACHE_DIR", cache.path());
        let output = child.output().unwrap();
        assert!(output.status.success(), "run {run}: {}: {output:?}", output.status);
    }
}
