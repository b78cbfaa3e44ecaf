//! Products of two sparse matrices.

use super::conversion::unify_index_types;
use crate::runtime::dispatch::any_matrix::ProductExtent;
use crate::runtime::dispatch::operand_errors::mismatch;
use crate::runtime::{Format, Matrix};
use sparse_core::{Error, Result};

const OP: &str = "spgemm";

/// Products of two sparse matrices.
impl Matrix {
    /// `A·B`: CSR of two in CSR, CSC of two in CSC. Indices have 64 bits where those of one do. `&a * &b` is the same
    /// of any two formats of one matrix, which it converts.
    ///
    /// The product is sorted, and has an entry wherever an entry of A meets one of B: sums of zero stay as explicit
    /// zeros, which [`prune`](Self::prune) removes. For several products of the same patterns make a
    /// [plan](Self::plan_spgemm).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let device = Device::host()?;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&device, a)?;
    /// assert_eq!((&a * &a)?.to_dense()?.values().to_vec::<f64>()?, [1.0, 8.0, 0.0, 9.0]);
    /// let error = a.matmul_sparse(&a.to_format(Format::Csc)?).unwrap_err();
    /// assert_eq!(error.to_string(), "spgemm: A is csr, B is csc; B as csr would fit");
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Operands`](Error::Operands) if types, devices or formats differ; [`Unsupported`](Error::Unsupported) for other
    /// formats; [`Shape`](Error::Shape) unless B has as many rows as A has columns;
    /// [`IndexOverflow`](Error::IndexOverflow) if the product has more entries than its offsets can count.
    pub fn matmul_sparse(&self, b: &Self) -> Result<Self> {
        self.product(b, ProductExtent::Whole)
    }

    /// The pattern of `A·B` with ones as values: [`matmul_sparse`](Self::matmul_sparse) without computing the sums.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// let a = Matrix::from_typed(&Device::host()?, a)?;
    /// assert_eq!(a.matmul_pattern(&a)?.to_dense()?.values().to_vec::<f64>()?, [1.0, 1.0, 0.0, 1.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul_sparse`](Self::matmul_sparse).
    pub fn matmul_pattern(&self, b: &Self) -> Result<Self> {
        let product = self.product(b, ProductExtent::Pattern)?;
        let ones = product.ones(product.nnz())?;
        product.with_values(&ones)
    }

    /// `C⟨M⟩ = A·B`: the elements of A·B at the entries of `mask`, whose values do not matter, in a matrix of its
    /// pattern; zeros where no product arises. The memory is that of the mask. Indices have 64 bits where those of one
    /// of the three do.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// // A triangle 0, 1, 2 and an edge to 3: each triangle is counted six times.
    /// let edges = [(0, 1), (0, 2), (1, 2), (2, 3)];
    /// let entries = edges.iter().flat_map(|&(i, j)| [(i, j, 1.0), (j, i, 1.0)]);
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::from_triplets(4, 4, entries)?)?;
    /// let paths = a.matmul_masked(&a, &a)?;
    /// assert_eq!(paths.reduce(nnz::Each::Row, nnz::Reduction::Sum)?.to_vec::<f64>()?, [2.0, 2.0, 2.0, 0.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`matmul_sparse`](Self::matmul_sparse), of the mask too; [`Shape`](Error::Shape) for a mask of another shape
    /// than A·B, [`Format`](Error::Format) for one that is not sorted or has a coordinate twice.
    #[doc(alias("mxm", "masked_spgemm"))]
    pub fn matmul_masked(&self, b: &Self, mask: &Self) -> Result<Self> {
        self.check_factors(mask, "the mask")?;
        let mask = mask.to_compressed(self.format())?;
        self.product(b, ProductExtent::Masked(&mask))
    }

    pub(in crate::runtime) fn product(&self, b: &Self, extent: ProductExtent<'_>) -> Result<Self> {
        self.check_factors(b, "B")?;
        let format = self.format();
        let (mut a, mut b) = (self.to_compressed(format)?, b.to_compressed(format)?);
        let mut mask = match extent {
            ProductExtent::Masked(mask) => Some(mask.clone()),
            ProductExtent::Whole | ProductExtent::Pattern => None,
        };
        unify_index_types([&mut a, &mut b].into_iter().chain(mask.as_mut()))?;
        let extent = mask.as_ref().map_or(extent, ProductExtent::Masked);
        a.any().spgemm(&b, extent)?.ok_or_else(|| a.other_indices(&b))
    }

    /// An error unless both factors have one type of values, one device, and one format that has the product.
    pub(in crate::runtime) fn check_factors(&self, b: &Self, name: &'static str) -> Result<()> {
        if b.context() != self.context() {
            return Err(self.other_factor(b, name));
        }
        self.check_factor_types(b, name)
    }

    /// An error unless factors of any formats have one type of values and one device, and their shapes fit.
    pub(in crate::runtime) fn check_product(&self, b: &Self) -> Result<()> {
        if (b.context(), b.dtype()) != (self.context(), self.dtype()) {
            return Err(self.other_factor(b, "B"));
        }
        let (found, needed) = (b.nrows(), self.ncols());
        if found != needed {
            let reason = format_args!("the number of rows of B is {found} where {needed} is needed");
            return Err(Error::shape(OP, reason));
        }
        Ok(())
    }

    /// An error unless both factors have one type of values, and one format that has the product.
    pub(in crate::runtime) fn check_factor_types(&self, b: &Self, name: &'static str) -> Result<()> {
        if b.dtype() != self.dtype() {
            return Err(self.other_factor(b, name));
        }
        let (format, other) = (self.format(), b.format());
        if !matches!(format, Format::Csr | Format::Csc) {
            let instead = "csr and csc have it";
            return Err(Error::unsupported(format_args!("{OP} of {format}"), instead));
        }
        if other != format {
            let reason = format_args!("A is {format}, {name} is {other}; {name} as {format} would fit");
            return Err(Error::operands(OP, reason));
        }
        Ok(())
    }

    /// The error of a factor with another type of values or another device.
    #[cold]
    fn other_factor(&self, b: &Self, name: &'static str) -> Error {
        mismatch(OP, self.as_operand(), &[(name, b.dtype(), &b.device)])
    }

    /// The error of factors whose types of indices or offsets differ.
    #[cold]
    pub(in crate::runtime) fn other_indices(&self, b: &Self) -> Error {
        let [a, b] = [self, b].map(|matrix| {
            let offsets = matrix.offset_type().unwrap_or(matrix.index_type());
            format!("{} indices and {offsets} offsets", matrix.index_type())
        });
        Error::operands(OP, format_args!("A has {a}, B has {b}, which must agree"))
    }
}
