//! Faults of sampled products.

use super::{Fault, Kind, ROWS, WHOLE_WORDS, both, by, cu, each};

pub(super) const FAULTS: &[Fault] = &[
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
            ("sum_tile<TILE>(sums, width)", "sum_tile<TILE>(sums, width / 2)"),
        ),
        found_by: &[by("sddmm/csr", "lanes_per_entry")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "entries have the row of U of the first of their team",
        place: cu("sddmm_aligned", "in_a >> e & 1 ? a : b", "in_a ? a : b"),
        found_by: &[
            by("sddmm/csr", "lanes_per_entry"),
            by("sddmm/coo", "lanes_per_entry"),
            by("sddmm/batch_csr", "lanes_per_entry"),
        ],
        case: WHOLE_WORDS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "half of the lanes of an entry are not added",
        place: cu("sddmm_aligned", "sum_tile<TEAM>(sums, TEAM)", "sum_tile<TEAM>(sums, TEAM / 2)"),
        found_by: &[by("sddmm/csr", "lanes_per_entry"), by("sddmm/csc", "lanes_per_entry")],
        case: WHOLE_WORDS,
    },
    Fault {
        kind: Kind::Stale,
        what: "a quad has the row of U of the team's first one",
        place: cu("sddmm_quads", "TEAM * TEAM + e) / QUAD) / QUAD", "TEAM * TEAM) / QUAD) / QUAD"),
        found_by: &[by("sddmm/csr", "column_panels"), by("sddmm/csc", "column_panels")],
        case: WHOLE_WORDS,
    },
    Fault {
        kind: Kind::DroppedEntry,
        what: "the last entry of a quad is left out",
        place: cu("sddmm_quads", "lane_index() % QUAD <= last", "lane_index() % QUAD < last"),
        found_by: &[by("sddmm/csr", "column_panels"), by("sddmm/csc", "column_panels")],
        case: WHOLE_WORDS,
    },
];
