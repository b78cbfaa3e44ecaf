//! NCCL: the search for its library, and its functions.
//!
//! cudarc does not look for `libnccl.so.2`, the name of the library in NVIDIA's packages, and panics where it finds
//! none.

use crate::error::backend_error;
use libloading::Library;
use sparse_core::Result;
use std::error::Error as _;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::fmt::{self, Debug};
use std::sync::OnceLock;

/// The library's file names: that of its packages, and a developer's link.
const NAMES: [&str; 2] = ["libnccl.so.2", "libnccl.so"];

/// ncclUint8 of ncclDataType_t.
const BYTES: c_int = 1;

/// ncclComm_t: an opaque pointer.
pub(super) type Handle = *mut c_void;
/// ncclUniqueId: the number by which ranks find each other, which is passed by value.
#[repr(C)]
#[derive(Debug, Clone, Copy)]
pub(super) struct UniqueId(pub(super) [u8; 128]);

/// ncclResult_t: 0 is success.
type Status = c_int;

type GetVersion = unsafe extern "C" fn(*mut c_int) -> Status;
type GetUniqueId = unsafe extern "C" fn(*mut UniqueId) -> Status;
type InitRank = unsafe extern "C" fn(*mut Handle, c_int, UniqueId, c_int) -> Status;
type InitAll = unsafe extern "C" fn(*mut Handle, c_int, *const c_int) -> Status;
type OnHandle = unsafe extern "C" fn(Handle) -> Status;
type Group = unsafe extern "C" fn() -> Status;
type SendBytes = unsafe extern "C" fn(*const c_void, usize, c_int, c_int, Handle, *mut c_void) -> Status;
type ReceiveBytes = unsafe extern "C" fn(*mut c_void, usize, c_int, c_int, Handle, *mut c_void) -> Status;
type ErrorString = unsafe extern "C" fn(Status) -> *const c_char;

/// The library's answer to a failed call.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {status}")]
struct CallFailed {
    call: &'static str,
    status: String,
}

/// The library of NCCL 2.7 or later, whose functions several threads may call at once.
pub(super) struct Nccl {
    get_version: GetVersion,
    get_unique_id: GetUniqueId,
    init_rank: InitRank,
    init_all: InitAll,
    abort: OnHandle,
    group_start: Group,
    group_end: Group,
    send: SendBytes,
    receive: ReceiveBytes,
    error_string: ErrorString,
    /// The library of the functions.
    _library: Library,
}

impl Debug for Nccl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nccl").field("version", &self.version()).finish_non_exhaustive()
    }
}

