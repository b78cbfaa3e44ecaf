//! The types of NumPy's elements: parsing of a `descr` such as `<f8`, and conversion to values.

use crate::any::{AnyIndices, AnyValues};
use bytemuck::Pod;
use sparse_core::{DType, Scalar, c32, c64, f16};

/// The type of the elements of an array.
#[derive(Debug, Clone, Copy)]
pub(super) struct Element {
    kind: Kind,
    /// True if the bytes of a number are not in the order of this machine.
    swapped: bool,
}

/// The supported types.
#[derive(Debug, Clone, Copy)]
enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
    C32,
    C64,
}

impl Element {
    /// The type of a `descr`.
    pub(super) fn parse(descr: &str) -> Result<Self, String> {
        let (order, code) = descr.split_at_checked(1).ok_or_else(|| unknown(descr))?;
        let kind = match code {
            "b1" => Kind::Bool,
            "i1" => Kind::I8,
            "i2" => Kind::I16,
            "i4" => Kind::I32,
            "i8" => Kind::I64,
            "u1" => Kind::U8,
            "u2" => Kind::U16,
            "u4" => Kind::U32,
            "u8" => Kind::U64,
            "f2" => Kind::F16,
            "f4" => Kind::F32,
            "f8" => Kind::F64,
            "c8" => Kind::C32,
            "c16" => Kind::C64,
            _ => return Err(unknown(descr)),
        };
        let swapped = match order {
            "=" | "|" => false,
            "<" => cfg!(target_endian = "big"),
            ">" => cfg!(target_endian = "little"),
            _ => return Err(unknown(descr)),
        };
        Ok(Self { kind, swapped })
    }

    /// Bytes of an element.
    pub(super) fn bytes(self) -> usize {
        match self.kind {
            Kind::Bool | Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 | Kind::F16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 | Kind::C32 => 8,
            Kind::C64 => 16,
        }
    }

    /// The type of the values.
    pub(super) fn dtype(self) -> DType {
        match self.kind {
            Kind::F16 | Kind::F32 => DType::F32,
            Kind::C32 => DType::C32,
            Kind::C64 => DType::C64,
            _ => DType::F64,
        }
    }

    /// True if the elements are values of `T`, byte for byte.
    pub(super) fn is_native<T: Scalar>(self) -> bool {
        !self.swapped && !self.is_integer() && self.dtype() == T::DTYPE && self.bytes() == size_of::<T>()
    }

    /// True for `bool`.
    pub(super) fn is_boolean(self) -> bool {
        matches!(self.kind, Kind::Bool)
    }

    /// True for integers and `bool`.
    pub(super) fn is_integer(self) -> bool {
        !matches!(self.kind, Kind::F16 | Kind::F32 | Kind::F64 | Kind::C32 | Kind::C64)
    }

    /// The elements in `data`, as values.
    pub(super) fn values(self, data: &[u8]) -> AnyValues {
        let swapped = self.swapped;
        match self.kind {
            Kind::Bool => AnyValues::I64(data.iter().map(|&byte| i64::from(byte != 0)).collect()),
            Kind::I8 => AnyValues::I64(data.iter().map(|&byte| i64::from(byte as i8)).collect()),
            Kind::U8 => AnyValues::I64(data.iter().map(|&byte| i64::from(byte)).collect()),
            Kind::I16 => AnyValues::I64(widened::<i16, i64>(data, swapped)),
            Kind::U16 => AnyValues::I64(widened::<u16, i64>(data, swapped)),
            Kind::I32 => AnyValues::I64(widened::<i32, i64>(data, swapped)),
            Kind::U32 => AnyValues::I64(widened::<u32, i64>(data, swapped)),
            Kind::I64 => AnyValues::I64(elements(data, swapped, size_of::<i64>())),
            Kind::U64 => AnyValues::U64(elements(data, swapped, size_of::<u64>())),
            Kind::F16 => AnyValues::F32(widened::<f16, f32>(data, swapped)),
            Kind::F32 => AnyValues::F32(elements(data, swapped, size_of::<f32>())),
            Kind::F64 => AnyValues::F64(elements(data, swapped, size_of::<f64>())),
            Kind::C32 => AnyValues::C32(elements::<c32>(data, swapped, size_of::<f32>())),
            Kind::C64 => AnyValues::C64(elements::<c64>(data, swapped, size_of::<f64>())),
        }
    }

