//! NVRTC: the search for its library, and its functions behind a safe interface.
//!
//! cudarc would look for one major version of the library, and panic where a function is missing.

use crate::error::backend_error;
use libloading::Library;
use sparse_core::Result;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fmt::{self, Debug};
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

/// The library's file names: a toolkit's link first, then the newest.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvrtc64_130_0.dll", "nvrtc64_120_0.dll"]
} else {
    &["libnvrtc.so", "libnvrtc.so.13", "libnvrtc.so.12"]
};

/// nvrtcProgram: an opaque pointer.
type Handle = *mut c_void;
/// nvrtcResult: 0 is success.
type Status = c_int;

type Create = unsafe extern "C" fn(
    *mut Handle,
    *const c_char,
    *const c_char,
    c_int,
    *const *const c_char,
    *const *const c_char,
) -> Status;
type Compile = unsafe extern "C" fn(Handle, c_int, *const *const c_char) -> Status;
type Destroy = unsafe extern "C" fn(*mut Handle) -> Status;
type Size = unsafe extern "C" fn(Handle, *mut usize) -> Status;
type Read = unsafe extern "C" fn(Handle, *mut c_char) -> Status;
type Version = unsafe extern "C" fn(*mut c_int, *mut c_int) -> Status;
type ErrorString = unsafe extern "C" fn(Status) -> *const c_char;

/// The compiler's refusal of a program.
#[derive(Debug, thiserror::Error)]
#[error("compiling {file} with `{options}`: {status}\n{log}")]
struct CompileFailed {
    file: String,
    options: String,
    status: String,
    log: String,
}

/// A compiled program.
#[derive(Debug)]
pub struct Compiled {
    /// The machine code.
    pub cubin: Vec<u8>,
    /// The compiler's and the assembler's messages.
    pub log: String,
}

/// The compiler. Several threads may use it at once.
pub struct Nvrtc {
    create: Create,
    compile: Compile,
    destroy: Destroy,
    log_size: Size,
    log: Read,
    cubin_size: Size,
    cubin: Read,
    version: Version,
    error_string: ErrorString,
    /// The library of the functions.
    _library: Library,
}

impl Debug for Nvrtc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nvrtc").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Nvrtc {
    /// The library that the loader finds, searched once; `None` if there is none.
    pub(crate) fn found() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Nvrtc>> = OnceLock::new();
        // SAFETY: libraries of these names are NVIDIA's.
        let open = |name: &&str| unsafe { Self::open(name) }.ok();
        FOUND.get_or_init(|| NAMES.iter().find_map(open)).as_ref()
    }

    /// Loads the library from a file, or by a name that the loader searches.
    ///
    /// # Errors
    /// The reason why the library cannot be used: the loader's, or a missing function.
    ///
    /// # Safety
    /// It is NVIDIA's NVRTC of CUDA 11.1 or later: what a library runs when it is loaded, and what its functions take,
    /// is not checked.
    pub unsafe fn open(file: impl AsRef<OsStr>) -> Result<Self, libloading::Error> {
        // SAFETY: the caller promises that it is NVIDIA's library, whose initializers have no requirements and whose
        // functions have these signatures; it stays loaded as long as they.
        unsafe {
            let library = Library::new(file.as_ref())?;
            Ok(Self {
                create: *library.get(b"nvrtcCreateProgram")?,
                compile: *library.get(b"nvrtcCompileProgram")?,
                destroy: *library.get(b"nvrtcDestroyProgram")?,
                log_size: *library.get(b"nvrtcGetProgramLogSize")?,
                log: *library.get(b"nvrtcGetProgramLog")?,
                cubin_size: *library.get(b"nvrtcGetCUBINSize")?,
                cubin: *library.get(b"nvrtcGetCUBIN")?,
                version: *library.get(b"nvrtcVersion")?,
                error_string: *library.get(b"nvrtcGetErrorString")?,
                _library: library,
            })
        }
    }

    /// The version, as 13 and 0; `None` if the library does not report it.
    pub fn version(&self) -> Option<(i32, i32)> {
        let (mut major, mut minor) = (0, 0);
        // SAFETY: both numbers are written by the call.
        let status = unsafe { (self.version)(&raw mut major, &raw mut minor) };
        (status == 0).then_some((major, minor))
    }

    /// Compiles CUDA C++ for the real architecture that `options` name; `file` is its name in messages.
    ///
    /// # Errors
    /// [`Backend`](sparse_core::Error::Backend) with the file, the options and the compiler's whole log.
    pub fn compile(&self, file: &str, text: &str, options: &[String]) -> Result<Compiled> {
        let name = CString::new(file).map_err(backend_error)?;
        let text = CString::new(text).map_err(backend_error)?;
        let arguments: Vec<_> = options.iter().map(|option| CString::new(option.as_str())).collect();
        let arguments: Vec<_> = arguments.into_iter().collect::<Result<_, _>>().map_err(backend_error)?;
        let failed = |(status, log)| {
            let (file, options, status) = (file.into(), options.join(" "), self.describe(status));
            backend_error(CompileFailed { file, options, status, log })
        };
        let program = Program::new(self, &name, &text).map_err(|status| failed((status, String::new())))?;
        let compiled = program.compile(&arguments);
        let log = program.log();
        match compiled.and_then(|()| program.cubin()) {
            Ok(cubin) => Ok(Compiled { cubin, log }),
            Err(status) => Err(failed((status, log))),
        }
    }

    /// The library's name of a status.
    fn describe(&self, status: Status) -> String {
        // SAFETY: the library takes any number and returns a text that is never freed.
        let text = unsafe { (self.error_string)(status) };
        if text.is_null() {
            return format!("status {status}");
        }
        // SAFETY: as above; the text ends with a zero.
        unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned()
    }
}

