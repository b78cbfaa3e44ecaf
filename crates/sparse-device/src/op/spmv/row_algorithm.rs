//! The algorithms for compressed rows along the stored direction.

use super::row_patterns;
use crate::op::available_algorithms::Needs;
use crate::primitive::column_blocks;
use sparse_core::{Algorithm, algorithms};

/// The file of the kernel of `row_per_sub_group`.
pub(super) const SUB_GROUP_FILE: &str = "csr_spmv_sub_group";

algorithms! {
    /// The algorithms along the stored direction.
    pub(super) enum RowAlgorithm needs Needs {
        ColumnBlocks = Algorithm::new(
            column_blocks::NAME,
            "CUDA, for plans of 32 calls and more: x is larger than shared memory, rows are many and have 4 entries \
             and more in most blocks of columns whose part of x it holds",
        )
        .preprocessing("the first entry of each row in each block of columns, and a partial sum for each"),
        Needs::SharedMemory(column_blocks::SPLIT_FILE);

        RowPerThread = Algorithm::new(
            "row_per_thread",
            "the device is a CPU, or rows are many and short: with CUDA or NVIDIA's OpenCL fewer than 64 bytes on \
             average or, where the cache holds the matrix, 16 entries; with other OpenCL 8 entries or, where the \
             plan runs more than once and lengths are alike, 128 bytes, and 192 where the cache holds the matrix",
        ),
        Needs::Nothing;

        RowPerWarp = Algorithm::new(
            "row_per_warp",
            "CUDA or NVIDIA's OpenCL, where rows are few and one is much longer than the average; where the plan \
             runs once, rows of 128 entries on average",
        ),
        Needs::Nothing;

        RowPerBlock = Algorithm::new(
            "row_per_block",
            "CUDA or NVIDIA's OpenCL, where the plan runs more than once, and rows have 384 entries on average and \
             none is much longer, or are very few and one has more than 256: 64 lanes a row; 128, and the longest \
             rows first, where rows are few",
        )
        .preprocessing("where rows are few: their order"),
        Needs::Nothing;

        RowPerVector = Algorithm::new(
            "row_per_vector",
            "rows are too few to fill the device; CUDA or NVIDIA's OpenCL, where rows have more than 256 entries and \
             are uniform; where the plan runs once, rows of 8 entries on average: 2 to 32 lanes a row",
        ),
        Needs::Nothing;

        ListedRows = Algorithm::new(
            "listed_rows",
            "a GPU, where the plan runs more than once, rows are many, most are empty, and none of the others is \
             much longer",
        )
        .preprocessing("the rows with entries, and a bit for each row"),
        Needs::Nothing;

        LengthClasses = Algorithm::new(
            "length_classes",
            "CUDA or NVIDIA's OpenCL, where the plan runs more than once and rows are many: of 4 to 256 entries on \
             average if they are alike, of 2 if a plan of 32 calls finds scattered columns, of 3 to 384 otherwise, \
             in a matrix of up to three caches, but where x has up to 256 KiB and the matrix takes half of the \
             cache; where they are few and one is much longer than the average, or they have 32 entries and their \
             lanes fill half of the device. 1 to 8 lanes a short row, 8 a middle one, a warp a long one, and \
             work-groups for slices of longer ones",
        )
        .preprocessing("the rows that are not short, and for each 2048 entries of the longest a partial sum and a counter"),
        Needs::Nothing;

        SlicedColumns = Algorithm::new(
            "sliced_columns",
            "CUDA or NVIDIA's OpenCL, for plans of 32 calls and more, in place of classes of lengths where rows are \
             alike: if they have 24 entries, scattered columns, and all run at once, or, with values of fewer than 8 \
             bytes, if they have 20 entries, clustered columns, and the cache holds most of the matrix",
        )
        .preprocessing("the columns in the order in which warps read them"),
        Needs::Nothing;

        MergePath = Algorithm::new(
            "merge_path",
            "other OpenCL, where the plan runs more than once, some row is much longer than the average, which is \
             less than 8; CUDA or NVIDIA's OpenCL, where very few rows have thousands of entries, the longest half \
             as many again as the average",
        )
        .preprocessing("the first row of each tile, and two partial sums per tile"),
        Needs::Nothing;

        Segmented = Algorithm::new(
            "segmented",
            "the plan runs more than once, and rows are many, and neither short nor long and uniform (with other \
             OpenCL, not alike), or one is much longer than the average; with CUDA or NVIDIA's OpenCL, if classes of \
             lengths are not chosen",
        )
        .preprocessing("a bit per entry, the rows in order, and two partial sums for some hundred entries"),
        Needs::Nothing;

        RowBlocks = Algorithm::new(
            "row_blocks",
            "the plan runs more than once, and rows are many: with CUDA or NVIDIA's OpenCL those of which one is \
             much longer and most are empty or, in a matrix of more than three caches, short; with other OpenCL \
             alike ones that are neither short nor long",
        )
        .preprocessing(
            "the first row and entry of each block of 252 rows and entries, and a partial sum for each block inside \
             a long row",
        ),
        Needs::Nothing;

        Delta16 = Algorithm::new(
            "delta16",
            "many calls on a GPU, rows or their lanes are many and their columns lie less than 65536 apart in each \
             32 of them: where a thread would take a row; where rows are alike in length, if x has up to 96 KiB, or \
             if most rows are like the row before and have ten entries or replace row blocks, or, with CUDA or \
             NVIDIA's OpenCL or where the cache holds the matrix so, if the columns of 32 rows are within 8 KiB of \
             x; with CUDA or NVIDIA's OpenCL also in 16 windows of 4096 columns",
        )
        .preprocessing("16-bit column deltas, and for each 32 rows a base, or 16"),
        Needs::Nothing;

        NodeBlocks = Algorithm::new(
            "node_blocks",
            "CUDA or NVIDIA's OpenCL, for plans of 32 calls and more, where all entries are in square blocks of 2 to \
             6 rows, those of the unknowns of two nodes, rows have two blocks, and their lanes fill half of the \
             device: 1 to 32 lanes a node",
        )
        .preprocessing("the first column of each block"),
        Needs::Nothing;

        RowPatterns = Algorithm::new(
            "row_patterns",
            "CUDA, for plans of 32 calls and more whose rows or lanes are many and alike in length or short, where the \
             columns of all rows, counted from the number of the row, are one of up to 192 lists of up to 256 that the L1 \
             cache holds, values have 4 bytes and more, and `node_blocks` is not chosen: stencils, bands and grids that are numbered along their axes",
        )
        .preprocessing("a byte for each row, and up to 192 lists of columns"),
        Needs::File(row_patterns::FILE);

        RowPerSubGroup = Algorithm::new("row_per_sub_group", "never: for OpenCL devices with sub-groups"),
        Needs::File(SUB_GROUP_FILE);
    }
}
