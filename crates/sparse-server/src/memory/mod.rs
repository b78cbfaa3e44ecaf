//! The memory of a process that stores matrices: the ledger of the device's bytes, and the host's heap.

pub(crate) mod heap;
pub(crate) mod host_work;
pub(crate) mod ledger;
