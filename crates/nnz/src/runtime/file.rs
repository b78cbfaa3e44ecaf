//! Matrices and arrays from files and to files.

use super::{DenseMatrix, Format, Matrix, Vector};
use crate::Device;
use sparse_core::error::checked_product;
use sparse_core::{
    BatchCsc, BatchCsr, Col, Coo, Csc, Csr, DType, Error, Host, Order, Result, Row, with_dtype,
};
use sparse_io::npy::{self, NpyArray};
use sparse_io::npz::{self, NpzFormat};
use sparse_io::stream::Decoded;
use sparse_io::{FileKind, MatrixFile, Output, matrix_market};
use std::path::Path;

/// `$read` with 32-bit indices and offsets, and with 64-bit ones if a number does not fit.
macro_rules! narrow_or_wide {
    ($device:expr, $I:ident => $read:expr) => {{
        let narrow = {
            type $I = i32;
            $read
        };
        match narrow {
            Err(Error::IndexOverflow { .. }) => {
                type $I = i64;
                Matrix::from_typed($device, $read?)
            }
            narrow => Matrix::from_typed($device, narrow?),
        }
    }};
}

/// Files.
impl Matrix {
    /// Reads a file as CSR, with values of the file's own type; see [`read_csr`](Self::read_csr).
    ///
    /// The file is `.mtx`, `.mtx.gz`, `.npz` or `.npy`, or a folder of parts ([`parts`](sparse_io::parts)). One with
    /// far more rows than entries, and without the offsets of rows, is refused ([`MatrixFile::has_too_many_rows`]);
    /// [`read_coo`](Self::read_coo) reads it.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.mtx");
    /// std::fs::write(&path, "%%MatrixMarket matrix coordinate real general\n2 3 2\n1 1 5\n2 3 7\n")?;
    /// let a = Matrix::read(&Device::host()?, &path)?;
    /// assert_eq!((a.shape(), a.nnz(), a.dtype()), ((2, 3), 2, DType::F64));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`MatrixFile::open`] and [`read_csr`](Self::read_csr); [`Unsupported`](Error::Unsupported) for far more
    /// rows than entries.
    pub fn read(device: &Device, path: impl AsRef<Path>) -> Result<Self> {
        let file = MatrixFile::open(path)?;
        if file.has_too_many_rows()? {
            let reason = "it has far more rows than entries; Matrix::read_coo of a MatrixFile reads it";
            return Err(Error::unsupported(format_args!("{} as csr", file.path().display()), reason));
        }
        Self::read_csr(device, &file, file.value_type()?)
    }

    /// Reads a file as CSR in the memory of `device`, with values rounded to `dtype`.
    ///
    /// Rows are sorted and duplicates added; explicit zeros stay. Indices and offsets have 32 bits where they fit, and
    /// 64 otherwise. A batch becomes its block-diagonal matrix; [`read_batch`](Self::read_batch) reads it as a batch.
    ///
    /// ```
    /// use nnz::{io::MatrixFile, prelude::*};
    /// let text = "%%MatrixMarket matrix coordinate real general\n2 3 2\n2 3 7\n1 1 5\n";
    /// let file = MatrixFile::from_reader("a.mtx", text.as_bytes())?;
    /// let a = Matrix::read_csr(&Device::host()?, &file, file.value_type()?)?;
    /// assert_eq!((a.format(), a.dtype(), a.shape(), a.nnz()), (Format::Csr, DType::F64, (2, 3), 2));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`MatrixFile::read_csr`] and [`from_typed`](Self::from_typed).
    pub fn read_csr(device: &Device, file: &MatrixFile, dtype: DType) -> Result<Self> {
        with_dtype!(dtype, T => narrow_or_wide!(device, I => file.read_csr::<T, I, I>()))
    }

    /// Reads a file as COO in the memory of `device`, with values rounded to `dtype`.
    ///
    /// Entries and duplicates stay in the order of the file, and there may be any number of rows. Indices have 32 bits
    /// where they fit, and 64 otherwise.
    ///
    /// ```
    /// use nnz::{io::MatrixFile, prelude::*};
    /// let text = "%%MatrixMarket matrix coordinate real general\n4000000000 3 2\n2 3 7\n1 1 5\n";
    /// let file = MatrixFile::from_reader("a.mtx", text.as_bytes())?;
    /// let a = Matrix::read_coo(&Device::host()?, &file, DType::F32)?;
    /// assert_eq!((a.nrows(), a.index_type()), (4_000_000_000, nnz::IndexType::I64));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`MatrixFile::read_coo`] and [`from_typed`](Self::from_typed).
    pub fn read_coo(device: &Device, file: &MatrixFile, dtype: DType) -> Result<Self> {
        with_dtype!(dtype, T => narrow_or_wide!(device, I => file.read_coo::<T, I>()))
    }

