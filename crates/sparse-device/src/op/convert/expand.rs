//! CSR and CSC to COO: the major index of each entry is written out.

use crate::Device;
use crate::op::available_algorithms::Needs;
use crate::primitive::coordinates::Coordinates;
use crate::primitive::rearrangement::ToCoo;
use sparse_core::format::IndexOrder;
use sparse_core::{Algorithm, Axis, Choice, Compressed, Index, Result, Scalar, algorithms};

algorithms! {
    /// The algorithms of conversions to COO.
    pub(super) enum ExpandAlgorithm needs Needs {
        Expand = Algorithm::new("expand", "always")
            .preprocessing("both indices of each entry, written by the device"),
        Needs::Nothing;
    }
}

/// CSR or CSC to coordinates, in the order of the entries.
pub(super) fn expand<A: Axis, T: Scalar, I: Index, O: Index>(
    backend: &Device,
    from: &Compressed<A, T, Device, I, O>,
    (): &(),
    choice: Choice,
) -> Result<ToCoo<T, I>> {
    let known = IndexOrder { major_sorted: true, ..from.order() };
    let unknown = IndexOrder { major_sorted: false, sorted: false, unique: false };
    let order = if A::IS_ROW { known } else { unknown };
    Coordinates::stored(backend, from.into())?.into_coo(backend, choice, A::IS_ROW, order)
}
