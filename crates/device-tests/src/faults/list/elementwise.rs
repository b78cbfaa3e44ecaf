//! Faults of sums, reductions and softmax of sparse matrices.

use super::{Fault, Kind, ROWS, any, both, by};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        kind: Kind::OffByOne,
        what: "entries of A and B in one place become two elements",
        place: both("merge_rows", "b_column <= a_column", "b_column < a_column"),
        found_by: &[any("elementwise/csr"), any("elementwise/csc")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "entries of B are not added to those of A",
        place: both("merge_rows", ": left + right;", ": left;"),
        found_by: &[any("elementwise/csr"), any("elementwise/csc")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "elements that are not stored are left out of variances",
        place: both("reduce_rows", "(REAL)(extent - stored)", "(REAL)(0)"),
        found_by: &[any("reduce/csr"), any("reduce/csc")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last value of a row is not added",
        place: both(
            "reduce_rows",
            "k < end; k += step) {\n        ACC value = load(values, k);\n        found",
            "k < end - 1; k += step) {\n        ACC value = load(values, k);\n        found",
        ),
        found_by: &[by("reduce/csr", "line_per_thread"), by("reduce/csc", "line_per_warp")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last exponential of a row is not added",
        place: both(
            "softmax_rows",
            "k < end; k += step)\n        sum +=",
            "k < end - 1; k += step)\n        sum +=",
        ),
        found_by: &[by("softmax/csr", "line_per_thread"), by("softmax/csc", "line_per_warp")],
        case: ROWS,
    },
];
