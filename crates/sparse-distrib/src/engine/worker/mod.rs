//! A device that compresses chunks and stores the results.

mod device;
mod portion;
mod resident;

use super::ledger::Ledger;
pub use super::message::PackedBatch;
use super::parallelism::Parallelism;
use super::source::DeviceMatrices;
use super::staging::Staging;
pub use device::DeviceWorker;
pub(crate) use portion::{DEVICE_STREAMS, UNPACKING_STREAMS};
pub(super) use portion::{MAX_PINNED_BYTES, PORTION_BYTES, STAGED_BYTES, peak_bytes};
pub use resident::Resident;
pub(super) use resident::{Capacity, DeviceBatch, batch_bytes};
use sparse_core::op::Keep;
use sparse_core::reference::Reference;
use sparse_core::{BatchCsr, ContextId, DenseBatchView, Error, Host, Index, Result, Scalar};
use std::sync::Arc;

/// A device of the [`Engine`](super::Engine), of any backend.
///
/// [`DeviceWorker`] implements it for every backend that compresses dense matrices.
pub trait Worker<T: Scalar, I: Index, O: Index>: Send {
    /// The device's name in reports.
    fn name(&self) -> &str;

    /// True if the device computes in the host's memory, so that its parts are never moved there.
    fn is_host(&self) -> bool;

    /// Bytes of dense data that the device compresses per second, its link included, if known. Policies that schedule
    /// in advance compare these rates.
    fn rate(&self) -> Option<f64>;

    /// The account of the device's memory. Compressed parts count until they are freed.
    fn ledger(&self) -> &Arc<Ledger>;

    /// Sets the division of the compressions that follow. By default it is left as it is: results have the same bytes.
    fn set_parallelism(&mut self, _parallelism: Parallelism) {}

    /// Compresses the members of a chunk by rows, after it was copied to a device with memory of its own. The result
    /// takes exactly the memory that its entries need.
    ///
    /// # Errors
    /// [`IndexOverflow`](sparse_core::Error::IndexOverflow) if the extents or the entries of a member do not fit their
    /// types, [`OutOfMemory`](sparse_core::Error::OutOfMemory); any other error means that the device has failed.
    fn compress(&mut self, chunk: DenseBatchView<'_, T>, keep: Keep<T>)
    -> Result<Box<dyn Resident<T, I, O>>>;

    /// The context of the device's memory, if the worker compresses matrices that are already there
    /// ([`compress_in_place`](Self::compress_in_place)). Default: `None`.
    fn context(&self) -> Option<ContextId> {
        None
    }

    /// Compresses matrices in the device's own memory by rows, as [`compress`](Self::compress) does those of the host.
    /// The result may take more memory than its entries need: [`Resident::reserved_bytes`].
    ///
    /// # Errors
    /// As for [`compress`](Self::compress); [`Unsupported`](sparse_core::Error::Unsupported) unless the worker has a
    /// [context](Self::context).
    fn compress_in_place(
        &mut self,
        _matrices: &DeviceMatrices<'_>,
        _keep: Keep<T>,
    ) -> Result<Box<dyn Resident<T, I, O>>> {
        let reason = "the worker takes matrices of the host alone";
        Err(Error::unsupported(format!("compressing in the memory of {}", self.name()), reason))
    }

    /// Copies a compressed part to the device.
    ///
    /// # Errors
    /// [`OutOfMemory`](sparse_core::Error::OutOfMemory), or an error of the device's runtime.
    fn adopt(&self, part: &BatchCsr<T, Host, I, O>) -> Result<Box<dyn Resident<T, I, O>>>;

    /// True if the device itself [unpacks](Self::unpack) messages by `ed2` and `bitmap`, so that they cross the link as
    /// they are. Default: false, the host decodes them.
    fn unpacks(&self) -> bool {
        false
    }

    /// Copies a batch of messages to the device, which computes its offsets and indices.
    ///
    /// # Errors
    /// As for [`adopt`](Self::adopt); [`Unsupported`](sparse_core::Error::Unsupported) unless the worker
    /// [unpacks](Self::unpacks).
    fn unpack(&self, _batch: &PackedBatch<T, I>) -> Result<Box<dyn Resident<T, I, O>>> {
        Err(Error::unsupported(format!("unpacking on {}", self.name()), "the host decodes its messages"))
    }

    /// The memory of the host that chunks are written to before the device [compresses](Self::compress) them; by
    /// default pageable memory.
    fn staging(&self) -> Box<dyn Staging<T>> {
        Box::new(Reference)
    }

    /// Frees memory that only makes the next chunk faster.
    fn trim(&mut self);

    /// Other workers for the same device, with the same account, each of which works on its own chunk at the same time.
    /// Default: none. For chunks that cross a link uncompressed, only one of them is used.
    fn further_streams(&self) -> Vec<Box<dyn Worker<T, I, O>>> {
        vec![]
    }
}

/// A worker of any backend.
pub(super) type BoxedWorker<T, I, O> = Box<dyn Worker<T, I, O>>;
