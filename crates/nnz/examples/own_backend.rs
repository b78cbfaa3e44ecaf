//! A backend with one operation, CSR to dense, and the conformance table for that operation.
//!
//! `cargo run -p nnz --example own_backend`; `toy.rs` of `sparse-conformance` has products and vectors.
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::prelude::*;
use nnz::{Algorithm, Caps, Choice, ContextId, Element, Host, op::ToDenseKernel, reference::Reference};
use sparse_conformance::{Filter, Record, Run, Snapshots, Suite, Tier, table};

#[derive(Debug, Clone)]
struct Mine(Caps);

#[rustfmt::skip] // a line for each
// SAFETY: memory is the reference's: a buffer is a vector of exactly what was uploaded, in the host's one context.
unsafe impl Backend for Mine {
    type Space = Host;
    fn caps(&self) -> &Caps { &self.0 }
    fn context(&self) -> ContextId { ContextId::HOST }
    fn upload<T: Element>(&self, host: &[T]) -> Result<Vec<T>> { Reference.upload(host) }
    fn download_into<T: Element>(&self, from: &[T], to: &mut [T]) -> Result<()> { Reference.download_into(from, to) }
    fn copy<T: Element>(&self, from: &[T], to: &mut [T]) -> Result<()> { Reference.copy(from, to) }
    fn synchronize(&self) -> Result<()> { Ok(()) }
}

impl ToDenseKernel<Csr<f64>> for Mine {
    type Plan = Choice; // an algorithm without a workspace
    fn to_dense_algorithms(&self) -> &'static [Algorithm] {
        const { &[Algorithm::new("by_element", "always")] }
    }

    fn plan_to_dense(&self, _: &Csr<f64>, options: &PlanOptions) -> Result<Choice> {
        options.choose("to_dense", self.to_dense_algorithms(), "by_element", "there is no other")
    }

    unsafe fn run_to_dense(
        &self,
        _: &mut Choice,
        a: &Csr<f64>,
        mut dense: DenseViewMut<'_, f64>,
    ) -> Result<()> {
        for (row, col) in (0..a.nrows()).flat_map(|row| (0..a.ncols()).map(move |col| (row, col))) {
            // The sum starts from the first value, not from 0: a stored −0 must stay −0, and the table checks its sign.
            let here = a.major_entries(row).filter(|entry| entry.0 == col).map(|entry| entry.1);
            *dense.at_mut(row, col) = here.reduce(|sum, value| sum + value).unwrap_or(0.0);
        }
        Ok(())
    }
}

/// Runs the quick cases of the table, for the operation and the types that the backend has.
pub(crate) fn conform() -> Vec<Record> {
    let mine = Mine(Caps { backend: "mine", ..Reference.caps().clone() });
    let mut suite = Suite::new(&mine);
    suite.to_dense::<Mine, Csr<f64>>(&mine);
    let filter = &Filter { tier: Tier::Quick, ..Filter::default() };
    let run = Run { suite: &suite, reference: &Suite::reference(), cases: &table(), filter };
    let (mut records, mut snapshots) = (vec![], Snapshots::compare(Snapshots::default_folder()));
    run.run(&mut snapshots, &mut records);
    records
}

fn main() {
    conform().iter().for_each(|record| println!("{} {}: {}", record.name(), record.types, record.status));
}
