//! Compressing and scanning by the part of a multiprocessor's memory that is shared, which is the L1 cache otherwise:
//! the "configurable cache" of the slides.

use super::data::Data;
use super::figure::Figure;
use super::{AMOUNT, Context};
use anyhow::{Result, ensure};
use backend_cuda::{CUDA, with_carveout};
use sparse_core::op::{DenseToCompressedPlan, Keep, ScanKernel, ScanKind, ScanOrder, ScanPlan};
use sparse_core::reference::Reference;
use sparse_core::{
    Algorithm, Backend as _, BatchCsr, DenseBatchView, Order, PlanOptions, Row, Space as _, SparseFormat as _,
};
use sparse_device::Device;
use std::hint::black_box;

/// The parts that are measured, in percent; without one the driver chooses.
const SETTINGS: [Option<u8>; 6] = [None, Some(0), Some(25), Some(50), Some(75), Some(100)];

/// CUDA's constant for the driver's own split.
const OF_DRIVER: f64 = -1.0;

/// The algorithms of compression: two that use shared memory, and one that uses only the cache.
const COMPRESSIONS: [&str; 3] = ["mask", "look_back", "row_per_warp"];

/// The ratio of nonzeros, in percent.
const PERCENT: u32 = 10;

/// Rows and columns of the array that is scanned.
const SIDE: usize = 4096;

/// Scans that are timed together, where the host waits for a device only once.
const LAUNCHES: usize = 10;

/// Times of compressions and prefix sums by the part that is shared.
pub(super) fn by_setting(context: &Context<'_>) -> Result<Vec<Figure>> {
    let inputs = Inputs::new(context)?;
    let title = format!(
        "{} matrices, ratio 0.1, in the device's memory, and {}² i32 scanned, by the shared-memory carve-out",
        inputs.count, inputs.side
    );
    let mut figure = Figure::new("carveout", title, "shared, %", "ms");
    figure.note("-1: the driver chooses for each kernel; other parts are preferences, which it rounds to what the GPU has");
    figure.note("a plot has logarithmic axes: it begins at 25 %");
    for processor in context.processors.iter().filter(|processor| processor.is_device()) {
        let name = &processor.name;
        let Some(index) = cuda_index(name) else {
            figure.note(format!("{name}: no such setting; only CUDA has one"));
            continue;
        };
        for setting in SETTINGS {
            let x = setting.map_or(OF_DRIVER, f64::from);
            if context.is_late() {
                figure.note(format!("left out for want of time: {name} at {x}"));
                continue;
            }
            let device = match setting {
                Some(percent) => with_carveout(index, percent)?,
                None => CUDA.open(index)?,
            };
            inputs.compress(context, &device, &mut |algorithm, seconds| {
                figure.add(format!("{name}: compression, {algorithm}"), x, seconds * 1e3);
            })?;
            inputs.scan(context, &device, &mut |algorithm, seconds| {
                figure.add(format!("{name}: scan, {algorithm}"), x, seconds * 1e3);
            })?;
        }
    }
    Ok(vec![figure])
}

/// The index of a CUDA device that has this name in figures.
fn cuda_index(name: &str) -> Option<usize> {
    name.strip_prefix(CUDA.name)?.strip_prefix(':')?.parse().ok()
}

/// The matrices and numbers of the figure, and the sums that every scan should give.
struct Inputs {
    data: Data,
    count: usize,
    elements: Vec<f32>,
    side: usize,
    numbers: Vec<i32>,
    sums: Vec<i32>,
}

impl Inputs {
    fn new(context: &Context<'_>) -> Result<Self> {
        let (data, count, side) = (context.data(PERCENT)?, context.amount(AMOUNT), context.order(SIDE));
        let numbers: Vec<i32> = (0..side * side).map(|k| (k * 37 % 11) as i32).collect();
        let mut sums = vec![0; numbers.len()];
        let mut plan = ScanPlan::new(
            &Reference,
            (side, side),
            ScanOrder::Flat,
            ScanKind::Exclusive,
            &PlanOptions::once(),
        )?;
        plan.run(&numbers[..], &mut sums[..])?;
        Ok(Self { elements: data.elements(count), data, count, side, numbers, sums })
    }

    /// Tells the seconds of each algorithm that compresses all matrices.
    fn compress(
        &self,
        context: &Context<'_>,
        device: &Device,
        tell: &mut dyn FnMut(&str, f64),
    ) -> Result<()> {
        let (data, n) = (&self.data, self.data.order);
        let uploaded = device.upload(&self.elements)?;
        let view = Device::view(&uploaded);
        let matrices = DenseBatchView::new(view, self.count, n * n, (n, n), n, Order::RowMajor)?;
        for algorithm in COMPRESSIONS {
            let options = PlanOptions::forced(algorithm);
            let mut plan = DenseToCompressedPlan::<_, Row, f32, i32, i32>::new(
                device,
                matrices,
                Keep::NonZero,
                &options,
            )?;
            let made: BatchCsr<f32, _> = plan.run_batch(matrices)?.to_host(device)?;
            ensure!(made.nnz() == data.nnz(self.count), "{algorithm}: {} entries", made.nnz());
            for item in [0, self.count - 1] {
                let (member, expected) = (made.member(item), data.csr(item));
                let same = member.indices == expected.col_idx() && member.values == expected.values();
                ensure!(same && member.offsets == expected.row_ptr(), "{algorithm}: matrix {item} differs");
            }
            let seconds = context.timed(|| {
                black_box(plan.run_batch(matrices)?);
                Ok(device.synchronize()?)
            })?;
            tell(algorithm, seconds);
        }
        Ok(())
    }

    /// Tells the seconds of each algorithm that scans the numbers.
    fn scan(&self, context: &Context<'_>, device: &Device, tell: &mut dyn FnMut(&str, f64)) -> Result<()> {
        let (shape, order) = ((self.side, self.side), ScanOrder::Flat);
        let (from, mut to) = (device.upload(&self.numbers)?, device.zeros::<i32>(self.numbers.len())?);
        for &Algorithm { name, .. } in ScanKernel::<i32>::scan_algorithms(device, order) {
            let mut plan =
                ScanPlan::new(device, shape, order, ScanKind::Exclusive, &PlanOptions::forced(name))?;
            plan.run(Device::view(&from), Device::view_mut(&mut to))?;
            ensure!(device.download(&to)? == self.sums, "{name}: wrong sums");
            let seconds = context.timed(|| {
                for _ in 0..LAUNCHES {
                    plan.run(Device::view(&from), Device::view_mut(&mut to))?;
                }
                Ok(device.synchronize()?)
            })?;
            tell(name, seconds / LAUNCHES as f64);
        }
        Ok(())
    }
}
