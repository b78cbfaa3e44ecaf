//! Rates of this machine, measured once and kept on disk.
//!
//! | rate | measured by |
//! |---|---|
//! | link | uploads of a block of zeros and numbers from memory that the backend allocates for them; unlimited for a backend that computes in the host's memory |
//! | host scan, host packing | each thread of the host compressing blocks with few and with many nonzeros to messages by `ed2` and checking these, as it does for the engine, with the part of the processors that two streams leave |
//! | host unpacking | two threads, as many as a device has streams, uploading the planes of such messages; unlimited as the link is |
//! | host memory | all threads reading memory of their own, 8 MiB each at least, flushed from the caches before |
//! | host copies | the same threads copying that memory, flushed again, to 4 MiB each |
//! | device | the device's backend compressing the block where it lies |
//!
//! The block has 16 MiB of `f32`, a tenth of them not zero; those of the host have 4 MiB. Each rate has a share of 200 ms: passes start small and double
//! while there is time, so that a slow machine measures smaller blocks. A kernel that must be compiled first takes its time
//! besides.
//!
//! The memory that is read and copied is flushed from the caches first (`clflush`), for a source has more than they
//! hold: unflushed, a processor with a cache of 300 MiB copied at 52 GB/s, and 25 GB of a source at 29 to 44. Other
//! processors than x86-64 do not flush, and large caches count as memory there.
//!
//! Rates are stored by the machine's processor, its threads and instruction set, and by the name and driver of the device.

use crate::dispatch::compress_whole;
use crate::engine::message::{self, HostCompressor, MatrixCompressor, PackedBatch};
use crate::partition::Part;
use crate::scheme::{Rates, Scheme};
use disk_cache::{Cache, Kind};
use sparse_core::backend::SpaceOf;
use sparse_core::op::{DenseToCsrKernel, Keep};
use sparse_core::{Backend, DenseView, Host, Order, Result, Row, Space};
use std::hint::black_box;
use std::iter::repeat_n;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// The environment variable that names the folder of measured rates, by an absolute path; empty, rates are measured each
/// time. Without it the folder is `nnz/rates` in the user's cache folder.
pub const RATES_VARIABLE: &str = "NNZ_RATES_CACHE";

const ENTRIES: Kind = Kind { magic: *b"nnzrate5", extension: "rates" };

/// Elements of a block, 16 MiB. It may stay in a cache: the model has the limit of the memory apart.
const BLOCK: usize = 4 << 20;
/// Elements of the smallest block that is timed, 1 MiB.
const SMALLEST_BLOCK: usize = BLOCK / 16;
const COLUMNS: usize = 1024;
/// One element in this many is not zero.
const SPACING: usize = 10;
/// Elements of a matrix that a thread of the host compresses, 4 MiB: of larger ones the arrays may be new memory each time.
const MESSAGE_BLOCK: usize = BLOCK / 4;
/// One element in this many is not zero in the blocks that tell scan and packing apart.
const FEW: usize = 64;
const MANY: usize = 2;
/// The time for each of link, device, unpacking, and the two blocks of the host. Making the block and measuring the memory take the rest of 200 ms.
const SHARE: Duration = Duration::from_millis(25);
/// Streams of a device with memory of its own, each with a thread that hands it what crosses the link.
const STREAMS: usize = 2;
/// Words of the memory that a thread copies to, over and over: 4 MiB, as a thread has of a slot.
const SLOT_WORDS: usize = 1 << 19;
/// Bytes that a thread reads at least, and that all read at least: few, since new memory takes longer than passes over it.
const MEMORY_BYTES: (usize, usize) = (8 << 20, 64 << 20);
/// Passes over the memory, of which the shortest counts.
const MEMORY_PASSES: usize = 3;
/// Bytes that processors flush from their caches at once.
#[cfg(target_arch = "x86_64")]
const LINE_BYTES: usize = 64;

/// The devices that matrices are sent to: equal ones, each with a link of its own.
#[derive(Debug, Clone)]
pub struct Target<'a, B> {
    /// The backend of one of them.
    pub backend: &'a B,
    /// Their number.
    pub devices: usize,
    /// The version of their driver: rates that another version had are measured again.
    pub driver: &'a str,
}