    /// The batch of an `.npz` file or of a folder of parts, whose members are compressed along the axis that the file
    /// says, in the memory of `device`.
    ///
    /// ```
    /// use nnz::{BatchCsr, io::MatrixFile, prelude::*};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("batch.npz");
    /// let device = Device::host()?;
    /// let two = BatchCsr::<f64>::new((1, 2), vec![0, 1, 3], vec![0, 1, 0, 2], vec![1, 0, 1], vec![1.0, 2.0, 3.0])?;
    /// Matrix::from_typed(&device, two)?.write(&path)?;
    /// let two = Matrix::read_batch(&device, &MatrixFile::open(&path)?, DType::F64)?;
    /// assert_eq!((two.format(), two.members()), (Format::BatchCsr, Some(2)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) if the file has one matrix; those of [`MatrixFile::read_batch`] and
    /// [`from_typed`](Self::from_typed).
    pub fn read_batch(device: &Device, file: &MatrixFile, dtype: DType) -> Result<Self> {
        match file.batch_format()? {
            Some(NpzFormat::Csr) => with_dtype!(dtype, T => {
                narrow_or_wide!(device, I => file.read_batch::<Row, T, I, I>())
            }),
            Some(NpzFormat::Csc) => with_dtype!(dtype, T => {
                narrow_or_wide!(device, I => file.read_batch::<Col, T, I, I>())
            }),
            Some(NpzFormat::Coo) | None => Err(Error::unsupported(
                format_args!("{} as a batch", file.path().display()),
                "it has one matrix",
            )),
        }
    }

    /// The matrix or the batch that a [`Decoder`](sparse_io::stream::Decoder) has made of a file, in the memory of
    /// `device`, as [`read_csr`](Self::read_csr) and [`read_batch`](Self::read_batch) read it.
    ///
    /// ```
    /// use nnz::io::stream::Decoder;
    /// use nnz::{io::FileKind, io::npy, prelude::*};
    /// let mut file = npy::header::<f64>(&[2, 1], Order::RowMajor)?;
    /// file.extend([0.0, 7.0].map(f64::to_ne_bytes).concat());
    /// let mut decoder = Decoder::new(FileKind::Npy, &file)?.unwrap();
    /// decoder.push(&file, &mut |_| Ok(()))?;
    /// let a = Matrix::from_decoded(&Device::host()?, decoder.finish(&mut |_| Ok(()))?)?;
    /// assert_eq!((a.shape(), a.nnz()), ((2, 1), 1));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`read_csr`](Self::read_csr) and [`read_batch`](Self::read_batch).
    pub fn from_decoded(device: &Device, decoded: Decoded) -> Result<Self> {
        let is_narrow = decoded.is_narrow();
        with_dtype!(decoded.dtype(), T => match decoded {
            Decoded::Sparse(matrix) | Decoded::Text(matrix, _) => match is_narrow {
                true => Self::from_typed(device, matrix.into_sorted_csr::<T, i32, i32>()?),
                false => Self::from_typed(device, matrix.into_sorted_csr::<T, i64, i64>()?),
            },
            Decoded::Batch(batch) if batch.format == NpzFormat::Csc => match is_narrow {
                true => Self::from_typed(device, batch.into_typed::<Col, T, i32, i32>()?),
                false => Self::from_typed(device, batch.into_typed::<Col, T, i64, i64>()?),
            },
            Decoded::Batch(batch) => match is_narrow {
                true => Self::from_typed(device, batch.into_typed::<Row, T, i32, i32>()?),
                false => Self::from_typed(device, batch.into_typed::<Row, T, i64, i64>()?),
            },
        })
    }

