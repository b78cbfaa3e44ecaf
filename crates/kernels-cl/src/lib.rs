//! The OpenCL C kernels of [nnz](https://docs.rs/nnz): text alone, compiled at run time by `backend-opencl`.
//!
//! The kernels are plain OpenCL C 1.2. Beside those that every device runs, some say in [`File::needs`] that they use
//! sub-groups; float atomics are made of integer ones. [`FILES`] lists every file with its kernels and the macros that
//! it takes.

pub use kernels_core::{Define, File, Header};

const SCALAR: Define = Define { name: "SCALAR", values: &["F16", "BF16", "F32", "F64", "C32", "C64"] };
const IDX: Define = Define { name: "IDX", values: &["int", "long"] };
const OFF: Define = Define { name: "OFF", values: &["int", "long"] };
const CONJ: Define = Define { name: "CONJ", values: &["0", "1"] };
const BLOCK: Define = Define { name: "BLOCK", values: &["64", "256"] };
const WORD: Define = Define { name: "WORD", values: &["ushort", "uint", "ulong", "ulong2"] };
const ELEMENT: Define = Define { name: "ELEMENT", values: &["uint", "ulong"] };
const KEY: Define = Define { name: "KEY", values: &["uint", "ulong"] };
const POS: Define = Define { name: "POS", values: &["int", "long"] };
const LANES: Define = Define { name: "LANES", values: &["4", "8", "16", "32"] };
const FEW_LANES: Define = Define { name: "LANES", values: &["2", "4", "8", "16", "32"] };
const WIDE: Define = Define { name: "WIDE", values: &["0", "1"] };
const PADDED: Define = Define { name: "PADDED", values: &["0", "1"] };

macro_rules! headers {
    ($($name:literal),+) => {
        &[$(($name, include_str!(concat!("cl/", $name)))),+]
    };
}

const HEADERS: &[Header] = headers!(
    "dense_rows.clh",
    "entry.clh",
    "index.clh",
    "pack.clh",
    "scalar.clh",
    "search.clh",
    "sub_group.clh"
);

macro_rules! file {
    ($name:literal, [$($entry:literal),+ $(,)?], [$($define:ident),+] $(, needs $need:literal)*) => {
        File {
            name: $name,
            entries: &[$($entry),+],
            defines: &[$($define),+],
            needs: &[$($need),*],
            text: include_str!(concat!("cl/", $name)),
            headers: HEADERS,
        }
    };
}

