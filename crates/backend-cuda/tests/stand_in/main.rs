//! Contexts, recordings and driver errors on a stand-in for the driver's library (`cuda.c`): it runs no kernels, and is
//! as strict as the driver's documentation. Each process loads one library, so this program starts itself. Exchanges
//! run on it too, those by NCCL on a stand-in for that (`nccl.c`).
#![cfg(target_os = "linux")]

mod arrays;
mod drivers;
mod exchange;
mod graphs;
mod memory;

use backend_cuda::{Device, Graph};
use sparse_core::{Backend, Space};
use sparse_device::Buffer;
use std::path::Path;
use std::process::Command;

/// Set in the processes whose driver's library is the stand-in.
const INSIDE: &str = "NNZ_STAND_IN";

/// Runs `body`, that of the one test whose name has `test` in it, in a process whose driver is the stand-in, under
/// these variables and macros of `cuda.c`.
fn with_stand_in(test: &str, variables: &[(&str, &str)], flags: &[&str], body: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return body();
    }
    let folder = tempfile::tempdir().unwrap();
    compile(folder.path(), ("cuda.c", "libcuda.so"), flags);
    compile(folder.path(), ("nccl.c", "libnccl.so.2"), &[]);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args([test, "--nocapture"]).env(INSIDE, "1").env("LD_LIBRARY_PATH", folder.path());
    let output = command.envs(variables.iter().copied()).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success() && out.contains("ok. 1 passed"), "{}: {out}{err}", output.status);
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

/// Lets the next `count` records of events fail.
fn fail_records(count: i32) {
    // SAFETY: the stand-in is loaded, and its function has this type.
    unsafe {
        let library = libloading::Library::new("libcuda.so").unwrap();
        let fail: libloading::Symbol<'_, extern "C" fn(i32)> = library.get(b"stand_in_fail_records").unwrap();
        fail(count);
    }
}

/// The frees of pinned memory before its last copy was waited for.
fn early_frees() -> i32 {
    // SAFETY: the stand-in is loaded, and its function has this type.
    unsafe {
        let library = libloading::Library::new("libcuda.so").unwrap();
        let count: libloading::Symbol<'_, extern "C" fn() -> i32> =
            library.get(b"stand_in_early_frees").unwrap();
        count()
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