    /// Writes the matrix to a file of the kind of its name: Matrix Market (`.mtx`, `.mtx.gz`), `.npz`, or `.npy`, which
    /// is dense. Standard output and writers get Matrix Market; [`write_as`](Self::write_as) writes them the other
    /// kinds.
    ///
    /// CSR, CSC and COO keep their format in `.npz`, and COO keeps the order of its entries in every kind of file;
    /// other formats are converted to CSR. Batches are written only to `.npz`.
    ///
    /// ```
    /// use nnz::{io::MatrixFile, prelude::*};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("a.npz");
    /// let device = Device::host()?;
    /// Matrix::from_typed(&device, Csc::<f64>::identity(3)?)?.write(&path)?; // .mtx, .mtx.gz, .npz or .npy
    /// assert_eq!(Matrix::read_csr(&device, &MatrixFile::open(&path)?, DType::F64)?.nnz(), 3);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Io`](Error::Io) if the file cannot be written; [`Unsupported`](Error::Unsupported) for any other name, for a
    /// batch that is not to be `.npz`, and for `f16` and `bf16` in `.npz` and `.npy`.
    pub fn write<'a>(&self, output: impl Into<Output<'a>>) -> Result<()> {
        let output = output.into();
        let kind = match output {
            Output::Path(path) | Output::Temporary(path) => FileKind::of(path)?,
            Output::Stdout | Output::Writer(_) => FileKind::MatrixMarket,
        };
        self.write_as(output, kind)
    }

    /// Writes the matrix to a file of this kind; see [`write`](Self::write).
    ///
    /// ```
    /// use nnz::{io::{FileKind, MatrixFile}, prelude::*};
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(3)?)?;
    /// let mut bytes = vec![];
    /// a.write_as(&mut bytes, FileKind::Npz)?;
    /// let b = MatrixFile::from_reader("a.npz", &bytes[..])?;
    /// assert_eq!(Matrix::read_csr(&Device::host()?, &b, DType::F64)?.nnz(), 3);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`write`](Self::write).
    pub fn write_as<'a>(&self, output: impl Into<Output<'a>>, kind: FileKind) -> Result<()> {
        let output = output.into();
        match (kind, self.format()) {
            (FileKind::MatrixMarket | FileKind::Npy, Format::BatchCsr | Format::BatchCsc) => {
                Err(Error::unsupported("a batch in a file of one matrix", "choose .npz"))
            }
            (FileKind::Npy, _) => self.to_dense()?.write_npy(output),
            (FileKind::MatrixMarket, Format::Csc) | (_, Format::Ell | Format::Hyb | Format::Sell) => {
                self.to_format(Format::Csr)?.write_entries(output, kind)
            }
            _ => self.write_entries(output, kind),
        }
    }

    /// Writes CSR, CSC, COO or a batch.
    fn write_entries(&self, output: Output<'_>, kind: FileKind) -> Result<()> {
        let host = self.on_host()?;
        let a = host.typed();
        macro_rules! write_each {
            ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
                $(
                    if let Some(a) = a.downcast_ref::<Csr<$t, Host, $i, $o>>() {
                        return match kind {
                            FileKind::MatrixMarket => matrix_market::write_csr(output, a),
                            FileKind::Npz | FileKind::Npy => npz::write_csr(output, a),
                        };
                    }
                    if let Some(a) = a.downcast_ref::<Coo<$t, Host, $i>>() {
                        return match kind {
                            FileKind::MatrixMarket => matrix_market::write_coo(output, a),
                            FileKind::Npz | FileKind::Npy => npz::write_coo(output, a),
                        };
                    }
                    if let Some(a) = a.downcast_ref::<Csc<$t, Host, $i, $o>>() {
                        return npz::write_csc(output, a);
                    }
                    if let Some(a) = a.downcast_ref::<BatchCsr<$t, Host, $i, $o>>() {
                        return npz::write_batch(output, a);
                    }
                    if let Some(a) = a.downcast_ref::<BatchCsc<$t, Host, $i, $o>>() {
                        return npz::write_batch(output, a);
                    }
                )*
            };
        }
        sparse_core::for_all_types!(write_each);
        Err(self.unknown_types("a file"))
    }
}

