//! The faults of devices.

use super::{Change, Fault, Finder, Kind, Site};

/// A matrix in order whose rows have 0 to 34 entries; one with rows of up to 1025; one in no order; one with entries that
/// occur several times.
const ROWS: &str = "rows_of_0_to_34_entries";
const LONG_ROWS: &str = "long_rows_around_256";
const UNSORTED: &str = "tiny_unsorted";
const DUPLICATES: &str = "v4_duplicates";

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
pub const FAULTS: &[Fault] = &[
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
        case: UNSORTED,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "lanes stop before the last column of 16 bits of a row",
        place: both("csr_deltas_vector", "k < end; k += LANES", "k < end - 1; k += LANES"),
        found_by: &[by("spmv/csr", "delta16")],
        case: ROWS,
    },
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
        found_by: &[by("spmm/csr", "crc"), by("spmm/csr", "cwm")],
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
    Fault {
        kind: Kind::WrongStride,
        what: "every column of B is packed as the first",
        place: both("csr_spmm_split", "b[b_start + row * b_row + col * b_col]", "b[b_start + row * b_row]"),
        found_by: &[by("spmm/csr", "row_split_packed")],
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
        kind: Kind::WrongStride,
        what: "every entry is written to the first column",
        place: both("to_dense", "start + i[k] * i_step + j[k] * j_step", "start + i[k] * i_step"),
        found_by: &[
            any("to_dense/csr"),
            any("to_dense/csc"),
            any("to_dense/coo"),
            any("to_dense/ell"),
            any("to_dense/hyb"),
            any("to_dense/sell"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "a factor of zero leaves what was there",
        place: each(
            "vector",
            (
                "store(c, at, is_zero(beta) ? (ACC)(0) : mul(beta, load(c, at)));",
                "if (!is_zero(beta)) store(c, at, mul(beta, load(c, at)));",
            ),
            (
                "store(c, at, is_zero(beta) ? ACC(0) : mul(beta, load(c, at)));",
                "if (!is_zero(beta)) store(c, at, mul(beta, load(c, at)));",
            ),
        ),
        found_by: &[any("vector/scale_dense"), any("to_dense/csr")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "an element of y is added to the x before it",
        place: each(
            "vector",
            (
                "term = mul(alpha, load(x, x_start + i))",
                "term = mul(alpha, load(x, x_start + (i > 0 ? i - 1 : 0)))",
            ),
            (
                "mul(alpha, load(x, x_start + i)) : ACC(0)",
                "mul(alpha, load(x, x_start + (i > 0 ? i - 1 : 0))) : ACC(0)",
            ),
        ),
        found_by: &[by("vector/axpby", "direct"), by("vector/axpby", "device_scalars")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the first element is not written",
        place: each(
            "vector",
            ("update(y, y_start + i, term,", "if (i > 0) update(y, y_start + i, term,"),
            ("update(y, y_start + i, reads_x", "if (i > 0) update(y, y_start + i, reads_x"),
        ),
        found_by: &[by("vector/scal", "direct"), by("vector/scal", "device_scalars")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "an element of x is multiplied by the y before it",
        place: both(
            "vector",
            "mul(conjugate(load(x, x_start + i)), load(y, y_start + i))",
            "mul(conjugate(load(x, x_start + i)), load(y, y_start + (i > 0 ? i - 1 : 0)))",
        ),
        found_by: &[by("vector/dot", "direct"), by("vector/dot", "device_scalars")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the tree of a reduction ends a level too early",
        place: cl("vector", "half_size > 0; half_size /= 2", "half_size > 1; half_size /= 2"),
        found_by: &[any("vector/dot"), any("vector/nrm2"), any("vector/gradient_step")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "what the kernel before left is taken for the sums of squares",
        place: each(
            "vector",
            ("sum += room[count + i];", "sum += room[i];"),
            ("combine_all(room + count, count, Sum())", "combine_all(room, count, Sum())"),
        ),
        found_by: &[by("vector/nrm2", "direct"), by("vector/nrm2", "device_scalars")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the first element of the direction stays",
        place: both(
            "vector",
            "update(p, p_start + i, load(r, r_start + i), beta);",
            "if (i > 0) update(p, p_start + i, load(r, r_start + i), beta);",
        ),
        found_by: &[any("vector/gradient_step")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "rows begin where the next one begins",
        place: both("coordinates", "count_below(major, n, row)", "count_below(major, n, row + 1)"),
        found_by: &[
            any("convert/coo_to_csr"),
            any("convert/coo_to_csc"),
            any("convert/csr_to_csc"),
            any("convert/csc_to_csr"),
            any("convert/ell_to_csr"),
            any("convert/hyb_to_csr"),
            any("convert/sell_to_csr"),
            any("sort/csr"),
            any("sort/csc"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "entries are given the row before theirs",
        place: each(
            "coordinates",
            ("major[k] = (IDX)row;", "major[k] = (IDX)(row > 0 ? row - 1 : 0);"),
            ("major[k] = (Idx)row;", "major[k] = (Idx)(row > 0 ? row - 1 : 0);"),
        ),
        found_by: &[any("convert/csr_to_coo"), any("convert/csc_to_coo")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongOrder,
        what: "keys with one digit come out in reverse",
        place: each(
            "radix_sort",
            ("seen[own] + popcount(lanes & before);", "seen[own] + popcount(lanes & ~before) - 1;"),
            (
                "seen[warp][digit] + __popc(alike & before);",
                "seen[warp][digit] + __popc(alike & ~before) - 1;",
            ),
        ),
        found_by: &[any("sort/csr"), any("sort/csc"), any("sort/coo"), any("convert/coo_to_csr")],
        case: UNSORTED,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "of entries with one coordinate the last one alone counts",
        place: both(
            "coo_merge",
            "sum += load(values, positions[next]);",
            "sum = load(values, positions[next]);",
        ),
        found_by: &[any("convert/coo_to_csr"), any("convert/coo_to_csc")],
        case: DUPLICATES,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "position 0 is taken for padding",
        place: both("gather", "else if (position >= 0)", "else if (position > 0)"),
        found_by: &[
            any("convert/csr_to_csc"),
            any("convert/csr_to_ell"),
            any("convert/batch_csr_to_batch_csc"),
            any("convert/batch_csc_to_batch_csr"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the first entry of a row is left out",
        place: both("padded", "offsets[row] + slot / rows;", "offsets[row] + slot / rows + 1;"),
        found_by: &[any("convert/csr_to_ell"), any("convert/csr_to_hyb")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "all entries of a row's overflow have the value of the first",
        place: each(
            "padded",
            ("positions[to] = (POS)entry;", "positions[to] = (POS)first;"),
            ("positions[to] = (Position)entry;", "positions[to] = (Position)first;"),
        ),
        found_by: &[any("convert/csr_to_hyb")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last entry of a row has no value",
        place: both("padded", "positions[slot] = entry < end ?", "positions[slot] = entry + 1 < end ?"),
        found_by: &[any("convert/csr_to_sell")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "column 0 of ELL is taken for padding",
        place: each(
            "padded",
            ("flag = cols[slot] >= 0;", "flag = cols[slot] > 0;"),
            ("slot < slots && cols[slot] >= 0;", "slot < slots && cols[slot] > 0;"),
        ),
        found_by: &[any("convert/ell_to_csr"), any("convert/hyb_to_csr"), any("to_dense/ell")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "column 0 of SELL is taken for padding",
        place: both("padded", "flags[slot] = cols[slot] >= 0;", "flags[slot] = cols[slot] > 0;"),
        found_by: &[any("convert/sell_to_csr"), any("to_dense/sell")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the first entry does not stay",
        place: each(
            "prune",
            ("flag = keeps(values[k],", "flag = k > 0 && keeps(values[k],"),
            ("k < n && keeps(values[k],", "k > 0 && k < n && keeps(values[k],"),
        ),
        found_by: &[any("prune/csr"), any("prune/csc"), any("prune/coo")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "rows begin where the row before begins",
        place: both("prune", "starts[from[i]]", "starts[from[i > 0 ? i - 1 : 0]]"),
        found_by: &[any("prune/csr"), any("prune/csc")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "every element that stays is the first",
        place: both("move", "to[starts[k]] = from[k];", "to[starts[k]] = from[0];"),
        found_by: &[any("prune/coo")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Race,
        what: "the up-sweep adds sums that are not there yet",
        place: each(
            "scan",
            (
                "sums[RIGHT(lid, pairs)] += sums[LEFT(lid, pairs)];\n            barrier(CLK_LOCAL_MEM_FENCE);",
                "sums[RIGHT(lid, pairs)] += sums[LEFT(lid, pairs)];",
            ),
            (
                "sums[RIGHT(own, pairs)] += sums[LEFT(own, pairs)];\n            __syncthreads();",
                "sums[RIGHT(own, pairs)] += sums[LEFT(own, pairs)];",
            ),
        ),
        found_by: &[by("scan/array", "work_efficient")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "a chunk is added the sum before the chunk before",
        place: both("scan", "+= before[chunk];", "+= before[chunk > 0 ? chunk - 1 : 0];"),
        found_by: &[by("scan/array", "work_efficient"), by("scan/array", "work_efficient_padded")],
        case: ROWS,
    },
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
        place: both(
            "dense_to_csr",
            "(starts[first + i % (rows + 1)] - starts[first])",
            "(starts[first + i % (rows + 1)])",
        ),
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
        kind: Kind::WrongOrder,
        what: "columns are written in reverse",
        place: each(
            "dense_to_csr_mask",
            ("kept_cols[own][k])", "kept_cols[own][count - 1 - k])"),
            ("+ own_cols[k])", "+ own_cols[kept[i].count - 1 - k])"),
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
        kind: Kind::DroppedEntry,
        what: "the last columns of U and V are left out",
        place: both("sddmm", "t < inner; t++", "t < inner - 1; t++"),
        found_by: &[
            by("sddmm/csr", "chunk_per_thread"),
            by("sddmm/coo", "chunk_per_thread"),
            by("sddmm/batch_csr", "chunk_per_thread"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "the first entry of a row has the row of the entry before",
        place: both("sddmm", "offsets[row + 1] <= k ?", "offsets[row + 1] < k ?"),
        found_by: &[by("sddmm/csr", "chunk_per_thread"), by("sddmm/csc", "chunk_per_thread")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "neighbouring entries have the row of U of the first of them",
        place: each(
            "sddmm",
            ("e > 0 && u_at[e] != u_at[e - 1]", "false"),
            ("shuffle(row, from)", "shuffle(row, team * width)"),
        ),
        found_by: &[
            by("sddmm/csr", "lanes_per_entry"),
            by("sddmm/coo", "lanes_per_entry"),
            by("sddmm/batch_csc", "lanes_per_entry"),
        ],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "half of the lanes of an entry are not added",
        place: each(
            "sddmm",
            ("half_lanes = (int)lanes / 2", "half_lanes = (int)lanes / 4"),
            ("+ shuffle_xor(given, mask)", "+ (half > 1 ? shuffle_xor(given, mask) : ACC(0))"),
        ),
        found_by: &[by("sddmm/csr", "lanes_per_entry")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "entries of B beside entries of A are left out",
        place: both("merge_rows", "b_positions[to] = place < 0 ? ", "b_positions[to] = true ? "),
        found_by: &[any("elementwise/csr"), any("elementwise/csc")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "entries of B are not added to those of A",
        place: both("elementwise", ": left + right;", ": left;"),
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
    Fault {
        kind: Kind::DroppedEntry,
        what: "the entry before the diagonal is left out",
        place: both("trisolve", "lower ? column < row :", "lower ? column < row - 1 :"),
        found_by: &[any("trisolve/csr"), any("trisolve/csc")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the last row of a level is not solved",
        place: both("trisolve", "i < (last - first) * cols;", "i < (last - first - 1) * cols;"),
        found_by: &[by("trisolve/csr", "level_per_launch")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Race,
        what: "a level is solved while the one before it is",
        place: cl("trisolve", "        barrier(CLK_GLOBAL_MEM_FENCE);\n", ""),
        found_by: &[by("trisolve/csr", "merged_levels")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Race,
        what: "elements of X are taken before they are there",
        place: cu(
            "trisolve_waiting",
            "own.waits && is_ready(elements, own.needed, &value)",
            "own.waits && (is_ready(elements, own.needed, &value) || true)",
        ),
        found_by: &[by("trisolve/csr", "waiting")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "entries have the value of the first of a step",
        place: cu("trisolve_places", "to[here] = positions[k + lane];", "to[here] = positions[k];"),
        found_by: &[by("trisolve/csr", "waiting"), by("trisolve/csc", "waiting")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the last row of a narrow level is not solved",
        place: cu("trisolve", "i = threadIdx.x; i < end;", "i = threadIdx.x; i < end - 1;"),
        found_by: &[by("trisolve/csr", "merged_levels")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last column of a sorted row is left out",
        place: each(
            "spgemm_pattern",
            ("at < n && (at == 0", "at < n - 1 && (at == 0"),
            ("at + each < n && differs", "at + each < n - 1 && differs"),
        ),
        found_by: &[by("spgemm/csr", "sort"), by("spgemm/csc", "sort")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last word of a window in local memory is left out",
        place: both("spgemm_pattern", "at < used ? window[at] : 0", "at < used - 1 ? window[at] : 0"),
        found_by: &[by("spgemm/csr", "window"), by("spgemm/csc", "window")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongOrder,
        what: "columns stay in the order of the hash table",
        place: each(
            "spgemm_pattern",
            ("sort_first(list, found, lid, width);", ""),
            ("sort_first(list, found, lane, width);", ""),
        ),
        found_by: &[by("spgemm/csr", "hash"), by("spgemm/csc", "hash")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last column of a window is left out",
        place: both("spgemm_pattern", "column < window_end)", "column < window_end - 1)"),
        found_by: &[by("spgemm/csr", "bitmap"), by("spgemm/csc", "bitmap")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last word of a bitmap is left out",
        place: each(
            "spgemm_pattern",
            ("at < words ? bitmap[at] : 0", "at < words - 1 ? bitmap[at] : 0"),
            ("at + word < words ? bitmap[at + word] : 0", "at + word < words - 1 ? bitmap[at + word] : 0"),
        ),
        found_by: &[by("spgemm/csr", "split"), by("spgemm/csc", "split")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "a product without a column of the mask is added to the next one",
        place: each(
            "spgemm_values",
            ("return low < n && columns[low] == column ? low : -1;", "return low < n ? low : -1;"),
            (
                "return at < slice.n && slice.columns[at] == column ? at : -1;",
                "return at < slice.n ? at : -1;",
            ),
        ),
        found_by: &[by("spgemm/csr", "by_row"), by("spgemm/csc", "by_row")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "of entry after entry, only the last product of a sum is taken",
        place: each(
            "spgemm_values",
            ("sums[at] += mul(factor", "sums[at] = mul(factor"),
            ("slice.sums[at] += mul(", "slice.sums[at] = mul("),
        ),
        found_by: &[by("spgemm/csr", "by_row"), by("spgemm/csc", "by_row")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "only the last product of a sum is taken",
        place: each(
            "spgemm_values",
            ("sums[at] += product;", "sums[at] = product;"),
            ("slice.sums[at] += product;", "slice.sums[at] = product;"),
        ),
        // The right factor of CSC, as rows, has no repetitions.
        found_by: &[by("spgemm/csr", "by_row")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "an offset comes back as the one before",
        place: Site::Read,
        found_by: &[any("row_statistics/csr")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "half of a value comes back as the other half",
        place: Site::Read,
        found_by: &[any("rule/backend")],
        case: "x3_uploaded_matrices_pass_the_checks",
    },
];
