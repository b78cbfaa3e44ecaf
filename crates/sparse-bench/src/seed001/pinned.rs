//! The engine on matrices in pinned memory, which CUDA devices copy at the full rate of their link: dense, and
//! compressed by the host before.

use super::data::{DIFFERENT, Data};
use super::figure::Figure;
use super::processor::{AnyBackend, Compressor, Processor};
use super::stages::CHUNK_BYTES;
use super::sweeps::{WARM_UP, ratio};
use super::{Context, PERCENTS};
use anyhow::Result;
use backend_cpu::Cpu;
use backend_cuda::{CUDA, PinnedVec};
use sparse_core::{Backend, Col};
use sparse_device::Device;
use sparse_distrib::calibrate::measure;
use sparse_distrib::{Explanation, Options, Rates, SCHEMES, Scheme, Source, Target};
use std::hint::black_box;
use std::ops::Range;
use std::panic::resume_unwind;

/// The matrices of the largest amount.
const AMOUNT: usize = 6000;

/// Copies of a chunk whose rate is measured.
const COPIES: usize = 8;

/// The fixed schemes that the engine chooses among, and its choice. Schemes by which the host compresses are slow and
/// come last.
const MEASURED: [Option<Scheme>; 4] = [Some(Scheme::Sfc), None, Some(Scheme::Bitmap), Some(Scheme::Ed2)];

/// Any number of matrices that repeat with period `DIFFERENT`, in pinned memory that is long enough for a chunk
/// beginning at any matrix.
struct PinnedMatrices<'a> {
    data: &'a Data,
    elements: PinnedVec<f32>,
    count: usize,
}

impl<'a> PinnedMatrices<'a> {
    fn new(device: &Device, data: &'a Data, count: usize) -> Result<Self> {
        let stored = CHUNK_BYTES / data.dense_bytes(1) + DIFFERENT;
        let mut elements = PinnedVec::zeros(device, stored * data.order * data.order)?;
        for (item, target) in elements.chunks_exact_mut(data.order * data.order).enumerate() {
            target.copy_from_slice(data.member(item));
        }
        Ok(Self { data, elements, count })
    }
}

impl Source<f32> for PinnedMatrices<'_> {
    fn len(&self) -> usize {
        self.count
    }

    fn shape(&self, _item: usize) -> (usize, usize) {
        (self.data.order, self.data.order)
    }

    fn fill(&self, item: usize, elements: &mut [f32]) -> sparse_core::Result<()> {
        elements.copy_from_slice(self.data.member(item));
        Ok(())
    }

    fn lend(&self, items: Range<usize>) -> Option<&[f32]> {
        let size = self.data.order * self.data.order;
        let first = items.start % DIFFERENT;
        self.elements.get(first * size..(first + items.len()) * size)
    }
}

/// 6000 matrices of 1024² in pinned memory, by their ratio of nonzeros and by scheme, of which `auto` is the engine's
/// choice by rates that are measured here: on each CUDA device, and where there are several, on all together.
pub(super) fn by_scheme(context: &Context<'_>) -> Result<Vec<Figure>> {
    let (count, order) = (context.amount(AMOUNT), context.order(super::ORDER));
    let title = format!("total time of {count} matrices of order {order} in pinned memory");
    let mut figure = Figure::new("pinned", title, "ratio", "ms");
    for (name, processors) in groups(context) {
        let Some(mut group) = Group::new(context, &name, &processors)? else { continue };
        figure.note(format!("{name}: pinned copies at {:.1} GB/s", group.rate / 1e9));
        for percent in PERCENTS {
            group.measure(&mut figure, count, percent)?;
        }
    }
    Ok(vec![figure])
}

/// CUDA devices that compress together.
struct Group<'a> {
    context: &'a Context<'a>,
    name: &'a str,
    /// The first of them.
    device: &'a Device,
    devices: usize,
    compressor: Compressor,
    /// Bytes per second from pinned memory to all devices.
    rate: f64,
    rates: Rates,
}

impl<'a> Group<'a> {
    /// The group of these processors; `None` if the first is no device.
    fn new(context: &'a Context<'a>, name: &'a str, processors: &'a [Processor]) -> Result<Option<Self>> {
        let Some(AnyBackend::Device(device)) = processors.first().map(|processor| &processor.backend) else {
            return Ok(None);
        };
        let (compressor, rate) = (Compressor::new(processors)?, pinned_rate(context, processors)?);
        let devices = processors.len();
        let target = Target { backend: device, devices, driver: "" };
        let rates = Rates { link: rate / devices as f64, ..measure(&Cpu::new()?, &target)? };
        Ok(Some(Self { context, name, device, devices, compressor, rate, rates }))
    }

