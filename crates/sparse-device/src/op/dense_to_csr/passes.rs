//! The kernels of two passes, which count the entries of each row and fill the rows.

use super::algorithm::{DenseAlgorithm, SUB_GROUP_FILE, WARP_FILE};
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::lanes::vector;
use crate::{Buffer, Device, Kernel};
use sparse_core::error::checked_product;
use sparse_core::{DType, Result};

/// The file of the kernels of `row_per_thread` and `row_per_warp`.
const FILE: &str = "dense_to_csr";

/// The file of the kernels of `mask`.
const MASK_FILE: &str = "dense_to_csr_mask";

/// The file of the kernels of `matrix_per_thread` and `matrix_per_warp`.
const MATRIX_FILE: &str = "dense_to_csr_matrix";

/// The file of the kernel that fills the rows of `row_per_warp_staged`.
const STAGED_FILE: &str = "dense_to_csr_staged";

/// The number of bits of a row is a multiple of this.
const MASK_COLS: usize = 256;

/// The most work-items of a group of `mask` whose lanes communicate through local memory: the kernel's array has this
/// size.
const LARGEST_LOCAL_BLOCK: usize = 128;

/// The kernels of the two passes.
#[derive(Debug)]
pub(super) struct Passes {
    pub(super) count: Kernel,
    pub(super) fill: Kernel,
}

impl Passes {
    pub(super) fn new(
        backend: &Device,
        dtype: DType,
        index: IndexType,
        algorithm: DenseAlgorithm,
        defines: &Defines,
    ) -> Result<Self> {
        let (file, [count, fill]) = match algorithm {
            DenseAlgorithm::Mask => return Self::masked(backend, dtype, false, defines),
            DenseAlgorithm::RowPerWarpStaged => {
                let warps = Self::new(backend, dtype, index, DenseAlgorithm::RowPerWarp, defines)?;
                let entry = "dense_to_csr_fill_staged";
                return Ok(Self {
                    fill: backend.kernel_of(dtype, STAGED_FILE, entry, defines.clone())?,
                    ..warps
                });
            }
            DenseAlgorithm::RowPerWarp => {
                (FILE, ["dense_to_csr_count_row_per_warp", "dense_to_csr_fill_row_per_warp"])
            }
            DenseAlgorithm::MatrixPerThread => {
                (MATRIX_FILE, ["dense_to_csr_count_matrix_per_thread", "dense_to_csr_fill_matrix_per_thread"])
            }
            DenseAlgorithm::MatrixPerWarp => {
                (MATRIX_FILE, ["dense_to_csr_count_matrix_per_warp", "dense_to_csr_fill_matrix_per_warp"])
            }
            DenseAlgorithm::RowPerSubGroup => (
                SUB_GROUP_FILE,
                ["dense_to_csr_count_row_per_sub_group", "dense_to_csr_fill_row_per_sub_group"],
            ),
            DenseAlgorithm::RowPerWarpSycl => {
                (WARP_FILE, ["dense_to_csr_count_warp", "dense_to_csr_fill_warp"])
            }
            // `LookBack` has its own kernels, and needs these only for matrices without elements.
            DenseAlgorithm::RowPerThread | DenseAlgorithm::LookBack => {
                (FILE, ["dense_to_csr_count_row_per_thread", "dense_to_csr_fill_row_per_thread"])
            }
        };
        let defines = match algorithm {
            DenseAlgorithm::RowPerWarpSycl => Defines::default().index(index),
            _ => defines.clone(),
        };
        let kernel = |entry| backend.kernel_of(dtype, file, entry, defines.clone());
        Ok(Self { count: kernel(count)?, fill: kernel(fill)? })
    }

    fn masked(backend: &Device, dtype: DType, wide: bool, defines: &Defines) -> Result<Self> {
        let defines = defines.clone().set("WIDE", u8::from(wide)).set("BLOCK", mask_block(backend));
        let kernel = |entry| backend.kernel_of(dtype, MASK_FILE, entry, defines.clone());
        Ok(Self { count: kernel("dense_to_csr_mask_count")?, fill: kernel("dense_to_csr_mask_fill")? })
    }
}

/// The additions of `mask`: kernels for rows in whole words, and the bits.
#[derive(Debug)]
pub(super) struct Masked {
    pub(super) wide: Passes,
    pub(super) bits: Buffer<i32>,
}

impl Masked {
    /// The kernels and bits for rows that begin at whole words.
    pub(super) fn new(
        backend: &Device,
        dtype: DType,
        rows: usize,
        cols: usize,
        defines: &Defines,
    ) -> Result<Self> {
        let words = cols.div_ceil(MASK_COLS) * (MASK_COLS / i32::BITS as usize);
        let bits = backend.allocate(checked_product("rows x words of the mask", rows, words)?)?;
        Ok(Self { wide: Passes::masked(backend, dtype, vector(dtype.bytes()) > 1, defines)?, bits })
    }
}

/// The work-items of a group of `mask`.
pub(super) fn mask_block(backend: &Device) -> usize {
    let has_warps = backend.properties().warps_per_group > 1;
    if has_warps { backend.inner.block } else { backend.inner.block.min(LARGEST_LOCAL_BLOCK) }
}
