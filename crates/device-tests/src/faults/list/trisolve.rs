//! Faults of triangular solves.

use super::{Fault, Kind, ROWS, any, both, by, cl, cu};

pub(super) const FAULTS: &[Fault] = &[
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
        kind: Kind::OffByOne,
        what: "a row has the level of the highest row that it needs",
        place: cu(
            "trisolve_row_levels",
            "level = max(level, min(below, HIGHEST - 1) + 1);",
            "level = max(level, min(below, HIGHEST - 1));",
        ),
        found_by: &[by("trisolve/csr", "merged_levels"), by("trisolve/csc", "level_per_launch")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the last row of a narrow level is not solved",
        place: cu("trisolve", "i = threadIdx.x; i < end;", "i = threadIdx.x; i < end - 1;"),
        found_by: &[by("trisolve/csr", "merged_levels")],
        case: ROWS,
    },
];
