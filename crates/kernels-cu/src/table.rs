//! The table of the files. The build script reads it too.

use kernels_core::{Define, File, Header};

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

pub(crate) const FILES: &[File] = &[
    file!("coo_merge.cu", ["coo_merge_sum", "coo_merge_last"], [SCALAR, POS]),
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
            "coordinates_pack",
            "coordinates_split",
            "coordinates_repeats",
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
        ["csr_spmm_pack", "csr_spmm_row_split", "csr_spmm_row_split_sums"],
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
    file!(
        "csr_spmv_segmented.cu",
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
    file!("csr_spmv_vector.cu", ["csr_spmv_row_per_vector"], [SCALAR, IDX, OFF, CONJ, FEW_LANES]),
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
        [SCALAR, IDX, OFF, WIDE, BLOCK]
    ),
    file!(
        "ell_spmv.cu",
        ["ell_spmv_row_per_thread", "ell_spmv_sums", "ell_spmv_add", "ell_spmv_with_sums"],
        [SCALAR, IDX, OFF]
    ),
    file!("gather.cu", ["gather_words"], [WORD, POS]),
    file!("grouped.cu", ["grouped_spmv", "grouped_spmm"], [SCALAR, IDX, POS, CONJ]),
    file!("move.cu", ["move_compact", "move_zeros"], [WORD]),
    file!(
        "padded.cu",
        ["padded_ell", "padded_overflow", "padded_sell", "padded_ell_rows", "padded_sell_rows"],
        [IDX, OFF, POS]
    ),
    file!("prune.cu", ["prune_flags", "prune_offsets"], [SCALAR, IDX, OFF]),
    file!(
        "radix_sort.cu",
        ["radix_sort_count", "radix_sort_starts", "radix_sort_scatter"],
        [KEY, POS, BLOCK]
    ),
    file!("row_lengths.cu", ["row_lengths_longest"], [IDX, OFF, BLOCK]),
    file!("scan.cu", ["scan_chunks", "scan_add"], [ELEMENT, BLOCK, PADDED]),
    file!("scan_look_back.cu", ["scan_look_back"], [ELEMENT, BLOCK]),
    file!("sell_deltas.cu", ["sell_deltas_make", "sell_deltas_spmv"], [SCALAR, IDX, OFF]),
    file!("sell_spmv.cu", ["sell_spmv_row_per_thread"], [SCALAR, IDX, OFF]),
    file!("to_dense.cu", ["to_dense_sum"], [SCALAR, IDX, POS]),
    file!("validate.cu", ["validate_offsets", "validate_indices"], [IDX, OFF]),
    file!(
        "vector.cu",
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

/// What the image of a file with these defines is called, whatever their order.
pub(crate) fn key<'a, 'b>(file: &str, defines: impl IntoIterator<Item = (&'a str, &'b str)>) -> String {
    let mut defines: Vec<_> = defines.into_iter().map(|(name, value)| format!(" {name}={value}")).collect();
    defines.sort();
    file.to_string() + &defines.concat()
}
