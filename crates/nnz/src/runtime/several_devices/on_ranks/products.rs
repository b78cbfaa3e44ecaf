//! Products with the vectors and dense matrices of rank 0.

use super::{MatrixOnRanks, ROOT};
#[cfg(doc)]
use crate::MatrixOnDevices;
use crate::runtime::dispatch::operand_errors::check_operands;
use crate::runtime::several_devices::rank::RankSizes;
use crate::runtime::{DenseMatrix, Vector};
use sparse_core::error::checked_product;
use sparse_core::op::Op;
use sparse_core::{Error, Order, Result, c64};
use sparse_distrib::{Ownership, Transport};

impl MatrixOnRanks {
    /// `A·x` at rank 0.
    ///
    /// # Errors
    /// Those of [`spmv`](Self::spmv).
    pub fn matvec(&mut self, x: Option<&Vector>) -> Result<Option<Vector>> {
        let rows = self.sizes.rows.len();
        let mut y = self.agree("spmv", self.zeros(rows))?;
        self.spmv(Op::None, 1.0, x, 0.0, y.as_mut())?;
        Ok(y)
    }

    /// `y ← alpha·op(A)·x + beta·y` at rank 0; a `beta` of zero does not read `y`. The plan serves further products by
    /// this `op`.
    ///
    /// # Errors
    /// On all ranks: those of [`MatrixOnDevices::spmv`]; [`Operands`](Error::Operands) if rank 0 has no vectors.
    pub fn spmv(
        &mut self,
        op: Op,
        alpha: impl Into<c64>,
        x: Option<&Vector>,
        beta: impl Into<c64>,
        y: Option<&mut Vector>,
    ) -> Result<()> {
        let RankSizes { rows, columns, .. } = &self.sizes;
        let (rows, columns) = op.orient(rows, columns);
        self.check_vectors("spmv", [("x", x, columns), ("y", y.as_deref(), rows)])?;
        self.rank.multiply(op, alpha.into(), (x, columns), beta.into(), (y, rows))
    }

    /// `A·B` at rank 0, in the order of B.
    ///
    /// ```
    /// use nnz::distrib::{Local, Transport};
    /// use nnz::{MatrixOnRanks, prelude::*};
    /// use std::sync::Arc;
    ///
    /// let products = Local::run(2, |rank| {
    ///     let (device, is_root) = (Device::host()?, rank.rank() == 0);
    ///     let a = is_root.then(|| Matrix::from_typed(&device, Csr::<f64>::identity(3)?)).transpose()?;
    ///     let mut on_ranks = MatrixOnRanks::from_root(Arc::new(rank), &device, a.as_ref())?;
    ///     let b = || DenseMatrix::from_vec(&device, vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0], 3, 2, Order::RowMajor);
    ///     on_ranks.matmul(is_root.then(b).transpose()?.as_ref())
    /// });
    /// let c = products.into_iter().next().unwrap()?.unwrap();
    /// assert_eq!(c.values().to_vec::<f64>()?, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`spmm`](Self::spmm).
    pub fn matmul(&mut self, b: Option<&DenseMatrix>) -> Result<Option<DenseMatrix>> {
        let rows = self.sizes.rows.len();
        let zeros = |b: &DenseMatrix| DenseMatrix::zeros(&self.host, self.dtype, rows, b.ncols(), b.order());
        let c = b.filter(|_| self.is_root()).map(zeros).transpose();
        let mut c = self.agree("spmm", c)?;
        self.spmm(Op::None, 1.0, b, 0.0, c.as_mut())?;
        Ok(c)
    }

