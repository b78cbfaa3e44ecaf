//! Scheduling policies: which device gets which jobs, and the makespan by the devices' rates alone.
//! [`simulate`](crate::simulate) adds host and links.
//!
//! | policy | idea | its weakness |
//! |---|---|---|
//! | `type1` | all to one device; jobs that do not fit are halved, one half for another device | idle devices until one overflows, then powers of two |
//! | `type2_by_count`, `type2_by_bytes` | contiguous ranges in proportion to the devices' memory | memory is not speed |
//! | `lpt` | longest first, each to the device that ends it first | all sizes must be known |
//! | `pull` | a free device takes the next chunk | the last chunks end at different times |
//!
//! `type1` and `type2` are the policies of a compressor of dense matrices on several GPUs: Hsu, Efficient strategies
//! for compressing sparse matrices on graphics processing units, master's thesis, Chang Gung University 2013. LPT:
//! Graham: Bounds on multiprocessing timing anomalies. SIAM J. Applied Math. 17 (1969).
//!
//! Efficiency is the time of a fluid that all devices process at their rates, over the makespan. Of 6000 matrices of
//! 1024² `f32`, half of their elements nonzero:
//!
//! | devices | type1 | type2 by count | by bytes | lpt | pull, 64 MiB | pull, 16 MiB |
//! |---|---|---|---|---|---|---|
//! | 12 × M2070 | 67 % | 100 | 100 | 100 | 98 | 100 |
//! | 4 × H200 | 25 % | 100 | 100 | 100 | 100 | 100 |
//! | H200, H100, 2 × L4 | 34 % | 64 | 64 | 100 | 99 | 100 |
//!
//! Rates are those of the links: 5.7 GB/s (M2070), 55 (H100, H200) and 26 (L4).

use sparse_core::{Error, Result};
use std::cmp::Reverse;
use std::fmt::Display;
use std::ops::Range;
use std::str::FromStr;

/// A matrix, or a group of matrices, that is compressed on one device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Job {
    /// Bytes to process.
    pub bytes: u64,
    /// Bytes that the job takes of a device's memory, results included.
    pub resident_bytes: u64,
}

/// Rate and memory of a device, by which a policy chooses.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Device {
    /// Bytes of memory.
    pub memory_bytes: u64,
    /// Bytes of jobs per second, positive and finite.
    pub rate: f64,
}

/// A rule that gives jobs to devices.
///
/// ```
/// use sparse_distrib::schedule::{Device, Job, Policy};
///
/// let device = Device { memory_bytes: 6_000_000_000, rate: 5.7e9 };
/// let job = Job { bytes: 1 << 22, resident_bytes: 1 << 23 };
/// let schedule = Policy::Lpt.schedule(&[job; 24], &[device; 12])?;
/// assert!(schedule.queues().iter().all(|queue| queue.len() == 2));
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Policy {
    /// First come, first served: everything to one device, in halves where it does not fit.
    Type1,
    /// Numbers of jobs in proportion to memory.
    Type2ByCount,
    /// Bytes of jobs in proportion to memory.
    Type2ByBytes,
    /// Longest processing time first.
    Lpt,
    /// Chunks that devices take when they are free.
    Pull {
        /// The largest chunk of more than one job.
        chunk_bytes: u64,
    },
}

/// The chunk of [`Policy::Pull`] where none is named.
pub(crate) const CHUNK_BYTES: u64 = 64 << 20;
/// A device gets at least this many chunks, if there are enough jobs.
const CHUNKS_PER_DEVICE: u64 = 8;
/// The window, in chunks per device, within which chunks are sorted, the biggest first.
const WINDOW_PER_DEVICE: usize = 4;

