//! The CUDA C++ kernels of [nnz](https://docs.rs/nnz): text alone, compiled at run time by `backend-cuda`.
//!
//! The kernels include no standard headers, since NVRTC has none, and run on every architecture from sm_75 on.
//! [`FILES`] lists every file with its kernels and the macros that it takes; [`File::source`] gives its text with the
//! includes resolved. Files, entries, arguments and macros are those of `kernels-cl`, with CUDA's own beside them.
//!
//! # Launches
//!
//! A kernel whose text begins with "a thread takes …" may run with blocks of any size up to 256, one with "a warp
//! takes …" with any multiple of 32 up to 256, one with "a block takes …" with blocks of exactly `BLOCK` threads.
//! Every one of them strides over its grid, so that any number of blocks, from one on, is right.

pub use kernels_core::{Define, File, Header};

const SCALAR: Define = Define { name: "SCALAR", values: &["F16", "BF16", "F32", "F64", "C32", "C64"] };
const IDX: Define = Define { name: "IDX", values: &["int", "long"] };
const OFF: Define = Define { name: "OFF", values: &["int", "long"] };
const CONJ: Define = Define { name: "CONJ", values: &["0", "1"] };
const BLOCK: Define = Define { name: "BLOCK", values: &["64", "256"] };
const WORD: Define = Define { name: "WORD", values: &["ushort", "uint", "ulong", "ulong2"] };
const ELEMENT: Define = Define { name: "ELEMENT", values: &["uint", "ulong"] };
const KEY: Define = Define { name: "KEY", values: &["uint", "ulong"] };
const LANES: Define = Define { name: "LANES", values: &["4", "8", "16", "32"] };
const WIDE: Define = Define { name: "WIDE", values: &["0", "1"] };
const PADDED: Define = Define { name: "PADDED", values: &["0", "1"] };

macro_rules! file {
    ($name:literal, [$($entry:literal),+ $(,)?], [$($define:ident),+]) => {
        File {
            name: $name,
            entries: &[$($entry),+],
            defines: &[$($define),+],
            needs: &[],
            text: include_str!(concat!("cu/", $name)),
            headers: HEADERS,
        }
    };
}

