//! Faults of compression.

use super::{Fault, Kind, ROWS, both, by, cu, each};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        kind: Kind::OffByOne,
        what: "entries are given the column before theirs",
        place: each(
            "dense_to_csr",
            ("indices[to] = (IDX)j;", "indices[to] = (IDX)(j > 0 ? j - 1 : 0);"),
            ("indices[to] = (Idx)j;", "indices[to] = (Idx)(j > 0 ? j - 1 : 0);"),
        ),
        found_by: &[
            by("dense_to_csr/csr", "row_per_thread"),
            by("dense_to_csr/csc", "row_per_thread"),
            by("dense_to_csr/coo", "row_per_thread"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "offsets of a member count from the first member on",
        place: both("dense_to_csr", "(starts[member * rows + row] - first)", "(starts[member * rows + row])"),
        found_by: &[
            by("dense_to_csr/batch_csr", "row_per_thread"),
            by("dense_to_csr/batch_csc", "row_per_thread"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongOrder,
        what: "lanes write behind those after them",
        place: each(
            "dense_to_csr",
            ("popcount(all & ((1u << lid) - 1u))", "popcount(all >> lid >> 1)"),
            ("__popc(all & before)", "__popc(all & ~before) - 1"),
        ),
        found_by: &[by("dense_to_csr/csr", "row_per_warp")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "columns of every tile count from the first one",
        place: each(
            "dense_to_csr_staged",
            ("(IDX)(base + lane)", "(IDX)lane"),
            ("(Idx)(base + lane)", "(Idx)lane"),
        ),
        found_by: &[
            by("dense_to_csr/csr", "row_per_warp_staged"),
            by("dense_to_csr/csc", "row_per_warp_staged"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongOrder,
        what: "columns are written in reverse",
        place: each(
            "dense_to_csr_mask",
            ("entry_cols[own][k])", "entry_cols[own][count - 1 - k])"),
            ("+ own_cols[k])", "+ own_cols[entries[i].count - 1 - k])"),
        ),
        found_by: &[by("dense_to_csr/csr", "mask")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "work-items fill members from rows of the first member on",
        place: both(
            "dense_to_csr_matrix",
            "to = starts[member * rows];\n        for (",
            "to = starts[member];\n        for (",
        ),
        found_by: &[
            by("dense_to_csr/batch_csr", "matrix_per_thread"),
            by("dense_to_csr/batch_csc", "matrix_per_thread"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "entries of an unfinished row are counted for the row after it, too",
        place: each(
            "dense_to_csr_matrix",
            ("(at.col > lid ? before : 0)", "before"),
            ("(at.col > lane ? before : 0)", "before"),
        ),
        found_by: &[
            by("dense_to_csr/csr", "matrix_per_warp"),
            by("dense_to_csr/batch_csr", "matrix_per_warp"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongOrder,
        what: "lanes write behind those after them",
        place: each(
            "dense_to_csr_matrix",
            ("popcount(all & lanes_before)", "popcount(all & ~lanes_before) - 1"),
            ("__popc(all & lanes_before)", "__popc(all & ~lanes_before) - 1"),
        ),
        found_by: &[by("dense_to_csr/csr", "matrix_per_warp"), by("dense_to_csr/csc", "matrix_per_warp")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "rows that begin within a part of a tile start where it does",
        place: cu(
            "dense_to_csr_look_back",
            "result.start_row(row, to + own.before)",
            "result.start_row(row, to)",
        ),
        found_by: &[by("dense_to_csr/csr", "look_back"), by("dense_to_csr/batch_csr", "look_back")],
        case: ROWS,
    },
];
