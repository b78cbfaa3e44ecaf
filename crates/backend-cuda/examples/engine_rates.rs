//! Seconds in which the engine brings 6000 matrices of 1024² to CSR in a GPU's memory, by where they come from.
//!
//! `cargo run --release -p backend-cuda --example engine_rates [COUNT]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cpu::{Cpu, Simd};
use backend_cuda::{CUDA, PinnedVec};
use sparse_core::op::{Keep, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Csr, DenseBatchView, DenseView, Order, Result, Row};
use sparse_device::Device;
use sparse_distrib::{
    DeviceStack, DeviceWorker, Engine, Generated, NpySource, Options, Rates, Scheme, Source, Target,
    calibrate,
};
use std::hint::black_box;
use std::ops::Range;
use std::path::Path;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

const SIDE: usize = 1024;
const ELEMENTS: usize = SIDE * SIDE;
/// Matrices that differ; all others repeat them.
const DIFFERENT: usize = 8;
/// Bytes of a copy whose rate is measured.
const BLOCK: usize = 64 << 20;
/// Matrices of a file, which is read several times.
const FILE_MATRICES: usize = 400;
const RUNS: usize = 5;

fn main() -> Result<()> {
    let count = std::env::args().nth(1).and_then(|count| count.parse().ok()).unwrap_or(6000);
    let device = CUDA.open_preferred()?;
    let link = copy_rates(&device)?;
    let rates = calibrate::measure(&Cpu::new()?, &Target { backend: &device, devices: 1, driver: "" })?;
    println!("calibrated: {rates:?}");
    let rates = Rates { link, ..rates };
    let folder = std::env::temp_dir().join("engine_rates");
    std::fs::create_dir_all(&folder).expect("a folder for the file");
    for per_mille in [10, 100, 500] {
        let data = Data::new(per_mille)?;
        if per_mille < 500 {
            from_the_host(&device, &data, count, rates, &folder)?;
        }
        in_place(&device, &data, count.min(1000))?;
    }
    std::fs::remove_dir_all(&folder).expect("the folder is removed");
    Ok(())
}

/// Some matrices, and their entries.
struct Data {
    per_mille: usize,
    elements: Vec<f32>,
    compressed: Vec<Csr<f32>>,
}

impl Data {
    fn new(per_mille: usize) -> Result<Self> {
        // 32 bits of a product that look random.
        let number = |k: usize| k.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32;
        let draw = |k: usize| if (number(k) * 1000) >> 32 < per_mille { 1.0 + (k % 7) as f32 } else { 0.0 };
        let elements: Vec<f32> = (0..DIFFERENT * ELEMENTS).map(draw).collect();
        let compress = |member| {
            Operations::dense_to_csr(&Reference, DenseView::row_major(member, SIDE, SIDE)?, Keep::NonZero)
        };
        let compressed = elements.chunks(ELEMENTS).map(compress).collect::<Result<_>>()?;
        Ok(Self { per_mille, elements, compressed })
    }

    fn member(&self, item: usize) -> &[f32] {
        &self.elements[item % DIFFERENT * ELEMENTS..][..ELEMENTS]
    }
}

/// Times the source that a name says.
fn time(
    name: &str,
    device: &Device,
    data: &Data,
    source: &dyn Source<f32>,
    (scheme, rates): (Option<Scheme>, Option<Rates>),
) -> Result<()> {
    let options = Options { scheme, rates, ..Options::default() };
    let mut seconds = vec![];
    let mut used = Scheme::Sfc;
    let worker = DeviceWorker::new(device.clone()).unpacking();
    let mut engine = Engine::<f32>::new(vec![Box::new(worker)])?.with_host(Cpu::with(1, Simd::detect())?);
    for run in 0..RUNS {
        let (handle, report) = engine.compress::<Row>(source, &options)?.complete()?;
        seconds.push(1e3 * report.seconds);
        used = report.devices[0].scheme;
        if let (0, Some(explanation)) = (run, &report.explanation) {
            println!("{explanation}");
        }
        if run == 0 {
            for item in [0, source.len() / 2 + 1, source.len() - 1] {
                assert!(handle.fetch(item)? == data.compressed[item % DIFFERENT], "{name}: matrix {item}");
            }
        }
    }
    let first = seconds[0];
    seconds.sort_by(f64::total_cmp);
    println!(
        "{:5.1} %  {name:<22} {used:<7} first {first:8.2} ms, best {:8.2}, median {:8.2}",
        data.per_mille as f64 / 10.0,
        seconds[0],
        seconds[RUNS / 2]
    );
    Ok(())
}

