//! Batches from and to matrices, through the host.

use super::{IndexType, Matrix};
use crate::Device;
use sparse_core::{
    Axis, BatchCompressed, BatchCsc, BatchCsr, Compressed, Csc, Csr, Error, Host, Index, Result, Scalar,
};
use std::any::Any;

/// Batches.
impl Matrix {
    /// The batch of matrices in CSR, or in CSC, of one shape and one type, in the memory of the first one's device.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// let two = Matrix::from_members(&[a.clone(), (&a * 3.0)?])?;
    /// assert_eq!((two.format(), two.members()), (Format::BatchCsr, Some(2)));
    /// assert_eq!(two.member(1)?.to_dense()?.values().to_vec::<f64>()?, [3.0, 0.0, 0.0, 3.0]);
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) for no matrix at all, or one of another shape than the first;
    /// [`Operands`](Error::Operands) for one of another format or type; [`Unsupported`](Error::Unsupported) for formats
    /// other than CSR and CSC; what the devices' runtimes report.
    #[doc(alias = "stack")]
    pub fn from_members(members: &[Self]) -> Result<Self> {
        let Some(first) = members.first() else {
            return Err(Error::shape("from_members", "there are no matrices; at least one is needed"));
        };
        if let Some((k, other)) = members.iter().enumerate().find(|(_, member)| member.kind() != first.kind())
        {
            let reason =
                format!("matrix {k} is {}, matrix 0 is {}; one type is needed", other.kind(), first.kind());
            return Err(Error::operands("from_members", reason));
        }
        let hosts = members.iter().map(Self::on_host).collect::<Result<Vec<_>>>()?;
        let typed: Vec<_> = hosts.iter().map(|host| host.typed()).collect();
        first.compressed("from_members", typed[0])?.batch_of(&typed, &first.device)
    }

    /// The `count` blocks on the diagonal of a matrix in CSR or CSC, which are of one shape, as a batch.
    ///
    /// It is the inverse of [`to_block_diagonal`](Self::to_block_diagonal).
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(6)?)?;
    /// let three = a.to_batch(3)?;
    /// assert_eq!((three.members(), three.member_shape()), (Some(3), (2, 2)));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if `count` does not divide the rows and the columns; [`Format`](Error::Format) for an
    /// entry outside of the blocks; [`Unsupported`](Error::Unsupported) for formats other than CSR and CSC; what the
    /// device's runtime reports.
    pub fn to_batch(&self, count: usize) -> Result<Self> {
        let host = self.on_host()?;
        self.compressed("to_batch", host.typed())?.blocks(count, &self.device)
    }

    /// The matrix with the members of a batch as blocks on its diagonal, in CSR or CSC.
    ///
    /// ```
    /// # use nnz::prelude::*;
    /// let a = Matrix::from_typed(&Device::host()?, Csr::<f64>::identity(2)?)?;
    /// let all = Matrix::from_members(&[a.clone(), a])?.to_block_diagonal()?;
    /// assert_eq!(all.downcast_ref(), Some(&Csr::<f64>::identity(4)?));
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// [`IndexOverflow`](Error::IndexOverflow) if its extents or its nnz do not fit the index types of the batch;
    /// [`Unsupported`](Error::Unsupported) for one matrix; an error of the device's runtime.
    #[doc(alias = "block_diag")]
    pub fn to_block_diagonal(&self) -> Result<Self> {
        let host = self.on_host()?;
        let one =
            || Error::unsupported(format_args!("to_block_diagonal of {}", self.format()), "it is one matrix");
        as_batch(host.typed()).ok_or_else(one)?.block_diagonal(&self.device)
    }

    /// The type that all members of a batch have.
    fn kind(&self) -> String {
        let offset = self.offset_type().map_or("no", IndexType::name);
        format!(
            "{} of {} with {} indices and {offset} offsets",
            self.format(),
            self.dtype(),
            self.index_type()
        )
    }

    /// The matrix on the host as CSR or CSC, which `op` needs.
    fn compressed<'a>(&self, op: &str, host: &'a dyn Any) -> Result<&'a dyn HostCompressed> {
        as_compressed(host).ok_or_else(|| {
            let instead = "csr and csc have it";
            Error::unsupported(format_args!("{op} of {}", self.format()), instead)
        })
    }
}

/// CSR or CSC of any type on the host.
trait HostCompressed {
    /// The batch of `members`, which are of this type.
    fn batch_of(&self, members: &[&dyn Any], device: &Device) -> Result<Matrix>;
    fn blocks(&self, count: usize, device: &Device) -> Result<Matrix>;
}

impl<A: Axis, T: Scalar, I: Index, O: Index> HostCompressed for Compressed<A, T, Host, I, O> {
    fn batch_of(&self, members: &[&dyn Any], device: &Device) -> Result<Matrix> {
        let members: Vec<&Self> = members.iter().filter_map(|member| member.downcast_ref()).collect();
        Matrix::from_typed(device, BatchCompressed::from_members(&members)?)
    }

    fn blocks(&self, count: usize, device: &Device) -> Result<Matrix> {
        Matrix::from_typed(device, BatchCompressed::from_block_diagonal(self, count)?)
    }
}

/// A batch of any type on the host.
trait HostBatch {
    fn block_diagonal(&self, device: &Device) -> Result<Matrix>;
}

impl<A: Axis, T: Scalar, I: Index, O: Index> HostBatch for BatchCompressed<A, T, Host, I, O> {
    fn block_diagonal(&self, device: &Device) -> Result<Matrix> {
        Matrix::from_typed(device, self.to_block_diagonal()?)
    }
}

/// The matrix, if it is CSR or CSC.
fn as_compressed(matrix: &dyn Any) -> Option<&dyn HostCompressed> {
    macro_rules! find {
        ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
            $(
                if let Some(rows) = matrix.downcast_ref::<Csr<$t, Host, $i, $o>>() {
                    return Some(rows);
                }
                if let Some(columns) = matrix.downcast_ref::<Csc<$t, Host, $i, $o>>() {
                    return Some(columns);
                }
            )*
        };
    }
    sparse_core::for_all_types!(find);
    None
}

/// The matrix, if it is a batch.
fn as_batch(matrix: &dyn Any) -> Option<&dyn HostBatch> {
    macro_rules! find {
        ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
            $(
                if let Some(rows) = matrix.downcast_ref::<BatchCsr<$t, Host, $i, $o>>() {
                    return Some(rows);
                }
                if let Some(columns) = matrix.downcast_ref::<BatchCsc<$t, Host, $i, $o>>() {
                    return Some(columns);
                }
            )*
        };
    }
    sparse_core::for_all_types!(find);
    None
}
