//! Contexts, pinned memory and uploads.

use super::{context, early_frees, fail_records, with_stand_in, works};
use backend_cuda::{CUDA, Device, Event, Graph, PinnedVec};
use sparse_core::backend::HostBuffer;
use sparse_core::{Backend, Space};

#[test]
fn the_context_of_the_caller_comes_back() {
    with_stand_in("the_context_of_the_caller_comes_back", &[], &[], || {
        let (first, second) = (CUDA.open(0).unwrap(), CUDA.open(1).unwrap());
        assert_eq!(context(None), 0, "none was there before");
        let theirs = &raw const *"theirs".as_bytes() as *const u8 as usize;
        for mine in [0, theirs] {
            assert_eq!(context(Some(mine)), mine);
            for device in [&first, &second, &first] {
                works(device);
                assert_eq!(context(None), mine);
                let refused = Graph::record(device, || device.synchronize());
                assert!(refused.is_err());
                assert_eq!(context(None), mine);
                let event = Event::record(device).unwrap();
                event.seconds_since(&event).unwrap();
                drop(event);
                assert_eq!(context(None), mine);
            }
        }
        drop((first, second));
        assert_eq!(context(None), theirs);
    });
}

#[test]
fn pinned_memory_is_copied_whole_and_in_part() {
    with_stand_in("pinned_memory_is_copied_whole_and_in_part", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        let mut numbers = PinnedVec::zeros(&device, 1 << 18).unwrap();
        assert!(numbers.iter().all(|&number| number == 0));
        numbers.iter_mut().zip(0..).for_each(|(number, k)| *number = k);
        let whole = device.upload(&numbers).unwrap();
        let part = device.upload(&numbers[5..100_000]).unwrap();
        assert!(device.download(&part).unwrap() == numbers[5..100_000]);
        let mut copy = PinnedVec::zeros(&device, numbers.len() + 7).unwrap();
        device.download_into(Device::view(&whole), &mut copy[7..]).unwrap();
        assert!(copy[7..] == *numbers);
        assert!(Graph::record(&device, || device.upload(&numbers).map(drop)).is_err());
        drop(copy);
        assert!(device.download(&whole).unwrap() == *numbers);
        let mut slot = device.host_buffer::<i32>(numbers.len()).unwrap();
        assert!(slot.len() == numbers.len() && slot.iter().all(|&number| number == 0));
        slot.copy_from_slice(&numbers);
        assert!(device.uploads_directly(&slot[5..]) && !device.uploads_directly(&slot.to_vec()));
        assert!(device.download(&device.upload(&slot).unwrap()).unwrap() == *numbers);
    });
}

#[test]
fn a_large_array_is_uploaded_whole_by_several_threads() {
    with_stand_in("a_large_array_is_uploaded_whole_by_several_threads", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        // Two parts of unequal length.
        let numbers: Vec<i64> = (0..(256 << 17) + 5).collect();
        for _ in 0..2 {
            let copy = device.upload(&numbers).unwrap();
            assert!(device.download(&copy).unwrap() == numbers);
        }
    });
}

#[test]
fn pinned_memory_is_used_again_and_zero_again() {
    with_stand_in("pinned_memory_is_used_again_and_zero_again", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        let allocate = |len: usize| device.host_buffer::<i32>(len).unwrap();
        let address = |buffer: &HostBuffer<i32>| buffer.as_ptr().addr();
        let (mut first, second) = (allocate(1 << 20), allocate(1 << 20));
        first.fill(7);
        let addresses = [&first, &second].map(address);
        assert_ne!(addresses[0], addresses[1]);
        drop(first);

        let smaller = allocate((1 << 20) - 5);
        assert!(smaller.len() == (1 << 20) - 5 && smaller.iter().all(|&number| number == 0));
        assert!(address(&smaller) == addresses[0] && device.uploads_directly(&smaller));
        let copy = device.upload(&smaller).unwrap();
        assert!(*device.download(&copy).unwrap() == **smaller);
        drop((smaller, second));

        // Neither of them for more elements than it has, nor for a few.
        for len in [1 << 21, 100] {
            assert!(!addresses.contains(&address(&allocate(len))));
        }
        let whole = allocate(1 << 20);
        assert!(addresses.contains(&address(&whole)) && whole.iter().all(|&number| number == 0));
        drop((device, copy));
        assert_eq!(whole.len(), 1 << 20);
    });
}

/// 256 MiB are retained: of five buffers of 64 MiB the oldest is freed.
#[test]
fn unused_pinned_memory_has_a_limit() {
    with_stand_in("unused_pinned_memory_has_a_limit", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        let allocate = || device.host_buffer::<u8>(64 << 20).unwrap();
        let buffers: Vec<_> = (0..5).map(|_| allocate()).collect();
        let addresses: Vec<_> = buffers.iter().map(|buffer| buffer.as_ptr().addr()).collect();
        buffers.into_iter().for_each(drop);
        let again: Vec<_> = (0..4).map(|_| allocate()).collect();
        assert!(
            again.iter().zip(&addresses[1..]).all(|(buffer, &address)| buffer.as_ptr().addr() == address)
        );
    });
}

/// Two bytes are copied by the copy engine: the stand-in has no kernels.
#[test]
fn pinned_memory_outlives_a_copy_whose_end_has_no_event() {
    with_stand_in("pinned_memory_outlives_a_copy_whose_end_has_no_event", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        let mut buffer = device.upload(&[7_u16]).unwrap();
        let mut read = || {
            let mut number = [0];
            let read = device.download_overlapped(&mut buffer, Device::view, &mut number, &mut |_| Ok(()));
            read.map(|()| number[0])
        };
        assert_eq!(read().unwrap(), 7);
        fail_records(1);
        assert!(read().is_err());
        assert_eq!(early_frees(), 0);
        assert_eq!(read().unwrap(), 7);

        fail_records(1);
        assert!(device.upload(&[8_u16]).is_err());
        drop((buffer, device));
        assert_eq!(early_frees(), 0);
    });
}