fn from_the_host(device: &Device, data: &Data, count: usize, rates: Rates, folder: &Path) -> Result<()> {
    let sfc = (Some(Scheme::Sfc), None);
    let pinned = Pinned::new(device, data, count)?;
    time("pinned", device, data, &pinned, sfc)?;
    let generated = Generated::new(vec![(SIDE, SIDE); count], |item, elements: &mut [f32]| {
        elements.copy_from_slice(data.member(item));
        Ok(())
    });
    time("generator", device, data, &generated, sfc)?;
    let path = folder.join("stack.npy");
    let file: Vec<f32> = (0..FILE_MATRICES).flat_map(|item| data.member(item)).copied().collect();
    sparse_io::npy::write(&path, &file, &[FILE_MATRICES, SIDE, SIDE], Order::RowMajor)?;
    drop(file);
    let npy = NpySource::open_all(vec![&path; count.div_ceil(FILE_MATRICES)])?;
    time("npy", device, data, &npy, sfc)?;
    let elements = repeated(data, count);
    let pageable = DenseBatchView::new(&elements[..], count, ELEMENTS, (SIDE, SIDE), SIDE, Order::RowMajor)?;
    time("pageable", device, data, &pageable, sfc)?;
    time("pinned, auto", device, data, &pinned, (None, Some(rates)))?;
    time("pinned, ed2", device, data, &pinned, (Some(Scheme::Ed2), None))?;
    time("pinned, bitmap", device, data, &pinned, (Some(Scheme::Bitmap), None))?;
    time("pageable, auto", device, data, &pageable, (None, Some(rates)))?;
    time("npy, auto", device, data, &npy, (None, Some(rates)))
}

fn in_place(device: &Device, data: &Data, count: usize) -> Result<()> {
    let buffer = device.upload(&repeated(data, count))?;
    let stack = DeviceStack::<_, f32>::packed(device.clone(), &buffer, count, (SIDE, SIDE))?;
    time(&format!("{count} in place"), device, data, &stack, (None, None))
}

/// The elements of this many matrices, written by all threads.
fn repeated(data: &Data, count: usize) -> Vec<f32> {
    let mut elements = vec![0.0; count * ELEMENTS];
    in_parallel(&mut elements, ELEMENTS, |item, target| target.copy_from_slice(data.member(item)));
    elements
}

fn in_parallel(elements: &mut [f32], piece: usize, write: impl Fn(usize, &mut [f32]) + Sync) {
    let threads = available_parallelism().map_or(1, usize::from);
    let pieces = elements.len().div_ceil(piece).div_ceil(threads);
    scope(|scope| {
        for (thread, part) in elements.chunks_mut(pieces * piece).enumerate() {
            let write = &write;
            scope.spawn(move || {
                part.chunks_mut(piece).enumerate().for_each(|(k, target)| write(thread * pieces + k, target));
            });
        }
    });
}

/// Prints rates of copies; returns that of pinned memory to the device, in bytes per second.
fn copy_rates(device: &Device) -> Result<f64> {
    for bytes in [4 << 20, 16 << 20, 64 << 20] {
        let started = Instant::now();
        let all: Vec<_> =
            (0..4).map(|_| PinnedVec::<f32>::zeros(device, bytes / 4)).collect::<Result<_>>()?;
        let milliseconds = 1e3 * started.elapsed().as_secs_f64() / 4.0;
        println!("pinning {} MiB takes {milliseconds:.2} ms", bytes >> 20);
        drop(all);
    }
    let mut pinned = PinnedVec::<f32>::zeros(device, BLOCK / 4)?;
    let pageable = vec![1.0_f32; 8 * BLOCK / 4];
    let upload = rate(|| device.upload(&pinned).map(|buffer| drop(black_box(buffer))))?;
    let staged = rate(|| device.upload(&pageable[..BLOCK / 4]).map(|buffer| drop(black_box(buffer))))?;
    println!("to the device: pinned {:.1} GB/s, pageable {:.1}", upload / 1e9, staged / 1e9);
    for threads in [1, 2, 4, 8, 16] {
        let mut round = 0;
        let copy = rate(|| {
            round += 1;
            let from = &pageable[round % 8 * BLOCK / 4..][..BLOCK / 4];
            let part = BLOCK / 4 / threads;
            scope(|scope| {
                for (to, from) in pinned.chunks_mut(part).zip(from.chunks(part)) {
                    scope.spawn(move || to.copy_from_slice(from));
                }
            });
            Ok(())
        })?;
        println!("pageable to pinned, {threads} threads: {:.1} GB/s", copy / 1e9);
    }
    Ok(upload)
}

fn rate(mut pass: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times: Vec<f64> = vec![];
    for _ in 0..24 {
        let started = Instant::now();
        pass()?;
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(BLOCK as f64 / times[12])
}

/// Any amount of matrices, a chunk of which lies in pinned memory whichever is its first.
struct Pinned {
    elements: PinnedVec<f32>,
    count: usize,
}

impl Pinned {
    fn new(device: &Device, data: &Data, count: usize) -> Result<Self> {
        let mut elements = PinnedVec::zeros(device, BLOCK / 4 + DIFFERENT * ELEMENTS)?;
        in_parallel(&mut elements, ELEMENTS, |item, target| target.copy_from_slice(data.member(item)));
        Ok(Self { elements, count })
    }
}

impl Source<f32> for Pinned {
    fn len(&self) -> usize {
        self.count
    }

    fn shape(&self, _item: usize) -> (usize, usize) {
        (SIDE, SIDE)
    }

    fn fill(&self, item: usize, elements: &mut [f32]) -> Result<()> {
        elements.copy_from_slice(&self.elements[item % DIFFERENT * ELEMENTS..][..ELEMENTS]);
        Ok(())
    }

    fn lend(&self, items: Range<usize>) -> Option<&[f32]> {
        let first = items.start % DIFFERENT;
        self.elements.get(first * ELEMENTS..(first + items.len()) * ELEMENTS)
    }
}
