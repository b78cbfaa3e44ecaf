//! Faults of products of two sparse matrices.

use super::{
    BLOCKS, DENSE, DIAGONAL, Fault, Kind, LONG_ROWS, ROWS, SHORT_ROWS, WHOLE_WORDS, both, by, cu, each,
};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last column of a sorted row is left out",
        place: each(
            "spgemm_columns",
            ("at < n && (at == 0", "at < n - 1 && (at == 0"),
            ("at + each < n && differs", "at + each < n - 1 && differs"),
        ),
        found_by: &[by("spgemm/csr", "sort"), by("spgemm/csc", "sort")],
        case: ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "products have the place of the column before theirs",
        place: each(
            "spgemm_columns",
            ("(uchar)(before + is_new - 1)", "(uchar)(before - (before > 0))"),
            ("(unsigned char)(before - 1)", "(unsigned char)(before - 1 - (before > 1))"),
        ),
        found_by: &[by("spgemm/csr", "by_row"), by("spgemm/csr", "sort")],
        case: SHORT_ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last word of a window in local memory is left out",
        place: both("spgemm_columns", "at < used ? window[at] : 0", "at < used - 1 ? window[at] : 0"),
        found_by: &[by("spgemm/csr", "window"), by("spgemm/csc", "window")],
        case: ROWS,
    },
    Fault {
        kind: Kind::WrongOrder,
        what: "columns stay in the order of the hash table",
        place: each(
            "spgemm_columns",
            ("sort_first(list, found, lid, width);", ""),
            ("sort_first(list, found, lane, width);", ""),
        ),
        found_by: &[by("spgemm/csr", "hash"), by("spgemm/csc", "hash")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last column of a window is left out",
        place: both("spgemm_bitmaps", "column < window_end)", "column < window_end - 1)"),
        found_by: &[by("spgemm/csr", "bitmap"), by("spgemm/csc", "bitmap")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last word of a bitmap is left out",
        place: each(
            "spgemm_bitmaps",
            ("at < words ? bitmap[at] : 0", "at < words - 1 ? bitmap[at] : 0"),
            ("at + word < words ? bitmap[at + word] : 0", "at + word < words - 1 ? bitmap[at + word] : 0"),
        ),
        found_by: &[by("spgemm/csr", "split"), by("spgemm/csc", "split")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last product of an entry is left out",
        place: each(
            "spgemm_places",
            ("p < length; p += width", "p < length - 1; p += width"),
            ("time * width < step.length;", "time * width < step.length - 1;"),
        ),
        found_by: &[by("spgemm/csr", "places"), by("spgemm/csc", "places")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "a product without a column of the mask has the next one's place",
        place: each(
            "spgemm_places",
            (
                "(int)find_sorted(c_indices + begin, n, b_indices[origins[owner] + p]);",
                "(int)count_below(c_indices + begin, n, b_indices[origins[owner] + p]);",
            ),
            (
                "find_sorted(c_indices + begin, n, b_indices[products.origins[owner] + p]);",
                "count_below(c_indices + begin, n, b_indices[products.origins[owner] + p]);",
            ),
        ),
        found_by: &[by("spgemm/csr", "places"), by("spgemm/csc", "places")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last product of a chunk is left out",
        place: each(
            "spgemm_chunks",
            (
                "products[padded(product)] = value;",
                "products[padded(product)] = product < chunk.products - 1 ? value : rest;",
            ),
            ("if (at + ahead * BLOCK < count)", "if (at + ahead * BLOCK < count - 1)"),
        ),
        found_by: &[by("spgemm/csr", "chunks"), by("spgemm/csc", "chunks")],
        case: LONG_ROWS,
    },
    Fault {
        kind: Kind::OffByOne,
        what: "products of strips have the next entry of B",
        place: cu(
            "spgemm_strips",
            "int place = places[k].segment_place + offset;",
            "int place = places[k].segment_place + offset + 1;",
        ),
        found_by: &[by("spgemm/csr", "strips"), by("spgemm/csc", "strips")],
        case: DIAGONAL,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last product of an entry of a strip is left out",
        place: cu("spgemm_strips_sum", "at < end; at++)", "at < end - 1; at++)"),
        found_by: &[by("spgemm/csr", "strips"), by("spgemm/csc", "strips")],
        case: DIAGONAL,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last pair of a block is left out",
        place: cu("spgemm_node_blocks_sum", "at < end; at++)", "at < end - 1; at++)"),
        found_by: &[by("spgemm/csr", "node_blocks"), by("spgemm/csc", "node_blocks")],
        case: ROWS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last column of blocks that differ in size is left out",
        place: cu("spgemm_node_blocks_sum", "column < columns ? rows[", "column < columns - 1 ? rows["),
        found_by: &[by("spgemm/csr", "node_blocks"), by("spgemm/csc", "node_blocks")],
        case: DENSE,
    },
    Fault {
        kind: Kind::WrongStride,
        what: "the rows of a block of B stand a block too near",
        place: cu(
            "spgemm_node_blocks",
            "(unsigned short)a.place, sized_length}",
            "(unsigned short)a.place, (unsigned short)(sized_length - unknowns)}",
        ),
        found_by: &[by("spgemm/csr", "node_blocks"), by("spgemm/csc", "node_blocks")],
        case: BLOCKS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last column of a row of B is left out of merges",
        place: cu("spgemm_merge", "return at[way] < ends[way] ?", "return at[way] + 1 < ends[way] ?"),
        found_by: &[by("spgemm/csr", "merge"), by("spgemm/csc", "merge")],
        case: WHOLE_WORDS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "only the last product of a merged sum is taken",
        place: cu(
            "spgemm_merge_values",
            "sum += mul(factors[way], to_acc(values[way]));",
            "sum = mul(factors[way], to_acc(values[way]));",
        ),
        found_by: &[by("spgemm/csr", "merge"), by("spgemm/csc", "merge")],
        case: WHOLE_WORDS,
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
];
