//! `Display` of matrices on the host, as SciPy prints them, and `Debug` of all.

use super::{Axis, BatchCompressed, Compressed, Coo, Dense, Ell, Hyb, Sell, SparseFormat};
use crate::index::Index;
use crate::reference::Entries;
use crate::scalar::Scalar;
use crate::space::{Element, Host, Space};
use std::fmt::{Debug, Display, Formatter, Result, Write};

/// Entries that are printed at the start, and as many at the end, where there are more than both.
const ENTRIES_AT_EACH_END: usize = 25;

/// Implements [`Display`] for formats, each with its generic parameters and the name that SciPy gives it, or would.
macro_rules! display {
    ($({ $($generics:tt)* } $format:ty, $name:expr;)*) => {$(
        /// As SciPy prints: a header, then a line for each entry, in storage order.
        ///
        /// Of more than 50 entries the first and the last 25 are printed. A precision rounds the values: `{:.3}`.
        ///
        /// ```
        /// let a = sparse_core::Csr::<f64>::from_triplets(2, 3, [(0, 2, 1.5), (1, 0, 2.0)])?;
        /// let lines = [
        ///     "<Compressed Sparse Row sparse matrix of dtype 'f64'",
        ///     "\twith 2 stored elements and shape (2, 3)>",
        ///     "  Coords\tValues",
        ///     "  (0, 2)\t1.5",
        ///     "  (1, 0)\t2.0",
        /// ];
        /// assert_eq!(a.to_string(), lines.join("\n"));
        /// # Ok::<(), sparse_core::Error>(())
        /// ```
        impl<$($generics)*> Display for $format {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                print(f, $name, self)
            }
        }
    )*};
}

display! {
    { A: Axis, T: Scalar, I: Index, O: Index } Compressed<A, T, Host, I, O>,
        if A::IS_ROW { "Compressed Sparse Row" } else { "Compressed Sparse Column" };
    { T: Scalar, I: Index } Coo<T, Host, I>, "COOrdinate";
    { T: Scalar, I: Index } Ell<T, Host, I>, "ELLPACK";
    { T: Scalar, I: Index } Hyb<T, Host, I>, "Hybrid ELLPACK and COOrdinate";
    { T: Scalar, I: Index, O: Index } Sell<T, Host, I, O>, "Sliced ELLPACK";
}

fn print<M: Entries>(f: &mut Formatter<'_>, name: &str, a: &M) -> Result {
    let (rows, cols, nnz) = (a.nrows(), a.ncols(), a.nnz());
    writeln!(f, "<{name} sparse matrix of dtype '{}'", M::Scalar::DTYPE)?;
    write!(f, "\twith {nnz} stored elements and shape ({rows}, {cols})>")?;
    if nnz > 0 {
        f.write_str("\n  Coords\tValues")?;
    }
    let elided =
        if nnz > 2 * ENTRIES_AT_EACH_END { ENTRIES_AT_EACH_END..nnz - ENTRIES_AT_EACH_END } else { 0..0 };
    for (k, (i, j, value)) in a.entries().enumerate() {
        if k == elided.start && !elided.is_empty() {
            f.write_str("\n  :\t:")?;
        }
        if !elided.contains(&k) {
            write!(f, "\n  ({i}, {j})\t")?;
            print_value(f, value)?;
        }
    }
    Ok(())
}

/// Real values always with a point or an exponent, complex ones as a sum.
fn print_value<T: Scalar>(f: &mut Formatter<'_>, value: T) -> Result {
    match f.precision() {
        Some(digits) => write!(f, "{value:.digits$}"),
        None if T::DTYPE.is_complex() => write!(f, "{value}"),
        None => write!(f, "{value:?}"),
    }
}

/// Characters of an array that `Debug` shows.
const ARRAY_CHARACTERS: usize = 60;

/// The first elements of an array on one line.
struct Abridged<'a, B: ?Sized>(&'a B);

impl<B: Debug + ?Sized> Debug for Abridged<'_, B> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let mut start = Start(String::new());
        if write!(start, "{:?}", self.0).is_ok() {
            return f.write_str(&start.0);
        }
        let end = start.0.rfind(", ").unwrap_or(start.0.len());
        write!(f, "{}, ...", &start.0[..end])
    }
}

/// Takes text until there is enough.
struct Start(String);

impl Write for Start {
    fn write_str(&mut self, text: &str) -> Result {
        self.0.push_str(text);
        if self.0.len() > ARRAY_CHARACTERS { Err(std::fmt::Error) } else { Ok(()) }
    }
}

/// Implements [`Debug`] for formats: the type of the values, shape and nnz, then the arrays, abridged.
macro_rules! debug {
    ($({ $($generics:tt)* } $format:ty, [$($array:ident),*];)*) => {$(
        impl<$($generics)*> Debug for $format {
            fn fmt(&self, f: &mut Formatter<'_>) -> Result {
                f.debug_struct(<Self as SparseFormat>::FORMAT)
                    .field("dtype", &T::DTYPE)
                    .field("shape", &Abridged(&self.shape()))
                    .field("nnz", &self.nnz())
                    .field("pattern", &Abridged(&self.pattern_id()))
                    $(.field(stringify!($array), &Abridged(self.$array())))*
                    .finish()
            }
        }
    )*};
}

debug! {
    { A: Axis, T: Scalar, S: Space, I: Index, O: Index } Compressed<A, T, S, I, O>, [offsets, indices, values];
    { A: Axis, T: Scalar, S: Space, I: Index, O: Index } BatchCompressed<A, T, S, I, O>,
        [member_ptr, offsets, indices, values];
    { T: Scalar, S: Space, I: Index } Coo<T, S, I>, [row_idx, col_idx, values];
    { T: Scalar, S: Space, I: Index } Ell<T, S, I>, [col_idx, values];
    { T: Scalar, S: Space, I: Index, O: Index } Sell<T, S, I, O>, [slice_ptr, row_order, col_idx, values];
}

impl<T: Element, S: Space> Debug for Dense<T, S> {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        f.debug_struct("dense")
            .field("shape", &Abridged(&self.shape()))
            .field("order", &self.order())
            .field("data", &Abridged(self.data()))
            .finish()
    }
}