impl Policy {
    /// All policies, with the chunk size that [`Pull`](Self::Pull) has by default.
    pub const ALL: [Self; 5] = [
        Self::Type1,
        Self::Type2ByCount,
        Self::Type2ByBytes,
        Self::Lpt,
        Self::Pull { chunk_bytes: CHUNK_BYTES },
    ];

    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Type1 => "type1",
            Self::Type2ByCount => "type2_by_count",
            Self::Type2ByBytes => "type2_by_bytes",
            Self::Lpt => "lpt",
            Self::Pull { .. } => "pull",
        }
    }

    /// The jobs of each device, in the order in which it runs them.
    ///
    /// Only `type1` requires that the jobs of a device fit its memory together: the others stream them.
    ///
    /// # Errors
    /// [`Error::Shape`] without devices or with a rate that is not positive; [`Error::OutOfMemory`] if `type1` meets a
    /// job that does not fit its device alone.
    pub fn schedule(self, jobs: &[Job], devices: &[Device]) -> Result<Schedule> {
        check_devices(devices)?;
        let queues = match self {
            Self::Type1 => type1(jobs, devices)?,
            Self::Type2ByCount => type2(jobs, devices, |_| 1),
            Self::Type2ByBytes => type2(jobs, devices, |job| job.bytes),
            Self::Lpt => lpt(jobs, devices),
            Self::Pull { chunk_bytes } => pull(jobs, devices, chunk_bytes),
        };
        Ok(Schedule { queues })
    }
}

impl Display for Policy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// A policy by its [name](Policy::name), or by `type2`: in proportion to memory, in bytes.
impl FromStr for Policy {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        if name == "type2" {
            return Ok(Self::Type2ByBytes);
        }
        Self::ALL.into_iter().find(|policy| policy.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::unsupported(format_args!("the policy `{name}`"), format_args!("use one of {names}"))
        })
    }
}

/// The jobs of each device, by their positions, in the order in which it runs them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    queues: Vec<Vec<usize>>,
}

impl Schedule {
    /// A queue of jobs for each device.
    pub fn queues(&self) -> &[Vec<usize>] {
        &self.queues
    }

    /// The seconds until the last device ends, with the jobs and devices that the schedule was made for.
    pub fn makespan(&self, jobs: &[Job], devices: &[Device]) -> f64 {
        let seconds = |(queue, device): (&Vec<usize>, &Device)| {
            queue.iter().map(|&job| jobs[job].bytes as f64).sum::<f64>() / device.rate
        };
        self.queues.iter().zip(devices).map(seconds).fold(0.0, f64::max)
    }

    /// The time of a fluid over the makespan: 1 where no device ever waits. 1 without jobs.
    ///
    /// ```
    /// use sparse_distrib::schedule::{Device, Job, Policy};
    ///
    /// let devices = [Device { memory_bytes: 1 << 30, rate: 1e9 }; 4];
    /// let jobs = [Job { bytes: 1 << 20, resident_bytes: 1 << 21 }; 100];
    /// let all_on_one = Policy::Type1.schedule(&jobs, &devices)?;
    /// assert_eq!(all_on_one.efficiency(&jobs, &devices), 0.25);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn efficiency(&self, jobs: &[Job], devices: &[Device]) -> f64 {
        let bytes: f64 = jobs.iter().map(|job| job.bytes as f64).sum();
        let fluid = bytes / devices.iter().map(|device| device.rate).sum::<f64>();
        if bytes == 0.0 { 1.0 } else { fluid / self.makespan(jobs, devices) }
    }
}

pub(crate) fn check_devices(devices: &[Device]) -> Result<()> {
    if devices.is_empty() {
        return Err(Error::shape("schedule", "0 devices where at least one is needed"));
    }
    match devices.iter().position(|device| !(device.rate > 0.0 && device.rate.is_finite())) {
        None => Ok(()),
        Some(k) => {
            let reason = format!("device {k} has rate {}; it must be positive and finite", devices[k].rate);
            Err(Error::shape("schedule", reason))
        }
    }
}

fn type1(jobs: &[Job], devices: &[Device]) -> Result<Vec<Vec<usize>>> {
    let mut queues = vec![vec![]; devices.len()];
    let mut ranges = vec![(0, jobs.len())];
    let mut turn = 0;
    while let Some((start, end)) = ranges.pop() {
        let device = turn % devices.len();
        let available = devices[device].memory_bytes;
        let needed = total(&jobs[start..end], |job| job.resident_bytes);
        if needed <= available {
            queues[device].extend(start..end);
            turn += 1;
        } else if end - start > 1 {
            let middle = start + (end - start).div_ceil(2);
            ranges.extend([(middle, end), (start, middle)]);
        } else {
            return Err(Error::OutOfMemory { needed, available: Some(available) });
        }
    }
    Ok(queues)
}

fn total(jobs: &[Job], bytes: impl Fn(&Job) -> u64) -> u64 {
    jobs.iter().map(bytes).fold(0, u64::saturating_add)
}

