//! Entries grouped by the rows of op(A) in the plan; the device adds them group by group.

use super::numbering::position;
use super::positions::Positions;
use super::values::Values;
use crate::buffer::RawBuffer;
use crate::defines::Defines;
use crate::index_type::IndexType;
use crate::launch::Launch;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::Op;
use sparse_core::reference::{Entries, Entry};
use sparse_core::{Algorithm, Backend, DType, Result};

/// The algorithm that adds grouped entries, for the tables that have it.
pub(crate) const GROUPED_ROWS: Algorithm =
    Algorithm::new("grouped_rows", "rows of op(A) are not what the format stores in order").preprocessing(
        "the entries by rows of op(A), with their columns and permutation, sorted on the device",
    );

/// The entries of op(A) by rows.
#[derive(Debug)]
pub struct RowGroups {
    pub(crate) offsets: Buffer<i64>,
    pub(crate) columns: RawBuffer,
    pub(crate) positions: Positions,
}

impl RowGroups {
    /// The entries of a numbered matrix, sorted on the host; columns become of type `index`.
    pub(super) fn numbered(
        backend: &Device,
        a: &impl Entries<Scalar = f64>,
        op: Op,
        index: IndexType,
    ) -> Result<Self> {
        Self::of_entries(backend, a.entries().collect(), op.shape(a).0, op, index)
    }

    fn of_entries(
        backend: &Device,
        mut entries: Vec<Entry<f64>>,
        rows: usize,
        op: Op,
        index: IndexType,
    ) -> Result<Self> {
        if op.transposes() {
            entries.iter_mut().for_each(|(i, j, _)| std::mem::swap(i, j));
        }
        entries.sort_by_key(|&(i, _, _)| i);
        let mut offsets = vec![0_i64; rows + 1];
        entries.iter().for_each(|&(i, _, _)| offsets[i + 1] += 1);
        (0..rows).for_each(|i| offsets[i + 1] += offsets[i]);
        let columns: Vec<_> = entries.iter().map(|&(_, j, _)| j).collect();
        let positions: Vec<_> = entries.iter().map(|&(_, _, number)| position(number)).collect();
        Ok(Self {
            offsets: backend.upload(&offsets)?,
            columns: backend.upload_indices("a column", &columns, index)?,
            positions: Positions::upload(backend, &positions)?,
        })
    }

    /// The rows of op(A).
    pub(crate) fn nrows(&self) -> usize {
        self.offsets.len - 1
    }

    /// Bytes that the groups take.
    pub(crate) fn bytes(&self) -> usize {
        self.offsets.bytes() + self.columns.bytes() + self.positions.bytes()
    }
}

impl Device {
    /// A kernel over grouped entries.
    pub(crate) fn grouped_kernel(
        &self,
        dtype: DType,
        entry: &'static str,
        groups: &RowGroups,
        op: Op,
    ) -> Result<Kernel> {
        let defines = Defines::default().index(groups.columns.index_type());
        let defines = defines.set("POS", groups.positions.type_name()).conj(dtype, op);
        self.kernel_of(dtype, "grouped", entry, defines)
    }
}

impl<'a> Launch<'a> {
    /// The groups, and the value arrays of their matrix.
    pub(crate) fn groups_of(self, groups: &'a RowGroups, values: Values<'a>) -> Self {
        self.buffer(&groups.offsets).buffer(&groups.columns).positions(&groups.positions).values(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::{BatchCompressed, BatchCsc, BatchCsr, Col, Error, Row};

    /// Two members of shape (1, n), with an entry in the first column of the first and in the last one of the second.
    fn row_members(n: i32) -> BatchCsr<f64> {
        BatchCompressed::<Row, f64>::new(
            (1, n as usize),
            vec![0, 1, 2],
            vec![0, 1, 0, 1],
            vec![0, n - 1],
            vec![1.0, 2.0],
        )
        .unwrap()
    }

    /// The same with columns for rows.
    fn column_members(n: i32) -> BatchCsc<f64> {
        BatchCompressed::<Col, f64>::new(
            (n as usize, 1),
            vec![0, 1, 2],
            vec![0, 1, 0, 1],
            vec![0, n - 1],
            vec![1.0, 2.0],
        )
        .unwrap()
    }

    #[test]
    fn columns_of_a_batch_are_refused_where_the_index_of_its_members_cannot_number_them() {
        let device = Device::without_hardware("none", &[], 1).unwrap();
        let (fits, passes) = (1 << 30, (1 << 30) + 1);
        let of_rows =
            |n, index| RowGroups::numbered(&device, &row_members(n), Op::None, index).map(|g| g.bytes());
        let of_columns = |n, index| {
            RowGroups::numbered(&device, &column_members(n), Op::Transpose, index).map(|g| g.bytes())
        };
        for groups in [&of_rows as &dyn Fn(i32, IndexType) -> Result<usize>, &of_columns] {
            groups(fits, IndexType::I32).unwrap();
            groups(passes, IndexType::I64).unwrap();
            let error = groups(passes, IndexType::I32).unwrap_err();
            let Error::IndexOverflow { ref what, value, target } = error else { panic!("{error}") };
            assert_eq!((&what[..], value, target), ("a column", (1 << 31) + 1, "i32"));
        }
    }
}
