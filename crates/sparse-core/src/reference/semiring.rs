//! `C ← A·B` over a semiring, row by row.

use super::Reference;
use crate::index::Index;
use crate::op::{Semiring, SemiringProduct, SemiringProducts};

impl SemiringProducts for Reference {
    fn run_semiring<S: Semiring<V>, V: Copy + Sync, I: Index, O: Index>(
        &self,
        product: &SemiringProduct<'_, S, V, I, O>,
        c: &mut [S::Element],
    ) {
        for (row, c) in c.chunks_mut(product.columns()).enumerate() {
            product.write_row(row, c);
        }
    }
}
