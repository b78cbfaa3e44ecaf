//! Sets of compressed matrices in several files: a folder with parts and a manifest.
//!
//! A set is a batch of matrices of one shape, matrices of any shapes, or one or several matrices in blocks. Each part
//! is an `.npz` file: of members, with the keys of [`npz::write_batch`](crate::npz::write_batch); of a block, with
//! those of [`npz::write_compressed`](crate::npz::write_compressed) and indices that start at 0 in each block.
//! `manifest.json` says what the parts are:
//!
//! ```json
//! {
//!   "version": 1,
//!   "kind": { "matrix": { "row_blocks": 2, "col_blocks": 1 } },
//!   "format": "csr",
//!   "dtype": "f64",
//!   "shape": [10, 8],
//!   "parts": [
//!     {
//!       "file": "part-00000-8c1f9d52a6e04b73.npz",
//!       "covers": { "block": { "rows": { "start": 0, "end": 5 }, "cols": { "start": 0, "end": 8 } } },
//!       "shape": [5, 8], "nnz": 6, "bytes": 1021, "crc32c": 2868427116
//!     },
//!     …
//!   ]
//! }
//! ```
//!
//! | key | meaning |
//! |---|---|
//! | `kind` | `{"batch": {"members": N}}`, `{"matrices": {"members": N}}`, `{"matrix": …}` with the blocks that rows and columns are cut into, or `{"matrices_in_blocks": …}` with these and `members` |
//! | `format`, `dtype` | `csr` or `csc`, and `f32`, `f64`, `c32` or `c64`, of every part |
//! | `shape` | rows and columns of the matrix, or of each member of a batch; of matrices, their sums |
//! | `covers` | the members of the part, or its rows and columns, of several matrices those on the diagonal; parts are in order, blocks row-major |
//! | `shape`, `nnz`, `bytes` of a part | rows and columns, entries of all members, bytes of the file |
//! | `crc32c` | the CRC-32C (Castagnoli) of the file |
//!
//! [`PartWriter`] writes parts one after the other and the manifest last: a folder without a valid manifest is no set.
//! Parts get names that no file has, so that a set that is replaced stays whole until the new manifest is there. Files
//! that the manifest does not name, such as those of a process that was killed, are not part of the set.
//!
//! [`PartSet`] trusts neither the manifest nor the parts: names must stay in the folder, parts must cover the set
//! without gaps or overlaps, and each file must have the size, the checksum and the contents that the manifest claims.
//! The checksum finds accidents, not attacks; so the arrays are checked all the same.

mod concat;
mod manifest;
mod read;
mod write;

pub use manifest::{Cover, Part, SetKind};
pub use read::PartSet;
pub use write::PartWriter;

use std::path::{Path, PathBuf};

/// The name of the file that describes a set.
pub const MANIFEST: &str = "manifest.json";

/// The folder of the set at `path`, which names the folder or the manifest in it; `None` for the name of another file.
pub(crate) fn folder_of(path: &Path) -> Option<PathBuf> {
    if path.is_dir() {
        return Some(path.into());
    }
    let folder = path.parent().filter(|_| path.file_name().is_some_and(|name| name == MANIFEST))?;
    Some(if folder.as_os_str().is_empty() { ".".into() } else { folder.into() })
}
