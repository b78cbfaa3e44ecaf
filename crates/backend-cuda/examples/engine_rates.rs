//! Seconds in which the engine brings 6000 matrices of 1024² to CSR in the memory of GPUs: of one by where the matrices
//! come from, of several by their number, from pinned and from other memory.
//!
//! `cargo run --release -p backend-cuda --example engine_rates [COUNT [GPUS]]`

#![allow(clippy::print_stdout, reason = "an example prints")]

use backend_cpu::{Cpu, Simd};
use backend_cuda::{CUDA, PinnedVec};
use sparse_core::op::{Keep, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Csr, DenseBatchView, DenseView, Order, Result, Row};
use sparse_device::Device;
use sparse_distrib::{
    DeviceStack, DeviceWorker, Engine, Generated, NpySource, Options, Part, Rates, Scheme, Source, Target,
    Worker, calibrate,
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
/// Matrices of 1024² that stand in one large matrix, one above the other: 4 GiB.
const STACKED: usize = 1024;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).map_while(|argument| argument.parse().ok());
    let (count, gpus) = (arguments.next().unwrap_or(6000), arguments.next().unwrap_or(1));
    let devices: Vec<_> = (0..gpus).map(|index| CUDA.open(index)).collect::<Result<_>>()?;
    let link = copy_rates(&devices[0])?;
    let started = Instant::now();
    let target = Target { backend: &devices[0], devices: 1, driver: "" };
    let rates = Rates { link, ..calibrate::measure(&Cpu::new()?, &target)? };
    println!("calibrated in {:.0} ms: {rates:?}", 1e3 * started.elapsed().as_secs_f64());
    let folder = std::env::temp_dir().join("engine_rates");
    std::fs::create_dir_all(&folder).expect("a folder for the file");
    for per_mille in [10, 100, 500] {
        let data = Data::new(per_mille)?;
        let pinned = Pinned::new(&devices[0], &data, count)?;
        for number in 1..=gpus {
            from_pinned(&devices[..number], &data, &pinned, rates)?;
        }
        drop(pinned);
        if gpus > 1 {
            for number in 1..=gpus {
                from_other_memory(&devices[..number], &data, count)?;
            }
            continue;
        }
        if per_mille < 500 {
            from_the_host(&devices, &data, count, rates, &folder)?;
        }
        in_place(&devices, &data, count.min(1000))?;
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

    /// The entries of this many matrices.
    fn nnz(&self, count: usize) -> u64 {
        (0..count).map(|item| self.compressed[item % DIFFERENT].nnz() as u64).sum()
    }
}

/// Times the source that a name says, of `count` matrices of the data.
fn time(
    name: &str,
    devices: &[Device],
    (data, count): (&Data, usize),
    source: &dyn Source<f32>,
    (scheme, rates): (Option<Scheme>, Option<Rates>),
) -> Result<()> {
    let options = Options { scheme, rates, ..Options::default() };
    let mut seconds = vec![];
    let mut used = Scheme::Sfc;
    let worker = |device: &Device| -> Box<dyn Worker<f32, i32, i32>> {
        Box::new(DeviceWorker::new(device.clone()).unpacking())
    };
    let mut engine =
        Engine::new(devices.iter().map(worker).collect())?.with_host(Cpu::with(1, Simd::detect())?);
    for run in 0..RUNS {
        let (handle, report) = engine.compress::<Row>(source, &options)?.complete()?;
        seconds.push(1e3 * report.seconds);
        used = report.devices[0].scheme;
        if let (0, Some(explanation)) = (run, &report.explanation) {
            println!("{explanation}");
        }
        assert_eq!(report.nnz, data.nnz(count), "{name}");
        if run == 0 && source.len() == count {
            for item in [0, count / 2, count - 1] {
                assert!(handle.fetch(item)? == data.compressed[item % DIFFERENT], "{name}: matrix {item}");
            }
        }
    }
    let first = seconds[0];
    seconds.sort_by(f64::total_cmp);
    println!(
        "{:5.1} %  {} x  {name:<22} {used:<7} first {first:8.2} ms, best {:8.2}, median {:8.2}",
        data.per_mille as f64 / 10.0,
        devices.len(),
        seconds[0],
        seconds[RUNS / 2]
    );
    Ok(())
}

