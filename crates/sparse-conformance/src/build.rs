//! Every format, built from triplets on the host.

use crate::array_dump::ArrayDump;
use crate::triplets::{Triplet, Triplets};
use sparse_core::op::Operations;
use sparse_core::reference::Reference;
use sparse_core::{
    Axis, Backend, BatchCompressed, Compressed, Coo, Csr, Ell, Host, Hyb, Index, Result, Scalar, Sell,
    SpaceOf, SparseFormat,
};

/// The same format in the memory of `B`.
pub(crate) type FormatOn<B, H> = <H as SparseFormat>::In<SpaceOf<B>>;

/// A format that the table can build, fill and dump.
pub trait Build: SparseFormat<Space = Host> + Sized {
    /// The names of its types: `f64,i32,i32`.
    fn types() -> String;

    /// A matrix of these entries, each row's (or column's) in the given order.
    ///
    /// # Errors
    /// Those of the format's checked constructor and of its layout.
    fn build(matrix: &Triplets) -> Result<Self>;

    /// `pattern` with the values of `self`, which has the same pattern.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn revalue<B: Backend>(&self, pattern: &FormatOn<B, Self>, backend: &B) -> Result<FormatOn<B, Self>>;

    /// A copy in the host's memory.
    ///
    /// # Errors
    /// An error of the device's runtime.
    fn fetch<B: Backend>(device: &FormatOn<B, Self>, backend: &B) -> Result<Self>;

    /// The arrays of the format.
    fn dump(&self) -> ArrayDump<'_>;

    /// The order of entries that the format is marked with: (sorted, unique).
    fn marked_order(&self) -> (bool, bool);
}

/// The methods that are the same for all formats.
macro_rules! common {
    () => {
        fn fetch<B: Backend>(device: &FormatOn<B, Self>, backend: &B) -> Result<Self> {
            device.to_host(backend)
        }
    };
    (one_array) => {
        fn revalue<B: Backend>(&self, pattern: &FormatOn<B, Self>, backend: &B) -> Result<FormatOn<B, Self>> {
            pattern.with_values(backend.upload(self.values())?)
        }

        fn marked_order(&self) -> (bool, bool) {
            (self.order().sorted, self.order().unique)
        }

        common!();
    };
}

/// The names of three types.
pub(crate) fn types<T: Scalar, I: Index, O: Index>() -> String {
    format!("{},{},{}", T::DTYPE, I::NAME, O::NAME)
}

fn shaped<'a>(a: &impl SparseFormat) -> ArrayDump<'a> {
    ArrayDump::default().sizes("shape", &[a.nrows(), a.ncols(), a.nnz()])
}

/// Offsets, minor indices and values of a matrix that is compressed by the first of two `coordinates`.
fn compressed<T: Scalar, I: Index, O: Index>(
    major: usize,
    coordinates: &dyn Fn(&Triplet) -> (usize, usize),
    matrix: &Triplets,
) -> Result<(Vec<O>, Vec<I>, Vec<T>)> {
    let order = matrix.grouped(major, &|entry| coordinates(entry).0);
    let mut offsets = vec![O::default()];
    let (mut indices, mut values) = (vec![], vec![]);
    for &at in &order {
        let (line, minor) = coordinates(&matrix.entries[at]);
        let end = O::try_new("nnz", indices.len())?;
        offsets.resize(line + 1, end);
        indices.push(I::try_new("index", minor)?);
        values.push(T::from_c64(matrix.entries[at].2));
    }
    offsets.resize(major + 1, O::try_new("nnz", indices.len())?);
    Ok((offsets, indices, values))
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Build for Compressed<A, T, Host, I, O> {
    fn types() -> String {
        types::<T, I, O>()
    }

    fn build(matrix: &Triplets) -> Result<Self> {
        let (major, _) = A::swap(matrix.rows, matrix.cols);
        let (offsets, indices, values) = compressed(major, &|&(i, j, _)| A::swap(i, j), matrix)?;
        Self::new_unsorted(matrix.rows, matrix.cols, offsets, indices, values)
    }

    common!(one_array);

    fn dump(&self) -> ArrayDump<'_> {
        shaped(self)
            .integers("offsets", self.offsets())
            .integers("indices", self.indices())
            .values("values", self.values())
    }
}

