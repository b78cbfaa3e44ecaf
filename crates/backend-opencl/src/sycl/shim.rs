//! The functions of `shim.cpp`, from a library that is loaded at run time.

use libloading::Library;
use opencl3::types::{cl_context, cl_device_id, cl_kernel};
use sparse_core::Error;
use std::env;
use std::ffi::{CStr, OsString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::process;
use std::sync::OnceLock;

/// The environment variable that names the shim's file.
const VARIABLE: &str = "NNZ_SYCL_SHIM";

/// The shim's file name beside the program or in the system's library path.
const LIBRARY: &str = "libnnz_sycl.so";

/// The version of the shim's interface.
const ABI_VERSION: c_int = 4;

/// Bytes of an error's text, its terminating zero included.
const REASON_BYTES: usize = 1024;

/// A queue of the shim.
#[repr(C)]
pub(super) struct RawQueue(c_void);

/// Memory of the shim.
#[repr(C)]
pub(super) struct RawMemory(c_void);

/// A program of the shim.
#[repr(C)]
pub(super) struct RawProgram(c_void);

/// A kernel of the shim.
#[repr(C)]
pub(super) struct RawKernel(c_void);

/// An event of the shim.
#[repr(C)]
pub(super) struct RawEvent(c_void);

/// An argument of a kernel: memory, or the bytes of a value.
#[repr(C)]
pub(super) struct Argument {
    pub(super) memory: *mut RawMemory,
    pub(super) value: *const c_void,
    pub(super) length: usize,
}

/// Called with each device and its features.
type FoundDevice = unsafe extern "C" fn(to: *mut c_void, device: cl_device_id, features: *const c_char);

/// Called with a compiler's log.
type Say = unsafe extern "C" fn(to: *mut c_void, log: *const c_char);

/// Declares a table of foreign functions and loads it from a library.
macro_rules! functions {
    ($($name:ident = $symbol:literal: fn($($argument:ty),*) $(-> $result:ty)?;)*) => {
        /// The shim's functions. Those that return a number take a buffer for the text of an error last.
        #[derive(Debug)]
        pub(super) struct Functions {
            /// The process that loaded the shim.
            process: u32,
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Functions {
            /// # Safety
            /// The library is a shim of [`ABI_VERSION`], and is never unloaded.
            unsafe fn of(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the caller vouches for the interface, which this table repeats.
                unsafe { Ok(Self { process: process::id(), $($name: *library.get($symbol)?,)* }) }
            }
        }
    };
}

functions! {
    devices = c"nnz_sycl_devices": fn(FoundDevice, *mut c_void, *mut c_char) -> c_int;
    open = c"nnz_sycl_open": fn(cl_device_id, bool, *mut *mut RawQueue, *mut c_char) -> c_int;
    adopt = c"nnz_sycl_adopt": fn(*const c_void, *mut *mut RawQueue, *mut cl_device_id, *mut c_char) -> c_int;
    close = c"nnz_sycl_close": fn(*mut RawQueue);
    context = c"nnz_sycl_context": fn(*const RawQueue, *mut cl_context, *mut c_char) -> c_int;
    allocate = c"nnz_sycl_allocate": fn(*const RawQueue, usize, *mut *mut RawMemory, *mut c_char) -> c_int;
    borrow = c"nnz_sycl_borrow": fn(*const RawQueue, *mut c_void, *mut *mut RawMemory, *mut c_char) -> c_int;
    address = c"nnz_sycl_address": fn(*const RawMemory) -> *mut c_void;
    free = c"nnz_sycl_free": fn(*mut RawMemory, *mut c_char) -> c_int;
    write = c"nnz_sycl_write": fn(*mut RawQueue, *mut RawMemory, usize, *const u8, usize, *mut c_char) -> c_int;
    read = c"nnz_sycl_read": fn(*mut RawQueue, *mut RawMemory, usize, *mut u8, usize, *mut c_char) -> c_int;
    copy = c"nnz_sycl_copy":
        fn(*mut RawQueue, *mut RawMemory, usize, *mut RawMemory, usize, usize, *mut c_char) -> c_int;
    flush = c"nnz_sycl_flush": fn(*mut RawQueue, *mut c_char) -> c_int;
    wait = c"nnz_sycl_wait": fn(*mut RawQueue, *mut c_char) -> c_int;
    kernel_of = c"nnz_sycl_kernel_of": fn(*const RawQueue, cl_kernel, *mut *mut RawKernel, *mut c_char) -> c_int;
    compile = c"nnz_sycl_compile":
        fn(*const RawQueue, *const c_char, Say, *mut c_void, *mut *mut RawProgram, *mut c_char) -> c_int;
    release_program = c"nnz_sycl_release_program": fn(*mut RawProgram);
    kernel_in = c"nnz_sycl_kernel_in":
        fn(*mut RawProgram, *const c_char, *mut *mut RawKernel, *mut u32, *mut c_char) -> c_int;
    release_kernel = c"nnz_sycl_release_kernel": fn(*mut RawKernel);
    mark = c"nnz_sycl_mark": fn(*mut RawQueue, *mut *mut RawEvent, *mut c_char) -> c_int;
    reached = c"nnz_sycl_reached": fn(*mut RawEvent, *mut u64, *mut c_char) -> c_int;
    release_event = c"nnz_sycl_release_event": fn(*mut RawEvent);
    launch = c"nnz_sycl_launch":
        fn(*mut RawQueue, *const RawKernel, usize, usize, *const Argument, c_int, *mut c_char) -> c_int;
}

impl Functions {
    /// Calls `release`, except in a forked process, which has none of the runtime's threads: the call could wait for
    /// them forever.
    pub(super) fn release(&self, release: impl FnOnce()) {
        if self.process == process::id() {
            release();
        }
    }
}

/// The shim, or the reason why it is missing. It is loaded once and never unloaded.
pub(super) fn functions() -> Result<&'static Functions, String> {
    static FUNCTIONS: OnceLock<Result<Functions, String>> = OnceLock::new();
    FUNCTIONS.get_or_init(load).as_ref().map_err(String::clone)
}

fn load() -> Result<Functions, String> {
    let path = library_path();
    let reason = |error: libloading::Error| {
        let shim = path.to_string_lossy();
        format!("the SYCL shim {shim} ({VARIABLE} names another) does not load: {error}")
    };
    // SAFETY: the library's constructors are those of the shim and of the SYCL runtime, which may run at any time.
    let library = unsafe { Library::new(&path) }.map_err(reason)?;
    // Never unloaded, since the runtime's threads run its code.
    let library = Box::leak(Box::new(library));
    // SAFETY: a shim of every version has this function, of this type.
    let version = unsafe {
        let version: libloading::Symbol<'_, unsafe extern "C" fn() -> c_int> =
            library.get(c"nnz_sycl_abi_version").map_err(reason)?;
        version()
    };
    if version != ABI_VERSION {
        let shim = path.to_string_lossy();
        return Err(format!("the SYCL shim {shim} has interface {version}, {ABI_VERSION} is needed"));
    }
    // SAFETY: the version was compared, and the library leaked.
    unsafe { Functions::of(library) }.map_err(reason)
}

/// The file that [`VARIABLE`] names, or [`LIBRARY`] beside the program, or in the system's library path.
fn library_path() -> OsString {
    let beside = || -> Option<PathBuf> {
        let path = env::current_exe().ok()?.with_file_name(LIBRARY);
        path.exists().then_some(path)
    };
    let found = env::var_os(VARIABLE).or_else(|| beside().map(PathBuf::into_os_string));
    found.unwrap_or_else(|| LIBRARY.into())
}

/// The SYCL runtime's answer to a failed call, or to work enqueued before it.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {reason} ({})", name_of(*code))]
struct CallFailed {
    call: String,
    reason: String,
    code: c_int,
}

/// The names of `sycl::errc`, from 1 on.
const ERRORS: [&str; 14] = [
    "runtime",
    "kernel",
    "accessor",
    "nd_range",
    "event",
    "kernel_argument",
    "build",
    "invalid",
    "memory_allocation",
    "platform",
    "profiling",
    "feature_not_supported",
    "kernel_not_supported",
    "backend_mismatch",
];

/// `sycl::errc::memory_allocation`.
pub(super) const MEMORY_ALLOCATION: c_int = 9;

fn name_of(code: c_int) -> String {
    let position = usize::try_from(code).ok().and_then(|code| code.checked_sub(1));
    match position.and_then(|position| ERRORS.get(position)) {
        Some(name) => format!("sycl::errc::{name}"),
        None => "no error of SYCL's".into(),
    }
}

/// The reason why a call failed.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) code: c_int,
    reason: String,
}

impl Refusal {
    pub(super) fn of(self, call: impl Into<String>) -> Error {
        let Self { code, reason } = self;
        Error::Backend {
            backend: super::NAME,
            source: Box::new(CallFailed { call: call.into(), reason, code }),
        }
    }

    /// The error of something unavailable.
    pub(super) fn unsupported(self, what: &str) -> Error {
        Error::unsupported(what, self.reason)
    }

    pub(super) fn into_reason(self) -> String {
        self.reason
    }
}

/// Makes a call of the shim with a buffer for the text of an error.
pub(super) fn guarded(call: impl FnOnce(*mut c_char) -> c_int) -> Result<(), Refusal> {
    let mut reason = [0_u8; REASON_BYTES];
    match call(reason.as_mut_ptr().cast()) {
        0 => Ok(()),
        code => {
            let text = CStr::from_bytes_until_nul(&reason).unwrap_or_default();
            Err(Refusal { code, reason: text.to_string_lossy().trim().into() })
        }
    }
}