/// Rates of this machine: stored ones, or new measurements.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_distrib::{Calibration, Target};
///
/// # let folder = tempfile::tempdir()?;
/// # let folder = folder.path();
/// let host = Reference; // or a faster backend of the host
/// let target = Target { backend: &host, devices: 1, driver: "" };
/// let calibration = Calibration::in_folder(folder); // Calibration::of_user() for the user's own
/// let rates = calibration.rates(&host, &target)?; // measured, and stored
/// assert_eq!(calibration.rates(&host, &target)?, rates);
/// assert!(rates.link.is_infinite() && rates.host_scan > 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Calibration {
    cache: Option<Cache>,
}

impl Calibration {
    /// Rates in the folder that [`RATES_VARIABLE`] names, else in the user's cache folder.
    pub fn of_user() -> Self {
        Self { cache: Cache::of_user(RATES_VARIABLE, "rates", ENTRIES) }
    }

    /// Rates in this folder.
    pub fn in_folder(folder: impl Into<PathBuf>) -> Self {
        Self { cache: Some(Cache::in_folder(folder, ENTRIES)) }
    }

    /// The stored rates of this machine; without them new ones, which are stored.
    ///
    /// # Errors
    /// As for [`measure`].
    pub fn rates<H, B>(&self, host: &H, target: &Target<'_, B>) -> Result<Rates>
    where
        H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
        B: DenseToCsrKernel<f32, i32, i32>,
    {
        let stored = self.cache.as_ref().and_then(|cache| cache.read(&key(host, target)));
        match stored.and_then(|bytes| rates_from_bytes(&bytes, target.devices)) {
            Some(rates) => Ok(rates),
            None => self.refresh(host, target),
        }
    }

    /// New rates, which replace the stored ones. A folder that cannot be written is no error: they are measured again.
    ///
    /// # Errors
    /// As for [`measure`].
    pub fn refresh<H, B>(&self, host: &H, target: &Target<'_, B>) -> Result<Rates>
    where
        H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
        B: DenseToCsrKernel<f32, i32, i32>,
    {
        let rates = measure(host, target)?;
        if let Some(cache) = &self.cache {
            let _ = cache.write(&key(host, target), &rates_to_bytes(&rates));
        }
        Ok(rates)
    }
}

/// Measures the rates of this machine; `host` is the backend that compresses on the host.
///
/// # Errors
/// [`OutOfMemory`](sparse_core::Error::OutOfMemory) and other errors of the device's runtime.
pub fn measure<H, B>(host: &H, target: &Target<'_, B>) -> Result<Rates>
where
    H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
    B: DenseToCsrKernel<f32, i32, i32>,
{
    let mut block = vec![0.0_f32; BLOCK];
    block.iter_mut().step_by(SPACING).for_each(|element| *element = 1.0);
    let backend = target.backend;
    let (link, host_unpack, device) = match SpaceOf::<B>::host_view(&block) {
        Some(view) => (f64::INFINITY, f64::INFINITY, scan_rate(backend, view)?),
        None => {
            let uploaded = backend.upload(&block)?;
            let device = scan_rate(backend, SpaceOf::<B>::view(&uploaded))?;
            (link_rate(backend, &block)?, unpack_rate(host, backend, &block)?, device)
        }
    };
    let threads = host.caps().compute_units.max(1);
    let (host_memory, host_copy) = memory_rates(threads);
    // The streams of a device need processors beside the threads that compress.
    let share = threads as f64 / (threads + STREAMS) as f64;
    let (host_scan, host_pack) = host_rates(host)?;
    let (host_scan, host_pack) = (share * host_scan, share * host_pack);
    let devices = target.devices;
    Ok(Rates { devices, link, host_scan, host_pack, host_unpack, host_copy, host_memory, device })
}

/// Bytes per second from the memory of the host that slots have to the memory of a backend.
fn link_rate<B: Backend>(backend: &B, block: &[f32]) -> Result<f64> {
    let mut slot = backend.host_buffer(block.len())?;
    slot.copy_from_slice(block);
    rate(BLOCK, |elements| {
        let buffer = backend.upload(&slot[..elements])?;
        backend.synchronize()?;
        drop(black_box(buffer));
        Ok(())
    })
}

/// Dense bytes per second of a backend that compresses a block in its memory.
fn scan_rate<B: DenseToCsrKernel<f32, i32, i32>>(
    backend: &B,
    block: <SpaceOf<B> as Space>::View<'_, f32>,
) -> Result<f64> {
    rate(BLOCK, |elements| {
        let part = SpaceOf::<B>::slice(block, 0..elements);
        let view = DenseView::new(part, elements / COLUMNS, COLUMNS, COLUMNS, Order::RowMajor)?;
        let compressed = compress_whole::<B, Row, f32, i32, i32>(backend, view)?;
        backend.synchronize()?;
        drop(black_box(compressed));
        Ok(())
    })
}

/// The rates of the scan and the packing of the host: the time of a byte is linear in the ratio of nonzeros.
fn host_rates<H>(host: &H) -> Result<(f64, f64)>
where
    H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
{
    let mut block = vec![0.0_f32; MESSAGE_BLOCK];
    let mut seconds_per_byte = |spacing: usize| -> Result<f64> {
        block.iter_mut().step_by(spacing).for_each(|element| *element = 1.0);
        Ok(1.0 / message_rate(host, &block)?)
    };
    let (few, many) = (seconds_per_byte(FEW)?, seconds_per_byte(MANY)?);
    let packing = (many - few) / (1.0 / MANY as f64 - 1.0 / FEW as f64);
    // Measurements that are no such line have no scan below half of the shorter time.
    let scan = (few - packing / FEW as f64).max(few / 2.0);
    Ok((1.0 / scan, if packing > 0.0 { 1.0 / packing } else { f64::INFINITY }))
}

/// Dense bytes per second of all threads of the host, each of which compresses the block to messages.
fn message_rate<H>(host: &H, block: &[f32]) -> Result<f64>
where
    H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
{
    let (threads, host) = (host.caps().compute_units.max(1), host.single_threaded());
    rate_of_threads(threads, || {
        let mut compressor = HostCompressor::<f32, i32, i32>::start(&host);
        let (mut message, mut batch) = (vec![], PackedBatch::default());
        rate(block.len(), |elements| {
            let part = compress_to_message(compressor.as_mut(), &block[..elements], &mut message)?;
            pack(&mut batch, part, std::slice::from_ref(&message))?;
            black_box(&batch);
            Ok(())
        })
    })
}

/// Replaces `message` by that of these elements; returns the part that it is of.
fn compress_to_message(
    compressor: &mut dyn MatrixCompressor<f32, i32, i32>,
    elements: &[f32],
    message: &mut Vec<u8>,
) -> Result<Part> {
    let (rows, cols) = (elements.len() / COLUMNS, COLUMNS);
    let compressed = compressor.compress(DenseView::row_major(elements, rows, cols)?, Keep::NonZero)?;
    let part = Part::whole((rows, cols));
    message::encode(Scheme::Ed2, &part, &compressed, message)?;
    Ok(part)
}

/// Makes a batch the planes of messages of equal parts.
fn pack(batch: &mut PackedBatch<f32, i32>, part: Part, messages: &[Vec<u8>]) -> Result<()> {
    batch.refill::<i32>(Scheme::Ed2, repeat_n(part, messages.len()), messages)
}

/// Bytes of messages per second whose planes the threads of a device's streams hand to it.
fn unpack_rate<H, B>(host: &H, backend: &B, block: &[f32]) -> Result<f64>
where
    H: DenseToCsrKernel<f32, i32, i32> + Backend<Space = Host>,
    B: Backend,
{
    let mut message = vec![];
    let mut compressor = HostCompressor::<f32, i32, i32>::start(host);
    let part = compress_to_message(compressor.as_mut(), &block[..SMALLEST_BLOCK], &mut message)?;
    let ratio = message.len() as f64 / size_of_val(&block[..SMALLEST_BLOCK]) as f64;
    let mut batch = PackedBatch::default();
    pack(&mut batch, part, &vec![message; BLOCK / SMALLEST_BLOCK])?;
    let dense_rate = rate_of_threads(STREAMS, || {
        let (mut members, mut part) = (0, batch.members(0..0));
        rate(BLOCK, |elements| {
            // Copied in the first pass of this size alone.
            if members != elements / SMALLEST_BLOCK {
                members = elements / SMALLEST_BLOCK;
                part = batch.members(0..members);
            }
            let planes = part.upload(backend)?;
            backend.synchronize()?;
            drop(black_box(planes));
            Ok(())
        })
    })?;
    Ok(ratio * dense_rate)
}

/// The sum of the rates of so many threads, which begin together.
fn rate_of_threads(threads: usize, rate: impl Fn() -> Result<f64> + Sync) -> Result<f64> {
    let all_have_begun = Barrier::new(threads);
    let rate = || {
        all_have_begun.wait();
        rate()
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(rate)).collect();
        let own = rate();
        let others =
            others.into_iter().map(|other| other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        std::iter::once(own).chain(others).sum()
    })
}

/// Bytes per second of `pass` over so many elements, at the largest number up to `most` for which there is time.
fn rate(most: usize, mut pass: impl FnMut(usize) -> Result<()>) -> Result<f64> {
    pass(SMALLEST_BLOCK)?; // compiles kernels, touches memory
    let (started, mut elements, mut shortest) = (Instant::now(), SMALLEST_BLOCK, Duration::MAX);
    loop {
        let pass_started = Instant::now();
        pass(elements)?;
        let taken = pass_started.elapsed();
        shortest = shortest.min(taken);
        let has_time_for = |factor: u32| started.elapsed() + factor * taken <= SHARE;
        if elements < most && has_time_for(2) {
            (elements, shortest) = (2 * elements, Duration::MAX);
        } else if !has_time_for(1) {
            return Ok((elements * size_of::<f32>()) as f64 / shortest.as_secs_f64().max(1e-9));
        }
    }
}

/// Bytes per second at which all of these threads read memory of their own, and at which they copy it to slots.
fn memory_rates(threads: usize) -> (f64, f64) {
    let (least, least_of_all) = MEMORY_BYTES;
    let words = least.max(least_of_all / threads) / size_of::<u64>();
    let all_are_ready = Barrier::new(threads);
    let rates_of_thread = || {
        // Ones, since the system would not give memory for zeros before they are written.
        let (memory, mut slot) = (vec![1_u64; words], vec![1_u64; SLOT_WORDS]);
        let rate = |pass: &mut dyn FnMut(&[u64])| {
            let mut shortest = Duration::MAX;
            for _ in 0..MEMORY_PASSES {
                flush_from_caches(&memory);
                all_are_ready.wait();
                let started = Instant::now();
                pass(black_box(&memory));
                shortest = shortest.min(started.elapsed());
            }
            size_of_val(&memory[..]) as f64 / shortest.as_secs_f64().max(1e-9)
        };
        let read = rate(&mut |memory| {
            black_box(memory.iter().fold(0_u64, |sum, word| sum.wrapping_add(*word)));
        });
        let copy = rate(&mut |memory| {
            for part in memory.chunks(SLOT_WORDS) {
                black_box(&mut slot[..part.len()]).copy_from_slice(part);
            }
        });
        (read, copy)
    };
    thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(rates_of_thread)).collect();
        let own = rates_of_thread();
        let others = others.into_iter().filter_map(|other| other.join().ok());
        others.fold(own, |sum, rates| (sum.0 + rates.0, sum.1 + rates.1))
    })
}

