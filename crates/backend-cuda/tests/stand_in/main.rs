//! Contexts, recordings and driver errors on a stand-in for the driver's library (`cuda.c`): it runs no kernels, and is
//! as strict as the driver's documentation. Each process loads one library, so this program starts itself. Exchanges run
//! on it too, those by NCCL on a stand-in for that (`nccl.c`).
#![cfg(target_os = "linux")]

use backend_cuda::{
    CUDA, Device, Event, Graph, Peer, PeerPath, PinnedVec, address, borrow, connect, device_uuid, join,
    nccl_version, stream, synchronize_all, unique_id,
};
use sparse_core::peer::{PeerExchange, Segment};
use sparse_core::{Backend, DType, Error, Space};
use sparse_device::Buffer;
use sparse_device::foreign::{ForeignArray, MemoryKind};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::thread;

/// Set in the processes whose driver's library is the stand-in.
const INSIDE: &str = "NNZ_STAND_IN";

/// Runs `body` in a process whose driver is the stand-in, under these variables and macros of `cuda.c`.
fn with_stand_in(test: &str, variables: &[(&str, &str)], flags: &[&str], body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), ("cuda.c", "libcuda.so"), flags);
    compile(folder.path(), ("nccl.c", "libnccl.so.2"), &[]);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", test, "--nocapture"]).env(INSIDE, "1").env("LD_LIBRARY_PATH", folder.path());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("1 passed"), "{}: {out}{err}", output.status);
}

fn compile(folder: &Path, (source, library): (&str, &str), flags: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stand_in").join(source);
    let mut compiler = Command::new(std::env::var_os("CC").unwrap_or("cc".into()));
    compiler.args(["-shared", "-fPIC", "-o"]).arg(folder.join(library)).arg(source).args(flags);
    assert!(compiler.status().expect("a C compiler, which links this program, too").success());
}

/// The context of the calling thread, or a new one.
fn context(new: Option<usize>) -> usize {
    // SAFETY: the stand-in is loaded, and its functions have these types.
    unsafe {
        let library = libloading::Library::new("libcuda.so").unwrap();
        if let Some(context) = new {
            let set: libloading::Symbol<'_, extern "C" fn(usize) -> i32> =
                library.get(b"cuCtxSetCurrent").unwrap();
            assert_eq!(set(context), 0);
        }
        let get: libloading::Symbol<'_, extern "C" fn(&mut usize) -> i32> =
            library.get(b"cuCtxGetCurrent").unwrap();
        let mut current = 0;
        assert_eq!(get(&mut current), 0);
        current
    }
}

fn copy(device: &Device, from: &Buffer<i32>, to: &mut Buffer<i32>) -> sparse_core::Result<()> {
    device.copy(Device::view(from), Device::view_mut(to))
}

/// Asserts that the device computes, and that both of its staging buffers are usable.
fn works(device: &Device) {
    let numbers: Vec<i32> = (0..(2 << 20) + 5).collect();
    let from = device.upload(&numbers).unwrap();
    let mut to = device.upload(&vec![0; numbers.len()]).unwrap();
    copy(device, &from, &mut to).unwrap();
    assert!(device.download(&to).unwrap() == numbers);
    device.synchronize().unwrap();
    let mut graph = Graph::record(device, || copy(device, &from, &mut to)).unwrap();
    graph.launch().unwrap();
}

#[test]
fn an_old_driver_is_refused_with_both_versions() {
    with_stand_in(
        "an_old_driver_is_refused_with_both_versions",
        &[("STAND_IN_VERSION", "12030")],
        &[],
        || {
            let reason = CUDA.probe().reason.unwrap();
            assert!(reason.contains("12.3") && reason.contains("12.4"), "{reason}");
        },
    );
}

#[test]
fn a_driver_without_a_function_is_refused_by_its_name() {
    let test = "a_driver_without_a_function_is_refused_by_its_name";
    with_stand_in(test, &[], &["-DWITHOUT_A_FUNCTION"], || {
        let reason = CUDA.probe().reason.unwrap();
        assert!(reason.contains("lacks cuFuncGetParamInfo"), "{reason}");
    });
}

#[test]
fn a_device_that_says_nothing_does_not_hide_the_others() {
    let variables = [("STAND_IN_BROKEN", "0"), ("STAND_IN_DEVICES", "3")];
    with_stand_in("a_device_that_says_nothing_does_not_hide_the_others", &variables, &[], || {
        assert_eq!(CUDA.probe().devices.len(), 2);
        (0..2).for_each(|index| works(&CUDA.open(index).unwrap()));
    });
}

