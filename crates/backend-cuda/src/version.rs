//! The version of the driver, and the oldest supported one.

use std::fmt::{self, Display};

/// A version of CUDA as its libraries number it: 12.4 is 12040.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Version(pub(crate) i32);

/// The oldest version that has every function in use: cuFuncGetParamInfo came with 12.4. The workspace asks cudarc for
/// the same version, so that a call of a newer function does not compile.
pub(crate) const NEEDED: Version = Version(12_040);
/// The first driver with that version.
const NEEDED_DRIVER: &str = "550";

/// The functions in use, except the one for the version. The stand-in of the tests has these and no others, so that a
/// function that is not listed does not pass them.
pub(crate) const FUNCTIONS: [&str; 51] = [
    "cuCtxGetCurrent",
    "cuCtxSetCurrent",
    "cuCtxSynchronize",
    "cuDeviceCanAccessPeer",
    "cuDeviceGet",
    "cuDeviceGetAttribute",
    "cuDeviceGetCount",
    "cuDeviceGetDefaultMemPool",
    "cuDeviceGetName",
    "cuDeviceGetUuid_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuDevicePrimaryCtxRetain",
    "cuDeviceTotalMem_v2",
    "cuEventCreate",
    "cuEventDestroy_v2",
    "cuEventElapsedTime",
    "cuEventRecord",
    "cuEventSynchronize",
    "cuFuncGetAttribute",
    "cuFuncGetParamInfo",
    "cuFuncSetAttribute",
    "cuGetErrorName",
    "cuGetErrorString",
    "cuGraphDestroy",
    "cuGraphExecDestroy",
    "cuGraphInstantiateWithFlags",
    "cuGraphLaunch",
    "cuInit",
    "cuLaunchKernelEx",
    "cuMemAllocAsync",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemGetInfo_v2",
    "cuMemHostAlloc",
    "cuMemPoolSetAccess",
    "cuMemPoolSetAttribute",
    "cuMemcpyDtoDAsync_v2",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyPeerAsync",
    "cuModuleGetFunction",
    "cuModuleLoadData",
    "cuModuleUnload",
    "cuPointerGetAttributes",
    "cuStreamBeginCapture_v2",
    "cuStreamCreate",
    "cuStreamCreateWithPriority",
    "cuStreamDestroy_v2",
    "cuStreamEndCapture",
    "cuStreamSynchronize",
    "cuStreamWaitEvent",
];

impl Version {
    /// An error if the driver lacks functions; cudarc would panic when they are called.
    pub(crate) fn check(self) -> Result<(), String> {
        if self >= NEEDED {
            return Ok(());
        }
        Err(format!(
            "the NVIDIA driver is too old: it has CUDA {self}, and {NEEDED} is needed; install driver {NEEDED_DRIVER} or later"
        ))
    }
}

impl Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0 / 1000, self.0 % 1000 / 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_reads_as_nvidia_writes_it() {
        assert_eq!(
            [11_080, 12_000, 12_040, 13_010].map(|v| Version(v).to_string()),
            ["11.8", "12.0", "12.4", "13.1"]
        );
    }

    #[test]
    fn an_older_driver_is_refused_with_both_versions() {
        for old in [0, 11_080, 12_030] {
            let reason = Version(old).check().unwrap_err();
            let versions = format!("it has CUDA {}, and 12.4 is needed", Version(old));
            assert!(reason.contains(&versions) && reason.contains("driver 550"), "{reason}");
        }
        for new in [12_040, 12_090, 13_000, 20_000] {
            assert_eq!(Version(new).check(), Ok(()));
        }
    }
}
