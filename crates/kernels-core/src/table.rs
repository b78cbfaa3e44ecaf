//! The table of the files that every language has, and the macros that make entries of it.

use crate::Define;

/// A macro: its name, and the values that it can have.
macro_rules! defines {
    ($($(#[$about:meta])* $constant:ident: $name:literal = $($value:literal)|+;)+) => {
        $($(#[$about])* pub const $constant: Define = Define { name: $name, values: &[$($value),+] };)+
    };
}

defines! {
    /// The type of values.
    SCALAR: "SCALAR" = "F16" | "BF16" | "F32" | "F64" | "C32" | "C64";
    /// The types of values that tensor cores multiply.
    TENSOR_SCALAR: "SCALAR" = "F16" | "F32";
    /// The type of indices.
    IDX: "IDX" = "int" | "long";
    /// The type of offsets.
    OFF: "OFF" = "int" | "long";
    /// 1 if values are conjugated.
    CONJ: "CONJ" = "0" | "1";
    /// The work-items of a work-group.
    BLOCK: "BLOCK" = "64" | "256";
    /// A type of the width of the elements moved.
    WORD: "WORD" = "ushort" | "uint" | "ulong" | "ulong2";
    /// The type of the elements scanned.
    ELEMENT: "ELEMENT" = "uint" | "ulong";
    /// The type of the keys of a sort.
    KEY: "KEY" = "uint" | "ulong";
    /// The type of positions of entries.
    POS: "POS" = "int" | "long";
    /// The type of places among the entries of a row.
    PLACE: "PLACE" = "uchar" | "ushort";
    /// The work-items per row.
    LANES: "LANES" = "4" | "8" | "16" | "32";
    /// The work-items per row, where two are enough.
    FEW_LANES: "LANES" = "2" | "4" | "8" | "16" | "32";
    /// The work-items per row, where one may be enough.
    ANY_LANES: "LANES" = "1" | "2" | "4" | "8" | "16" | "32";
    /// The work-items per short row.
    SHORT_LANES: "LANES" = "1" | "2" | "4" | "8";
    /// The work-items per row, where eight at least are needed.
    MANY_LANES: "LANES" = "8" | "16" | "32";
    /// The work-items per entry of a sampled product.
    TEAM: "TEAM" = "2" | "4" | "8";
    /// The unknowns of a node.
    UNKNOWNS: "UNKNOWNS" = "1" | "2" | "3" | "4" | "5" | "6";
    /// The windows in which neighbouring rows have their columns.
    WINDOWS: "WINDOWS" = "1" | "16";
    /// 1 if memory is read in words of 16 bytes.
    WIDE: "WIDE" = "0" | "1";
    /// The words of 16 bytes that a work-item reads at once; 0 if memory is not read in words.
    WORDS: "WIDE" = "0" | "1" | "2";
    /// The bytes of neighbouring columns that a work-item reads at once.
    PACK_BYTES: "PACK_BYTES" = "8" | "16";
    /// The most entries of a row of A that a work-item merges.
    WAYS: "WAYS" = "8" | "16" | "32";
    /// 1 if local memory is padded.
    PADDED: "PADDED" = "0" | "1";
}

/// Headers in a folder named after their language.
#[macro_export]
macro_rules! headers {
    ($language:literal, [$($name:literal),+ $(,)?]) => {
        &[$(($name, include_str!(concat!($language, "/", $name)))),+]
    };
}

/// The [`File`](crate::File) of a stem, in a folder named after its language, which is its extension too.
#[macro_export]
macro_rules! file {
    ($language:literal, $headers:expr, $stem:literal, [$($entry:literal),+ $(,)?], [$($define:ident),+] $(, needs $need:literal)*) => {
        $crate::File {
            name: concat!($stem, ".", $language),
            entries: &[$($entry),+],
            defines: &[$($crate::table::$define),+],
            needs: &[$($need),*],
            text: include_str!(concat!($language, "/", $stem, ".", $language)),
            headers: $headers,
        }
    };
}

/// Every file of a language: those that all have, and its own.
#[macro_export]
macro_rules! files {
    ($language:literal, $headers:expr, [$($own:expr),+ $(,)?]) => {
        $crate::files! {
            @rows $language, $headers, [$($own),+]
            "coo_merge": ["coo_merge_sum", "coo_merge_last"], [SCALAR, POS];
            "coo_spmv": [
                "coo_spmv_sequential", "coo_spmv_segmented", "coo_spmv_carries",
            ], [SCALAR, IDX, OFF, CONJ, BLOCK];
            "coo_spmv_atomic": ["coo_spmv_atomic"], [SCALAR, IDX, OFF, CONJ];
            "coordinates": [
                "coordinates_rows", "coordinates_positions", "coordinates_pack", "coordinates_split",
                "coordinates_repeats", "coordinates_wide_offsets", "coordinates_heads", "coordinates_minor",
                "coordinates_offsets",
            ], [IDX, OFF];
            "csr_chunks": ["csr_chunks_count", "csr_chunks_fill", "csr_chunks_order"], [IDX, OFF];
            "csr_deltas": ["csr_deltas_make", "csr_deltas_spmv"], [SCALAR, IDX, OFF, CONJ, WINDOWS];
            "csr_deltas_evict_first": ["csr_deltas_evict_first_spmv"], [SCALAR, IDX, OFF, CONJ, WINDOWS];
            "csr_deltas_vector": ["csr_deltas_row_per_vector"], [SCALAR, IDX, OFF, CONJ, WINDOWS, FEW_LANES];
            "csr_deltas_vector_evict_first": [
                "csr_deltas_vector_evict_first",
            ], [SCALAR, IDX, OFF, CONJ, WINDOWS, FEW_LANES];
            "csr_panels": ["csr_panels_sample", "csr_panels_count", "csr_panels_fill"], [IDX, OFF];
            "csr_row_blocks": [
                "csr_row_blocks_search", "csr_row_blocks_count", "csr_row_blocks_fill", "csr_row_blocks_near",
            ], [IDX, OFF];
            "csr_spmm": ["csr_spmm_row_per_thread", "csr_spmm_crc", "csr_spmm_cwm"], [SCALAR, IDX, OFF, CONJ];
            "csr_spmm_panels": ["csr_spmm_panels"], [SCALAR, IDX, OFF, CONJ, WIDE, MANY_LANES];
            "csr_spmm_reduce": [
                "csr_spmm_reduce_element_per_thread", "csr_spmm_reduce_row_split", "csr_spmm_reduce_combine",
            ], [SCALAR, IDX, OFF];
            "csr_spmm_row_blocks": ["csr_spmm_row_blocks"], [SCALAR, IDX, OFF, CONJ, WORDS, LANES];
            "csr_spmm_split": [
                "csr_spmm_pack", "csr_spmm_row_split",
            ], [SCALAR, IDX, OFF, CONJ, WORDS, FEW_LANES];
            "csr_spmm_split_atomic": ["csr_spmm_row_split_atomic"], [SCALAR, IDX, OFF, CONJ];
            "csr_spmv": ["csr_spmv_row_per_thread", "csr_spmv_row_per_warp"], [SCALAR, IDX, OFF, CONJ];
            "csr_spmv_block": ["csr_spmv_row_per_block"], [SCALAR, IDX, OFF, CONJ];
            "csr_spmv_length_classes": [
                "csr_spmv_length_classes_count", "csr_spmv_length_classes_fill", "csr_spmv_length_classes",
                "csr_spmv_length_classes_evict_first",
            ], [SCALAR, IDX, OFF, CONJ, BLOCK, SHORT_LANES];
            "csr_spmv_merge": [
                "csr_spmv_merge_search", "csr_spmv_merge_path", "csr_spmv_merge_carries",
            ], [SCALAR, IDX, OFF, CONJ, BLOCK];
            "csr_spmv_node_blocks": [
                "csr_spmv_node_blocks", "csr_spmv_node_blocks_evict_first",
            ], [SCALAR, IDX, OFF, CONJ, UNKNOWNS];
            "csr_spmv_row_blocks": ["csr_spmv_row_blocks"], [SCALAR, IDX, OFF, CONJ];
            "csr_spmv_segmented": [
                "csr_spmv_segmented_count", "csr_spmv_segmented_mark", "csr_spmv_segmented_begun",
                "csr_spmv_segmented_open", "csr_spmv_segmented", "csr_spmv_segmented_carries",
            ], [SCALAR, IDX, OFF, CONJ];
            "csr_spmv_sliced_columns": [
                "csr_spmv_sliced_columns_count", "csr_spmv_sliced_columns_fill", "csr_spmv_sliced_columns",
            ], [SCALAR, IDX, OFF, CONJ, SHORT_LANES];
            "csr_spmv_listed": [
                "csr_spmv_listed_count", "csr_spmv_listed_fill", "csr_spmv_listed",
            ], [SCALAR, IDX, OFF, CONJ, FEW_LANES];
            "csr_spmv_vector": ["csr_spmv_row_per_vector"], [SCALAR, IDX, OFF, CONJ, FEW_LANES];
            "dense_to_csr": [
                "dense_to_csr_count_row_per_thread", "dense_to_csr_count_row_per_warp",
                "dense_to_csr_fill_row_per_thread", "dense_to_csr_fill_row_per_warp", "dense_to_csr_offsets",
            ], [SCALAR, IDX, OFF];
            "dense_to_csr_mask": [
                "dense_to_csr_mask_count", "dense_to_csr_mask_fill",
            ], [SCALAR, IDX, OFF, WIDE, BLOCK];
            "dense_to_csr_matrix": [
                "dense_to_csr_count_matrix_per_thread", "dense_to_csr_count_matrix_per_warp",
                "dense_to_csr_fill_matrix_per_thread", "dense_to_csr_fill_matrix_per_warp",
            ], [SCALAR, IDX, OFF];
            "dense_to_csr_staged": ["dense_to_csr_fill_staged"], [SCALAR, IDX, OFF];
            "ell_spmv": [
                "ell_spmv_row_per_thread", "ell_spmv_row_per_vector", "ell_spmv_sums", "ell_spmv_add",
            ], [SCALAR, IDX, OFF];
            "gather": ["gather_words"], [WORD, POS];
            "members": [
                "members_join_offsets", "members_join_columns", "members_split_offsets",
                "members_split_columns",
            ], [IDX, OFF];
            "merge_rows": [
                "merge_rows_search", "merge_rows_count", "merge_rows_fill",
            ], [SCALAR, IDX, OFF, BLOCK];
            "move": ["move_compact", "move_zeros"], [WORD];
            "node_blocks": ["node_blocks_find", "node_blocks_columns"], [IDX, OFF];
            "padded": [
                "padded_ell", "padded_overflow", "padded_sell", "padded_ell_rows", "padded_sell_rows",
            ], [IDX, OFF, POS];
            "partial_sums": ["partial_sums"], [SCALAR];
            "prune": ["prune_flags", "prune_offsets"], [SCALAR, IDX, OFF];
            "radix_sort": ["radix_sort_count", "radix_sort_starts", "radix_sort_scatter"], [KEY, POS, BLOCK];
            "reduce_rows": ["reduce_rows_per_thread", "reduce_rows_per_warp"], [SCALAR, OFF];
            "row_lengths": ["row_lengths_longest", "row_lengths_filled", "row_lengths_limited"], [IDX, OFF, BLOCK];
            "row_ranks": ["row_ranks"], [IDX, OFF];
            "scan": ["scan_chunks", "scan_add", "scan_short"], [ELEMENT, BLOCK, PADDED];
            "sddmm": ["sddmm_chunk_per_thread", "sddmm_lanes_per_entry"], [SCALAR, IDX, OFF];
            "select": [
                "select_lengths", "select_positions", "select_copies", "select_columns", "select_offsets",
            ], [IDX, OFF];
            "sell_deltas": ["sell_deltas_make", "sell_deltas_spmv"], [SCALAR, IDX, OFF];
            "sell_spmv": ["sell_spmv_row_per_thread"], [SCALAR, IDX, OFF];
            "softmax_rows": ["softmax_rows_per_thread", "softmax_rows_per_warp"], [SCALAR, OFF];
            "spgemm_bitmaps": [
                "spgemm_bitmaps_bitmap", "spgemm_bitmaps_mark", "spgemm_bitmaps_collect",
            ], [IDX, OFF, BLOCK];
            "spgemm_chunks": [
                "spgemm_chunks_rows", "spgemm_chunks_products", "spgemm_chunks_c_entries",
                "spgemm_chunks_begins", "spgemm_chunks_bounds", "spgemm_chunks_segments",
                "spgemm_chunks_place", "spgemm_chunks_positions", "spgemm_chunks_runs", "spgemm_chunks_heads",
                "spgemm_chunks_sum",
            ], [SCALAR, IDX, OFF, BLOCK];
            "spgemm_columns": [
                "spgemm_columns_sort", "spgemm_columns_sort_mixed", "spgemm_columns_window",
                "spgemm_columns_hash", "spgemm_columns_compact",
            ], [IDX, OFF, BLOCK];
            "spgemm_places": [
                "spgemm_places_b_rows", "spgemm_places_find", "spgemm_places_sum", "spgemm_places_sum_mixed",
            ], [SCALAR, IDX, OFF, BLOCK, PLACE];
            "spgemm_rows": [
                "spgemm_rows_products", "spgemm_rows_bounds", "spgemm_rows_bins", "spgemm_rows_sum_bins",
                "spgemm_rows_bin_starts", "spgemm_rows_order", "spgemm_rows_slices", "spgemm_rows_offsets",
                "spgemm_rows_starts",
            ], [IDX, OFF, BLOCK];
            "spgemm_values": [
                "spgemm_values", "spgemm_values_slices", "spgemm_values_parts",
            ], [SCALAR, IDX, OFF, BLOCK];
            "to_dense": ["to_dense_sum"], [SCALAR, IDX, POS];
            "trisolve": ["trisolve_level", "trisolve_levels", "trisolve_zeros"], [SCALAR, IDX, POS, CONJ];
            "unpack": [
                "unpack_count_bits", "unpack_bits", "unpack_counts", "unpack_offsets", "unpack_local",
            ], [IDX, OFF];
            "validate": ["validate_offsets", "validate_indices"], [IDX, OFF];
            "vector": [
                "vector_axpby", "vector_update", "vector_scale", "vector_dot", "vector_advance",
                "vector_turn", "vector_turn_preconditioned", "vector_sum", "vector_largest", "vector_squares",
                "vector_norm",
            ], [SCALAR, BLOCK];
        }
    };
    // A row has the stem, the kernels and the macros of a file.
    (
        @rows $language:literal, $headers:expr, [$($own:expr),+]
        $($stem:literal: [$($entry:literal),+ $(,)?], [$($define:ident),+];)+
    ) => {
        &[
            $($crate::file!($language, $headers, $stem, [$($entry),+], [$($define),+]),)+
            $($own),+
        ]
    };
}
