//! The backend of the host: the CPU backend or, without the feature `cpu`, the serial reference.

use sparse_core::Result;

/// The backend of the host: the CPU backend where it is built in, else the serial reference.
#[cfg(feature = "cpu")]
pub(crate) type HostBackend = backend_cpu::Cpu;
/// The backend of the host: the CPU backend where it is built in, else the serial reference.
#[cfg(not(feature = "cpu"))]
pub(crate) type HostBackend = sparse_core::reference::Reference;

/// The host's backend with all processors.
pub(crate) fn host_backend() -> Result<HostBackend> {
    #[cfg(feature = "cpu")]
    let backend = HostBackend::new()?;
    #[cfg(not(feature = "cpu"))]
    let backend = HostBackend::default();
    Ok(backend)
}

/// The host's backend with one processor, for callers with threads of their own.
pub(crate) fn serial_host_backend() -> Result<HostBackend> {
    #[cfg(feature = "cpu")]
    let backend = HostBackend::with(1, backend_cpu::Simd::detect())?;
    #[cfg(not(feature = "cpu"))]
    let backend = HostBackend::default();
    Ok(backend)
}
