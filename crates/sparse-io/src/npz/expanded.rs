//! SciPy's matrices in blocks (BSR) and diagonals (DIA), read as coordinates.
//!
//! As by SciPy's `tocsr`, zeros in blocks stay entries, and those in diagonals do not.

use super::{AnySparse, Archive, NpzFormat};
use crate::any::{AnyIndices, AnyValues};
use crate::csr_from_entries::ENTRY_BYTES;
use crate::npy::{NpyArray, show_shape};
use sparse_core::{Csr, Host, Order};
use std::io::{Read, Seek};

/// Bytes of the row and the column of an element, besides those of an entry of the result.
const COORDINATE_BYTES: usize = 2 * size_of::<i64>();
/// Bytes of an index, which is widened, sorted or located, and has a value in a pattern.
const INDEX_BYTES: usize = 4 * size_of::<i64>();

/// A format that is read as coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expanded {
    /// Compressed by rows of dense blocks.
    Bsr,
    /// Diagonals.
    Dia,
}

/// An upper bound of the bytes that coordinates take beside arrays of these lengths.
pub(super) fn bytes(elements: usize, index_lengths: &[(&str, usize)]) -> usize {
    let indices = index_lengths.iter().fold(0_usize, |sum, (_, length)| sum.saturating_add(*length));
    let of_elements = elements.saturating_mul(ENTRY_BYTES + COORDINATE_BYTES);
    of_elements.saturating_add(indices.saturating_mul(INDEX_BYTES))
}

impl Expanded {
    /// The format of this name.
    pub(super) fn from_name(name: &[u8]) -> Option<Self> {
        match name {
            b"bsr" => Some(Self::Bsr),
            b"dia" => Some(Self::Dia),
            _ => None,
        }
    }

    /// `bsr` or `dia`.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Bsr => "bsr",
            Self::Dia => "dia",
        }
    }

    /// The format of the matrix in an archive, if it is one of these.
    pub(super) fn of(archive: &mut Archive<impl Read + Seek>) -> Result<Option<Self>, String> {
        archive.describe("format", |array| Ok(Self::from_name(&array.text()?)))
    }

    /// Reads the matrix in an archive, whose arrays claim the lengths that `data` needs.
    pub(super) fn read(self, archive: &mut Archive<impl Read + Seek>) -> Result<AnySparse, String> {
        let (shape, data_shape) = (archive.shape()?, archive.extents("data")?);
        let lengths = self.index_lengths(shape, &data_shape)?;
        archive.check_lengths(&self.describe(shape, &data_shape), &lengths)?;
        let limit = archive.limit;
        if bytes(archive.elements("data")?, &lengths) > limit {
            return Err(format!("its coordinates take more than the {limit} bytes that are read at most"));
        }
        let indices: Result<_, _> = lengths.iter().map(|(key, _)| archive.indices(key)).collect();
        let data = archive.data()?;
        self.expand(shape, data, indices?)
    }

    /// The arrays of indices in the order in which [`expand`](Self::expand) takes them, each with the length that
    /// `data` of this shape needs.
    pub(super) fn index_lengths(
        self,
        [rows, cols]: [usize; 2],
        data: &[usize],
    ) -> Result<Vec<(&'static str, usize)>, String> {
        match self {
            Self::Bsr => {
                let [count, height, width] = extents(data, "blocks")?;
                if height == 0 || width == 0 || rows % height != 0 || cols % width != 0 {
                    let shape = [rows, cols];
                    return Err(format!(
                        "blocks of {height} x {width} do not divide a matrix of shape {shape:?}"
                    ));
                }
                Ok(vec![("indptr", (rows / height).saturating_add(1)), ("indices", count)])
            }
            Self::Dia => {
                let [count, _] = extents(data, "diagonals")?;
                Ok(vec![("offsets", count)])
            }
        }
    }

    /// A matrix of this format for messages.
    pub(super) fn describe(self, shape: [usize; 2], data: &[usize]) -> String {
        format!("a {} matrix of shape {shape:?} with `data` of shape {}", self.name(), show_shape(data))
    }

    /// The matrix of `data` and of arrays of indices, whose lengths were checked.
    pub(super) fn expand(
        self,
        shape: [usize; 2],
        data: NpyArray,
        indices: Vec<AnyIndices>,
    ) -> Result<AnySparse, String> {
        let mut indices = indices.into_iter().map(widened);
        let mut next = || indices.next().unwrap_or_default();
        match self {
            Self::Bsr => blocks(shape, data, next(), next()),
            Self::Dia => diagonals(shape, data, next()),
        }
    }
}

