//! Prefix sums by each algorithm of each processor: Blelloch's with and without padding against bank conflicts.

use super::figure::Figure;
use super::processor::{Compresses, with_backend};
use super::{Context, Processor};
use anyhow::{Result, ensure};
use sparse_core::PlanOptions;
use sparse_core::Space;
use sparse_core::backend::SpaceOf;
use sparse_core::op::{ScanKernel, ScanKind, ScanOrder, ScanPlan};
use sparse_core::reference::Reference;

/// Rows and columns of the arrays.
const SIDES: [usize; 4] = [256, 1024, 2048, 4096];

/// Runs that are timed together, where the host waits for a device only once.
const LAUNCHES: usize = 10;

/// Exclusive prefix sums of `i32`, flat and down columns, by the number of elements.
pub(super) fn scans(context: &Context<'_>) -> Result<Vec<Figure>> {
    let title = "exclusive prefix sums of i32, flat (TPS) and down columns (VPS)";
    let mut figure = Figure::new("scan", title, "elements", "GB/s, each element read and written once");
    figure.note(
        "work_efficient_padded is work_efficient with a hole after every 32 elements, against bank conflicts",
    );
    for side in SIDES {
        let side = context.order(side);
        let input: Vec<i32> = (0..side * side).map(|k| (k * 37 % 11) as i32).collect();
        for (order, name) in [(ScanOrder::Flat, "TPS"), (ScanOrder::ColumnMajor, "VPS")] {
            let options = PlanOptions::once();
            let mut plan =
                ScanPlan::<_, i32>::new(&Reference, (side, side), order, ScanKind::Exclusive, &options)?;
            let mut expected = vec![0; input.len()];
            plan.run(&input[..], &mut expected[..])?;
            for processor in &context.processors[1..] {
                if context.is_late() {
                    figure.note(format!("left out for want of time: {name} of {side} x {side}"));
                    continue;
                }
                let scan = Scan { side, order, input: &input, expected: &expected };
                with_backend!(processor, backend => scan.measure(context, &mut figure, processor, name, backend)?);
            }
        }
    }
    Ok(vec![figure])
}

/// An array and its prefix sums.
struct Scan<'a> {
    side: usize,
    order: ScanOrder,
    input: &'a [i32],
    expected: &'a [i32],
}

impl Scan<'_> {
    /// Adds a point for each algorithm.
    fn measure<B: Compresses>(
        &self,
        context: &Context<'_>,
        figure: &mut Figure,
        processor: &Processor,
        name: &str,
        backend: &B,
    ) -> Result<()> {
        let input = backend.upload(self.input)?;
        let mut output = backend.zeros::<i32>(self.input.len())?;
        for algorithm in ScanKernel::<i32>::scan_algorithms(backend, self.order) {
            let series = format!("{}: {name} {}", processor.name, algorithm.name);
            let (shape, options) = ((self.side, self.side), PlanOptions::forced(algorithm.name));
            let mut plan = ScanPlan::new(backend, shape, self.order, ScanKind::Exclusive, &options)?;
            plan.run(SpaceOf::<B>::view(&input), SpaceOf::<B>::view_mut(&mut output))?;
            ensure!(backend.download(&output)? == self.expected, "{series}: wrong sums");
            let seconds = context.timed(|| {
                for _ in 0..LAUNCHES {
                    plan.run(SpaceOf::<B>::view(&input), SpaceOf::<B>::view_mut(&mut output))?;
                }
                Ok(backend.synchronize()?)
            })?;
            let bytes = 2 * size_of_val(self.input) * LAUNCHES;
            figure.add(series, self.input.len() as f64, bytes as f64 / seconds / 1e9);
        }
        Ok(())
    }
}
