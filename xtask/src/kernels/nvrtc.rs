//! NVRTC, the run-time compiler of CUDA, from PyPI: it needs neither a GPU nor a driver.

use anyhow::{Context, Result, bail};
use libloading::{Library, Symbol};
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::PathBuf;
use std::ptr::{null, null_mut};
use xshell::Shell;

/// The version of the GPU machine's own toolkit, so that register counts agree.
const VERSION: &str = "13.0.88";
const LIBRARIES: &str = "nvidia/cu13/lib";

/// nvrtcProgram: a pointer to what the library alone knows.
type Program = *mut c_void;
/// nvrtcResult: 0 is success.
type Status = c_int;

/// The loaded library. It may be used by several threads at once.
pub(super) struct Nvrtc {
    library: Library,
    _builtins: Library,
}

impl Nvrtc {
    /// Loads the library; fetches it into target/ first where it is not there yet.
    pub(super) fn load() -> Result<Self> {
        let folder = fetch()?.join(LIBRARIES);
        let load = |name: &str| {
            let path = folder.join(name);
            // SAFETY: the initializers of NVIDIA's libraries have no requirements.
            unsafe { Library::new(&path) }.with_context(|| format!("loading {}", path.display()))
        };
        // NVRTC looks for its built-in functions by name alone; a library that is loaded already is found so.
        Ok(Self { _builtins: load("libnvrtc-builtins.so.13.0")?, library: load("libnvrtc.so.13")? })
    }

    /// Compiles a file to a CUBIN and gives the log of the assembler, or fails with that of the compiler.
    pub(super) fn compile(&self, name: &str, source: &str, options: &[String]) -> Result<String> {
        type Create = unsafe extern "C" fn(
            *mut Program,
            *const c_char,
            *const c_char,
            c_int,
            *const *const c_char,
            *const *const c_char,
        ) -> Status;
        type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> Status;
        type Destroy = unsafe extern "C" fn(*mut Program) -> Status;

        let (source, file) = (CString::new(source)?, CString::new(name)?);
        let options = options.iter().map(|o| CString::new(o.as_str())).collect::<Result<Vec<_>, _>>()?;
        let options: Vec<_> = options.iter().map(|option| option.as_ptr()).collect();
        let mut program = null_mut();
        // SAFETY: the symbols have these signatures in NVRTC 13. The strings live through the calls; no headers are
        // given, so their arrays may be null. The program is valid from creation to destruction, and used by this
        // thread alone.
        unsafe {
            let create: Symbol<'_, Create> = self.library.get(b"nvrtcCreateProgram")?;
            let compile: Symbol<'_, Compile> = self.library.get(b"nvrtcCompileProgram")?;
            let destroy: Symbol<'_, Destroy> = self.library.get(b"nvrtcDestroyProgram")?;
            let status = create(&mut program, source.as_ptr(), file.as_ptr(), 0, null(), null());
            if status != 0 {
                bail!("nvrtcCreateProgram: status {status}");
            }
            let status = compile(program, options.len() as c_int, options.as_ptr());
            let log = self.log(program);
            destroy(&mut program);
            let log = log?;
            if status != 0 {
                bail!("{name}: status {status}\n{log}");
            }
            Ok(log)
        }
    }

    /// # Safety
    /// `program` is a program that has not been destroyed.
    unsafe fn log(&self, program: Program) -> Result<String> {
        type LogSize = unsafe extern "C" fn(Program, *mut usize) -> Status;
        type Log = unsafe extern "C" fn(Program, *mut c_char) -> Status;

        let mut size = 0;
        // SAFETY: the symbols have these signatures in NVRTC 13; the program is valid; the buffer has the size that
        // the library asks for, with the zero at its end.
        let bytes = unsafe {
            let log_size: Symbol<'_, LogSize> = self.library.get(b"nvrtcGetProgramLogSize")?;
            let log: Symbol<'_, Log> = self.library.get(b"nvrtcGetProgramLog")?;
            let status = log_size(program, &mut size);
            let mut bytes = vec![0u8; size.max(1)];
            if status != 0 || log(program, bytes.as_mut_ptr().cast()) != 0 {
                bail!("NVRTC gives no log");
            }
            bytes
        };
        Ok(CStr::from_bytes_until_nul(&bytes)?.to_string_lossy().into_owned())
    }
}

/// The folder of the package.
fn fetch() -> Result<PathBuf> {
    let folder = format!("nvrtc-{VERSION}");
    let package = format!("nvidia-cuda-nvrtc=={VERSION}");
    crate::provision::from_pypi(&Shell::new()?, &folder, LIBRARIES, &[&package])
}