#[test]
fn where_no_device_is_usable_the_reason_says_why() {
    let variables = [("STAND_IN_BROKEN", "0"), ("STAND_IN_DEVICES", "1")];
    with_stand_in("where_no_device_is_usable_the_reason_says_why", &variables, &[], || {
        let reason = CUDA.probe().reason.unwrap();
        assert!(reason.contains("asking device 0"), "{reason}");
    });
}

#[test]
fn a_device_with_a_carve_out_is_one_as_any_other() {
    with_stand_in("a_device_with_a_carve_out_is_one_as_any_other", &[], &[], || {
        [0, 50, 100].into_iter().for_each(|percent| works(&backend_cuda::with_carveout(0, percent).unwrap()));
        let error = backend_cuda::with_carveout(0, 101).unwrap_err().to_string();
        assert!(error.contains("a carve-out of 101 % is not supported"), "{error}");
        assert!(backend_cuda::with_carveout(9, 50).is_err());
    });
}

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
            (at(pinned.as_ptr() as usize), "no address in a CUDA device's memory"),
            (at(numbers.as_ptr() as usize), "no address in a CUDA device's memory"),
            (at(0), "null"),
        ] {
            // SAFETY: none of these is used.
            let told = unsafe { device.borrow_stack::<f32>(&wrong) }.unwrap_err().to_string();
            assert!(told.contains(reason), "{told}");
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
            (&ours, (&raw const lent).addr() as u64 / 16 * 16, 1, "no address in a CUDA device's memory"),
        ] {
            let error = borrow(device, start, len, None).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(borrow(&ours, 0, 0, None).is_ok());
    });
}

/// Sends the elements of each of three ranks but its own number to the next rank, and those with it to the one before.
fn passes(devices: &[Device], peers: &[Peer]) -> Vec<sparse_core::Result<Vec<i32>>> {
    let segment = |rank, range| Segment { rank, range };
    thread::scope(|scope| {
        let ranks = devices.iter().zip(peers).zip(0..).map(|((device, peer), rank)| {
            scope.spawn(move || {
                let own: Vec<i32> = (0..5).map(|k| 10 * rank + k).collect();
                let (outgoing, mut incoming) = (device.upload(&own)?, device.upload(&[0; 5])?);
                let (next, last) = ((rank as usize + 1) % 3, (rank as usize + 2) % 3);
                let mut computed = false;
                peer.exchange(
                    Device::view(&outgoing),
                    &[segment(next, 0..2), segment(last, 2..5)],
                    Device::view_mut(&mut incoming),
                    &[segment(last, 0..2), segment(next, 2..5)],
                    &mut || computed = true,
                )?;
                assert!(computed);
                drop(outgoing);
                Ok((device, incoming))
            })
        });
        let ranks: Vec<_> = ranks.collect();
        let ended: Vec<_> = ranks.into_iter().map(|rank| rank.join().unwrap()).collect();
        ended.into_iter().map(|ended| ended.and_then(|(device, found)| device.download(&found))).collect()
    })
}

fn exchanges(indices: [usize; 3], path: PeerPath, name: &str) {
    let devices = indices.map(|index| CUDA.open(index).unwrap());
    let peers = connect(&devices, path).unwrap();
    assert!(peers.iter().all(|peer| peer.name() == name), "{peers:?}");
    for _ in 0..3 {
        let found: Vec<_> = passes(&devices, &peers).into_iter().map(Result::unwrap).collect();
        assert_eq!(found, [[20, 21, 12, 13, 14], [0, 1, 22, 23, 24], [10, 11, 2, 3, 4]]);
    }
    assert_eq!(context(None), 0, "{name}");
}

#[test]
fn devices_exchange_by_nccl_and_by_copies() {
    let variables = [("STAND_IN_DEVICES", "3")];
    with_stand_in("devices_exchange_by_nccl_and_by_copies", &variables, &[], || {
        exchanges([0, 1, 2], PeerPath::Nccl, "NCCL 2.28.3");
        exchanges([0, 1, 2], PeerPath::Copies, "peer copies");
        exchanges([1, 0, 1], PeerPath::Copies, "peer copies");
        let twice = [1, 0, 1].map(|index| CUDA.open(index).unwrap());
        let refused = connect(&twice, PeerPath::Nccl).unwrap_err().to_string();
        assert!(refused.contains("device 1 is there twice"), "{refused}");
    });
}

