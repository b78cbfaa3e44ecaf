//! Programs in OpenCL C, which OpenCL builds, and in SYCL C++, which SYCL compiles at run time; their kernels.

use super::shim::{Functions, RawKernel, RawProgram, guarded};
use super::{NAME, Queue};
use crate::owned::Context;
use crate::program::{ClProgram, text};
use kernels_core::File;
use sparse_core::Result;
use sparse_device::Defines;
use std::ffi::{CStr, c_char, c_void};
use std::fmt::Write;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// A compiled program.
#[derive(Debug)]
pub(super) enum SyclProgram {
    /// A program in OpenCL C, for the native context of the queue.
    OpenCl(ClProgram),
    /// A program in SYCL C++.
    Sycl(Bundle),
}

impl SyclProgram {
    /// Compiles a file for the queue's device.
    ///
    /// # Errors
    /// [`Error::Backend`](sparse_core::Error::Backend) with the file, the options and the compiler's whole log.
    pub(super) fn build(queue: &Queue, context: &Context, file: &File, defines: &Defines) -> Result<Self> {
        match file.language() {
            "sycl" => Bundle::compile(queue, file, defines).map(Self::Sycl),
            _ => ClProgram::build(NAME, context, file, defines).map(Self::OpenCl),
        }
    }

    /// The kernel of this name.
    pub(super) fn kernel(&self, queue: &Queue, entry: &str) -> Result<SyclKernel> {
        let functions = queue.functions;
        let mut raw = ptr::null_mut();
        let (made, arguments) = match self {
            Self::OpenCl(program) => {
                let (native, arguments) = program.kernel(NAME, entry)?;
                // SAFETY: the kernel is alive and of the queue's context, and the output is a live variable.
                let made = guarded(|reason| unsafe {
                    (functions.kernel_of)(queue.raw, native.get(), &raw mut raw, reason)
                });
                (made, arguments)
            }
            Self::Sycl(bundle) => {
                let (name, mut arguments) = (text(entry, entry)?, 0);
                // SAFETY: the program is alive, and the outputs are live variables.
                let made = guarded(|reason| unsafe {
                    (functions.kernel_in)(bundle.raw, name.as_ptr(), &raw mut raw, &raw mut arguments, reason)
                });
                (made, arguments as usize)
            }
        };
        made.map_err(|refusal| refusal.of(format!("kernel {entry}")))?;
        Ok(SyclKernel { name: entry.into(), arguments, raw: Mutex::new(raw), functions })
    }
}

/// A program of the shim.
#[derive(Debug)]
pub(super) struct Bundle {
    raw: *mut RawProgram,
    functions: &'static Functions,
}

// SAFETY: a program is not changed after it was made, and SYCL's objects may be used by any thread.
unsafe impl Send for Bundle {}
// SAFETY: as above.
unsafe impl Sync for Bundle {}

impl Drop for Bundle {
    fn drop(&mut self) {
        // SAFETY: the program is alive, and it is not used again.
        self.functions.release(|| unsafe { (self.functions.release_program)(self.raw) });
    }
}

impl Bundle {
    /// Compiles a file; the macros are lines before the text.
    fn compile(queue: &Queue, file: &File, defines: &Defines) -> Result<Self> {
        let mut source = String::new();
        for (name, value) in defines.iter() {
            let _ = writeln!(source, "#define {name} {value}");
        }
        let source = text(file.name, &(source + &file.source()))?;
        let (functions, mut raw, mut log) = (queue.functions, ptr::null_mut(), String::new());
        // SAFETY: the queue is open, the text ends, `keep` gets the string that it expects, which outlives the call,
        // and the output is a live variable.
        guarded(|reason| unsafe {
            let to = (&raw mut log).cast();
            (functions.compile)(queue.raw, source.as_ptr(), keep, to, &raw mut raw, reason)
        })
        .map_err(|refusal| {
            refusal.of(format!("compiling {} with `{defines}`\n{}\n", file.name, log.trim()))
        })?;
        Ok(Self { raw, functions })
    }
}

/// Copies a compiler's log into the string that `to` points to.
///
/// # Safety
/// `to` is a `*mut String` that no other code uses, and `log` a text.
unsafe extern "C" fn keep(to: *mut c_void, log: *const c_char) {
    // SAFETY: the caller promises the same.
    unsafe { *to.cast::<String>() = CStr::from_ptr(log).to_string_lossy().into_owned() }
}

/// A kernel object.
#[derive(Debug)]
pub(super) struct SyclKernel {
    pub(super) name: String,
    pub(super) arguments: usize,
    pub(super) raw: Mutex<*mut RawKernel>,
    functions: &'static Functions,
}

// SAFETY: a kernel may be used by any thread, by one at a time: it is behind a lock.
unsafe impl Send for SyclKernel {}
// SAFETY: as above.
unsafe impl Sync for SyclKernel {}

impl Drop for SyclKernel {
    fn drop(&mut self) {
        let raw = *self.raw.get_mut().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the kernel is alive, and it is not used again.
        self.functions.release(|| unsafe { (self.functions.release_kernel)(raw) });
    }
}