    /// Adds the elements in `data` to values that this type has.
    pub(super) fn append_values(self, values: &mut AnyValues, data: &[u8]) {
        match values {
            AnyValues::F32(values) if self.is_native::<f32>() => append(values, data),
            AnyValues::F64(values) if self.is_native::<f64>() => append(values, data),
            AnyValues::C32(values) if self.is_native::<c32>() => append(values, data),
            AnyValues::C64(values) if self.is_native::<c64>() => append(values, data),
            values => values.append(self.values(data)),
        }
    }

    /// Adds the elements in `data` to indices that this type has.
    pub(super) fn append_indices(self, indices: &mut AnyIndices, data: &[u8]) {
        match (self.kind, indices) {
            (Kind::I32, AnyIndices::I32(indices)) if !self.swapped => append(indices, data),
            (Kind::I64, AnyIndices::I64(indices)) if !self.swapped => append(indices, data),
            (_, indices) => self.indices(data).into_iter().for_each(|more| indices.append(more)),
        }
    }

    /// The first of the elements in `data` that is above all indices.
    pub(super) fn first_above_indices(self, data: &[u8]) -> Option<u64> {
        let Kind::U64 = self.kind else { return None };
        let numbers = elements::<u64>(data, self.swapped, size_of::<u64>());
        numbers.into_iter().find(|&number| i64::try_from(number).is_err())
    }

    /// The elements in `data`, as indices; none if they are no integers. Integers above those of `i64` become the
    /// largest of them, which is above the indices of any extent.
    pub(super) fn indices(self, data: &[u8]) -> Option<AnyIndices> {
        let swapped = self.swapped;
        Some(match self.kind {
            Kind::I8 => AnyIndices::I32(data.iter().map(|&byte| i32::from(byte as i8)).collect()),
            Kind::U8 => AnyIndices::I32(data.iter().map(|&byte| i32::from(byte)).collect()),
            Kind::I16 => AnyIndices::I32(widened::<i16, i32>(data, swapped)),
            Kind::U16 => AnyIndices::I32(widened::<u16, i32>(data, swapped)),
            Kind::I32 => AnyIndices::I32(elements(data, swapped, size_of::<i32>())),
            Kind::U32 => AnyIndices::I64(widened::<u32, i64>(data, swapped)),
            Kind::I64 => AnyIndices::I64(elements(data, swapped, size_of::<i64>())),
            Kind::U64 => {
                let indices = elements::<u64>(data, swapped, size_of::<u64>()).into_iter();
                AnyIndices::I64(indices.map(|index| i64::try_from(index).unwrap_or(i64::MAX)).collect())
            }
            Kind::Bool | Kind::F16 | Kind::F32 | Kind::F64 | Kind::C32 | Kind::C64 => return None,
        })
    }
}

/// The elements in `data`, each of numbers of `number_bytes` bytes.
fn elements<T: Pod>(data: &[u8], swapped: bool, number_bytes: usize) -> Vec<T> {
    let mut elements = Vec::new();
    append(&mut elements, data);
    if swapped {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut elements);
        bytes.chunks_exact_mut(number_bytes).for_each(<[u8]>::reverse);
    }
    elements
}

/// Adds the elements in `data`, which are as this machine has them.
fn append<T: Pod>(elements: &mut Vec<T>, data: &[u8]) {
    elements.extend(data.chunks_exact(size_of::<T>()).map(bytemuck::pod_read_unaligned::<T>));
}

fn widened<T: Pod + Into<U>, U>(data: &[u8], swapped: bool) -> Vec<U> {
    elements::<T>(data, swapped, size_of::<T>()).into_iter().map(Into::into).collect()
}

fn unknown(descr: &str) -> String {
    let known = "none of bool, (u)int8 to (u)int64, float16, float32, float64, complex64, complex128";
    let wide =
        if descr.trim_start_matches(['<', '>', '=']).starts_with('c') { "complex128" } else { "float64" };
    format!("the type is `{descr}`, {known}; NumPy converts it: .astype(\"{wide}\")")
}
