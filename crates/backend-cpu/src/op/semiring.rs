//! `C ← A·B` over a semiring: a row is the work of one thread, rows of about equal entries are taken together.

use crate::Cpu;
use crate::parallel::{CHUNK, rows_by_entries, split_mut};
use sparse_core::Index;
use sparse_core::op::{Semiring, SemiringProduct, SemiringProducts};

impl SemiringProducts for Cpu {
    fn run_semiring<S: Semiring<V>, V: Copy + Sync, I: Index, O: Index>(
        &self,
        product: &SemiringProduct<'_, S, V, I, O>,
        c: &mut [S::Element],
    ) {
        let (pattern, columns) = (product.pattern(), product.columns());
        let parts = rows_by_entries(pattern.offsets(), (CHUNK / columns).max(1));
        let elements: Vec<_> = parts.iter().map(|rows| rows.start * columns..rows.end * columns).collect();
        let items = parts.into_iter().zip(split_mut(c, &elements)).collect();
        self.for_each(pattern.indices().len().saturating_mul(columns), items, |(rows, c)| {
            for (row, c) in rows.zip(c.chunks_mut(columns)) {
                product.write_row(row, c);
            }
        });
    }
}
