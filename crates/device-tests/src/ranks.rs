//! The suite of `sparse-distrib`, whose tests run it on the host, on a device.

#[path = "../../sparse-distrib/tests/suite/distribution.rs"]
mod distribution;
#[path = "../../sparse-distrib/tests/suite/matrices.rs"]
mod matrices;
#[path = "../../sparse-distrib/tests/suite/vectors.rs"]
mod vectors;

use crate::each_device;
use sparse_core::reference::Reference;
use sparse_device::Library;
use sparse_distrib::Local;

/// The examples of the literature have their numbers.
pub fn examples_of_the_literature_have_their_numbers(library: &Library) {
    each_device(library, |backend| vectors::all(backend));
}

/// One to eight threads that share a device have the bytes of threads on the host, by every scheme, partition and
/// orientation.
pub fn ranks_have_the_bytes_of_those_on_the_host(library: &Library) {
    each_device(library, |backend| {
        for ranks in 1..=8 {
            let device = Local::run(ranks, |rank| distribution::all(&rank, backend));
            let host = Local::run(ranks, |rank| distribution::all(&rank, &Reference));
            assert!(device == host, "{ranks} ranks");
        }
    });
}
