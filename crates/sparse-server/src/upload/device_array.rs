//! Arrays that clients on this machine have in the memory of the server's GPU: named by handles of CUDA IPC, read and
//! written there, and not sent.

use super::Incoming;
use crate::config::Limits;
use crate::memory::ledger::Reservation;
use crate::objects::Store;
use crate::problem::Problem;
use axum::body::Body;
use axum::http::{HeaderValue, StatusCode};
use nnz::{DType, DenseMatrix, Device, IndexType, IpcArray, Matrix, Order, Vector};
use serde::Deserialize;
use std::fmt::Display;

/// The media type of bodies that name arrays of clients.
pub(crate) const CUDA: &str = "application/x-nnz-cuda";
/// The header with the array of the client that is to have the result.
pub(crate) const RESULT_ARRAY: &str = "nnz-result-cuda";

/// Bytes of a body that names arrays.
const MAX_BYTES: u64 = 16 << 10;

/// An array in C order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    /// 128 hexadecimal digits.
    handle: String,
    offset: usize,
    shape: Vec<usize>,
    /// The type as NumPy writes it: `<f8`.
    dtype: String,
}

/// A matrix in CSR.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CsrFields {
    shape: (usize, usize),
    indptr: Fields,
    indices: Fields,
    data: Fields,
}

/// A dense array of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DeviceArray {
    pub(crate) shape: Vec<usize>,
    dtype: DType,
    memory: IpcArray,
}

/// The arrays of a client's matrix in CSR.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct DeviceCsr {
    shape: (usize, usize),
    types: (IndexType, DType),
    /// Offsets, column indices and values.
    arrays: [IpcArray; 3],
}

fn wrong(what: impl Display) -> Problem {
    Problem::unprocessable(format!("body: {what}"))
}

/// The text of a body that names arrays.
async fn receive(body: Body, limits: &Limits) -> Result<Vec<u8>, Problem> {
    let (mut incoming, mut text) = (Incoming::new(body, MAX_BYTES, limits), vec![]);
    while let Some(data) = incoming.next().await? {
        text.extend_from_slice(&data);
    }
    Ok(text)
}

fn parse<'a, T: Deserialize<'a>>(text: &'a [u8]) -> Result<T, Problem> {
    serde_json::from_slice(text).map_err(wrong)
}

impl Fields {
    fn memory(&self) -> Result<IpcArray, Problem> {
        let digits = self.handle.as_bytes();
        let mut handle = [0; 64];
        let (pairs, rest) = digits.as_chunks::<2>();
        if pairs.len() != handle.len() || !rest.is_empty() {
            return Err(wrong("`handle`: 128 hexadecimal digits are needed"));
        }
        for (byte, pair) in handle.iter_mut().zip(pairs) {
            let text = std::str::from_utf8(pair).map_err(wrong)?;
            *byte = u8::from_str_radix(text, 16).map_err(|error| wrong(format_args!("`handle`: {error}")))?;
        }
        let len = self.shape.iter().try_fold(1_usize, |len, &extent| len.checked_mul(extent));
        let len = len.ok_or_else(|| wrong(format_args!("shape {:?} fits no memory", self.shape)))?;
        Ok(IpcArray { handle, byte_offset: self.offset, len })
    }

    fn unknown(&self, needed: &str) -> Problem {
        wrong(format_args!("dtype `{}`: one of {needed} is needed", self.dtype.escape_debug()))
    }

    fn value_type(&self) -> Result<DType, Problem> {
        match &*self.dtype {
            "<f4" => Ok(DType::F32),
            "<f8" => Ok(DType::F64),
            "<c8" => Ok(DType::C32),
            "<c16" => Ok(DType::C64),
            _ => Err(self.unknown("<f4, <f8, <c8 and <c16")),
        }
    }

    fn index_type(&self) -> Result<IndexType, Problem> {
        match &*self.dtype {
            "<i4" => Ok(IndexType::I32),
            "<i8" => Ok(IndexType::I64),
            _ => Err(self.unknown("<i4 and <i8")),
        }
    }

    fn array(self) -> Result<DeviceArray, Problem> {
        Ok(DeviceArray { dtype: self.value_type()?, memory: self.memory()?, shape: self.shape })
    }
}

impl DeviceArray {
    /// The array that a body names.
    pub(super) async fn receive(body: Body, limits: &Limits) -> Result<Self, Problem> {
        Self::parse(&receive(body, limits).await?)
    }

    /// The array of the header of a request.
    pub(crate) fn of_header(value: &HeaderValue) -> Result<Self, Problem> {
        Self::parse(value.as_bytes()).map_err(|problem| problem.within(RESULT_ARRAY))
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, Problem> {
        parse::<Fields>(text)?.array()
    }

    /// The bytes of a copy in its own type, and of one in another.
    pub(super) fn bytes(&self, dtype: Option<DType>) -> u64 {
        let element = self.dtype.bytes() + dtype.unwrap_or(self.dtype).bytes();
        (self.memory.len as u64).saturating_mul(element as u64)
    }

    /// A copy on the device, as columns of this type or of its own.
    pub(crate) fn read(&self, device: &Device, dtype: Option<DType>) -> Result<DenseMatrix, Problem> {
        let values = Vector::from_ipc(device, self.dtype, &self.memory)?;
        let values = match dtype {
            Some(dtype) if dtype != self.dtype => values.cast(dtype)?,
            _ => values,
        };
        let (rows, cols) = match self.shape[..] {
            [rows, cols] => (rows, cols),
            [count, rows, cols] => (count.saturating_mul(rows), cols),
            _ => (self.memory.len, 1),
        };
        Ok(DenseMatrix::new(values, rows, cols, cols.max(1), Order::RowMajor)?)
    }

    /// Writes a result of this shape to the array.
    pub(crate) fn write(&self, values: &Vector, shape: &[usize]) -> Result<(), Problem> {
        if shape != self.shape || values.dtype() != self.dtype {
            let found = format!("the result is {} of {shape:?}", values.dtype());
            let detail =
                format!("{RESULT_ARRAY}: an array of {} of {:?}, but {found}", self.dtype, self.shape);
            return Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "result-array", detail));
        }
        // SAFETY: the client asks for its own array to be written, and waits for the answer.
        Ok(unsafe { values.write_to_ipc(&self.memory) }?)
    }
}

