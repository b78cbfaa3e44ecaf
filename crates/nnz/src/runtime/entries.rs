//! Passes over the entries of a matrix: visiting, row lengths and symmetry.

use super::{Format, IndexType, Matrix};
use crate::Device;
use sparse_core::backend::{vec_with_capacity, zeroed_vec};
use sparse_core::op::Operations;
use sparse_core::reference::{Entries, Reference};
use sparse_core::{
    BatchCsc, BatchCsr, Coo, Csc, Csr, DType, Ell, Error, Host, Hyb, Index, Result, Scalar, Sell, c64,
    with_dtype,
};
use std::any::Any;
use std::borrow::Cow;

/// Entries.
impl Matrix {
    /// A matrix in COO from (row, column, value) triplets, which stay as they are; values are rounded to `dtype`.
    ///
    /// For types that are known at run time, whatever they are. If they are known at compile time, make a typed matrix:
    /// `Matrix::from_typed(&device, Csr::<f64>::from_triplets(rows, columns, triplets)?)`.
    ///
    /// ```
    /// use nnz::{IndexType, prelude::*};
    /// let entries = [(1, 0, c64::new(3.0, 0.0)), (0, 1, c64::new(0.5, 0.0))];
    /// let a = Matrix::from_triplets(&Device::host()?, DType::F32, IndexType::I64, (2, 2), &entries)?;
    /// assert_eq!((a.format(), a.dtype(), a.nnz()), (Format::Coo, DType::F32, 2));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Format`](Error::Format) if a coordinate is out of range; [`IndexOverflow`](Error::IndexOverflow) if one does
    /// not fit the type of indices; [`Operands`](Error::Operands) for a value that does not fit `dtype`.
    pub fn from_triplets(
        device: &Device,
        dtype: DType,
        index_type: IndexType,
        shape: (usize, usize),
        entries: &[(usize, usize, c64)],
    ) -> Result<Self> {
        with_dtype!(dtype, T => match index_type {
            IndexType::I32 => Self::from_typed(device, coo::<T, i32>(shape, entries)?),
            IndexType::I64 => Self::from_typed(device, coo::<T, i64>(shape, entries)?),
        })
    }

    /// The matrix with indices and offsets of 64 bits.
    pub(super) fn widened(&self) -> Result<Self> {
        let wide = IndexType::I64;
        if (self.index_type(), self.offset_type()) == (wide, Some(wide)) {
            return Ok(self.clone());
        }
        let mut entries = vec_with_capacity(self.nnz())?;
        self.for_each_entry(&mut |row, column, value| entries.push((row, column, value)))?;
        Self::from_triplets(self.device(), self.dtype(), wide, self.shape(), &entries)?
            .to_format(self.format())
    }

    /// Calls `visit` with row, column and value of every entry, those of each row in storage order; padding is none.
    ///
    /// A matrix in the memory of an accelerator is copied to the host first. The entries of a batch have the
    /// coordinates that they have in the block-diagonal matrix of its members.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::new(2, 2, vec![0, 1, 1], vec![1], vec![5.0])?)?;
    /// let mut entries = vec![];
    /// a.for_each_entry(&mut |row, col, value| entries.push((row, col, value.re)))?;
    /// assert_eq!(entries, [(0, 1, 5.0)]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// An error of the device's runtime.
    pub fn for_each_entry(&self, visit: &mut dyn FnMut(usize, usize, c64)) -> Result<()> {
        let host = self.on_host()?;
        macro_rules! visit_each {
            ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
                $(
                    if entries_of::<Csr<$t, Host, $i, $o>>(host.typed(), visit)
                        || entries_of::<Csc<$t, Host, $i, $o>>(host.typed(), visit)
                        || entries_of::<BatchCsr<$t, Host, $i, $o>>(host.typed(), visit)
                        || entries_of::<BatchCsc<$t, Host, $i, $o>>(host.typed(), visit)
                        || entries_of::<Coo<$t, Host, $i>>(host.typed(), visit)
                        || entries_of::<Ell<$t, Host, $i>>(host.typed(), visit)
                        || entries_of::<Hyb<$t, Host, $i>>(host.typed(), visit)
                        || entries_of::<Sell<$t, Host, $i, $o>>(host.typed(), visit)
                    {
                        return Ok(());
                    }
                )*
            };
        }
        sparse_core::for_all_types!(visit_each);
        Err(self.unknown_types("the entries"))
    }

    /// The number of entries in each row.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// assert_eq!(Matrix::from_typed(&Device::host()?, a)?.row_lengths()?, [2, 1]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory) if the host cannot allocate a number for each row; an error of the device's
    /// runtime.
    pub fn row_lengths(&self) -> Result<Vec<usize>> {
        let mut lengths = zeroed_vec(self.nrows())?;
        self.for_each_entry(&mut |row, _, _| lengths[row] += 1)?;
        Ok(lengths)
    }

    /// The symmetries that the entries have, by equality of values; `None` if the matrix is not square.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::from_triplets(2, 2, [(0, 0, 4.0), (0, 1, 1.0), (1, 0, 1.0)])?;
    /// let symmetry = Matrix::from_typed(&Device::host()?, a)?.symmetry()?.expect("2 x 2 is square");
    /// assert!(symmetry.pattern && symmetry.symmetric && !symmetry.skew);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Unsupported`](Error::Unsupported) for batches, and for a matrix other than COO with duplicate coordinates;
    /// an error of the device's runtime.
    pub fn symmetry(&self) -> Result<Option<Symmetry>> {
        if self.nrows() != self.ncols() {
            return Ok(None);
        }
        let csr = self.without_empty_lines()?.to_format(Format::Csr)?;
        let host = csr.on_host()?;
        macro_rules! compare_each {
            ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
                $(
                    if let Some(a) = host.typed().downcast_ref::<Csr<$t, Host, $i, $o>>() {
                        return Symmetry::of_any_order(a).map(Some);
                    }
                )*
            };
        }
        sparse_core::for_all_types!(compare_each);
        Err(self.unknown_types("the symmetry"))
    }

    /// The matrix in a format that owns its arrays on the host: itself, or a copy.
    pub(crate) fn on_host(&self) -> Result<HostMatrix<'_>> {
        Ok(match self.any().as_host_format() {
            Some(matrix) => HostMatrix::InPlace(matrix),
            None => HostMatrix::Copy(self.host_copy()?),
        })
    }

    /// The error of an operation for types that are not in the catalogue; no matrix has such types.
    #[cold]
    pub(crate) fn unknown_types(&self, what: &str) -> Error {
        Error::unsupported(format_args!("{what} of {self:?}"), "its types are unknown")
    }
}

