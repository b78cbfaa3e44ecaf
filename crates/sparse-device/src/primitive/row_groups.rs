//! Entries grouped by the rows of op(A): compressed rows of a matrix in any format, made by the plan.

use super::numbering::position;
use super::positions::Positions;
use super::raw::RawCompressed;
use super::stored_values::StoredValues;
use super::values::Values;
use crate::buffer::RawBuffer;
use crate::index_type::IndexType;
use crate::{Buffer, Device, Kernel};
use sparse_core::op::Op;
use sparse_core::reference::{Entries, Entry};
use sparse_core::{Algorithm, Backend, DType, IndexOrder, Result, Scalar};

/// The algorithm for grouped entries, for the tables that have it.
pub(crate) const GROUPED_ROWS: Algorithm = Algorithm::new(
    "grouped_rows",
    "rows of op(A) are not what the format stores in order: compressed rows, by the algorithm that is chosen for CSR",
)
.preprocessing(
    "the entries by rows of op(A), with their columns and permutation, sorted on the device, memory for their values, and what the \
     algorithm for CSR has",
);

/// The entries of op(A) by rows.
#[derive(Debug)]
pub struct RowGroups {
    pub(crate) offsets: Buffer<i64>,
    pub(crate) columns: RawBuffer,
    pub(crate) positions: Positions,
    pub(crate) order: GroupOrder,
}

/// The order of grouped entries, as far as it is known.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct GroupOrder {
    /// The matrix stores them in this order.
    pub(crate) as_stored: bool,
    /// Columns ascend in each row.
    pub(crate) sorted: bool,
}

/// Compressed rows of a matrix that stores its entries in another order: each product first gathers the values by rows.
#[derive(Debug)]
pub(crate) struct GroupedRows {
    dtype: DType,
    cols: usize,
    offsets: Buffer<i64>,
    columns: RawBuffer,
    sorted: bool,
    /// The values in the order of these rows; `None` if the matrix stores them in this order.
    gathered: Option<GatheredValues>,
}

/// Values in the order of groups, their positions in the matrix, and the kernel that gathers them.
#[derive(Debug)]
struct GatheredValues {
    positions: Positions,
    kernel: Kernel,
    values: RawBuffer,
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

    /// Copies of compressed rows.
    pub(super) fn stored(backend: &Device, a: RawCompressed<'_>) -> Result<Self> {
        let offsets = backend.allocate::<i64>(a.rows + 1)?;
        let kernel = backend.kernel("coordinates", "coordinates_wide_offsets", a.defines())?;
        let launch = backend.launch(&kernel).size(offsets.len).buffer(a.offsets);
        launch.buffer(&offsets).items(offsets.len)?;
        Ok(Self {
            offsets,
            columns: backend.duplicate(a.indices)?,
            positions: Positions::counted(backend, 0..a.nnz(), a.nnz())?,
            order: GroupOrder { as_stored: true, sorted: a.order.sorted },
        })
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
            order: GroupOrder::default(),
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

impl GroupedRows {
    /// The rows of op(A), which has `cols` columns.
    pub(crate) fn new<M: StoredValues>(backend: &Device, a: &M, op: Op) -> Result<Self> {
        let cols = op.shape(a).1;
        Self::of(backend, M::Scalar::DTYPE, a.row_groups(backend, op)?, cols)
    }

    fn of(backend: &Device, dtype: DType, groups: RowGroups, cols: usize) -> Result<Self> {
        let RowGroups { offsets, columns, positions, order } = groups;
        let gathered = match order.as_stored {
            true => None,
            false => Some(GatheredValues {
                kernel: backend.gather_kernel(dtype.bytes(), &positions)?,
                values: backend.allocate_raw(positions.len(), dtype.bytes())?,
                positions,
            }),
        };
        Ok(Self { dtype, cols, offsets, columns, sorted: order.sorted, gathered })
    }

    /// The rows, with the values of the last product.
    pub(crate) fn pattern<'a>(&'a self, values: Values<'a>) -> RawCompressed<'a> {
        RawCompressed {
            dtype: self.dtype,
            rows: self.offsets.len - 1,
            cols: self.cols,
            order: IndexOrder { major_sorted: true, sorted: self.sorted, unique: false },
            offsets: &self.offsets,
            indices: &self.columns,
            values: self.gathered.as_ref().map_or(values.head, |gathered| &gathered.values),
        }
    }

    /// The rows, with these values.
    pub(crate) fn with_values<'a>(
        &'a self,
        backend: &Device,
        values: Values<'a>,
    ) -> Result<RawCompressed<'a>> {
        if let Some(gathered) = &self.gathered {
            backend.gather_to(&gathered.kernel, &gathered.positions, values, &gathered.values)?;
        }
        Ok(self.pattern(values))
    }

    /// Bytes on the device.
    pub(crate) fn bytes(&self) -> usize {
        let of_values = |gathered: &GatheredValues| gathered.positions.bytes() + gathered.values.bytes();
        self.offsets.bytes() + self.columns.bytes() + self.gathered.as_ref().map_or(0, of_values)
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