/// Leaves these words in the memory alone, so that whoever reads them next does not find them in a cache. Processors
/// without an instruction for it keep what they have.
fn flush_from_caches(words: &[u64]) {
    #[cfg(target_arch = "x86_64")]
    for line in words.chunks(LINE_BYTES / size_of::<u64>()) {
        // SAFETY: every processor of this architecture has the instruction, which changes no byte; the address is that
        // of a word.
        unsafe { std::arch::x86_64::_mm_clflush(line.as_ptr().cast()) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = words;
}

/// All that rates depend on.
fn key<H: Backend, B: Backend>(host: &H, target: &Target<'_, B>) -> String {
    let (host, device) = (host.caps(), target.backend.caps());
    format!(
        "processor: {}\nhost: {} x {} {} {}\ndevice: {} {}\ndriver: {}",
        processor(),
        host.compute_units,
        host.backend,
        host.device,
        host.features.join(" "),
        device.backend,
        device.device,
        target.driver
    )
}

/// The model of the processor, as far as the system says it.
fn processor() -> String {
    if let Ok(name) = std::env::var("PROCESSOR_IDENTIFIER") {
        return name; // Windows
    }
    let about = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let first_line = |key: &str| about.lines().find(|line| line.starts_with(key)).unwrap_or_default();
    ["model name", "CPU implementer", "CPU part"].map(first_line).join("")
}

fn rates_to_bytes(rates: &Rates) -> Vec<u8> {
    let Rates { link, host_scan, host_pack, host_unpack, host_copy, host_memory, device, .. } = *rates;
    let numbers = [link, host_scan, host_pack, host_unpack, host_copy, host_memory, device];
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Stored rates, if they are seven positive numbers.
fn rates_from_bytes(bytes: &[u8], devices: usize) -> Option<Rates> {
    let numbers = bytes.chunks(8).map(|chunk| Some(f64::from_le_bytes(chunk.try_into().ok()?)));
    let numbers: Vec<f64> = numbers.collect::<Option<_>>()?;
    let [link, host_scan, host_pack, host_unpack, host_copy, host_memory, device] = numbers[..] else {
        return None;
    };
    numbers.iter().all(|&number| number > 0.0).then_some(Rates {
        devices,
        link,
        host_scan,
        host_pack,
        host_unpack,
        host_copy,
        host_memory,
        device,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::reference::Reference;

    const STORED: Rates = Rates {
        devices: 3,
        link: f64::INFINITY,
        host_scan: 2.0,
        host_pack: 5.0,
        host_unpack: 6.0,
        host_copy: 7.0,
        host_memory: 3.0,
        device: 4.0,
    };

    #[test]
    fn stored_rates_are_taken_as_long_as_the_machine_is_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let target = Target { backend: &Reference, devices: 3, driver: "1" };
        let calibration = Calibration::in_folder(folder.path());
        let cache = calibration.cache.as_ref().unwrap();
        cache.write(&key(&Reference, &target), &rates_to_bytes(&STORED)).unwrap();
        assert_eq!(calibration.rates(&Reference, &target).unwrap(), STORED);
        let four = Target { devices: 4, ..target.clone() };
        assert_eq!(calibration.rates(&Reference, &four).unwrap(), Rates { devices: 4, ..STORED });
        let newer = Target { driver: "2", ..target.clone() };
        assert_eq!(cache.read(&key(&Reference, &newer)), None);

        let measured = calibration.refresh(&Reference, &target).unwrap();
        assert_ne!(measured, STORED);
        assert_eq!(calibration.rates(&Reference, &target).unwrap(), measured);
        assert!(measured.link.is_infinite());
        let rates = [measured.host_scan, measured.host_memory, measured.device];
        assert!(rates.iter().all(|rate| (1e3..1e15).contains(rate)), "{measured:?}");
    }

    #[test]
    fn what_is_no_rate_is_not_read() {
        let bytes = rates_to_bytes(&STORED);
        assert_eq!(rates_from_bytes(&bytes, 3), Some(STORED));
        assert!((0..bytes.len()).all(|len| rates_from_bytes(&bytes[..len], 3).is_none()));
        for wrong in [0.0, -1.0, f64::NAN] {
            assert_eq!(rates_from_bytes(&rates_to_bytes(&Rates { device: wrong, ..STORED }), 3), None);
        }
    }

    /// The time of a chain of reads, each of another line, is that of the memory's latency, not of the cache's.
    #[cfg(target_arch = "x86_64")]
    #[test]
    fn words_that_were_flushed_are_read_from_memory() {
        let words = vec![1_u64; 1 << 15];
        let lines = words.len() / 8;
        let chain = || {
            let started = Instant::now();
            let line = (0..lines).fold(0, |line, _| (1021 * line + words[8 * line] as usize) % lines);
            black_box(line);
            started.elapsed()
        };
        let shortest = |prepare: &dyn Fn()| {
            let time = |_| {
                prepare();
                chain()
            };
            (0..50).map(time).min()
        };
        let (cached, flushed) = (shortest(&|| ()), shortest(&|| flush_from_caches(&words)));
        assert!(flushed > cached.map(|time| 3 * time / 2), "{flushed:?} after {cached:?}");
    }

    #[test]
    fn a_pass_that_is_slow_is_not_repeated() {
        let mut passes = vec![];
        let slow = rate(BLOCK, |elements| {
            passes.push(elements);
            thread::sleep(SHARE);
            Ok(())
        });
        assert!(slow.unwrap() <= (4 * SMALLEST_BLOCK) as f64 / SHARE.as_secs_f64());
        assert_eq!(passes, [SMALLEST_BLOCK; 2]);
    }
}