    /// Adds the times of `count` matrices of a ratio by every scheme.
    fn measure(&mut self, figure: &mut Figure, count: usize, percent: u32) -> Result<()> {
        let (context, name, x) = (self.context, self.name, ratio(percent));
        let data = context.data(percent)?;
        let bytes = data.dense_bytes(count);
        figure.add(format!("floor: pinned copies to {name}"), x, bytes as f64 / self.rate * 1e3);
        if data.csr_bytes(count) as u64 > self.memory_for_results() {
            figure.note(format!("left out for want of memory: {name} at {x}"));
            return Ok(());
        }
        let first = if context.arguments.smoke { count.min(WARM_UP) } else { count };
        let first = PinnedMatrices::new(self.device, &data, first)?;
        let sources = [&first, &PinnedMatrices::new(self.device, &data, count)?];
        let mut allowance = context.allowance();
        for scheme in MEASURED {
            let series = series(name, scheme);
            let point = format!("{series} at {x}");
            let measured =
                allowance.measure(figure, &point, bytes, || self.seconds(&data, sources, scheme))?;
            let Some((seconds, explanation)) = measured else { continue };
            figure.add(series, x, seconds * 1e3);
            if let Some(explanation) = explanation {
                figure.note(format!("{point}: {}", predictions(&explanation)));
            }
        }
        add_excess(figure, name, x);
        let point = format!("{name}, sfc to CSC at {x}");
        let to_csc = || csc_seconds(context, &mut self.compressor, &data, sources);
        let seconds = context.allowance().measure(figure, &point, bytes, to_csc)?;
        add_csc(figure, name, x, seconds);
        Ok(())
    }

    /// Half of the memory: the other half is for chunks and for fragmentation of the pool.
    fn memory_for_results(&self) -> u64 {
        let memory = self.device.caps().memory_bytes.unwrap_or(u64::MAX);
        memory.saturating_mul(self.devices as u64) / 2
    }