/// Threads stand for the processes of ranks, which have nothing in common but the number.
#[test]
fn ranks_with_a_device_each_join_by_nccl() {
    let variables = [("STAND_IN_DEVICES", "3")];
    with_stand_in("ranks_with_a_device_each_join_by_nccl", &variables, &[], || {
        let devices = [0, 1, 2].map(|index| CUDA.open(index).unwrap());
        let uuids = devices.each_ref().map(|device| device_uuid(device).unwrap());
        assert!(uuids[0] != uuids[1] && nccl_version().unwrap() == "2.28.3");
        let twice = unique_id(&[uuids[0], uuids[1], uuids[0]]).unwrap_err().to_string();
        assert!(twice.contains("ranks 0 and 2 have the same device"), "{twice}");
        let id = unique_id(&uuids).unwrap();
        assert!(join(&devices[0], &id[1..], 0, 3).unwrap_err().to_string().contains("127 bytes"));
        let joined = || {
            thread::scope(|scope| {
                let join = |rank| join(&devices[rank], &id, rank, 3).unwrap();
                let ranks = [0, 1, 2].map(|rank| scope.spawn(move || join(rank)));
                ranks.map(|rank| rank.join().unwrap())
            })
        };
        let peers = joined();
        assert!(peers.iter().all(|peer| peer.name() == "NCCL 2.28.3"), "{peers:?}");
        for _ in 0..3 {
            let found: Vec<_> = passes(&devices, &peers).into_iter().map(Result::unwrap).collect();
            assert_eq!(found, [[20, 21, 12, 13, 14], [0, 1, 22, 23, 24], [10, 11, 2, 3, 4]]);
        }
        // A rank that learns of another's failure ends its own end, and no other.
        PeerExchange::<i32, Device>::abandon(&peers[1]);
        let after: Vec<_> = passes(&devices, &peers);
        assert!(after[1].as_ref().unwrap_err().to_string().contains("failed before"), "{after:?}");
        drop(peers);
        assert!(passes(&devices, &joined()).iter().all(Result::is_ok));
        assert_eq!(context(None), 0);
    });
}

#[test]
fn devices_that_do_not_reach_each_other_exchange_too() {
    let variables = [("STAND_IN_DEVICES", "3"), ("STAND_IN_PEERS", "0")];
    with_stand_in("devices_that_do_not_reach_each_other_exchange_too", &variables, &[], || {
        exchanges([0, 1, 2], PeerPath::Copies, "copies that the driver stages");
    });
}

/// A rank that offers more than it has fails, and so does the rank that it sends to; nobody waits.
#[test]
fn a_rank_that_fails_in_an_exchange_leaves_nobody_waiting() {
    let test = "a_rank_that_fails_in_an_exchange_leaves_nobody_waiting";
    with_stand_in(test, &[], &[], || {
        for path in [PeerPath::Nccl, PeerPath::Copies] {
            let devices = [0, 1].map(|index| CUDA.open(index).unwrap());
            let peers = connect(&devices, path).unwrap();
            let one = |rank: usize, elements: usize| {
                let (outgoing, mut incoming) =
                    (devices[rank].upload(&[7; 4])?, devices[rank].upload(&[0; 4])?);
                let other = 1 - rank;
                peers[rank].exchange(
                    Device::view(&outgoing),
                    &[Segment { rank: other, range: 0..elements }],
                    Device::view_mut(&mut incoming),
                    &[Segment { rank: other, range: 0..4 }],
                    &mut || (),
                )?;
                devices[rank].download(&incoming)
            };
            let both = |elements: usize| {
                thread::scope(|scope| {
                    let second = scope.spawn(move || one(1, elements));
                    (one(0, 4), second.join().unwrap())
                })
            };
            let told = both(5).1.unwrap_err().to_string();
            assert!(told.contains("elements 0..5 of 4"), "{path}: {told}");
            match path {
                PeerPath::Copies => {
                    assert!(both(5).0.unwrap_err().to_string().contains("rank 1 failed"));
                    let (first, second) = both(3);
                    assert!(first.unwrap_err().to_string().contains("rank 1 sent 12 bytes where 16"));
                    assert_eq!(second.unwrap(), [7; 4]);
                    assert_eq!(both(4).0.unwrap(), [7; 4]);
                }
                PeerPath::Nccl => {
                    let (first, second) = both(4);
                    assert!(first.unwrap_err().to_string().contains("failed before"), "{path}");
                    assert!(second.is_err());
                }
            }
        }
    });
}
