//! `C ← A·B` over a semiring, row by row.

use super::Reference;
use crate::index::Index;
use crate::op::{Semiring, SemiringProduct, SemiringProducts};
use crate::scalar::Scalar;

impl SemiringProducts for Reference {
    fn run_semiring<S: Semiring<T>, T: Scalar, I: Index, O: Index>(
        &self,
        product: &SemiringProduct<'_, S, T, I, O>,
        c: &mut [S::Element],
    ) {
        for (row, c) in c.chunks_mut(product.columns()).enumerate() {
            product.write_row(row, c);
        }
    }
}
