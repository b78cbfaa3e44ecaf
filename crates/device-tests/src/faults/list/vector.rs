//! Faults of operations on vectors, and of prefix sums.

use super::{Fault, Kind, ROWS, any, both, by, cl, cu, each};

pub(super) const FAULTS: &[Fault] = &[
    Fault {
        kind: Kind::Stale,
        what: "a factor of zero leaves what was there",
        place: each(
            "vector",
            (
                "store(c, at, is_zero(beta) ? (ACC)(0) : multiply(load(c, at), beta));",
                "if (!is_zero(beta)) store(c, at, multiply(load(c, at), beta));",
            ),
            (
                "store(c, at, is_zero(beta) ? ACC(0) : multiply(load(c, at), beta));",
                "if (!is_zero(beta)) store(c, at, multiply(load(c, at), beta));",
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
                "value = multiply(load(x, x_start + i), alpha)",
                "value = multiply(load(x, x_start + (i > 0 ? i - 1 : 0)), alpha)",
            ),
            (
                "multiply(load(x, x_start + i), alpha) : ACC(0)",
                "multiply(load(x, x_start + (i > 0 ? i - 1 : 0)), alpha) : ACC(0)",
            ),
        ),
        found_by: &[by("vector/axpby", "direct"), by("vector/axpby", "device_scalars")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the first element is not written",
        place: both("vector", "store(y, y_start + i, value);", "if (i > 0) store(y, y_start + i, value);"),
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
            ("sum += workspace[count + i];", "sum += workspace[i];"),
            ("combine_all(workspace + count, count, Sum())", "combine_all(workspace, count, Sum())"),
        ),
        found_by: &[by("vector/nrm2", "direct"), by("vector/nrm2", "device_scalars")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the first element of the direction stays",
        place: both(
            "vector",
            "update(p, p_start + i, load(z, z_start + i), beta);",
            "if (i > 0) update(p, p_start + i, load(z, z_start + i), beta);",
        ),
        found_by: &[any("vector/gradient_step")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the first element of the iterate stays",
        place: cu("vector_step", "iterate.part[k] = moved(", "if (at + k > 0) iterate.part[k] = moved("),
        found_by: &[by("vector/gradient_step", "direct")],
        case: ROWS,
    },
    Fault {
        kind: Kind::Stale,
        what: "the square of the residual's norm is taken for its product with the preconditioned residual",
        place: both("vector", "real_part(squares) >= 0 ? product : squares", "squares"),
        found_by: &[any("vector/gradient_step")],
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
];
