//! Faults of products of a matrix and a vector.

use super::{Fault, Kind, LONG_ROWS, ROWS, SHORT_ROWS, UNSORTED, any, both, by, cl, cu, each};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last entry of a row is left out",
        place: both("csr_spmv", "k < end; k++", "k < end - 1; k++"),
        found_by: &[by("spmv/csr", "row_per_thread"), by("spmv/csc", "row_per_thread")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "a warp begins behind the first entry of its row",
        place: each(
            "csr_spmv",
            (
                "row_per_group(LANES, sums, row, offsets[row],",
                "row_per_group(LANES, sums, row, offsets[row] + 1,",
            ),
            ("sum_of_lane(offsets[row],", "sum_of_lane(offsets[row] + 1,"),
        ),
        found_by: &[by("spmv/csr", "row_per_warp")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "a row ends an entry too early",
        place: cl(
            "csr_spmv_block",
            "begin + lengths[i] : offsets[i + 1];",
            "begin + lengths[i] - 1 : offsets[i + 1] - 1;",
        ),
        found_by: &[by("spmv/csr", "row_per_block")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the row that is taken first is not written",
        place: cu("csr_spmv_block", "update(y, y_start + row,", "if (i > 0) update(y, y_start + row,"),
        found_by: &[by("spmv/csr", "row_per_block")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "lanes stop before the last entry of a row",
        place: both("csr_spmv_vector", "k < end; k += LANES", "k < end - 1; k += LANES"),
        found_by: &[by("spmv/csr", "row_per_vector")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "rows without entries stay as they were",
        place: both("csr_spmv_listed", "row % WARP & 1) == 0", "row % WARP & 1) > 1"),
        found_by: &[by("spmv/csr", "listed_rows")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "rows end where the row before ends",
        place: both(
            "csr_spmv_merge",
            "(offsets[first_row + i + 1] - begin)",
            "(offsets[first_row + i] - begin)",
        ),
        found_by: &[by("spmv/csr", "merge_path")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the sum of a row that goes on in the next step stays that of an earlier one",
        place: each(
            "csr_spmv_segmented",
            ("carried = sums[LANES - 1];", ""),
            ("carried = shuffle(begins > 0 ? sum : before + sum, WARP - 1);", ""),
        ),
        found_by: &[by("spmv/csr", "segmented")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the last row of a block of rows is not written",
        place: each(
            "csr_spmv_row_blocks",
            ("pass == passes || row < rows;", "pass == passes || row + 1 < rows;"),
            ("if (row < rows && lane % lanes == 0)", "if (row + 1 < rows && lane % lanes == 0)"),
        ),
        found_by: &[by("spmv/csr", "row_blocks")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "an entry is multiplied by the x of the entry before",
        place: both(
            "grouped",
            "load(x, x_start + columns[k])",
            "load(x, x_start + columns[k > offsets[row] ? k - 1 : k])",
        ),
        found_by: &[any("spmv/csc"), any("spmv/batch_csr"), any("spmv/batch_csc")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Race,
        what: "a lane adds the sum of another after that has changed it",
        place: cl(
            "coo_spmv",
            "left = vals[lid - d];\n            barrier(CLK_LOCAL_MEM_FENCE);\n            if (active) {",
            "left = vals[lid - d];\n            if (active) {",
        ),
        found_by: &[by("spmv/coo", "segmented"), by("spmv/hyb", "device")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "a row that ends in the lane before the last is not written",
        place: cu("coo_spmv", "lane < WARP - 1 && next_row", "lane < WARP - 2 && next_row"),
        found_by: &[by("spmv/coo", "segmented")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the first entry is left out",
        place: both("coo_spmv", "n = begin; n < end;", "n = begin + 1; n < end;"),
        found_by: &[by("spmv/coo", "sequential")],
        case: UNSORTED,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last entry is left out",
        place: both("coo_spmv_atomic", "n < nnz;", "n < nnz - 1;"),
        found_by: &[by("spmv/coo", "atomic")],
        case: UNSORTED,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "slots of a row stand a width apart, and not as many as there are rows",
        place: both("ell_spmv", "at = k * rows + row;", "at = k * width + row;"),
        found_by: &[any("spmv/ell"), by("spmv/hyb", "device"), by("spmv/hyb", "host_coo")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "slots of a row do not stand a slice apart",
        place: each(
            "sell_spmv",
            ("at += slice_height)", "at += slice_height + 1)"),
            ("k * (HEIGHT > 0 ? HEIGHT : height)", "k * ((HEIGHT > 0 ? HEIGHT : height) - 1)"),
        ),
        found_by: &[by("spmv/sell", "row_per_thread")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last slot of a slice is left out",
        place: each(
            "sell_deltas",
            ("at < end; at += slice_height, slot++", "at < end - slice_height; at += slice_height, slot++"),
            ("k < elements; k++", "k < elements - 1; k++"),
        ),
        found_by: &[by("spmv/sell", "delta16")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last column of 16 bits of a row is left out",
        place: both("csr_deltas", "k < end; k++", "k < end - 1; k++"),
        found_by: &[by("spmv/csr", "delta16")],
        case: SHORT_ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "lanes stop before the last column of 16 bits of a row",
        place: both("csr_deltas_vector", "k < end; k += LANES", "k + 1 < end; k += LANES"),
        found_by: &[by("spmv/csr", "delta16")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the pieces of the last row that has several are left out",
        place: both(
            "csr_row_blocks",
            "starts[i] = pieces[b];\n        } else if",
            "starts[i] = 0;\n        } else if",
        ),
        found_by: &[by("spmv/csr", "row_blocks"), by("spmm/csr", "row_blocks")],
        case: LONG_ROWS,
    },
];
