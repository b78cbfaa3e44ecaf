//! A zip file of arrays.

use crate::any::{AnyIndices, AnyValues};
use crate::npy::{self, ArrayDecoder, Elements, NpyArray, RawArray};
use crate::signature::what_it_is;
use crate::source::expansion_limit;
use crate::stream::wrong;
use sparse_core::{Error, Result};
use std::io::{Cursor, Read, Seek};
use zip::read::ZipFile;
use zip::result::ZipError;
use zip::{CompressionMethod, ZipArchive};

/// More bytes than a format's name or a shape takes.
pub(super) const DESCRIPTION_BYTES: usize = 1 << 10;

/// Bytes that are read at once, few enough to stay in the cache.
const BLOCK_BYTES: usize = 64 << 10;

/// A zip file of `.npy` files.
pub(super) struct Archive<R> {
    pub(super) zip: ZipArchive<R>,
    pub(super) limit: usize,
}

impl<'a> Archive<Cursor<&'a [u8]>> {
    pub(super) fn open(bytes: &'a [u8]) -> Result<Self, String> {
        Self::new(Cursor::new(bytes), bytes.len()).map_err(|reason| reason + &what_it_is(bytes, b"PK"))
    }
}

impl<R: Read + Seek> Archive<R> {
    /// The archive in a file of `length` bytes.
    pub(super) fn new(file: R, length: usize) -> Result<Self, String> {
        let zip = ZipArchive::new(file).map_err(|error| format!("not a sound zip file: {error}"))?;
        Ok(Self { zip, limit: expansion_limit(length) })
    }

    /// True if there is an array `key`.
    pub(super) fn has(&self, key: &str) -> bool {
        self.zip.index_for_name(&format!("{key}.npy")).is_some()
    }

    /// The array `key`, which says what the others are, interpreted by `interpret`.
    pub(super) fn describe<A>(
        &mut self,
        key: &str,
        interpret: impl Fn(&RawArray<'_>) -> Result<A, String>,
    ) -> Result<A, String> {
        let array = RawArray::read(self.member(key)?, DESCRIPTION_BYTES).and_then(|array| interpret(&array));
        array.map_err(|reason| format!("`{key}`: {reason}"))
    }

    /// The array `key` of indices.
    pub(super) fn indices(&mut self, key: &str) -> Result<AnyIndices, String> {
        match self.decode(key, true)? {
            Elements::Indices(indices) => Ok(indices),
            Elements::Values(_) => Err(format!("`{key}` has values where indices are needed")),
        }
    }

    /// The array `data` of one dimension.
    pub(super) fn values(&mut self) -> Result<AnyValues, String> {
        self.data()?.into_vector().map_err(|reason| format!("`data`: {reason}"))
    }

    /// The array `data` of any shape.
    pub(super) fn data(&mut self) -> Result<NpyArray, String> {
        match self.decode("data", false)? {
            Elements::Values(array) => Ok(array),
            Elements::Indices(_) => Err("`data` has indices where values are needed".into()),
        }
    }

    fn decode(&mut self, key: &str, are_indices: bool) -> Result<Elements, String> {
        let limit = self.limit;
        decoded(self.member(key)?, are_indices, limit).map_err(|error| match error {
            Error::File { reason, .. } => format!("`{key}`: {reason}"),
            other => format!("`{key}`: {other}"),
        })
    }

    /// The number of elements that the array `key` claims.
    pub(super) fn length(&mut self, key: &str) -> Result<usize, String> {
        npy::vector_length(&self.head(key)?).map_err(|reason| format!("`{key}`: {reason}"))
    }

    /// The extents that the array `key` claims.
    pub(super) fn extents(&mut self, key: &str) -> Result<Vec<usize>, String> {
        npy::extents(&self.head(key)?).map_err(|reason| format!("`{key}`: {reason}"))
    }

    /// The number of elements that the array `key` of any shape claims.
    pub(super) fn elements(&mut self, key: &str) -> Result<usize, String> {
        npy::element_count(&self.head(key)?).map_err(|reason| format!("`{key}`: {reason}"))
    }

    /// Fails unless each array claims the given number of elements, which `matrix` needs.
    pub(super) fn check_lengths(&mut self, matrix: &str, lengths: &[(&str, usize)]) -> Result<(), String> {
        for &(key, needed) in lengths {
            check_length(matrix, (key, self.length(key)?), needed)?;
        }
        Ok(())
    }

    /// The start of the array `key`, at least its header.
    pub(super) fn head(&mut self, key: &str) -> Result<Vec<u8>, String> {
        let mut head = Vec::new();
        let read = self.member(key)?.take(npy::HEADER_BYTES).read_to_end(&mut head);
        read.map_err(|error| format!("`{key}`: {error}"))?;
        Ok(head)
    }

    /// The array `shape`, of `N` sizes.
    pub(super) fn shape<const N: usize>(&mut self) -> Result<[usize; N], String> {
        extents(self.describe("shape", |array| array.indices())?)
    }

    /// The file `key.npy`, still compressed.
    pub(super) fn member(&mut self, key: &str) -> Result<ZipFile<'_, R>, String> {
        let file = self.zip.by_name(&format!("{key}.npy")).map_err(|error| match error {
            ZipError::FileNotFound => {
                format!("`{key}` is missing, which scipy.sparse.save_npz writes for a matrix of this format")
            }
            error => format!("`{key}`: {error}"),
        })?;
        match file.compression() {
            CompressionMethod::Stored | CompressionMethod::Deflated => Ok(file),
            _ => Err(format!("`{key}` is neither stored nor deflated, as NumPy writes arrays")),
        }
    }
}

