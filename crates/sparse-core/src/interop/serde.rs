//! serde: a map of the format's name, the shape and the arrays. Reading goes through the checked constructors.
//!
//! ELL, HYB, SELL and batches are made from CSR for a device; store the CSR matrix.

use crate::error::Error as FormatError;
use crate::format::{Axis, Compressed, Coo, Dense, Order, SparseFormat};
use crate::index::Index;
use crate::scalar::Scalar;
use crate::space::Host;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// The fields of CSR and CSC; borrowed to write, owned to read.
#[derive(Serialize, Deserialize)]
struct CompressedFields<Name, Offsets, Indices, Values> {
    format: Name,
    nrows: usize,
    ncols: usize,
    offsets: Offsets,
    indices: Indices,
    values: Values,
}

/// The fields of COO.
#[derive(Serialize, Deserialize)]
struct CooFields<Name, Indices, Values> {
    format: Name,
    nrows: usize,
    ncols: usize,
    row_idx: Indices,
    col_idx: Indices,
    values: Values,
}

/// The fields of a dense matrix.
#[derive(Serialize, Deserialize)]
struct DenseFields<Name, Values> {
    format: Name,
    nrows: usize,
    ncols: usize,
    order: OrderName,
    values: Values,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OrderName {
    RowMajor,
    ColMajor,
}

/// An error unless a matrix of one format is read as that: CSC read as CSR would be the transpose.
fn check_name(expected: &'static str, found: &str) -> Result<(), FormatError> {
    if found == expected {
        return Ok(());
    }
    Err(FormatError::format(expected, format_args!("the format is `{found}`, not `{expected}`")))
}

impl<A, T, I, O> Serialize for Compressed<A, T, Host, I, O>
where
    A: Axis,
    T: Scalar + Serialize,
    I: Index + Serialize,
    O: Index + Serialize,
{
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (nrows, ncols) = self.shape();
        let (offsets, indices, values) = (self.offsets(), self.indices(), self.values());
        let format = Self::FORMAT;
        CompressedFields { format, nrows, ncols, offsets, indices, values }.serialize(serializer)
    }
}

impl<'de, A, T, I, O> Deserialize<'de> for Compressed<A, T, Host, I, O>
where
    A: Axis,
    T: Scalar + Deserialize<'de>,
    I: Index + Deserialize<'de>,
    O: Index + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = CompressedFields::<String, Vec<O>, Vec<I>, Vec<T>>::deserialize(deserializer)?;
        check_name(Self::FORMAT, &read.format)
            .and_then(|()| {
                Self::new_unsorted(read.nrows, read.ncols, read.offsets, read.indices, read.values)
            })
            .map_err(D::Error::custom)
    }
}

impl<T: Scalar + Serialize, I: Index + Serialize> Serialize for Coo<T, Host, I> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (nrows, ncols) = self.shape();
        let (row_idx, col_idx, values) = (self.row_idx(), self.col_idx(), self.values());
        CooFields { format: Self::FORMAT, nrows, ncols, row_idx, col_idx, values }.serialize(serializer)
    }
}

impl<'de, T, I> Deserialize<'de> for Coo<T, Host, I>
where
    T: Scalar + Deserialize<'de>,
    I: Index + Deserialize<'de>,
{
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = CooFields::<String, Vec<I>, Vec<T>>::deserialize(deserializer)?;
        check_name(Self::FORMAT, &read.format)
            .and_then(|()| Self::new(read.nrows, read.ncols, read.row_idx, read.col_idx, read.values))
            .map_err(D::Error::custom)
    }
}

/// The name of a dense matrix in its map.
const DENSE: &str = "dense";

impl<T: Scalar + Serialize> Serialize for Dense<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (nrows, ncols) = self.shape();
        let order = match self.order() {
            Order::RowMajor => OrderName::RowMajor,
            Order::ColMajor => OrderName::ColMajor,
        };
        DenseFields { format: DENSE, nrows, ncols, order, values: self.data() }.serialize(serializer)
    }
}

impl<'de, T: Scalar + Deserialize<'de>> Deserialize<'de> for Dense<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let read = DenseFields::<String, Vec<T>>::deserialize(deserializer)?;
        let order = match read.order {
            OrderName::RowMajor => Order::RowMajor,
            OrderName::ColMajor => Order::ColMajor,
        };
        check_name(DENSE, &read.format)
            .and_then(|()| Self::new(read.values, read.nrows, read.ncols, order))
            .map_err(D::Error::custom)
    }
}
