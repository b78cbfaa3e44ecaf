//! Arrays of another library.

use super::graphs::RECORDINGS;
use backend_cuda::PinnedVec;
use cudarc::driver::{CudaContext, CudaSlice, CudaStream, DevicePtr, result, sys};
use device_tests::{Library, foreign};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Row};
use sparse_device::foreign::ForeignArray;
use sparse_distrib::{DeviceStack, DeviceWorker, Engine, Options};
use std::sync::{Arc, PoisonError};

/// Elements in memory that another library has allocated, which that library's stream is still writing.
fn written_late(stream: &Arc<CudaStream>, host: &[f32]) -> CudaSlice<f32> {
    let mut there = stream.alloc_zeros::<f32>(host.len()).unwrap();
    // Work that keeps the stream busy, in front of what is to be waited for.
    let filler = stream.alloc_zeros::<f32>(1 << 28).unwrap();
    let mut other = stream.alloc_zeros::<f32>(1 << 28).unwrap();
    for _ in 0..10 {
        stream.memcpy_dtod(&filler, &mut other).unwrap();
    }
    stream.memcpy_htod(host, &mut there).unwrap();
    there
}

/// The description of a slice from element `first` on, which the work of `stream` so far completes.
fn described(slice: &CudaSlice<f32>, first: usize, shape: &[usize], strides: &[isize]) -> ForeignArray {
    let stream = slice.stream();
    let (address, _guard) = slice.device_ptr(stream);
    let bytes: Vec<isize> = strides.iter().map(|stride| 4 * stride).collect();
    let data = (address as usize + 4 * first, false);
    let stream = Some(stream.cu_stream() as usize);
    ForeignArray::from_cuda_array_interface("<f4", data, shape, Some(&bytes), stream).unwrap()
}

pub(super) fn arrays_of_another_library_are_compressed_where_they_lie(library: &Library) {
    for index in 0..library.probe().devices.len() {
        let backend = library.open(index).unwrap();
        let context = CudaContext::new(index).unwrap();
        // SAFETY: this test orders the streams.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().unwrap();
        let host = foreign::elements(5 * 2100 + 7);
        for (first, shape, strides) in [
            (0, vec![5, 60, 35], vec![2100, 35, 1]),
            (3, vec![5, 58, 31], vec![2100, 36, 1]), // a part of each, from an element within a word on
            (4, vec![5, 29, 60], vec![2100, 1, 35]),
            (7, vec![70, 150], vec![150, 1]),
        ] {
            let there = written_late(&stream, &host);
            let array = described(&there, first, &shape, &strides);
            // SAFETY: the slice outlives the call, and its stream writes nothing behind the copy.
            unsafe { foreign::check_borrowed(&backend, &array, &host[first..]) };
            assert_eq!(stream.clone_dtoh(&there).unwrap(), host);
        }
    }
}

pub(super) fn memory_that_the_device_cannot_use_is_refused(library: &Library) {
    let _alone = RECORDINGS.write().unwrap_or_else(PoisonError::into_inner);
    let backend = library.open(0).unwrap();
    let context = CudaContext::new(0).unwrap();
    let stream = context.new_stream().unwrap();
    let there = stream.clone_htod(&[1.0_f32; 1024]).unwrap();
    let array = described(&there, 0, &[32, 32], &[32, 1]);
    // A pool would round the bytes up.
    // SAFETY: the context is this thread's, and the memory is freed below.
    let exact = unsafe { result::malloc_sync(1000) }.unwrap();
    let host = PinnedVec::<f32>::zeros(&backend, 1024).unwrap();
    let at = |handle: usize| ForeignArray { handle, stream: None, ..array.clone() };
    let refused = |array: ForeignArray, reason: &str| {
        // SAFETY: memory that is not refused is alive.
        let reported = unsafe { foreign::refusal(&backend, &array) };
        assert!(reported.contains(reason), "{reported}");
    };
    refused(at(exact as usize), "pass the end of their allocation, 1000 bytes");
    refused(at(host.as_ptr() as usize), "not an address in a CUDA device's memory");
    refused(at(vec![0.0_f32; 1024].as_ptr() as usize), "not an address in a CUDA device's memory");
    refused(ForeignArray { byte_offset: 2, shape: vec![31, 32], ..array.clone() }, "not aligned to 4");
    // A context of its own, as no runtime makes one.
    let mut own = std::ptr::null_mut();
    // SAFETY: the output is a live variable, and the context is this thread's until it is destroyed.
    let foreign = unsafe {
        sys::cuCtxCreate_v2(&raw mut own, 0, 0).result().unwrap();
        let foreign = result::malloc_sync(4096).unwrap();
        refused(at(foreign as usize), "another context than the primary one");
        foreign
    };
    // SAFETY: both were made above, and nothing uses them.
    unsafe {
        result::free_sync(foreign).unwrap();
        sys::cuCtxDestroy_v2(own).result().unwrap();
        context.bind_to_thread().unwrap();
        result::free_sync(exact).unwrap();
    }
    if library.probe().devices.len() > 1 {
        let second = CudaContext::new(1).unwrap();
        let elsewhere = second.default_stream().clone_htod(&[1.0_f32; 1024]).unwrap();
        let array = ForeignArray { stream: None, ..described(&elsewhere, 0, &[32, 32], &[32, 1]) };
        refused(array, "memory of CUDA device 1, not 0");
    }
}