    /// Seconds of the second source by a scheme, after the first, and the reasons of the engine's choice.
    fn seconds(
        &mut self,
        data: &Data,
        [first, source]: [&PinnedMatrices<'_>; 2],
        scheme: Option<Scheme>,
    ) -> Result<(f64, Option<Explanation>)> {
        let rates = if scheme.is_none() { Some(self.rates) } else { None };
        let options = Options { scheme, rates, ..Options::default() };
        // The first run also makes the device's pool of memory grow.
        self.compressor.compress(data, first, &options)?;
        let mut explanation = None;
        let seconds = self.context.median(|| {
            let report = self.compressor.compress(data, source, &options)?;
            explanation = report.explanation;
            Ok(report.seconds)
        })?;
        Ok((seconds, explanation))
    }
}

/// The name of a series of a device; without a scheme that of the engine's choice.
fn series(device: &str, scheme: Option<Scheme>) -> String {
    scheme.map_or_else(|| format!("{device}, auto"), |scheme| format!("{device}, {scheme}"))
}

/// The choice of the engine, and the times that it compared.
fn predictions(explanation: &Explanation) -> String {
    let predicted = SCHEMES.iter().zip(&explanation.predictions);
    let predicted = predicted.filter(|(info, _)| MEASURED.contains(&Some(info.scheme)));
    let times: Vec<_> =
        predicted.map(|(info, time)| format!("{} {:.0} ms", info.name, time.seconds * 1e3)).collect();
    format!("{}, predicted {}", explanation.chosen, times.join(", "))
}

/// Adds the excess of the engine's time over that of the fastest fixed scheme, in percent.
fn add_excess(figure: &mut Figure, device: &str, x: f64) {
    let fixed = MEASURED.iter().filter(|scheme| scheme.is_some());
    let times = fixed.filter_map(|&scheme| figure.value(&series(device, scheme), x));
    let fastest = times.fold(f64::INFINITY, f64::min);
    if let Some(chosen) = figure.value(&series(device, None), x).filter(|_| fastest.is_finite()) {
        let name = format!("{device}, auto over the fastest, %");
        figure.add_to_table(name, x, (1000.0 * (chosen / fastest - 1.0)).round() / 10.0);
    }
}

/// Seconds to CSC of the second source, sent dense, after the first.
fn csc_seconds(
    context: &Context<'_>,
    compressor: &mut Compressor,
    data: &Data,
    [first, source]: [&PinnedMatrices<'_>; 2],
) -> Result<f64> {
    let options = Options { scheme: Some(Scheme::Sfc), ..Options::default() };
    compressor.compress_to::<Col>(data, first, &options)?;
    context.median(|| Ok(compressor.compress_to::<Col>(data, source, &options)?.seconds))
}

/// Adds the time to CSC and its ratio to the time to CSR, where they were measured.
fn add_csc(figure: &mut Figure, device: &str, x: f64, seconds: Option<f64>) {
    let Some(to_csc) = seconds.map(|seconds| seconds * 1e3) else { return };
    figure.add(format!("{device}, sfc to CSC"), x, to_csc);
    if let Some(to_csr) = figure.value(&series(device, Some(Scheme::Sfc)), x) {
        let times = (100.0 * to_csc / to_csr).round() / 100.0;
        figure.add_to_table(format!("{device}, CSC over CSR, times"), x, times);
    }
}

/// Each CUDA device, and all together where there are several, by their names.
fn groups(context: &Context<'_>) -> Vec<(String, Vec<Processor>)> {
    let of_cuda = context.processors.iter().filter(|processor| processor.name.starts_with(CUDA.name));
    let devices: Vec<Processor> = of_cuda.cloned().collect();
    let mut groups: Vec<_> =
        devices.iter().map(|device| (device.name.clone(), vec![device.clone()])).collect();
    if devices.len() > 1 {
        groups.push((format!("{} x {}", devices.len(), CUDA.name), devices));
    }
    groups
}

/// Bytes per second from pinned memory to devices at once, in copies of a chunk to each.
fn pinned_rate(context: &Context<'_>, processors: &[Processor]) -> Result<f64> {
    let bytes = if context.arguments.smoke { 1 << 20 } else { CHUNK_BYTES };
    let devices = processors.iter().filter_map(|processor| match &processor.backend {
        AnyBackend::Device(device) => Some(device),
        AnyBackend::Cpu(_) => None,
    });
    let pinned = |device| Ok((device, PinnedVec::<f32>::zeros(device, bytes / size_of::<f32>())?));
    let all = devices.map(pinned).collect::<Result<Vec<_>>>()?;
    let upload = |device: &Device, elements: &PinnedVec<f32>| -> sparse_core::Result<()> {
        for _ in 0..COPIES {
            drop(black_box(device.upload(elements)?));
        }
        device.synchronize()
    };
    let at_once = || -> Result<()> {
        let uploaded: sparse_core::Result<Vec<()>> = std::thread::scope(|scope| {
            let copies: Vec<_> =
                all.iter().map(|(device, elements)| scope.spawn(move || upload(device, elements))).collect();
            copies.into_iter().map(|copy| copy.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
        });
        Ok(uploaded.map(drop)?)
    };
    at_once()?;
    Ok((COPIES * bytes * all.len()) as f64 / context.timed(at_once)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_distrib::Density;

    #[test]
    fn the_choice_is_compared_with_the_fastest_fixed_scheme() {
        let mut figure = Figure::new("pinned", "", "ratio", "ms");
        for (name, milliseconds) in [("sfc", 460.0), ("bitmap", 250.0), ("ed2", 200.0)] {
            figure.add(format!("cuda:0, {name}"), 0.01, milliseconds);
        }
        add_excess(&mut figure, "cuda:0", 0.01);
        assert_eq!(figure.value("cuda:0, auto over the fastest, %", 0.01), None);
        figure.add("cuda:0, auto", 0.01, 207.0);
        add_excess(&mut figure, "cuda:0", 0.01);
        assert_eq!(figure.value("cuda:0, auto over the fastest, %", 0.01), Some(3.5));
    }

    #[test]
    fn the_time_to_csc_is_compared_with_that_to_csr() {
        let mut figure = Figure::new("pinned", "", "ratio", "ms");
        add_csc(&mut figure, "cuda:0", 0.1, None);
        add_csc(&mut figure, "cuda:0", 0.1, Some(0.5));
        assert_eq!(figure.value("cuda:0, sfc to CSC", 0.1), Some(500.0));
        assert_eq!(figure.value("cuda:0, CSC over CSR, times", 0.1), None);
        figure.add("cuda:0, sfc", 0.5, 400.0);
        add_csc(&mut figure, "cuda:0", 0.5, Some(0.5));
        assert_eq!(figure.value("cuda:0, CSC over CSR, times", 0.5), Some(1.25));
    }

    #[test]
    fn predictions_are_those_of_the_schemes_of_the_figure() {
        let density = Density { nonzeros: 0.01, value_bytes: 4.0, index_bytes: 4.0 };
        let rates = Rates { link: 50e9, host_scan: 100e9, ..Rates::UNLIMITED };
        let explanation = Explanation::new(density, 25e9, &rates);
        assert_eq!(predictions(&explanation), "ed2, predicted sfc 500 ms, ed2 250 ms, bitmap 250 ms");
    }
}
