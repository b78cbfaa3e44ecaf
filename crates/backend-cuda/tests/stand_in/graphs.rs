//! Recordings in graphs.

use super::{copy, with_stand_in, works};
use backend_cuda::{CUDA, Device, Event, Graph, stream};
use sparse_core::{Backend, Error};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::channel;
use std::thread;

#[test]
fn a_graph_repeats_and_shares_its_memory() {
    with_stand_in("a_graph_repeats_and_shares_its_memory", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        let mut from = device.upload(&[1, 2, 3]).unwrap();
        let mut to = device.upload(&[0; 3]).unwrap();
        let mut graph = Graph::record(&device, || copy(&device, &from, &mut to)).unwrap();
        assert_eq!(device.download(&to).unwrap(), [0; 3], "it was recorded, not done");
        graph.launch().unwrap();
        assert_eq!(device.download(&to).unwrap(), [1, 2, 3]);
        let other = device.upload(&[4, 5, 6]).unwrap();
        copy(&device, &other, &mut from).unwrap();
        graph.launch().unwrap();
        assert_eq!(device.download(&to).unwrap(), [4, 5, 6]);
        drop(from);
        let _reused: Vec<_> = (0..10).map(|_| device.upload(&[9; 3]).unwrap()).collect();
        graph.launch().unwrap();
        assert_eq!(device.download(&to).unwrap(), [4, 5, 6]);

        let (offsets, indices) = (device.upload(&[0, 0]).unwrap(), to);
        let values = device.upload(&[1.0_f32; 3]).unwrap();
        let matrix = device.compressed::<sparse_core::Row, _, i32, i32>((1, 1), offsets, indices, values);
        let refused = matrix.unwrap_err();
        assert!(matches!(refused, Error::Unsupported { .. }), "{refused}");
        assert!(refused.to_string().contains("recorded graph"), "{refused}");
        let kept = device.upload(&[1]).unwrap();
        drop(device);
        graph.launch().unwrap();
        drop((graph, kept));
    });
}

#[test]
fn a_failed_recording_poisons_nothing() {
    with_stand_in("a_failed_recording_poisons_nothing", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        let from = device.upload(&[1, 2, 3]).unwrap();
        let mut to = device.upload(&[0; 3]).unwrap();
        type Work<'a> = &'a dyn Fn(&Device) -> sparse_core::Result<()>;
        let works_not: [(&str, Work<'_>); 7] = [
            ("an error", &|_| Err(Error::unsupported("this", "it is a test"))),
            ("a download", &|device| device.download(&from).map(drop)),
            ("an upload", &|device| device.upload(&[1]).map(drop)),
            ("a synchronization", &|device| device.synchronize()),
            ("an event", &|device| Event::record(device).map(drop)),
            ("a recording", &|device| Graph::record(device, || Ok(())).map(drop)),
            ("a panic", &|_| panic!("it is a test")),
        ];
        for (what, fails) in works_not {
            let recorded = catch_unwind(AssertUnwindSafe(|| {
                Graph::record(&device, || {
                    copy(&device, &from, &mut to)?;
                    fails(&device)
                })
            }));
            assert!(!matches!(recorded, Ok(Ok(_))), "{what}");
            assert_eq!(device.download(&to).unwrap(), [0; 3], "{what}");
            works(&device);
        }
        // Damage by foreign work is reported by the end of the recording.
        let recorded = Graph::record(&device, || {
            let stream = stream(&device)? as usize;
            // SAFETY: the stand-in is loaded, and its function has this type.
            unsafe {
                let library = libloading::Library::new("libcuda.so").unwrap();
                let wait: libloading::Symbol<'_, extern "C" fn(usize) -> i32> =
                    library.get(b"cuStreamSynchronize").unwrap();
                assert_ne!(wait(stream), 0);
            }
            Ok(())
        });
        assert!(matches!(recorded, Err(Error::Backend { .. })), "{recorded:?}");
        works(&device);
    });
}

#[test]
fn what_cannot_be_recorded_is_no_recording_and_no_error() {
    with_stand_in("what_cannot_be_recorded_is_no_recording_and_no_error", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        let from = device.upload(&[1, 2, 3]).unwrap();
        let mut to = device.upload(&[0; 3]).unwrap();
        let mut waits = || {
            copy(&device, &from, &mut to)?;
            device.download(&from).map(drop)
        };
        assert!(device.record(&mut waits).unwrap().is_none());
        assert_eq!(device.download(&to).unwrap(), [0; 3]);
        let mut fails = || Err(Error::operands("this", "it is a test"));
        assert!(matches!(device.record(&mut fails), Err(Error::Operands { .. })));
        let mut recording = device.record(&mut || copy(&device, &from, &mut to)).unwrap().unwrap();
        recording.enqueue().unwrap();
        assert_eq!(device.download(&to).unwrap(), [1, 2, 3]);
        works(&device);
    });
}

#[test]
fn memory_that_is_dropped_in_a_recording_is_freed_after_it() {
    with_stand_in("memory_that_is_dropped_in_a_recording_is_freed_after_it", &[], &[], || {
        let device = CUDA.open(0).unwrap();
        let (from, unnamed) = (device.upload(&[1, 2, 3]).unwrap(), device.upload(&[0]).unwrap());
        let mut to = device.upload(&[0; 3]).unwrap();
        let mut graph = Graph::record(&device, || {
            copy(&device, &from, &mut to)?;
            drop((from, unnamed));
            Ok(())
        })
        .unwrap();
        graph.launch().unwrap();
        assert_eq!(device.download(&to).unwrap(), [1, 2, 3]);
        works(&device);
    });
}

#[test]
fn other_threads_wait_for_a_recording() {
    with_stand_in("other_threads_wait_for_a_recording", &[], &[], || {
        let device = &CUDA.open(0).unwrap();
        let from = device.upload(&[1, 2, 3]).unwrap();
        let mut to = device.upload(&[0; 3]).unwrap();
        let dropped = device.upload(&[0; 3]).unwrap();
        thread::scope(|scope| {
            let (begun, is_begun) = channel();
            let mut others = vec![];
            let mut graph = Graph::record(device, || {
                others.push(scope.spawn(move || {
                    begun.send(()).unwrap();
                    drop(dropped);
                    works(device);
                }));
                is_begun.recv().unwrap();
                thread::sleep(std::time::Duration::from_millis(50));
                copy(device, &from, &mut to)
            })
            .unwrap();
            others.into_iter().for_each(|other| other.join().unwrap());
            graph.launch().unwrap();
        });
        assert_eq!(device.download(&to).unwrap(), [1, 2, 3]);
        let records = || (0..20).try_for_each(|_| Graph::record(device, || Ok(())).map(drop));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| works(device));
                scope.spawn(|| records().unwrap());
            }
        });
    });
}