impl DeviceCsr {
    /// The matrix that a body names.
    pub(crate) async fn receive(body: Body, limits: &Limits) -> Result<Self, Problem> {
        Self::parse(&receive(body, limits).await?)
    }

    pub(crate) fn parse(text: &[u8]) -> Result<Self, Problem> {
        let CsrFields { shape, indptr, indices, data } = parse(text)?;
        let types = (indices.index_type()?, data.value_type()?);
        if indptr.dtype != indices.dtype {
            return Err(wrong(format_args!("`indptr` is {} and `indices` {}", indptr.dtype, indices.dtype)));
        }
        if [&indptr, &indices, &data].iter().any(|array| array.shape.len() != 1)
            || shape.0.checked_add(1) != Some(indptr.shape[0])
            || indices.shape != data.shape
        {
            return Err(wrong(format_args!(
                "`indptr` has the shape {:?}, `indices` {:?} and `data` {:?}: (rows + 1,), (nnz,) and (nnz,) are needed",
                indptr.shape, indices.shape, data.shape
            )));
        }
        Ok(Self { shape, types, arrays: [indptr.memory()?, indices.memory()?, data.memory()?] })
    }

    /// The matrix in the device's memory, with its bytes in the ledger: copied, checked and with sorted rows.
    pub(super) fn read(self, store: &Store, tenant: &str) -> Result<(Matrix, Reservation), Problem> {
        let (index, value) = (self.types.0.bytes(), self.types.1.bytes());
        let [offsets, indices, _] = &self.arrays;
        let entries = indices.len.saturating_mul(index + value);
        let copied = entries.saturating_add(offsets.len.saturating_mul(index)) as u64;
        // Once more for sorted rows.
        let mut reserved = store.reserve(tenant, copied.saturating_mul(2))?;
        let matrix =
            Matrix::from_ipc(&store.device, self.shape, self.types, self.arrays.each_ref())?.sort()?;
        store.settle(&mut reserved, tenant, matrix.bytes() as u64)?;
        Ok((matrix, reserved))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(shape: &str, dtype: &str) -> String {
        let handle = "0a".repeat(64);
        format!(r#"{{"handle":"{handle}","offset":16,"shape":{shape},"dtype":"{dtype}"}}"#)
    }

    fn csr(indptr: &str, indices: &str, data: &str) -> Result<DeviceCsr, String> {
        let text = format!(r#"{{"shape":[2,3],"indptr":{indptr},"indices":{indices},"data":{data}}}"#);
        DeviceCsr::parse(text.as_bytes()).map_err(|problem| problem.detail().to_owned())
    }

    #[test]
    fn arrays_of_clients_are_checked_before_they_are_opened() {
        let indptr = array("[3]", "<i4");
        let found = csr(&indptr, &array("[4]", "<i4"), &array("[4]", "<c8")).unwrap();
        assert_eq!((found.shape, found.types), ((2, 3), (IndexType::I32, DType::C32)));
        assert_eq!(found.arrays[1], IpcArray { handle: [10; 64], byte_offset: 16, len: 4 });
        for (indices, data, reason) in [
            (array("[4]", "<i8"), array("[4]", "<f8"), "`indptr` is <i4 and `indices` <i8"),
            (array("[4]", "<i4"), array("[5]", "<f8"), "`indices` [4] and `data` [5]"),
            (array("[2,2]", "<i4"), array("[2,2]", "<f8"), "(nnz,) are needed"),
            (array("[4]", "<i4"), array("[4]", ">f8"), "dtype `>f8`: one of <f4"),
            (array("[4]", "<i4").replace("0a0a", "0a"), array("[4]", "<f8"), "128 hexadecimal digits"),
            (array("[4]", "<i4").replace("0a", "xy"), array("[4]", "<f8"), "`handle`: invalid digit"),
            (array("[4]", "<i4").replace("offset", "at"), array("[4]", "<f8"), "unknown field `at`"),
        ] {
            let found = csr(&indptr, &indices, &data).unwrap_err();
            assert!(found.contains(reason), "{found}");
        }
        let huge = DeviceArray::parse(array("[4294967296,4294967296]", "<f8").as_bytes());
        assert!(huge.unwrap_err().detail().contains("fits no memory"));
        let found = DeviceArray::parse(array("[3,2]", "<f4").as_bytes()).unwrap();
        assert_eq!((found.bytes(None), found.bytes(Some(DType::F64)), found.memory.len), (48, 72, 6));
    }
}