/// Every file of kernels, in alphabetical order.
pub const FILES: &[File] = &[
    file!("coo_merge.cl", ["coo_merge_sum", "coo_merge_last"], [SCALAR, POS]),
    file!(
        "coo_spmv.cl",
        ["coo_spmv_sequential", "coo_spmv_segmented", "coo_spmv_carries"],
        [SCALAR, IDX, OFF, CONJ, BLOCK]
    ),
    file!("coo_spmv_atomic.cl", ["coo_spmv_atomic"], [SCALAR, IDX, OFF, CONJ]),
    file!(
        "coordinates.cl",
        [
            "coordinates_rows",
            "coordinates_positions",
            "coordinates_pack",
            "coordinates_split",
            "coordinates_repeats",
            "coordinates_heads",
            "coordinates_minor",
            "coordinates_offsets"
        ],
        [IDX, OFF]
    ),
    file!("csr_chunks.cl", ["csr_chunks_count", "csr_chunks_fill", "csr_chunks_order"], [IDX, OFF]),
    file!(
        "csr_spmm.cl",
        ["csr_spmm_row_per_thread", "csr_spmm_crc", "csr_spmm_cwm"],
        [SCALAR, IDX, OFF, CONJ]
    ),
    file!(
        "csr_spmm_split.cl",
        ["csr_spmm_pack", "csr_spmm_row_split", "csr_spmm_row_split_sums"],
        [SCALAR, IDX, OFF, CONJ, WIDE, LANES]
    ),
    file!("csr_spmv.cl", ["csr_spmv_row_per_thread", "csr_spmv_row_per_warp"], [SCALAR, IDX, OFF, CONJ]),
    file!(
        "csr_spmv_merge.cl",
        ["csr_spmv_merge_search", "csr_spmv_merge_path", "csr_spmv_merge_carries"],
        [SCALAR, IDX, OFF, CONJ, BLOCK]
    ),
    file!(
        "csr_spmv_row_blocks.cl",
        ["csr_spmv_row_blocks_search", "csr_spmv_row_blocks"],
        [SCALAR, IDX, OFF, CONJ, BLOCK]
    ),
    file!(
        "csr_spmv_segmented.cl",
        [
            "csr_spmv_segmented_count",
            "csr_spmv_segmented_mark",
            "csr_spmv_segmented_begun",
            "csr_spmv_segmented_open",
            "csr_spmv_segmented",
            "csr_spmv_segmented_carries"
        ],
        [SCALAR, IDX, OFF, CONJ]
    ),
    file!(
        "csr_spmv_sub_group.cl",
        ["csr_spmv_row_per_sub_group"],
        [SCALAR, IDX, OFF, CONJ],
        needs "cl_khr_subgroup_shuffle"
    ),
    file!("csr_spmv_vector.cl", ["csr_spmv_row_per_vector"], [SCALAR, IDX, OFF, CONJ, FEW_LANES]),
    file!(
        "dense_to_csr.cl",
        [
            "dense_to_csr_count_row_per_thread",
            "dense_to_csr_count_row_per_warp",
            "dense_to_csr_fill_row_per_thread",
            "dense_to_csr_fill_row_per_warp",
            "dense_to_csr_members",
            "dense_to_csr_offsets",
        ],
        [SCALAR, IDX, OFF]
    ),
    file!(
        "dense_to_csr_mask.cl",
        ["dense_to_csr_mask_count", "dense_to_csr_mask_fill"],
        [SCALAR, IDX, OFF, WIDE, BLOCK]
    ),
    file!(
        "dense_to_csr_sub_group.cl",
        ["dense_to_csr_count_row_per_sub_group", "dense_to_csr_fill_row_per_sub_group"],
        [SCALAR, IDX, OFF],
        needs "cl_khr_subgroup_ballot"
    ),
    file!(
        "ell_spmv.cl",
        ["ell_spmv_row_per_thread", "ell_spmv_sums", "ell_spmv_add", "ell_spmv_with_sums"],
        [SCALAR, IDX, OFF]
    ),
    file!("gather.cl", ["gather_words"], [WORD, POS]),
    file!("grouped.cl", ["grouped_spmv", "grouped_spmm"], [SCALAR, IDX, POS, CONJ]),
    file!("move.cl", ["move_compact", "move_zeros"], [WORD]),
    file!(
        "padded.cl",
        ["padded_ell", "padded_overflow", "padded_sell", "padded_ell_rows", "padded_sell_rows"],
        [IDX, OFF, POS]
    ),
    file!("prune.cl", ["prune_flags", "prune_offsets"], [SCALAR, IDX, OFF]),
    file!(
        "radix_sort.cl",
        ["radix_sort_count", "radix_sort_starts", "radix_sort_scatter"],
        [KEY, POS, BLOCK]
    ),
    file!("row_lengths.cl", ["row_lengths_longest"], [IDX, OFF, BLOCK]),
    file!("scan.cl", ["scan_chunks", "scan_add"], [ELEMENT, BLOCK, PADDED]),
    file!("sell_deltas.cl", ["sell_deltas_make", "sell_deltas_spmv"], [SCALAR, IDX, OFF]),
    file!("sell_spmv.cl", ["sell_spmv_row_per_thread"], [SCALAR, IDX, OFF]),
    file!("to_dense.cl", ["to_dense_sum"], [SCALAR, IDX, POS]),
    file!("validate.cl", ["validate_offsets", "validate_indices"], [IDX, OFF]),
    file!(
        "vector.cl",
        [
            "vector_axpby",
            "vector_update",
            "vector_scale",
            "vector_dot",
            "vector_sum",
            "vector_largest",
            "vector_squares",
            "vector_norm"
        ],
        [SCALAR, BLOCK]
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_kernel() {
        for file in FILES {
            let kernels = file.text.matches("__kernel").count();
            assert_eq!(kernels, file.entries.len(), "{}", file.name);
            for entry in file.entries {
                assert!(file.text.contains(&format!("void {entry}(")), "{entry} in {}", file.name);
            }
        }
        assert!(FILES.is_sorted_by_key(|file| file.name));
    }

    #[test]
    fn every_include_is_resolved() {
        assert!(FILES.iter().all(|file| !file.source().contains("#include")));
    }

    #[test]
    fn a_missing_define_is_an_error_of_the_compiler() {
        for file in FILES {
            let source = file.source();
            for define in file.defines {
                assert!(source.contains(&format!("{} ", define.name)), "{} of {}", define.name, file.name);
            }
            assert!(source.contains("#error"), "{}", file.name);
        }
    }

    /// An early return before a barrier corrupts memory on PoCL: kernels, which return nothing, never return early.
    #[test]
    fn no_kernel_returns_early() {
        for file in FILES {
            assert!(!file.text.contains("return;"), "{}", file.name);
        }
    }

    /// PoCL 3.1 skips what stands before a loop that begins with a barrier: loops end with theirs.
    #[test]
    fn no_loop_begins_with_a_barrier() {
        for file in FILES {
            let lines: Vec<_> = file.text.lines().map(str::trim).collect();
            let begins = |pair: &[&str]| pair[0].starts_with("for ") && pair[1].starts_with("barrier(");
            assert!(!lines.windows(2).any(begins), "{}", file.name);
        }
    }

    /// Intel's CPU runtime 2026.2 miscompiles `int w = get_local_id(0) / 32; long r = ... + w`: the id is an int first.
    #[test]
    fn local_ids_are_ints_before_anything_is_computed_of_them() {
        for file in FILES {
            let uses = file.text.matches("get_local_id(").count();
            let ints = file.text.matches("int lid = (int)get_local_id(0);").count();
            assert_eq!(uses, ints, "{}", file.name);
        }
    }
}