/// A typed matrix in the host's memory.
pub(crate) enum HostMatrix<'a> {
    InPlace(&'a dyn Any),
    Copy(Box<dyn Any>),
}

impl HostMatrix<'_> {
    pub(crate) fn typed(&self) -> &dyn Any {
        match self {
            Self::InPlace(matrix) => *matrix,
            Self::Copy(matrix) => &**matrix,
        }
    }
}

/// Visits the entries of a matrix of type `M`; false if it is of another.
fn entries_of<M: Entries>(matrix: &dyn Any, visit: &mut dyn FnMut(usize, usize, c64)) -> bool {
    let Some(matrix) = matrix.downcast_ref::<M>() else { return false };
    matrix.entries().for_each(|(row, col, value)| visit(row, col, value.to_c64()));
    true
}

fn coo<T: Scalar, I: Index>(
    (rows, cols): (usize, usize),
    entries: &[(usize, usize, c64)],
) -> Result<Coo<T, Host, I>> {
    let typed = |&(row, col, value): &(usize, usize, c64)| {
        if value.im != 0.0 && !T::DTYPE.is_complex() {
            let reason =
                format!("the value {value} in row {row} and column {col} is complex, {} is not", T::DTYPE);
            return Err(Error::operands("from_triplets", reason));
        }
        Ok((row, col, super::dispatch::operand_errors::factor::<T>("from_triplets", "a value", value)?))
    };
    let typed: Result<Vec<_>> = entries.iter().map(typed).collect();
    Coo::<T, Host, I>::from_triplets(rows, cols, typed?)
}

/// The symmetries of a square matrix; see [`Matrix::symmetry`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Symmetry {
    /// The entries whose mirror image is stored too, those on the diagonal among them.
    pub mirrored: usize,
    /// Every mirror image is stored.
    pub pattern: bool,
    /// `a_ji = a_ij`
    pub symmetric: bool,
    /// `a_ji = -a_ij`
    pub skew: bool,
    /// `a_ji = conj(a_ij)`
    pub hermitian: bool,
}

impl Symmetry {
    fn of_any_order<T: Scalar, I: Index, O: Index>(a: &Csr<T, Host, I, O>) -> Result<Self> {
        let a = if a.order().sorted { Cow::Borrowed(a) } else { Cow::Owned(Reference.sort(a)?) };
        if !a.order().unique {
            return Err(Error::unsupported(
                "the symmetry of a matrix with two entries in one place",
                "convert it to coo and back, which adds them",
            ));
        }
        Ok(Self::of(&a))
    }

    /// Compares a matrix, whose rows are sorted, with its transpose.
    ///
    /// Rows are visited in order, so that the mirror images within any one row are looked up in storage order: one
    /// cursor per row finds them all in a single pass.
    fn of<T: Scalar, I: Index, O: Index>(a: &Csr<T, Host, I, O>) -> Self {
        let mut cursors: Vec<usize> = a.row_ptr().iter().map(|offset| offset.as_usize()).collect();
        let (mut mirrored, mut symmetric, mut skew, mut hermitian) = (0_usize, true, true, true);
        for (row, col, value) in a.triplets() {
            let end = a.row_ptr()[col + 1].as_usize();
            let cursor = &mut cursors[col];
            while *cursor < end && a.col_idx()[*cursor].as_usize() < row {
                *cursor += 1;
            }
            if *cursor < end && a.col_idx()[*cursor].as_usize() == row {
                let (image, value) = (a.values()[*cursor].to_acc(), value.to_acc());
                mirrored += 1;
                symmetric &= image == value;
                skew &= image == -value;
                hermitian &= image == value.conj();
            }
        }
        let pattern = mirrored == a.nnz();
        Self {
            mirrored,
            pattern,
            symmetric: pattern && symmetric,
            skew: pattern && skew,
            hermitian: pattern && hermitian,
        }
    }
}
