//! The test of events, for OpenCL's queues and for SYCL's.

use backend_opencl::Device;
use device_tests::Library;
use sparse_core::{Backend, Error, Result, Space};

/// Checks that events tell the time of copies on a queue that `open` opens with a clock, and fail on one without.
pub(crate) fn check_events<E>(
    library: &Library,
    open: impl Fn(usize) -> Result<Device>,
    record: impl Fn(&Device) -> Result<E>,
    seconds_since: impl Fn(&E, &E) -> Result<f64>,
) {
    for index in 0..library.probe().devices.len() {
        let backend = open(index).unwrap();
        let from = backend.zeros::<u64>(1 << 20).unwrap();
        let mut to = backend.zeros::<u64>(1 << 20).unwrap();
        let start = record(&backend).unwrap();
        backend.copy(Device::view(&from), Device::view_mut(&mut to)).unwrap();
        let middle = record(&backend).unwrap();
        backend.copy(Device::view(&from), Device::view_mut(&mut to)).unwrap();
        let end = record(&backend).unwrap();
        let [first, both] = [&middle, &end].map(|event| seconds_since(event, &start).unwrap());
        assert!(0.0 < first && first < both && both < 60.0, "{first} s and {both} s");

        let without = library.open(index).unwrap();
        let start = record(&without).unwrap();
        assert!(matches!(seconds_since(&record(&without).unwrap(), &start), Err(Error::Backend { .. })));
    }
}
