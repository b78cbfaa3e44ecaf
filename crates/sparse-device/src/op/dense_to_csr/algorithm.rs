//! The algorithms of dense → compressed rows, and the choice among them.

use super::batch::Batch;
use super::single_pass;
use crate::Device;
use crate::op::available_algorithms::Needs;
use sparse_core::{Algorithm, Backend, PlanOptions, algorithms};

/// The file of the kernels of `row_per_sub_group`.
pub(super) const SUB_GROUP_FILE: &str = "dense_to_csr_sub_group";

/// The file of the kernels of `row_per_warp_sycl`.
pub(super) const WARP_FILE: &str = "dense_to_csr_warp";

algorithms! {
    /// The algorithms of dense → compressed rows.
    pub(super) enum DenseAlgorithm needs Needs {
        RowPerThread = Algorithm::new(
            "row_per_thread",
            "the device is a CPU, or neighbours in memory stand in one column",
        ),
        Needs::Nothing;

        RowPerWarp = Algorithm::new("row_per_warp", "never: a warp a row, which writes in parallel"),
        Needs::Nothing;

        RowPerWarpStaged = Algorithm::new(
            "row_per_warp_staged",
            "never: seed 000's fill, by one lane of a warp from elements that all lanes stage",
        ),
        Needs::Nothing;

        Mask =
            Algorithm::new("mask", "otherwise: the same, and the second pass reads only where entries stand")
                .preprocessing("a bit for each element"),
        Needs::Nothing;

        /// For devices whose work-groups may wait for each other.
        LookBack = Algorithm::new(
            "look_back",
            "neighbours stand in one row, and the plan runs more than once: a single pass",
        )
        .preprocessing("the states of tiles; a guess of nnz, at first an eighth of the elements"),
        Needs::File(single_pass::FILE);

        MatrixPerThread =
            Algorithm::new("matrix_per_thread", "never: a work-item a matrix, for many small ones on a CPU"),
        Needs::Nothing;

        MatrixPerWarp = Algorithm::new("matrix_per_warp", "never: a warp a matrix, for many small ones"),
        Needs::Nothing;

        RowPerSubGroup =
            Algorithm::new("row_per_sub_group", "never: a sub-group a row, which writes in parallel"),
        Needs::File(SUB_GROUP_FILE);

        RowPerWarpSycl =
            Algorithm::new("row_per_warp_sycl", "never: `row_per_warp` in SYCL C++, a sub-group of 32 a row"),
        Needs::File(WARP_FILE);
    }
}

/// The algorithm that fits matrices like `a`, and the reason.
pub(super) fn choose_algorithm(
    backend: &Device,
    a: Batch<'_>,
    options: &PlanOptions,
) -> (DenseAlgorithm, &'static str) {
    let repeats = options.expected_calls > 1 && backend.has(single_pass::FILE);
    match (backend.caps().is_cpu, a.steps.1) {
        (true, _) => (DenseAlgorithm::RowPerThread, "the device is a CPU"),
        (false, 1) if repeats => {
            (DenseAlgorithm::LookBack, "neighbours in memory stand in one row, and the plan repeats")
        }
        (false, 1) => (DenseAlgorithm::Mask, "neighbours in memory stand in one row"),
        (false, _) => (DenseAlgorithm::RowPerThread, "neighbours in memory stand in one column"),
    }
}
