//! Faults of products of a sparse and a dense matrix.

use super::{Fault, Kind, LONG_ROWS, ROWS, any, both, by, cl, cu, each};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        kind: Kind::WrongStride,
        what: "every column of B is taken for the first",
        place: both("csr_spmm", "indices[k] * b_row + col * b_col", "indices[k] * b_row"),
        found_by: &[by("spmm/csr", "row_per_thread")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "an entry is multiplied by the row of B of the entry before",
        place: cl("csr_spmm", "b_rows[k] + col * b_col", "b_rows[k > 0 ? k - 1 : 0] + col * b_col"),
        found_by: &[by("spmm/csr", "crc")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "every lane takes the column of B of the first",
        place: cl("csr_spmm", "b_rows[k] + (col + m * LANES) * b_col", "b_rows[k] + m * LANES * b_col"),
        found_by: &[by("spmm/csr", "cwm")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "every lane takes the column of B of the first",
        place: cu("csr_spmm", "b_at + (col + m * WARP) * b_col", "b_at + m * WARP * b_col"),
        found_by: &[by("spmm/csr", "cwm")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the first entry of a row is left out",
        place: cu(
            "csr_spmm",
            "offsets[row], offsets[row + 1], indices",
            "offsets[row] + 1, offsets[row + 1], indices",
        ),
        found_by: &[by("spmm/csr", "crc")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the first entry of a chunk is left out",
        place: each(
            "csr_spmm_split",
            ("k = begin; k < end; k++", "k = begin + 1; k < end; k++"),
            ("k = begin; k < begin + length; k++", "k = begin + 1; k < begin + length; k++"),
        ),
        found_by: &[by("spmm/csr", "row_split")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "an entry that stands behind three others of its block is left out",
        place: each(
            "csr_spmm_row_blocks",
            ("k = 0; k < IN_FLIGHT; k++) {", "k = 0; k < IN_FLIGHT - 1; k++) {"),
            ("while (at + k == row_end)", "if (k == IN_FLIGHT - 1) continue; while (at + k == row_end)"),
        ),
        found_by: &[by("spmm/csr", "row_blocks")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "every column of B is packed as the first",
        place: both("csr_spmm_split", "b[b_start + row * b_row + col * b_col]", "b[b_start + row * b_row]"),
        found_by: &[by("spmm/csr", "row_split_packed")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "one chunk alone of a long row is added",
        place: both(
            "csr_spmm_split_atomic",
            "add_atomically(&partial[slot * cols + col], sum);",
            "partial[slot * cols + col] = sum;",
        ),
        found_by: &[by("spmm/csr", "row_split_atomic")],
        case: LONG_ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the entries of every second column of a window are left out",
        place: cu("csr_spmm_tensor", "value_at(slot + 2 * pair + 1, group));", "T(0));"),
        found_by: &[by("spmm/csr", "tensor_f16")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "the plan makes chunks an entry too short",
        place: each(
            "csr_chunks",
            ("(long)offsets[row + 1] - begin);", "(long)offsets[row + 1] - begin - 1);"),
            ("(long long)offsets[row + 1] - begin);", "(long long)offsets[row + 1] - begin - 1);"),
        ),
        found_by: &[by("spmm/csr", "row_split")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "every column of B is taken for the first",
        place: both("grouped", "columns[k] * b_row + col * b_col", "columns[k] * b_row"),
        found_by: &[
            any("spmm/csc"),
            any("spmm/coo"),
            any("spmm/ell"),
            any("spmm/hyb"),
            any("spmm/sell"),
            any("spmm/batch_csr"),
            any("spmm/batch_csc"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongOrder,
        what: "the last of equal products is the argument",
        place: both("csr_spmm_reduce", "next < found : next > found)", "next <= found : next >= found)"),
        found_by: &[any("spmm_reduce/csr")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last entry of a row gives no product",
        place: both("csr_spmm_reduce", "k < end; k++", "k < end - 1; k++"),
        found_by: &[any("spmm_reduce/csr")],
        case: ROWS,
    },
];