/// The matrix of `data[b, i, j]`: row i and column j of block b.
fn blocks(
    [rows, cols]: [usize; 2],
    data: NpyArray,
    offsets: Vec<i64>,
    indices: Vec<i64>,
) -> Result<AnySparse, String> {
    let shape @ [count, height, width] = extents(&data.shape, "blocks")?;
    let pattern = Csr::<f32, Host, i64, i64>::new_unsorted(
        rows / height,
        cols / width,
        offsets,
        indices,
        vec![0.0; count],
    );
    let pattern = pattern.map_err(|error| format!("blocks: {error}"))?;
    let places: Vec<_> = pattern.triplets().map(|(row, col, _)| (row * height, col * width)).collect();
    let entries = (0..count * height * width).map(|position| {
        let [block, i, j] = unravelled(position, shape, data.order);
        ((places[block].0 + i) as i64, (places[block].1 + j) as i64)
    });
    let (major, minor) = entries.unzip();
    Ok(coordinates([rows, cols], (major, minor), data.values))
}

/// The matrix of `data[k, j]`: the element in column j of the diagonal at `offsets[k]`.
fn diagonals([rows, cols]: [usize; 2], data: NpyArray, offsets: Vec<i64>) -> Result<AnySparse, String> {
    let shape: [usize; 2] = extents(&data.shape, "diagonals")?;
    let mut sorted = offsets.clone();
    sorted.sort_unstable();
    if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(format!("`offsets` has the diagonal {} twice", twice[0]));
    }
    let elements = data.values.len();
    let (mut major, mut minor) = (Vec::with_capacity(elements), Vec::with_capacity(elements));
    let values = data.values.filter(|position, is_zero| {
        let [k, column] = unravelled(position, shape, data.order);
        let row = i128::from(column as u64) - i128::from(offsets[k]);
        let is_inside = column < cols && (0..rows as i128).contains(&row);
        if is_inside && !is_zero {
            major.push(row as i64);
            minor.push(column as i64);
        }
        is_inside && !is_zero
    });
    Ok(coordinates([rows, cols], (major, minor), values))
}

fn coordinates(
    [rows, cols]: [usize; 2],
    (major, minor): (Vec<i64>, Vec<i64>),
    values: AnyValues,
) -> AnySparse {
    let (major, minor) = (AnyIndices::I64(major), AnyIndices::I64(minor));
    AnySparse { format: NpzFormat::Coo, rows, cols, major, minor, values }
}

fn widened(indices: AnyIndices) -> Vec<i64> {
    match indices {
        AnyIndices::I32(indices) => indices.into_iter().map(i64::from).collect(),
        AnyIndices::I64(indices) => indices,
    }
}

/// The `N` extents of the array `data`, which holds `what`.
fn extents<const N: usize>(shape: &[usize], what: &str) -> Result<[usize; N], String> {
    shape.try_into().map_err(|_| format!("`data`: shape {} is not that of {what}", show_shape(shape)))
}

/// The indices of the element at `position` of an array.
fn unravelled<const N: usize>(mut position: usize, shape: [usize; N], order: Order) -> [usize; N] {
    let mut index = [0; N];
    let mut take = |axis: usize| {
        index[axis] = position % shape[axis];
        position /= shape[axis];
    };
    match order {
        Order::RowMajor => (0..N).rev().for_each(&mut take),
        Order::ColMajor => (0..N).for_each(&mut take),
    }
    index
}

#[cfg(test)]
mod tests {
    use crate::stream::{Decoded, Decoder};
    use crate::{FileKind, MatrixFile, RowRanges, npz};
    use sparse_core::{Coo, Csr, DType, Error};
    use std::io::{Cursor, Write as _};

