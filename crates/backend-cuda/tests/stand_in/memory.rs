//! Contexts, pinned memory and uploads.

use super::{context, with_stand_in, works};
use backend_cuda::{CUDA, Device, Event, Graph, PinnedVec};
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