/// Contiguous ranges of jobs whose weights are in proportion to memory. A job belongs to the range that its middle is
/// in.
fn type2(jobs: &[Job], devices: &[Device], weight: impl Fn(&Job) -> u64) -> Vec<Vec<usize>> {
    let total: f64 = jobs.iter().map(|job| weight(job) as f64).sum();
    let memory: f64 = devices.iter().map(|device| device.memory_bytes as f64).sum();
    let mut queues = vec![vec![]; devices.len()];
    let (mut device, mut before) = (0, 0.0);
    let mut end = total * devices[0].memory_bytes as f64 / memory;
    for (position, job) in jobs.iter().enumerate() {
        let weight = weight(job) as f64;
        while before + weight / 2.0 > end && device + 1 < devices.len() {
            device += 1;
            end += total * devices[device].memory_bytes as f64 / memory;
        }
        queues[device].push(position);
        before += weight;
    }
    queues
}

fn lpt(jobs: &[Job], devices: &[Device]) -> Vec<Vec<usize>> {
    let mut longest_first: Vec<usize> = (0..jobs.len()).collect();
    longest_first.sort_by_key(|&job| Reverse(jobs[job].bytes));
    let mut loads = Loads::new(devices);
    for job in longest_first {
        let bytes = jobs[job].bytes as f64;
        let device = loads.first_by(|seconds, device| seconds + bytes / device.rate);
        loads.add(device, &[job], bytes);
    }
    loads.queues
}

fn pull(jobs: &[Job], devices: &[Device], chunk_bytes: u64) -> Vec<Vec<usize>> {
    let mut loads = Loads::new(devices);
    let limit = chunk_limit(chunk_bytes, total(jobs, |job| job.bytes), devices.len());
    let mut chunks = chunks(jobs, limit);
    biggest_first(&mut chunks, devices.len(), |chunk| chunk.1);
    for (positions, bytes) in chunks {
        let device = loads.first_by(|seconds, _| seconds);
        loads.add(device, &positions.collect::<Vec<_>>(), bytes as f64);
    }
    loads.queues
}

/// Sorts the chunks of each window by their bytes, the biggest first.
pub(crate) fn biggest_first<C>(chunks: &mut [C], devices: usize, bytes: impl Fn(&C) -> u64) {
    for window in chunks.chunks_mut(WINDOW_PER_DEVICE * devices) {
        window.sort_by_key(|chunk| Reverse(bytes(chunk)));
    }
}

/// The bytes of a chunk at most, of `total` bytes in all.
pub(crate) fn chunk_limit(chunk_bytes: u64, total: u64, devices: usize) -> u64 {
    chunk_bytes.min(total / (CHUNKS_PER_DEVICE * devices as u64))
}

/// Neighbouring jobs of at most `limit` bytes together, or one larger job; and their bytes.
pub(crate) fn chunks(jobs: &[Job], limit: u64) -> Vec<(Range<usize>, u64)> {
    let mut chunks: Vec<(Range<usize>, u64)> = vec![];
    for (position, job) in jobs.iter().enumerate() {
        match chunks.last_mut() {
            Some((positions, bytes)) if bytes.saturating_add(job.bytes) <= limit => {
                positions.end = position + 1;
                *bytes += job.bytes;
            }
            _ => chunks.push((position..position + 1, job.bytes)),
        }
    }
    chunks
}

/// The queues of devices and the time at which each is free.
struct Loads<'a> {
    devices: &'a [Device],
    queues: Vec<Vec<usize>>,
    seconds: Vec<f64>,
}

impl<'a> Loads<'a> {
    fn new(devices: &'a [Device]) -> Self {
        Self { devices, queues: vec![vec![]; devices.len()], seconds: vec![0.0; devices.len()] }
    }

    /// The device with the smallest `cost` of its load; the first of several.
    fn first_by(&self, cost: impl Fn(f64, &Device) -> f64) -> usize {
        let cost = |k: usize| cost(self.seconds[k], &self.devices[k]);
        (1..self.devices.len()).fold(0, |best, k| if cost(k) < cost(best) { k } else { best })
    }

    fn add(&mut self, device: usize, jobs: &[usize], bytes: f64) {
        self.queues[device].extend(jobs);
        self.seconds[device] += bytes / self.devices[device].rate;
    }
}