/// Fails unless the array `key` has as many elements as `matrix` needs.
pub(super) fn check_length(matrix: &str, (key, found): (&str, usize), needed: usize) -> Result<(), String> {
    if found == needed {
        Ok(())
    } else {
        Err(format!("`{key}` has {found} elements where {matrix} needs {needed}"))
    }
}

/// The elements of an array in a file, converted block by block as they are read, in at most `limit` bytes.
fn decoded(mut file: impl Read, are_indices: bool, limit: usize) -> Result<Elements> {
    let mut left = limit;
    let mut reserve = |bytes| {
        let too_many =
            || wrong(format!("its elements take more than the {limit} bytes that are read at most"));
        left = left.checked_sub(bytes).ok_or_else(too_many)?;
        Ok(())
    };
    let (mut decoder, mut block) = (ArrayDecoder::new(are_indices), vec![0; BLOCK_BYTES]);
    loop {
        match file.read(&mut block).map_err(|error| wrong(error.to_string()))? {
            0 => return decoder.finish(&mut reserve),
            length => decoder.push(&block[..length], &mut reserve)?,
        }
    }
}

/// The sizes of a shape.
pub(super) fn extents<const N: usize>(shape: AnyIndices) -> Result<[usize; N], String> {
    let shape = shape.into_typed::<i64>("shape").map_err(|error| error.to_string())?;
    let extents: Result<Vec<usize>, _> = shape.iter().map(|&extent| extent.try_into()).collect();
    let extents = extents.ok().and_then(|extents| extents.try_into().ok());
    extents.ok_or_else(|| format!("the shape is {shape:?}, not {N} sizes"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::npz::{read, write_coo};
    use sparse_core::Coo;

    #[test]
    fn arrays_are_read_in_blocks_of_any_length() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        for nnz in [0, 1, BLOCK_BYTES / 8 - 8, BLOCK_BYTES / 8, 3 * BLOCK_BYTES / 8 + 5] {
            let triplets = (0..nnz).map(|k| (k, k % 7, k as f64 + 0.5));
            let a = Coo::<f64>::from_triplets(nnz + 1, 7, triplets).unwrap();
            write_coo(&path, &a).unwrap();
            let found: Coo<f64> = read(&path).unwrap().into_coo().unwrap();
            assert!(found.triplets().eq(a.triplets()), "{nnz} entries");
        }
    }

    #[test]
    fn no_more_memory_is_taken_than_the_limit() {
        let (header, elements) = npy::indices_to_bytes(&[7_i32; 100]);
        let file = [&header, elements].concat();
        let Elements::Indices(AnyIndices::I32(indices)) = decoded(&file[..], true, 400).unwrap() else {
            panic!("other elements than indices")
        };
        assert_eq!(indices, [7; 100]);
        let error = decoded(&file[..], true, 399).unwrap_err().to_string();
        assert!(error.contains("more than the 399 bytes that are read at most"), "{error}");
    }
}
