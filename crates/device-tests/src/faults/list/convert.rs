//! Faults of conversions, sorts and prunes.

use super::{DUPLICATES, Fault, Kind, ROWS, UNSORTED, any, both, each};

pub(super) const FAULTS: &[Fault] = &[
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
];