    fn array(descr: &str, is_fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {is_fortran}, 'shape': {shape}}}\n");
        [b"\x93NUMPY\x01\x00", &(header.len() as u16).to_le_bytes()[..], header.as_bytes(), data].concat()
    }

    fn integers(values: &[i64]) -> Vec<u8> {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        array("<i8", "False", &format!("({},)", values.len()), &data)
    }

    /// Integers of 32 bits, as SciPy writes indices.
    fn short_integers(values: &[i32]) -> Vec<u8> {
        let data: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        array("<i4", "False", &format!("({},)", values.len()), &data)
    }

    /// Values of 8 bits.
    fn data(is_fortran: &str, shape: &str, values: &[i8]) -> Vec<u8> {
        array("|i1", is_fortran, shape, &values.iter().map(|&value| value as u8).collect::<Vec<_>>())
    }

    fn archive(format: &str, shape: [i64; 2], arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
        let mut zip = zip::ZipWriter::new(Cursor::new(Vec::new()));
        let described =
            [("format", array("|S3", "False", "()", format.as_bytes())), ("shape", integers(&shape))];
        for (key, bytes) in described.iter().chain(arrays) {
            zip.start_file(format!("{key}.npy"), zip::write::SimpleFileOptions::default()).unwrap();
            zip.write_all(bytes).unwrap();
        }
        zip.finish().unwrap().into_inner()
    }

    /// The dense matrix row by row, as CSR and as COO, and the number of entries.
    fn read(bytes: &[u8]) -> (Vec<f64>, usize) {
        let file = MatrixFile::from_reader("a.npz", bytes).unwrap();
        assert_eq!(file.value_type().unwrap(), DType::F64);
        assert_eq!(file.rounded_integers::<f64>().unwrap(), None);
        let (csr, coo): (Csr<f64>, Coo<f64>) = (file.read_csr().unwrap(), file.read_coo().unwrap());
        let claim = file.claim().unwrap();
        assert_eq!((claim.rows, claim.cols), csr.shape());
        assert!(claim.stored >= coo.nnz() && coo.nnz() >= csr.nnz());
        assert_eq!(csr.to_dense().unwrap(), coo.to_dense().unwrap());
        assert_eq!(file.duplicates(&csr).unwrap(), 0);
        assert_eq!(decoded(bytes), coo);
        (csr.to_dense().unwrap().into_data(), csr.nnz())
    }

    /// The matrix of a file whose bytes come in small parts.
    fn decoded(bytes: &[u8]) -> Coo<f64> {
        let (mut decoder, mut reserve) = (Decoder::new(FileKind::Npz, bytes).unwrap().unwrap(), |_| Ok(()));
        bytes.chunks(7).try_for_each(|part| decoder.push(part, &mut reserve)).unwrap();
        match decoder.finish(&mut reserve).unwrap() {
            Decoded::Sparse(matrix) => matrix.into_coo().unwrap(),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn blocks_are_read_with_their_zeros() {
        let pattern = [("indptr", short_integers(&[0, 1, 3])), ("indices", short_integers(&[1, 0, 1]))];
        let expected = [
            [0.0, 0.0, 0.0, 1.0, 2.0, 3.0],
            [0.0, 0.0, 0.0, 4.0, 5.0, 0.0],
            [7.0, 8.0, 9.0, -1.0, -2.0, -3.0],
            [10.0, 11.0, 12.0, -4.0, -5.0, -6.0],
        ];
        let by_rows = [1, 2, 3, 4, 5, 0, 7, 8, 9, 10, 11, 12, -1, -2, -3, -4, -5, -6];
        let by_columns = [1, 7, -1, 4, 10, -4, 2, 8, -2, 5, 11, -5, 3, 9, -3, 0, 12, -6];
        for (is_fortran, values) in [("False", by_rows), ("True", by_columns)] {
            let arrays = [&pattern[..], &[("data", data(is_fortran, "(3, 2, 3)", &values))]].concat();
            assert_eq!(read(&archive("bsr", [4, 6], &arrays)), (expected.concat(), 18), "{is_fortran}");
        }
        let empty = [
            ("indptr", integers(&[0, 0])),
            ("indices", integers(&[])),
            ("data", data("False", "(0, 2, 3)", &[])),
        ];
        assert_eq!(read(&archive("bsr", [2, 3], &empty)), (vec![0.0; 6], 0));
    }

    #[test]
    fn diagonals_are_read_without_their_zeros() {
        // Elements before the first row, below the last and beyond the last column are none of the matrix.
        let offsets = [short_integers(&[1, 0, -2, 9]), integers(&[1, 0, -2, 9])];
        let by_rows = [9, 1, 2, 9, 3, 0, 5, 9, 6, 9, 9, 9, 9, 9, 9, 9];
        let by_columns = [9, 3, 6, 9, 1, 0, 9, 9, 2, 5, 9, 9, 9, 9, 9, 9];
        let expected = vec![3.0, 1.0, 0.0, 0.0, 0.0, 2.0, 6.0, 0.0, 5.0];
        for ((is_fortran, values), offsets) in
            [("False", by_rows), ("True", by_columns)].into_iter().zip(offsets)
        {
            let arrays = [("offsets", offsets), ("data", data(is_fortran, "(4, 4)", &values))];
            assert_eq!(read(&archive("dia", [3, 3], &arrays)), (expected.clone(), 5), "{is_fortran}");
        }
        let none = [("offsets", integers(&[])), ("data", data("False", "(0, 0)", &[]))];
        assert_eq!(read(&archive("dia", [1, 2], &none)), (vec![0.0; 2], 0));
    }

    #[test]
    fn arrays_of_indices_are_among_the_claimed_lengths() {
        let lengths = |format, shape, arrays: &[_]| {
            let file = MatrixFile::from_reader("a.npz", &archive(format, shape, arrays)[..]).unwrap();
            file.claimed_lengths().unwrap()
        };
        let pattern = [("indptr", integers(&[0, 1, 1])), ("indices", short_integers(&[0]))];
        let arrays = [&pattern[..], &[("data", data("False", "(1, 2, 3)", &[1; 6]))]].concat();
        assert_eq!(lengths("bsr", [4, 3], &arrays), (6, 3 + 1));
        let arrays = [("offsets", integers(&[0, 1])), ("data", data("False", "(2, 3)", &[1; 6]))];
        assert_eq!(lengths("dia", [3, 3], &arrays), (6, 2));
    }

    #[test]
    fn rows_are_not_read_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        for format in ["bsr", "dia"] {
            std::fs::write(&path, archive(format, [1, 1], &[])).unwrap();
            let refused = RowRanges::open(&path).unwrap_err();
            assert!(matches!(refused, Error::Unsupported { .. }), "{refused:?}");
            let text = refused.to_string();
            assert!(text.contains(format) && text.contains("SciPy converts it"), "{text}");
        }
    }

    #[test]
    fn arrays_that_do_not_fit_are_refused() {
        let refusal = |format, shape, arrays: &[_]| {
            npz::parse(&archive(format, shape, arrays)).unwrap_err().to_string()
        };
        let block = ("data", data("False", "(1, 2, 2)", &[1; 4]));
        let pattern = |offsets: &[i64], indices: &[i64]| {
            [("indptr", integers(offsets)), ("indices", integers(indices)), block.clone()]
        };
        let row = ("data", data("False", "(1, 2)", &[1; 2]));
        let claim = |shape: &str| array("<i8", "False", shape, &[]);
        let block_of = |shape: &str| ("data", data("False", shape, &[]));
        let refusals = [
            refusal("bsr", [2, 2], &pattern(&[0, 1], &[1])),
            refusal("bsr", [4, 2], &pattern(&[0, 1], &[0])),
            refusal("bsr", [3, 2], &pattern(&[0, 1], &[0])),
            refusal("bsr", [2, 2], std::slice::from_ref(&row)),
            refusal("dia", [2, 2], &[("offsets", integers(&[0, 1])), row.clone()]),
            refusal(
                "dia",
                [2, 2],
                &[("offsets", integers(&[3, 3])), ("data", data("False", "(2, 1)", &[1; 2]))],
            ),
            refusal("dia", [2, 2], &[("offsets", integers(&[0])), block.clone()]),
            refusal(
                "dia",
                [2, 2],
                &[("offsets", integers(&[0])), ("data", data("False", "(1, 4000000000)", &[1]))],
            ),
            refusal("dia", [2, 2], &[row]),
            // Headers tell that these are too many, before any is read.
            refusal("dia", [2, 2], &[("offsets", claim("(900000000,)")), block_of("(1, 2)")]),
            refusal("dia", [2, 2], &[("offsets", claim("(900000000,)")), block_of("(900000000, 0)")]),
            refusal(
                "bsr",
                [2, 2],
                &[("indptr", integers(&[0, 1])), ("indices", claim("(9,)")), block.clone()],
            ),
            refusal("bsr", [2, 2], &[("indptr", claim("(9,)")), ("indices", integers(&[0])), block.clone()]),
        ];
        insta::assert_snapshot!(refusals.join("\n"), @r"
        <memory>: blocks: csr: row 0: column 1 is not below 1
        <memory>: `indptr` has 2 elements where a bsr matrix of shape [4, 2] with `data` of shape (1, 2, 2) needs 3
        <memory>: blocks of 2 x 2 do not divide a matrix of shape [3, 2]
        <memory>: `data`: shape (1, 2) is not that of blocks
        <memory>: `offsets` has 2 elements where a dia matrix of shape [2, 2] with `data` of shape (1, 2) needs 1
        <memory>: `offsets` has the diagonal 3 twice
        <memory>: `data`: shape (1, 2, 2) is not that of diagonals
        <memory>: its coordinates take more than the 1073741824 bytes that are read at most
        <memory>: `offsets` is missing, which scipy.sparse.save_npz writes for a matrix of this format
        <memory>: `offsets` has 900000000 elements where a dia matrix of shape [2, 2] with `data` of shape (1, 2) needs 1
        <memory>: its coordinates take more than the 1073741824 bytes that are read at most
        <memory>: `indices` has 9 elements where a bsr matrix of shape [2, 2] with `data` of shape (1, 2, 2) needs 1
        <memory>: `indptr` has 9 elements where a bsr matrix of shape [2, 2] with `data` of shape (1, 2, 2) needs 2
        ");
    }
}