impl Nccl {
    /// The library that the loader finds, searched once, or the reason why there is none.
    pub(super) fn found() -> Result<&'static Self, String> {
        static FOUND: OnceLock<Result<Nccl, String>> = OnceLock::new();
        FOUND.get_or_init(|| Self::first(&NAMES)).as_ref().map_err(String::clone)
    }

    /// The first library that is usable, or the reasons why none is.
    fn first(names: &[&str]) -> Result<Self, String> {
        let mut reasons = vec![];
        for name in names {
            match Self::open(name) {
                Ok(found) => return Ok(found),
                Err(error) => {
                    reasons.push(error.source().map_or_else(|| error.to_string(), ToString::to_string))
                }
            }
        }
        Err(format!("NCCL was not found: {}", reasons.join("; ")))
    }

    fn open(file: impl AsRef<OsStr>) -> Result<Self, libloading::Error> {
        // SAFETY: the initializers of NVIDIA's libraries have no requirements. The functions have had these signatures
        // since NCCL 2.7; the library stays loaded as long as they.
        unsafe {
            let library = Library::new(file.as_ref())?;
            Ok(Self {
                get_version: *library.get(b"ncclGetVersion")?,
                get_unique_id: *library.get(b"ncclGetUniqueId")?,
                init_rank: *library.get(b"ncclCommInitRank")?,
                init_all: *library.get(b"ncclCommInitAll")?,
                abort: *library.get(b"ncclCommAbort")?,
                group_start: *library.get(b"ncclGroupStart")?,
                group_end: *library.get(b"ncclGroupEnd")?,
                send: *library.get(b"ncclSend")?,
                receive: *library.get(b"ncclRecv")?,
                error_string: *library.get(b"ncclGetErrorString")?,
                _library: library,
            })
        }
    }

    /// The version, as `2.28.3`.
    pub(super) fn version(&self) -> String {
        let mut version = 0;
        // SAFETY: the call writes one number.
        match unsafe { (self.get_version)(&raw mut version) } {
            0 => format!("{}.{}.{}", version / 10_000, version / 100 % 100, version % 100),
            _ => "of an unknown version".into(),
        }
    }

    /// A communicator for each of these devices, which are distinct.
    pub(super) fn init_all(&self, devices: &[c_int]) -> Result<Vec<Handle>> {
        let mut handles = vec![std::ptr::null_mut(); devices.len()];
        // SAFETY: both arrays have this length.
        let made = unsafe { (self.init_all)(handles.as_mut_ptr(), devices.len() as c_int, devices.as_ptr()) };
        self.check("ncclCommInitAll", made).map(|()| handles)
    }

    /// An NCCL unique id for ranks of several processes; one of them asks for it.
    pub(super) fn unique_id(&self) -> Result<UniqueId> {
        let mut id = UniqueId([0; 128]);
        // SAFETY: the call writes the number.
        let made = unsafe { (self.get_unique_id)(&raw mut id) };
        self.check("ncclGetUniqueId", made).map(|()| id)
    }

    /// The communicator of a rank on the device whose context is the thread's. It waits for all ranks to call.
    pub(super) fn init_rank(&self, ranks: usize, id: UniqueId, rank: usize) -> Result<Handle> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the call writes the handle.
        let made = unsafe { (self.init_rank)(&raw mut handle, ranks as c_int, id, rank as c_int) };
        self.check("ncclCommInitRank", made).map(|()| handle)
    }

    /// Ends a communicator, and its unfinished work.
    ///
    /// # Safety
    /// The communicator is alive, no other thread is in a call with it, and nobody uses it any more.
    pub(super) unsafe fn abort(&self, handle: Handle) {
        // SAFETY: the caller promises the same.
        let _ = unsafe { (self.abort)(handle) };
    }

    /// Runs `calls` as one operation, which is enqueued at the end.
    pub(super) fn group(&self, calls: impl FnOnce() -> Result<()>) -> Result<()> {
        // SAFETY: the calls have no requirements.
        self.check("ncclGroupStart", unsafe { (self.group_start)() })?;
        let called = calls();
        // SAFETY: as above; the group was begun by this thread.
        let ended = self.check("ncclGroupEnd", unsafe { (self.group_end)() });
        called.and(ended)
    }

    /// Sends bytes to the device of another rank.
    ///
    /// # Safety
    /// The address has `bytes` bytes on the communicator's device until the stream, of the same device, has done this.
    pub(super) unsafe fn send(
        &self,
        (address, bytes): (u64, usize),
        rank: usize,
        handle: Handle,
        stream: *mut c_void,
    ) -> Result<()> {
        // SAFETY: the caller promises the same.
        let status =
            unsafe { (self.send)(address as *const c_void, bytes, BYTES, rank as c_int, handle, stream) };
        self.check("ncclSend", status)
    }

    /// Receives bytes of the device of another rank.
    ///
    /// # Safety
    /// As for [`send`](Self::send).
    pub(super) unsafe fn receive(
        &self,
        (address, bytes): (u64, usize),
        rank: usize,
        handle: Handle,
        stream: *mut c_void,
    ) -> Result<()> {
        // SAFETY: the caller promises the same.
        let status =
            unsafe { (self.receive)(address as *mut c_void, bytes, BYTES, rank as c_int, handle, stream) };
        self.check("ncclRecv", status)
    }

    fn check(&self, call: &'static str, status: Status) -> Result<()> {
        if status == 0 {
            return Ok(());
        }
        // SAFETY: the library takes any number and returns a text that is never freed.
        let text = unsafe { (self.error_string)(status) };
        let status = match text.is_null() {
            true => format!("status {status}"),
            // SAFETY: as above; the text ends with a zero.
            false => unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned(),
        };
        Err(backend_error(CallFailed { call, status }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_not_there_or_is_another_is_named() {
        let reason = Nccl::first(&["libnccl.of.nobody.so", "libc.so.6"]).unwrap_err();
        for part in ["NCCL was not found", "libnccl.of.nobody.so", "ncclGetVersion"] {
            assert!(reason.contains(part), "{reason}");
        }
    }
}