    /// `C ← alpha·op(A)·B + beta·C` at rank 0, for dense B and C; a `beta` of zero does not read C. The plan serves
    /// further products by this `op` with as many columns.
    ///
    /// # Errors
    /// On all ranks: [`Operands`](Error::Operands) if rank 0 has no matrices, types differ, they are not in the host's
    /// memory, or a factor does not fit the type; [`Shape`](Error::Shape) for matrices of other shapes; those of any
    /// rank's device.
    pub fn spmm(
        &mut self,
        op: Op,
        alpha: impl Into<c64>,
        b: Option<&DenseMatrix>,
        beta: impl Into<c64>,
        c: Option<&mut DenseMatrix>,
    ) -> Result<()> {
        let RankSizes { rows, columns, .. } = &self.sizes;
        let (rows, inner) = op.orient(rows, columns);
        let own = match (self.is_root(), b, c.as_deref()) {
            (false, ..) => Ok(0),
            (true, Some(b), Some(c)) => self.check_dense((b, inner), (c, rows)),
            (true, ..) => Err(Error::operands("spmm", "rank 0 has no matrices")),
        };
        let own = self.agree("spmm", own)? as u64;
        let width = decode_width(self.transport.broadcast(ROOT, own.to_le_bytes().to_vec())?)?;
        let (by_b, by_c) = (times(inner, width)?, times(rows, width)?);
        let row_major = |dense: &DenseMatrix| dense.to_order(Order::RowMajor).map(DenseMatrix::into_values);
        let own = self.is_root().then_some(b.zip(c.as_deref())).flatten();
        let copies = own.map(|(b, c)| Ok((row_major(b)?, row_major(c)?))).transpose();
        let (b, mut y) = self.agree("spmm", copies)?.unzip();
        self.rank.multiply_dense(
            op,
            width,
            alpha.into(),
            (b.as_ref(), &by_b),
            beta.into(),
            (y.as_mut(), &by_c),
        )?;
        let stored = y.zip(c).map(|(y, c)| {
            let result = DenseMatrix::new(y, rows.len(), width, width, Order::RowMajor)?;
            *c = result.to_order(c.order())?;
            Ok(())
        });
        self.agree("spmm", stored.unwrap_or(Ok(())))
    }

    /// The number of columns of B and C at the root, if they fit the matrix.
    fn check_dense(
        &self,
        (b, inner): (&DenseMatrix, &Ownership),
        (c, rows): (&DenseMatrix, &Ownership),
    ) -> Result<usize> {
        let needed = [(inner.len(), b.ncols()), (rows.len(), b.ncols())];
        for ((name, dense), (rows, columns)) in [("B", b), ("C", c)].into_iter().zip(needed) {
            let found = (dense.nrows(), dense.ncols());
            if found != (rows, columns) {
                let (m, n) = found;
                let reason = format!("{name} is {m} x {n} where {rows} x {columns} is needed");
                return Err(Error::shape("spmm", reason));
            }
        }
        let operands = [("B", b.values()), ("C", c.values())];
        check_operands("spmm", (self.dtype, &self.host), &operands)?;
        Ok(b.ncols())
    }
}

/// The division of the elements of a row-major matrix of `width` columns.
fn times(rows: &Ownership, width: usize) -> Result<Ownership> {
    let elements = |rank| checked_product("rows x columns", rows.range(rank).len(), width);
    Ownership::from_lengths((0..rows.ranks()).map(elements).collect::<Result<Vec<_>>>()?)
}

/// The number of columns that rank 0 sends to all.
fn decode_width(message: Vec<u8>) -> Result<usize> {
    let decoded: Result<[u8; 8], _> = message.try_into();
    let bytes = decoded.map_err(|message: Vec<u8>| {
        let reason =
            format!("rank 0 sent {} bytes where 8 with the number of columns are needed", message.len());
        Error::operands("spmm", reason)
    })?;
    usize::try_from(u64::from_le_bytes(bytes)).map_err(|error| Error::operands("spmm", error))
}

#[cfg(test)]
mod tests {
    use crate::runtime::several_devices::on_ranks::products::decode_width;

    #[test]
    fn a_number_of_columns_has_eight_bytes() {
        assert_eq!(decode_width(3_u64.to_le_bytes().to_vec()).unwrap(), 3);
        let error = decode_width(vec![3; 7]).unwrap_err().to_string();
        assert!(error.contains("rank 0 sent 7 bytes where 8"), "{error}");
    }
}