/// Files.
impl DenseMatrix {
    /// The array of an `.npy` file in the memory of `device`, rounded to `dtype`.
    ///
    /// One dimension makes a column. Three make a stack: the matrices, the slowest dimension, are stacked vertically,
    /// row-major, as [`plan_compress`](Self::plan_compress) takes them.
    ///
    /// ```
    /// use nnz::{io::any::AnyValues, io::npy::NpyArray, prelude::*};
    /// let values = AnyValues::F32(vec![1.0, 2.0, 3.0]);
    /// let vector = NpyArray { shape: vec![3], order: Order::RowMajor, values };
    /// let column = DenseMatrix::from_array(&Device::host()?, vector, DType::F64)?;
    /// assert_eq!((column.nrows(), column.ncols(), column.dtype()), (3, 1, DType::F64));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) for no and for more than three dimensions; [`Unsupported`](Error::Unsupported) for
    /// complex values of a real type, [`ValueOverflow`](Error::ValueOverflow) for one that would become infinite.
    pub fn from_array(device: &Device, array: NpyArray, dtype: DType) -> Result<Self> {
        with_dtype!(dtype, T => {
            if let [count, rows, cols] = array.shape[..] {
                let values = array.values.into_typed::<T>()?;
                let values = match array.order {
                    Order::RowMajor => values,
                    Order::ColMajor => to_c_order(&values, [count, rows, cols]),
                };
                let rows = checked_product("members x rows", count, rows)?;
                return Self::from_vec(device, values, rows, cols, Order::RowMajor);
            }
            let dense = array.into_dense::<T>()?;
            let (rows, cols, order) = (dense.nrows(), dense.ncols(), dense.order());
            Self::from_vec(device, dense.into_data(), rows, cols, order)
        })
    }

    /// Writes an `.npy` file of two dimensions, in the order of this matrix.
    ///
    /// ```
    /// use nnz::{io::npy, prelude::*};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("b.npy");
    /// let b = DenseMatrix::zeros(&Device::host()?, DType::F32, 2, 3, Order::ColMajor)?;
    /// b.write_npy(&path)?;
    /// assert_eq!(npy::read(&path)?.shape, [2, 3]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Io`](Error::Io) if the file cannot be written; [`Unsupported`](Error::Unsupported) for `f16` and `bf16`.
    pub fn write_npy<'a>(&self, output: impl Into<Output<'a>>) -> Result<()> {
        let (rows, cols) = (self.nrows(), self.ncols());
        let has_padding = self.values().len() != checked_product("rows x columns", rows, cols)?;
        if has_padding {
            return self.to_order(self.order())?.write_npy(output.into());
        }
        write_values(self.values(), output.into(), &[rows, cols], self.order())
    }
}

/// Files.
impl Vector {
    /// Writes an `.npy` file of one dimension.
    ///
    /// ```
    /// use nnz::{io::npy, prelude::*};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("x.npy");
    /// Vector::from_slice(&Device::host()?, &[1.0, 2.0])?.write_npy(&path)?;
    /// assert_eq!(npy::read(&path)?.shape, [2]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`DenseMatrix::write_npy`].
    pub fn write_npy<'a>(&self, output: impl Into<Output<'a>>) -> Result<()> {
        write_values(self, output.into(), &[self.len()], Order::RowMajor)
    }
}

fn write_values(values: &Vector, output: Output<'_>, shape: &[usize], order: Order) -> Result<()> {
    with_dtype!(values.dtype(), T => match values.as_slice::<T>() {
        Some(values) => npy::write(output, values, shape, order),
        None => npy::write(output, &values.to_vec::<T>()?, shape, order),
    })
}

/// The elements of a 3-D array in Fortran order, in C order.
fn to_c_order<T: Copy>(values: &[T], [count, rows, cols]: [usize; 3]) -> Vec<T> {
    let positions = (0..count).flat_map(|k| (0..rows).flat_map(move |i| (0..cols).map(move |j| (k, i, j))));
    positions.map(|(k, i, j)| values[k + count * (i + rows * j)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fortran_batches_are_put_in_c_order() {
        let shape = [2, 3, 4];
        let element = |k: usize, i: usize, j: usize| 100 * k + 10 * i + j;
        let mut fortran = vec![];
        let mut c = vec![];
        for j in 0..4 {
            for i in 0..3 {
                fortran.extend((0..2).map(|k| element(k, i, j)));
            }
        }
        for k in 0..2 {
            for i in 0..3 {
                c.extend((0..4).map(|j| element(k, i, j)));
            }
        }
        assert_eq!(to_c_order(&fortran, shape), c);
    }
}