impl<T: Scalar, I: Index> Build for Coo<T, Host, I> {
    fn types() -> String {
        format!("{},{}", T::DTYPE, I::NAME)
    }

    fn build(matrix: &Triplets) -> Result<Self> {
        let entries = matrix.entries.iter().map(|&(i, j, value)| (i, j, T::from_c64(value)));
        Self::from_triplets(matrix.rows, matrix.cols, entries)
    }

    common!(one_array);

    fn dump(&self) -> ArrayDump<'_> {
        shaped(self)
            .integers("row_idx", self.row_idx())
            .integers("col_idx", self.col_idx())
            .values("values", self.values())
    }
}

impl<T: Scalar, I: Index> Build for Ell<T, Host, I> {
    fn types() -> String {
        format!("{},{}", T::DTYPE, I::NAME)
    }

    fn build(matrix: &Triplets) -> Result<Self> {
        Reference.convert(&Csr::<T, Host, I, I>::build(matrix)?, &Default::default())
    }

    common!(one_array);

    fn dump(&self) -> ArrayDump<'_> {
        shaped(self)
            .sizes("width", &[self.width()])
            .integers("col_idx", self.col_idx())
            .values("values", self.values())
    }
}

impl<T: Scalar, I: Index> Build for Hyb<T, Host, I> {
    fn types() -> String {
        format!("{},{}", T::DTYPE, I::NAME)
    }

    fn build(matrix: &Triplets) -> Result<Self> {
        Reference.convert(&Csr::<T, Host, I, I>::build(matrix)?, &Default::default())
    }

    common!();

    fn revalue<B: Backend>(&self, pattern: &FormatOn<B, Self>, backend: &B) -> Result<FormatOn<B, Self>> {
        let (ell, coo) = (self.ell().values(), self.coo().values());
        pattern.with_values(backend.upload(ell)?, backend.upload(coo)?)
    }

    fn dump(&self) -> ArrayDump<'_> {
        shaped(self)
            .sizes("width", &[self.ell().width()])
            .integers("ell.col_idx", self.ell().col_idx())
            .integers("coo.row_idx", self.coo().row_idx())
            .integers("coo.col_idx", self.coo().col_idx())
            .values("ell.values", self.ell().values())
            .values("coo.values", self.coo().values())
    }

    fn marked_order(&self) -> (bool, bool) {
        let (ell, coo) = (self.ell().order(), self.coo().order());
        (ell.sorted && coo.sorted, ell.unique && coo.unique)
    }
}

impl<T: Scalar, I: Index, O: Index> Build for Sell<T, Host, I, O> {
    fn types() -> String {
        types::<T, I, O>()
    }

    fn build(matrix: &Triplets) -> Result<Self> {
        Reference.convert(&Csr::<T, Host, I, O>::build(matrix)?, &Default::default())
    }

    common!(one_array);

    fn dump(&self) -> ArrayDump<'_> {
        shaped(self)
            .sizes("slice_height", &[self.slice_height()])
            .integers("slice_ptr", self.slice_ptr())
            .integers("row_order", self.row_order())
            .integers("col_idx", self.col_idx())
            .values("values", self.values())
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> Build for BatchCompressed<A, T, Host, I, O> {
    fn types() -> String {
        types::<T, I, O>()
    }

    fn build(matrix: &Triplets) -> Result<Self> {
        let shape = (matrix.rows / matrix.members, matrix.cols / matrix.members);
        let mut member_ptr = vec![0];
        let (mut offsets, mut all_indices, mut values) = (vec![], vec![], vec![]);
        for member in 0..matrix.members {
            let part = matrix.member(member);
            let (ends, indices, numbers) =
                compressed::<T, I, O>(A::swap(shape.0, shape.1).0, &|&(i, j, _)| A::swap(i, j), &part)?;
            offsets.extend(ends);
            all_indices.extend(indices);
            values.extend(numbers);
            member_ptr.push(values.len());
        }
        Self::new(shape, member_ptr, offsets, all_indices, values)
    }

    common!(one_array);

    fn dump(&self) -> ArrayDump<'_> {
        shaped(self)
            .integers("member_ptr", self.member_ptr())
            .integers("offsets", self.offsets())
            .integers("indices", self.indices())
            .values("values", self.values())
    }
}
