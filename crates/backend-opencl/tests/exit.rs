//! A process that ends while the device has work, or the runtime still compiles a kernel for it, ends as it should, and
//! so does one that was forked meanwhile.
#![cfg(target_os = "linux")]

use backend_opencl::{Device, OPENCL};
use sparse_core::op::{Op, SpmvPlan};
use sparse_core::{Backend, Csr, Error, PlanOptions, Space, SparseFormat};
use std::process::Command;
use std::ptr;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Set in the processes that end early.
const CHILD: &str = "NNZ_ENDS_EARLY";

/// Processes, each with an empty compiler cache.
const RUNS: usize = 2;

/// The longest time that a forked process may take to end.
const PATIENCE: Duration = Duration::from_secs(60);

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

/// True if a child of this process ended by itself without a failure.
fn ends(child: libc::pid_t) -> bool {
    let (mut status, start) = (0, Instant::now());
    while start.elapsed() < PATIENCE {
        // SAFETY: the status may be written.
        if unsafe { libc::waitpid(child, &raw mut status, libc::WNOHANG) } == child {
            return libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0;
        }
        sleep(Duration::from_millis(10));
    }
    // SAFETY: the child has not ended, so that its number is still its own.
    unsafe {
        libc::kill(child, libc::SIGKILL);
        libc::waitpid(child, ptr::null_mut(), 0);
    }
    false
}

#[test]
fn a_device_that_is_dropped_in_a_forked_process_waits_for_nothing() {
    for index in 0..OPENCL.probe().devices.len() {
        let device = OPENCL.open(index).unwrap();
        let a = sparse_generate::stencil_5::<f32>(300, 300).unwrap().to_device(&device).unwrap();
        let x = device.upload(&vec![1.0_f32; a.ncols()]).unwrap();
        let mut y = device.zeros::<f32>(a.nrows()).unwrap();
        let options = PlanOptions::default();
        let mut plan = SpmvPlan::<Device, Csr<f32, Device>>::new(&device, &a, Op::None, &options).unwrap();
        for _ in 0..200 {
            plan.run(1.0, &a, Device::view(&x), 0.0, Device::view_mut(&mut y)).unwrap();
        }
        // SAFETY: the child frees memory, which the allocator allows it, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop((plan, a, x, y, device));
            // SAFETY: nothing is run at the end of the process.
            unsafe { libc::_exit(0) };
        }
        assert!(ends(child), "device {index}");
    }
}
