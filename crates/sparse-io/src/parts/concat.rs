//! Arrays of parts to arrays of the whole, of types that are known at run time.

use crate::any::{AnyIndices, AnyValues};
use crate::npz::{AnyBatch, AnySparse, NpzFormat};
use sparse_core::{Error, Result, Scalar};

/// Row indices, column indices and values.
pub(super) type Coordinates = (Vec<i64>, Vec<i64>, AnyValues);

/// The entries of a matrix, checked.
pub(super) fn coordinates_of(block: AnySparse) -> Result<Coordinates> {
    fn typed<T: Scalar>(block: AnySparse, wrap: fn(Vec<T>) -> AnyValues) -> Result<Coordinates> {
        let (rows, cols, values) = block.into_coo::<T, i64>()?.into_parts();
        Ok((rows, cols, wrap(values)))
    }
    match block.values {
        AnyValues::F32(_) => typed(block, AnyValues::F32),
        AnyValues::C32(_) => typed(block, AnyValues::C32),
        AnyValues::C64(_) => typed(block, AnyValues::C64),
        AnyValues::F64(_) | AnyValues::I64(_) | AnyValues::U64(_) => typed(block, AnyValues::F64),
    }
}

/// Appends values of the same type.
pub(super) fn append_values(to: &mut AnyValues, from: AnyValues) -> Result<()> {
    match (to, from) {
        (AnyValues::F32(to), AnyValues::F32(from)) => to.extend(from),
        (AnyValues::F64(to), AnyValues::F64(from)) => to.extend(from),
        (AnyValues::C32(to), AnyValues::C32(from)) => to.extend(from),
        (AnyValues::C64(to), AnyValues::C64(from)) => to.extend(from),
        _ => return Err(Error::format("parts", "the values have several types")),
    }
    Ok(())
}

/// A batch without members.
pub(super) fn batch_of(format: NpzFormat, (rows, cols): (usize, usize), values: AnyValues) -> AnyBatch {
    AnyBatch {
        format,
        count: 0,
        rows,
        cols,
        member_ptr: AnyIndices::I64(vec![0]),
        offsets: AnyIndices::I32(vec![]),
        indices: AnyIndices::I32(vec![]),
        values,
    }
}

/// Appends the members of a batch of the same shape and types.
pub(super) fn append_batch(to: &mut AnyBatch, from: AnyBatch) -> Result<()> {
    let starts: Vec<i64> = from.member_ptr.into_typed("member_ptr")?;
    let nnz = from.values.len() as i64;
    if starts.first() != Some(&0) || starts.last() != Some(&nnz) || !starts.is_sorted() {
        return Err(Error::format("member_ptr", format_args!("it does not rise from 0 to {nnz}")));
    }
    let base = to.values.len() as i64;
    let starts = starts[1..].iter().map(|start| base + start).collect();
    append_indices(&mut to.member_ptr, AnyIndices::I64(starts));
    append_indices(&mut to.offsets, from.offsets);
    append_indices(&mut to.indices, from.indices);
    to.count += from.count;
    append_values(&mut to.values, from.values)
}

/// Appends indices; of different widths, both get 64 bits.
fn append_indices(to: &mut AnyIndices, from: AnyIndices) {
    match (to, from) {
        (AnyIndices::I32(to), AnyIndices::I32(from)) => to.extend(from),
        (AnyIndices::I64(to), AnyIndices::I64(from)) => to.extend(from),
        (AnyIndices::I64(to), AnyIndices::I32(from)) => to.extend(from.into_iter().map(i64::from)),
        (to, AnyIndices::I64(from)) => {
            let narrow = std::mem::replace(to, AnyIndices::I64(vec![]));
            append_indices(to, narrow);
            append_indices(to, AnyIndices::I64(from));
        }
    }
}
