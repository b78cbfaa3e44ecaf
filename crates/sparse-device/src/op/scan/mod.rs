//! Scans of arrays: prefix sums by levels or, where work-groups may wait for each other, in a single pass.
//!
//! HPS cuts its chunks at the ends of rows and VPS at the ends of columns, so that a line's total is carried into the
//! next; TPS has one line. TPS and HPS have the single pass too.

use super::available_algorithms::Needs;
use crate::primitive::prefix_sum::{Lines, PrefixSum};
use crate::primitive::scan_look_back::{self, ScanLookBack};
use crate::{Device, View, ViewMut};
use sparse_core::op::{ScanElement, ScanKernel, ScanKind, ScanOrder};
use sparse_core::{Algorithm, Backend, Choice, KernelPlan, PlanOptions, Result, Space, algorithms};

algorithms! {
    /// The algorithms of scans.
    enum ScanAlgorithm needs Needs {
        WorkEfficient = Algorithm::new("work_efficient", "the device is a CPU")
            .preprocessing("the total of each chunk"),
        Needs::Nothing;

        WorkEfficientPadded = Algorithm::new(
            "work_efficient_padded",
            "otherwise: a hole after every 32 elements of local memory, against bank conflicts",
        )
        .preprocessing("the total of each chunk"),
        Needs::Nothing;

        /// For lines without gaps.
        LookBack = Algorithm::new(
            "look_back",
            "never: a single pass, on devices whose work-groups may wait for each other",
        )
        .preprocessing("the state of each tile"),
        Needs::File(scan_look_back::FILE);
    }
}

/// The plan of a scan.
#[derive(Debug)]
pub struct ScanSteps<T> {
    choice: Choice,
    kind: ScanKind,
    passes: Passes<T>,
}

#[derive(Debug)]
enum Passes<T> {
    Levels(PrefixSum<T>),
    LookBack(ScanLookBack),
}

impl<T: ScanElement> KernelPlan for ScanSteps<T> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        match &self.passes {
            Passes::Levels(sum) => sum.bytes(),
            Passes::LookBack(scan) => scan.bytes(),
        }
    }
}

impl<T: ScanElement> ScanKernel<T> for Device {
    type Plan = ScanSteps<T>;

    fn scan_algorithms(&self, order: ScanOrder) -> &'static [Algorithm] {
        let has_gaps = order == ScanOrder::ColumnMajor;
        self.offered_if(&|algorithm: ScanAlgorithm| !(has_gaps && algorithm == ScanAlgorithm::LookBack))
    }

    fn plan_scan(
        &self,
        (rows, cols): (usize, usize),
        order: ScanOrder,
        kind: ScanKind,
        options: &PlanOptions,
    ) -> Result<ScanSteps<T>> {
        let preferred = match self.caps().is_cpu {
            true => (ScanAlgorithm::WorkEfficient, "the device is a CPU"),
            false => (ScanAlgorithm::WorkEfficientPadded, "the device is no CPU"),
        };
        let offered = ScanKernel::<T>::scan_algorithms(self, order);
        let (algorithm, choice) = self.choose("scan", options, offered, preferred)?;
        let lines = match order {
            ScanOrder::Flat => Lines::series(rows * cols),
            ScanOrder::RowMajor => Lines { count: rows, len: cols, line_step: cols, item_step: 1 },
            ScanOrder::ColumnMajor => Lines { count: cols, len: rows, line_step: 1, item_step: cols },
        };
        let passes = match algorithm {
            ScanAlgorithm::WorkEfficient => Passes::Levels(PrefixSum::new(self, lines, false)?),
            ScanAlgorithm::WorkEfficientPadded => Passes::Levels(PrefixSum::new(self, lines, true)?),
            ScanAlgorithm::LookBack => Passes::LookBack(ScanLookBack::new::<T>(self, rows * cols)?),
        };
        Ok(ScanSteps { choice, kind, passes })
    }

    unsafe fn run_scan(
        &self,
        plan: &mut ScanSteps<T>,
        input: View<'_, T>,
        output: ViewMut<'_, T>,
    ) -> Result<()> {
        let output = Device::as_shared(&output);
        match &plan.passes {
            Passes::Levels(sum) => sum.run(self, plan.kind, input, output),
            Passes::LookBack(scan) => scan.run(self, plan.kind, input, output),
        }
    }
}
