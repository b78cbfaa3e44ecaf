//! Arrays of another library.

use super::{context, with_stand_in, works};
use backend_cuda::{CUDA, Device, Event, Graph, PinnedVec, address, borrow, stream, synchronize_all};
use sparse_core::{Backend, DType, Error, Space};
use sparse_device::foreign::{ForeignArray, MemoryKind};
use std::sync::Arc;

/// A stream and memory of `bytes` bytes, as another library makes them in the context of device `index`.
fn allocated_elsewhere(index: usize, bytes: usize) -> (usize, usize) {
    // SAFETY: the stand-in is loaded, and its functions have these types.
    unsafe {
        let library = libloading::Library::new("libcuda.so").unwrap();
        let retain: libloading::Symbol<'_, extern "C" fn(&mut usize, i32) -> i32> =
            library.get(b"cuDevicePrimaryCtxRetain").unwrap();
        let create: libloading::Symbol<'_, extern "C" fn(&mut usize, u32) -> i32> =
            library.get(b"cuStreamCreate").unwrap();
        let allocate: libloading::Symbol<'_, extern "C" fn(&mut usize, usize, usize) -> i32> =
            library.get(b"cuMemAllocAsync").unwrap();
        let (mut primary, mut stream, mut memory) = (0, 0, 0);
        assert_eq!(retain(&mut primary, index as i32), 0);
        context(Some(primary));
        assert_eq!((create(&mut stream, 1), allocate(&mut memory, bytes, stream)), (0, 0));
        context(Some(0));
        (stream, memory)
    }
}

#[test]
fn memory_of_another_library_is_used_and_never_freed() {
    with_stand_in("memory_of_another_library_is_used_and_never_freed", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        let (stream, memory) = allocated_elsewhere(0, 400);
        let numbers: Vec<f32> = (0_u8..100).map(f32::from).collect();
        // SAFETY: the stand-in's memory is the host's.
        unsafe { std::ptr::copy_nonoverlapping(numbers.as_ptr(), memory as *mut f32, 100) };
        let array = ForeignArray {
            memory: MemoryKind::Cuda,
            device: 0,
            handle: memory,
            byte_offset: 12,
            dtype: DType::F32,
            shape: vec![2, 4, 5],
            strides: Some(vec![48, 8, 1]),
            is_read_only: true,
            stream: Some(stream),
        };
        for _ in 0..2 {
            // SAFETY: the memory is never freed.
            let stack = unsafe { device.borrow_stack::<f32>(&array) }.unwrap();
            let view = stack.view().unwrap();
            let mut found = vec![0.0; 29];
            device.download_into(Device::slice(view.data(), 48..77), &mut found).unwrap();
            assert_eq!(found, numbers[51..80]);
        }
        works(&device);

        let (_, elsewhere) = allocated_elsewhere(1, 400);
        let pinned = PinnedVec::<f32>::zeros(&device, 100).unwrap();
        let at = |handle: usize| ForeignArray { handle, stream: None, ..array.clone() };
        for (wrong, reason) in [
            (
                ForeignArray { byte_offset: 96, ..array.clone() },
                "pass the end of their allocation, 400 bytes",
            ),
            (ForeignArray { byte_offset: 13, ..array.clone() }, "not aligned to 4"),
            (ForeignArray { memory: MemoryKind::Host, ..array.clone() }, "the host, not of a device of cuda"),
            (at(elsewhere), "memory of CUDA device 1, not 0"),
            (at(pinned.as_ptr() as usize), "not an address in a CUDA device's memory"),
            (at(numbers.as_ptr() as usize), "not an address in a CUDA device's memory"),
            (at(0), "null"),
        ] {
            // SAFETY: none of these is used.
            let reported = unsafe { device.borrow_stack::<f32>(&wrong) }.unwrap_err().to_string();
            assert!(reported.contains(reason), "{reported}");
        }
        // A stream of another device's context cannot be waited for there.
        let (stream, _) = allocated_elsewhere(1, 400);
        let other = ForeignArray { stream: Some(stream), ..array.clone() };
        // SAFETY: as above.
        assert!(matches!(unsafe { device.borrow_stack::<f32>(&other) }, Err(Error::Backend { .. })));
        let mut kept = None;
        let recorded = Graph::record(&device, || {
            // SAFETY: as above.
            kept = Some(unsafe { device.borrow_stack::<f32>(&array) }?);
            Ok(())
        });
        assert!(recorded.unwrap_err().to_string().contains("a graph is being recorded") && kept.is_none());
    });
}

#[test]
fn memory_of_an_owner_is_given_back_after_the_work() {
    with_stand_in("memory_of_an_owner_is_given_back_after_the_work", &[], &[], || {
        let (ours, theirs, other) = (CUDA.open(0).unwrap(), CUDA.open(0).unwrap(), CUDA.open(1).unwrap());
        let lent = Arc::new(theirs.upload(&[1, 2, 3, 4, 5]).unwrap());
        let start = address(&Device::view(&lent));
        // SAFETY: the memory has these elements and is written by nobody; the stand-in runs everything in order.
        let borrow = |device, start, len, owner| unsafe { borrow::<i32>(device, start, len, owner) };
        let borrowed = borrow(&ours, start, 5, Some(Box::new(lent.clone()))).unwrap();
        assert_eq!(address(&Device::view(&borrowed)), start);
        Event::record(&theirs)
            // SAFETY: the stream is alive.
            .and_then(|event| unsafe { event.delay(stream(&ours)?) })
            .unwrap();
        assert_eq!(ours.download(&borrowed).unwrap(), [1, 2, 3, 4, 5]);
        drop(borrowed);
        assert_eq!(Arc::strong_count(&lent), 1);
        // Without an owner the memory is left alone.
        drop(borrow(&ours, start, 5, None).unwrap());
        assert_eq!(theirs.download(&lent).unwrap(), [1, 2, 3, 4, 5]);
        synchronize_all(&ours).unwrap();
        // Work of a recording may still use it.
        let kept = borrow(&ours, start, 5, Some(Box::new(lent.clone()))).unwrap();
        Graph::record(&ours, || {
            drop(kept);
            Ok(())
        })
        .unwrap();
        assert_eq!(Arc::strong_count(&lent), 2);
        for (device, start, len, expected) in [
            (&ours, start + 4, 4, "is not a multiple of 16"),
            (&ours, start, 9, "pass the end of their allocation"),
            (&other, start, 5, "memory of CUDA device 0, not 1"),
            (&ours, (&raw const lent).addr() as u64 / 16 * 16, 1, "not an address in a CUDA device's memory"),
        ] {
            let error = borrow(device, start, len, None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(borrow(&ours, 0, 0, None).is_ok());
    });
}
