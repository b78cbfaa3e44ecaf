//! `Display` of matrices: the entries, as the typed formats print them.

use super::Matrix;
use sparse_core::{Coo, Csc, Csr, Ell, Host, Hyb, Sell};
use std::any::Any;
use std::fmt::{Debug, Display, Formatter, Result};

/// As SciPy prints: a header, then a line for each entry; of more than 50 the first and the last 25.
///
/// A matrix in the memory of an accelerator is copied to the host first. A batch, and a matrix that cannot be copied,
/// prints as its `Debug` does.
///
/// ```
/// use nnz::prelude::*;
///
/// let a = Csr::<f64>::from_triplets(2, 3, [(0, 2, 1.5), (1, 0, 2.0)])?;
/// let printed = a.to_string();
/// assert_eq!(Matrix::from_typed(&Device::best()?, a)?.to_string(), printed);
/// # Ok::<(), Error>(())
/// ```
impl Display for Matrix {
    fn fmt(&self, f: &mut Formatter<'_>) -> Result {
        let Ok(host) = self.on_host() else { return Debug::fmt(self, f) };
        macro_rules! print_each {
            ($(($t:ty, $i:ty, $o:ty)),* $(,)?) => {
                $(
                    if let Some(printed) = print::<Csr<$t, Host, $i, $o>>(host.typed(), f)
                        .or_else(|| print::<Csc<$t, Host, $i, $o>>(host.typed(), f))
                        .or_else(|| print::<Coo<$t, Host, $i>>(host.typed(), f))
                        .or_else(|| print::<Ell<$t, Host, $i>>(host.typed(), f))
                        .or_else(|| print::<Hyb<$t, Host, $i>>(host.typed(), f))
                        .or_else(|| print::<Sell<$t, Host, $i, $o>>(host.typed(), f))
                    {
                        return printed;
                    }
                )*
            };
        }
        sparse_core::for_all_types!(print_each);
        Debug::fmt(self, f)
    }
}

/// Prints a matrix of type `M`; `None` if it is of another.
fn print<M: Display + 'static>(matrix: &dyn Any, f: &mut Formatter<'_>) -> Option<Result> {
    matrix.downcast_ref::<M>().map(|matrix| matrix.fmt(f))
}