/// 1000 matrices of 1024 x 1024 that another library has allocated; `performance.md` has the rates of the device.
pub(super) fn a_thousand_matrices_in_memory_are_compressed_at_its_rate(library: &Library) {
    const COUNT: usize = 1000;
    const SIDE: usize = 1024;
    let backend = library.open(0).unwrap();
    if backend.caps().memory_bytes.is_none_or(|bytes| bytes < 40 << 30) {
        eprintln!("{}: too little memory for 1000 matrices of 4 MiB", backend.caps().device);
        return;
    }
    let stream = CudaContext::new(0).unwrap().new_stream().unwrap();
    for per_mille in [10, 100, 500] {
        // 32 bits of a product that look random.
        let number = |k: usize| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let is_entry = |k: usize| (number(k) * 1000) >> 32 < per_mille;
        let draw = |k: usize| if is_entry(k) { 1.0 + (k % 7) as f32 } else { 0.0 };
        let some: Vec<f32> = (0..8 * SIDE * SIDE).map(draw).collect();
        let mut all = stream.alloc_zeros::<f32>(COUNT * SIDE * SIDE).unwrap();
        for group in 0..COUNT / 8 {
            let mut target = all.slice_mut(group * some.len()..(group + 1) * some.len());
            stream.memcpy_htod(&some, &mut target).unwrap();
        }
        let array = described(&all, 0, &[COUNT, SIDE, SIDE], &[(SIDE * SIDE) as isize, SIDE as isize, 1]);
        // SAFETY: the slice outlives the stack, and nobody writes it.
        let stack = unsafe { backend.borrow_stack::<f32>(&array) }.unwrap();
        let source =
            DeviceStack::<_, f32>::packed(backend.clone(), stack.buffer(), COUNT, (SIDE, SIDE)).unwrap();
        let mut engine = Engine::<f32>::new(vec![Box::new(DeviceWorker::new(backend.clone()))]).unwrap();
        let mut seconds: Vec<f64> = vec![];
        for _ in 0..10 {
            let outcome = engine.compress::<Row>(&source, &Options::default()).unwrap();
            let (handle, report) = outcome.complete().unwrap();
            assert_eq!(report.nnz, 125 * some.iter().filter(|&&element| element != 0.0).count() as u64);
            seconds.push(report.seconds);
            if seconds.len() == 1 {
                let mut alone = Engine::<f32>::new(vec![Box::new(DeviceWorker::new(Reference))]).unwrap();
                let batch = sparse_core::DenseView::row_major(&some[..SIDE * SIDE], SIDE, SIDE).unwrap();
                let expected = alone.compress::<Row>(&vec![batch], &Options::default()).unwrap().handle;
                assert!(handle.fetch(992).unwrap() == expected.fetch(0).unwrap());
            }
        }
        seconds.sort_by(f64::total_cmp);
        eprintln!(
            "1000 of 1024 x 1024 with {} %: {:.2} ms at best, {:.2} ms in the middle",
            per_mille as f64 / 10.0,
            1e3 * seconds[0],
            1e3 * seconds[5]
        );
    }
}