/// A program of the library.
struct Program<'a> {
    nvrtc: &'a Nvrtc,
    handle: Handle,
}

impl<'a> Program<'a> {
    fn new(nvrtc: &'a Nvrtc, name: &CStr, text: &CStr) -> Result<Self, Status> {
        let mut handle = null_mut();
        // SAFETY: the strings are copied by the call; no headers are given, so their arrays may be null.
        let status =
            unsafe { (nvrtc.create)(&raw mut handle, text.as_ptr(), name.as_ptr(), 0, null(), null()) };
        check(status).map(|()| Self { nvrtc, handle })
    }

    fn compile(&self, options: &[CString]) -> Result<(), Status> {
        let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        // SAFETY: the program is alive, and used by this thread alone; the options live through the call.
        check(unsafe { (self.nvrtc.compile)(self.handle, options.len() as c_int, options.as_ptr()) })
    }

    fn log(&self) -> String {
        let log = self.read(self.nvrtc.log_size, self.nvrtc.log).unwrap_or_default();
        CStr::from_bytes_until_nul(&log).unwrap_or_default().to_string_lossy().into_owned()
    }

    fn cubin(&self) -> Result<Vec<u8>, Status> {
        self.read(self.nvrtc.cubin_size, self.nvrtc.cubin)
    }

    /// The bytes that `read` writes, whose number `size` returns.
    fn read(&self, size: Size, read: Read) -> Result<Vec<u8>, Status> {
        let mut len = 0;
        // SAFETY: the program is alive, and the number is written by the call.
        check(unsafe { size(self.handle, &raw mut len) })?;
        let mut bytes = vec![0_u8; len];
        // SAFETY: the buffer has the length that `size` returned.
        check(unsafe { read(self.handle, bytes.as_mut_ptr().cast()) })?;
        Ok(bytes)
    }
}

impl Drop for Program<'_> {
    fn drop(&mut self) {
        // SAFETY: the program was made by `new`, and nothing uses it any more.
        let _ = unsafe { (self.nvrtc.destroy)(&raw mut self.handle) };
    }
}

fn check(status: Status) -> Result<(), Status> {
    if status == 0 { Ok(()) } else { Err(status) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_no_compiler_is_an_error() {
        // SAFETY: there is no such library, and that of the system, which lacks NVRTC's functions, is loaded already.
        let is_opened = |file: &str| unsafe { Nvrtc::open(file) }.is_ok();
        assert!(!is_opened("no library is called so"));
        let other = if cfg!(windows) { "kernel32.dll" } else { "libc.so.6" };
        assert!(!is_opened(other));
    }

    #[test]
    fn a_compiler_makes_machine_code_or_says_why_not() {
        let Some(nvrtc) = Nvrtc::found() else { return };
        assert!(nvrtc.version().is_some(), "{nvrtc:?}");
        let options = ["--gpu-architecture=sm_90".to_string()];
        let compiled =
            nvrtc.compile("empty.cu", "extern \"C\" __global__ void empty() {}", &options).unwrap();
        assert_eq!(compiled.cubin[..4], *b"\x7fELF");
        let error = nvrtc.compile("wrong.cu", "no C++", &options).unwrap_err();
        let message = std::error::Error::source(&error).unwrap().to_string();
        for part in ["wrong.cu", "--gpu-architecture=sm_90", "NVRTC_ERROR_COMPILATION", "error"] {
            assert!(message.contains(part), "{message}");
        }
    }
}