/// Every scheme from pinned memory, but those whose work on the host takes seconds.
fn from_pinned(devices: &[Device], data: &Data, pinned: &Pinned, rates: Rates) -> Result<()> {
    let rates = Rates { devices: devices.len(), ..rates };
    let data_of = (data, pinned.count);
    time("pinned", devices, data_of, pinned, (Some(Scheme::Sfc), None))?;
    time("pinned, auto", devices, data_of, pinned, (None, Some(rates)))?;
    if data.per_mille < 500 {
        time("pinned, ed2", devices, data_of, pinned, (Some(Scheme::Ed2), None))?;
        time("pinned, bitmap", devices, data_of, pinned, (Some(Scheme::Bitmap), None))?;
    }
    Ok(())
}

/// Elements in a cache that are copied to slots, and 25 GB in memory that is not pinned.
fn from_other_memory(devices: &[Device], data: &Data, count: usize) -> Result<()> {
    let (all, sfc) = ((data, count), (Some(Scheme::Sfc), None));
    time("generator", devices, all, &copies(data, count), sfc)?;
    let elements = repeated(data, count);
    let pageable = DenseBatchView::new(&elements[..], count, ELEMENTS, (SIDE, SIDE), SIDE, Order::RowMajor)?;
    time("pageable", devices, all, &pageable, sfc)
}

/// A function that copies matrices.
fn copies(data: &Data, count: usize) -> impl Source<f32> + '_ {
    Generated::new(vec![(SIDE, SIDE); count], |item, elements: &mut [f32]| {
        elements.copy_from_slice(data.member(item));
        Ok(())
    })
}

/// Matrices that are not in pinned memory, and one large one.
fn from_the_host(devices: &[Device], data: &Data, count: usize, rates: Rates, folder: &Path) -> Result<()> {
    let (sfc, auto, bitmap) = ((Some(Scheme::Sfc), None), (None, Some(rates)), (Some(Scheme::Bitmap), None));
    let all = (data, count);
    time("generator", devices, all, &copies(data, count), sfc)?;
    let path = folder.join("stack.npy");
    sparse_io::npy::write(
        &path,
        &repeated(data, FILE_MATRICES),
        &[FILE_MATRICES, SIDE, SIDE],
        Order::RowMajor,
    )?;
    let npy = NpySource::open_all(vec![&path; count.div_ceil(FILE_MATRICES)])?;
    let in_files = (data, Source::<f32>::len(&npy));
    time("npy", devices, in_files, &npy, sfc)?;
    time("npy, auto", devices, in_files, &npy, auto)?;
    let elements = repeated(data, count.max(STACKED));
    let batch = |count, shape: (usize, usize)| {
        DenseBatchView::new(&elements[..], count, shape.0 * shape.1, shape, shape.1, Order::RowMajor)
    };
    let pageable = batch(count, (SIDE, SIDE))?;
    time("pageable", devices, all, &pageable, sfc)?;
    time("pageable, bitmap", devices, all, &pageable, bitmap)?;
    time("pageable, auto", devices, all, &pageable, auto)?;

    let stacked = (data, STACKED);
    let shape = (STACKED * SIDE, SIDE);
    time("one pageable of 4 GiB", devices, stacked, &batch(1, shape)?, auto)?;
    let generated = Generated::by_parts(vec![shape], |_, part: &Part, elements: &mut [f32]| {
        for (row, target) in part.rows.clone().zip(elements.chunks_mut(SIDE)) {
            target.copy_from_slice(&data.member(row / SIDE)[row % SIDE * SIDE..][part.cols.clone()]);
        }
        Ok(())
    });
    time("one generated of 4 GiB", devices, stacked, &generated, auto)
}

fn in_place(devices: &[Device], data: &Data, count: usize) -> Result<()> {
    let buffer = devices[0].upload(&repeated(data, count))?;
    let stack = DeviceStack::<_, f32>::packed(devices[0].clone(), &buffer, count, (SIDE, SIDE))?;
    time(&format!("{count} in place"), devices, (data, count), &stack, (None, None))
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
    let all = rate_of(8 * BLOCK, || device.upload(&pageable).map(|buffer| drop(black_box(buffer))))?;
    println!("to the device: pageable, 512 MiB {:.1} GB/s", all / 1e9);
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

fn rate(pass: impl FnMut() -> Result<()>) -> Result<f64> {
    rate_of(BLOCK, pass)
}

fn rate_of(bytes: usize, mut pass: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times: Vec<f64> = vec![];
    for _ in 0..24 {
        let started = Instant::now();
        pass()?;
        times.push(started.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(bytes as f64 / times[12])
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