/// Every file of kernels, in alphabetical order.
pub const FILES: &[File] = &[
    file!("coo_merge.cu", ["coo_merge_sum", "coo_merge_last"], [SCALAR]),
    file!(
        "coo_spmv.cu",
        ["coo_spmv_sequential", "coo_spmv_segmented", "coo_spmv_carries"],
        [SCALAR, IDX, OFF, CONJ, BLOCK]
    ),
    file!("coo_spmv_atomic.cu", ["coo_spmv_atomic"], [SCALAR, IDX, OFF, CONJ]),
    file!(
        "coordinates.cu",
        [
            "coordinates_rows",
            "coordinates_positions",
            "coordinates_heads",
            "coordinates_minor",
            "coordinates_offsets"
        ],
        [IDX, OFF]
    ),
    file!("csr_chunks.cu", ["csr_chunks_count", "csr_chunks_fill", "csr_chunks_order"], [IDX, OFF]),
    file!(
        "csr_spmm.cu",
        ["csr_spmm_row_per_thread", "csr_spmm_crc", "csr_spmm_cwm"],
        [SCALAR, IDX, OFF, CONJ]
    ),
    file!(
        "csr_spmm_split.cu",
        ["csr_spmm_row_split", "csr_spmm_row_split_sums"],
        [SCALAR, IDX, OFF, CONJ, WIDE, LANES]
    ),
    file!("csr_spmv.cu", ["csr_spmv_row_per_thread", "csr_spmv_row_per_warp"], [SCALAR, IDX, OFF, CONJ]),
    file!(
        "csr_spmv_merge.cu",
        ["csr_spmv_merge_search", "csr_spmv_merge_path", "csr_spmv_merge_carries"],
        [SCALAR, IDX, OFF, CONJ, BLOCK]
    ),
    file!(
        "csr_spmv_row_blocks.cu",
        ["csr_spmv_row_blocks_search", "csr_spmv_row_blocks"],
        [SCALAR, IDX, OFF, CONJ, BLOCK]
    ),
    file!("csr_spmv_vector.cu", ["csr_spmv_row_per_vector"], [SCALAR, IDX, OFF, CONJ, LANES]),
    file!(
        "dense_to_csr.cu",
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
    file!("dense_to_csr_look_back.cu", ["dense_to_csr_look_back"], [SCALAR, IDX, OFF, WIDE, BLOCK]),
    file!(
        "dense_to_csr_mask.cu",
        ["dense_to_csr_mask_count", "dense_to_csr_mask_fill"],
        [SCALAR, IDX, OFF, WIDE]
    ),
    file!(
        "ell_spmv.cu",
        ["ell_spmv_row_per_thread", "ell_spmv_sums", "ell_spmv_add", "ell_spmv_with_sums"],
        [SCALAR, IDX, OFF]
    ),
    file!("grouped.cu", ["grouped_spmv", "grouped_spmm", "grouped_sum"], [SCALAR, IDX, OFF, CONJ]),
    file!("move.cu", ["move_gather", "move_compact", "move_zeros"], [WORD]),
    file!("prune.cu", ["prune_flags", "prune_offsets"], [SCALAR, IDX, OFF]),
    file!("radix_sort.cu", ["radix_sort_count", "radix_sort_scatter"], [KEY, BLOCK]),
    file!("row_lengths.cu", ["row_lengths_longest"], [IDX, OFF, BLOCK]),
    file!("scan.cu", ["scan_chunks", "scan_add"], [ELEMENT, BLOCK, PADDED]),
    file!("scan_look_back.cu", ["scan_look_back"], [ELEMENT, BLOCK]),
    file!("sell_deltas.cu", ["sell_deltas_make", "sell_deltas_spmv"], [SCALAR, IDX, OFF]),
    file!("sell_spmv.cu", ["sell_spmv_row_per_thread"], [SCALAR, IDX, OFF]),
    file!("validate.cu", ["validate_offsets", "validate_indices"], [IDX, OFF]),
    file!(
        "vector.cu",
        ["vector_axpby", "vector_update", "vector_scale", "vector_dot", "vector_largest", "vector_squares"],
        [SCALAR, BLOCK]
    ),
];

macro_rules! headers {
    ($($name:literal),+) => {
        &[$(($name, include_str!(concat!("cu/", $name)))),+]
    };
}

const HEADERS: &[Header] = headers!(
    "block.cuh",
    "dense_rows.cuh",
    "dense_steps.cuh",
    "entry.cuh",
    "grid.cuh",
    "index.cuh",
    "look_back.cuh",
    "pack.cuh",
    "scalar.cuh",
    "search.cuh",
    "slices.cuh",
    "types.cuh",
    "warp.cuh",
    "warp_scalar.cuh"
);

/// The file of this name.
pub fn file(name: &str) -> Option<&'static File> {
    FILES.iter().find(|file| file.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_names_every_kernel() {
        for file in FILES {
            assert_eq!(file.text.matches("\nKERNEL ").count(), file.entries.len(), "{}", file.name);
            for entry in file.entries {
                assert!(file.text.contains(&format!("\nKERNEL {entry}(")), "{entry} in {}", file.name);
            }
        }
        assert!(FILES.is_sorted_by_key(|file| file.name));
    }

    #[test]
    fn every_include_is_a_header_of_ours() {
        for file in FILES {
            assert!(!file.source().contains("#include"), "{}", file.name);
        }
    }

    #[test]
    fn a_missing_define_is_an_error_of_the_compiler() {
        for file in FILES {
            let source = file.source();
            assert!(source.contains("#error"), "{}", file.name);
            for define in file.defines {
                assert!(source.contains(&format!("{} ", define.name)), "{} of {}", define.name, file.name);
            }
        }
    }
}
