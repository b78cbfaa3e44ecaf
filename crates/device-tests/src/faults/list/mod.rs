//! The faults of devices, by the operations that find them first.

mod convert;
mod dense_to_csr;
mod elementwise;
mod reads;
mod sddmm;
mod spgemm;
mod spmm;
mod spmv;
mod trisolve;
mod vector;

use super::{Change, Fault, Finder, Kind, Site};

// Cases: rows of 0 to 34 entries in order, of up to 8 and of up to 1025, a diagonal, blocks of unknowns, entries in no
// order, entries that occur several times; and rows of 0 to 16 entries, few enough for factors of 32 and more columns.
const ROWS: &str = "rows_of_0_to_34_entries";
const WHOLE_WORDS: &str = "varying_row_lengths";
const SHORT_ROWS: &str = "tiny_tall";
const LONG_ROWS: &str = "long_rows_around_256";
const DIAGONAL: &str = "diagonal";
const DENSE: &str = "fully_dense";
const BLOCKS: &str = "blocks_of_3_unknowns";
const UNSORTED: &str = "tiny_unsorted";
const DUPLICATES: &str = "v4_duplicates";
const NAN_IN_B: &str = "v3_stored_zero_times_nan";

/// An operation that finds a fault by any of its algorithms.
const fn any(operation: &'static str) -> Finder {
    (operation, None)
}

/// An operation that finds a fault by one algorithm.
const fn by(operation: &'static str, algorithm: &'static str) -> Finder {
    (operation, Some(algorithm))
}

/// The same change in both languages.
const fn both(file: &'static str, from: &'static str, to: &'static str) -> Site {
    Site::Kernel { file, cl: Some((from, to)), cu: Some((from, to)) }
}

/// A change in each language.
const fn each(file: &'static str, cl: Change, cu: Change) -> Site {
    Site::Kernel { file, cl: Some(cl), cu: Some(cu) }
}

/// A change in OpenCL C alone.
const fn cl(file: &'static str, from: &'static str, to: &'static str) -> Site {
    Site::Kernel { file, cl: Some((from, to)), cu: None }
}

/// A change in CUDA C++ alone.
const fn cu(file: &'static str, from: &'static str, to: &'static str) -> Site {
    Site::Kernel { file, cl: None, cu: Some((from, to)) }
}

/// Every fault of devices.
pub fn faults() -> impl Iterator<Item = &'static Fault> {
    let lists = [
        spmv::FAULTS,
        spmm::FAULTS,
        sddmm::FAULTS,
        vector::FAULTS,
        convert::FAULTS,
        dense_to_csr::FAULTS,
        elementwise::FAULTS,
        trisolve::FAULTS,
        spgemm::FAULTS,
        reads::FAULTS,
    ];
    lists.into_iter().flatten()
}
