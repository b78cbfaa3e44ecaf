//! The table of the files. The build script reads it too.

use kernels_core::{File, Header, file};

const HEADERS: &[Header] = kernels_core::headers!(
    "cu",
    [
        "apart.cuh",
        "atomic_add.cuh",
        "barrier.cuh",
        "block.cuh",
        "block_pairs.cuh",
        "chunk_streams.cuh",
        "chunk_sums.cuh",
        "columns.cuh",
        "deltas.cuh",
        "dense_parts.cuh",
        "dense_rows.cuh",
        "dense_steps.cuh",
        "entry.cuh",
        "evict_first.cuh",
        "find.cuh",
        "grid.cuh",
        "index.cuh",
        "load_plainly.cuh",
        "look_back.cuh",
        "look_back_in_groups.cuh",
        "merge.cuh",
        "multiply.cuh",
        "neighbours.cuh",
        "node_runs.cuh",
        "nodes.cuh",
        "pack.cuh",
        "panel.cuh",
        "past_first_cache.cuh",
        "products.cuh",
        "ready.cuh",
        "rounded.cuh",
        "row_block.cuh",
        "row_packs.cuh",
        "row_steps.cuh",
        "sampled.cuh",
        "scalar.cuh",
        "search.cuh",
        "slices.cuh",
        "smallest.cuh",
        "staged_entries.cuh",
        "step_numbers.cuh",
        "strips.cuh",
        "team.cuh",
        "types.cuh",
        "update_pack.cuh",
        "warp.cuh",
        "warp_scalar.cuh"
    ]
);

pub(crate) const FILES: &[File] = kernels_core::files!(
    "cu",
    HEADERS,
    [
        file!(
            "cu",
            HEADERS,
            "csr_spmm_column_blocks",
            ["csr_spmm_column_blocks", "csr_spmm_column_blocks_add"],
            [SCALAR, IDX, OFF, CONJ]
        ),
        file!(
            "cu",
            HEADERS,
            "csr_spmm_tensor",
            ["csr_spmm_tensor_count", "csr_spmm_tensor_fill", "csr_spmm_tensor"],
            [TENSOR_SCALAR, IDX, OFF, PACK_BYTES]
        ),
        file!(
            "cu",
            HEADERS,
            "csr_spmv_column_blocks",
            [
                "csr_spmv_column_blocks_split",
                "csr_spmv_column_blocks_touched",
                "csr_spmv_column_blocks",
                "csr_spmv_column_blocks_add",
            ],
            [SCALAR, IDX, OFF, CONJ, BLOCK]
        ),
        file!(
            "cu",
            HEADERS,
            "csr_spmv_row_patterns",
            ["csr_spmv_row_patterns", "csr_spmv_row_patterns_evict_first"],
            [SCALAR, IDX, OFF, CONJ, ANY_LANES]
        ),
        file!("cu", HEADERS, "dense_to_csr_look_back", ["dense_to_csr_look_back"], [SCALAR, IDX, OFF, WIDE]),
        file!("cu", HEADERS, "onesweep", ["onesweep_words", "onesweep_pass", "onesweep_split"], [IDX]),
        file!("cu", HEADERS, "row_patterns", ["row_patterns_find", "row_patterns_check"], [IDX, OFF]),
        file!("cu", HEADERS, "scan_look_back", ["scan_look_back"], [ELEMENT, BLOCK]),
        file!("cu", HEADERS, "sddmm_aligned", ["sddmm_aligned"], [SCALAR, IDX]),
        file!(
            "cu",
            HEADERS,
            "sddmm_quads",
            ["sddmm_quads_count", "sddmm_quads_fill", "sddmm_quads"],
            [SCALAR, IDX, OFF, TEAM]
        ),
        file!(
            "cu",
            HEADERS,
            "spgemm_merge",
            ["spgemm_merge_sample", "spgemm_merge_count", "spgemm_merge_columns"],
            [IDX, OFF, BLOCK, WAYS]
        ),
        file!("cu", HEADERS, "spgemm_merge_values", ["spgemm_merge_values"], [SCALAR, IDX, OFF, WAYS]),
        file!(
            "cu",
            HEADERS,
            "spgemm_node_blocks",
            [
                "spgemm_node_blocks_blocks",
                "spgemm_node_blocks_count",
                "spgemm_node_blocks_pairs",
                "spgemm_node_blocks_lists",
                "spgemm_node_blocks_heads"
            ],
            [IDX, OFF]
        ),
        file!(
            "cu",
            HEADERS,
            "spgemm_node_blocks_sum",
            ["spgemm_node_blocks_sum", "spgemm_node_blocks_sum_sized"],
            [SCALAR, UNKNOWNS]
        ),
        file!(
            "cu",
            HEADERS,
            "spgemm_nodes",
            [
                "spgemm_nodes_row_breaks",
                "spgemm_nodes_column_breaks",
                "spgemm_nodes_firsts",
                "spgemm_nodes_sizes",
                "spgemm_nodes_split",
            ],
            [IDX, OFF]
        ),
        file!(
            "cu",
            HEADERS,
            "spgemm_strips",
            [
                "spgemm_strips_steps",
                "spgemm_strips_b_copies",
                "spgemm_strips_copies",
                "spgemm_strips_begins",
                "spgemm_strips_runs",
                "spgemm_strips_find",
                "spgemm_strips_make",
                "spgemm_strips_rest",
                "spgemm_strips_leave",
                "spgemm_strips_programs",
            ],
            [SCALAR, IDX, OFF, BLOCK]
        ),
        file!("cu", HEADERS, "spgemm_strips_sum", ["spgemm_strips_sum"], [SCALAR, IDX, OFF, BLOCK]),
        file!("cu", HEADERS, "to_host", ["to_host_words"], [WORD]),
        file!(
            "cu",
            HEADERS,
            "trisolve_places",
            ["trisolve_places_rows", "trisolve_places_count", "trisolve_places_fill"],
            [IDX, POS]
        ),
        file!("cu", HEADERS, "trisolve_row_levels", ["trisolve_row_levels"], [IDX]),
        file!(
            "cu",
            HEADERS,
            "trisolve_waiting",
            ["trisolve_waiting_begin", "trisolve_waiting"],
            [SCALAR, IDX, POS, CONJ]
        ),
        file!(
            "cu",
            HEADERS,
            "vector_step",
            ["vector_step_dot", "vector_step_advance", "vector_step_turn"],
            [SCALAR, BLOCK]
        ),
    ]
);

/// A set of defines.
pub(crate) type Variant = Vec<(&'static str, &'static str)>;

/// A define that `backend-cuda` never uses: its blocks have 256 threads.
const LEFT_OUT: (&str, &str) = ("BLOCK", "64");

/// Every file with every set of defines that `backend-cuda` can ask for.
pub(crate) fn programs() -> impl Iterator<Item = (&'static File, Variant)> {
    let variants = |file: &'static File| file.variants().into_iter().map(move |variant| (file, variant));
    FILES.iter().flat_map(variants).filter(|(_, variant)| !variant.contains(&LEFT_OUT))
}

/// The key of the image of a file with these defines, independent of their order.
pub(crate) fn key<'a, 'b>(file: &str, defines: impl IntoIterator<Item = (&'a str, &'b str)>) -> String {
    let mut defines: Vec<_> = defines.into_iter().map(|(name, value)| format!(" {name}={value}")).collect();
    defines.sort();
    file.to_string() + &defines.concat()
}
