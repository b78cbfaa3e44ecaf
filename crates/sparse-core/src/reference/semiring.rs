//! `C ← A·B` over a semiring, with dense and with sparse B, row by row.

use super::Reference;
use crate::index::Index;
use crate::op::{ProductRows, Semiring, SemiringProduct, SemiringProducts, SemiringSpgemm};

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

    fn run_semiring_spgemm<S: Semiring<V>, V: Copy + Sync, I: Index, O: Index>(
        &self,
        product: &SemiringSpgemm<'_, S, V, I, O>,
    ) -> Vec<ProductRows<S::Element, I>> {
        vec![product.compute(0..product.nrows())]
    }
}
