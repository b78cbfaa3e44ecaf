//! Faults of a device's reads.

use super::{Fault, Kind, ROWS, Site, any};

pub(super) const FAULTS: &[Fault] = &[
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
