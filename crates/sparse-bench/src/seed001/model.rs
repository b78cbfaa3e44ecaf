//! The simulator beside measurements of this machine, then for machines with more devices; and the table of policies.

use super::data::Data;
use super::figure::Figure;
use super::processor::{Compressor, Processor};
use super::scaling::{Group, groups, numbers, seconds};
use super::sweeps::link_rate;
use super::{Context, ORDER};
use crate::workload::threads;
use anyhow::{Context as _, Result, anyhow};
use backend_cpu::Cpu;
use sparse_core::op::{DenseToCompressedPlan, Keep};
use sparse_core::{Csr, DenseView, PlanOptions, Row};
use sparse_distrib::partition::Part;
use sparse_distrib::schedule::{Device, Job, Policy};
use sparse_distrib::simulate::{Machine, Stage};
use sparse_distrib::wire::bitmap;
use sparse_distrib::{Density, Scheme, Source};
use std::fmt::{Display, Formatter};
use std::thread;
use std::time::Instant;

const GB: u64 = 1_000_000_000;
const MIB: u64 = 1 << 20;
/// Devices by their memory and the rates of their links.
const M2070: Device = Device { memory_bytes: 6 * GB, rate: 5.7e9 };
const H200: Device = Device { memory_bytes: 143_771 * MIB, rate: 55e9 };
const H100: Device = Device { memory_bytes: 81_559 * MIB, rate: 55e9 };
const L4: Device = Device { memory_bytes: 23_034 * MIB, rate: 26e9 };

/// Policies by their names in the table; `None` is the engine's choice.
const POLICIES: [(&str, Option<Policy>); 7] = [
    ("type1", Some(Policy::Type1)),
    ("type2 by count", Some(Policy::Type2ByCount)),
    ("type2 by bytes", Some(Policy::Type2ByBytes)),
    ("lpt", Some(Policy::Lpt)),
    ("pull, 64 MiB", Some(PULL)),
    ("pull, 16 MiB", Some(Policy::Pull { chunk_bytes: 16 * MIB })),
    ("auto", None),
];

/// The choice of the engine where all rates are known.
const CHOSEN: Policy = Policy::Lpt;
/// The default of the engine where rates are not known.
const PULL: Policy = Policy::Pull { chunk_bytes: 64 * MIB };

/// The amount that the simulator is calibrated with, and those that it is compared with.
const CALIBRATED: usize = 200;
const COMPARED: [usize; 4] = [50, 100, 400, 600];
/// The numbers of devices of the extended curves.
const DEVICES: [usize; 10] = [1, 2, 3, 4, 6, 8, 12, 24, 100, 1000];

/// Matrices of some order, half of their elements not zero: compressed they are as long as dense.
fn job(order: usize) -> Job {
    let bytes = (order * order * size_of::<f32>()) as u64;
    Job { bytes, resident_bytes: 2 * bytes }
}

/// The efficiency of every policy on known machines, simulated, and its time here.
pub(super) fn policies(context: &Context<'_>) -> Result<Vec<Figure>> {
    let equal = vec![job(ORDER); 6000];
    let mut next = crate::workload::random(1);
    let mixed: Vec<Job> = (0..6000).map(|_| job(128 << (next() >> 30))).collect();
    let unlike = [H200, H100, L4, L4];
    let machines: [(&str, &[Job], &[Device]); 5] = [
        ("6000 equal, 12 x M2070", &equal, &[M2070; 12]),
        ("6000 equal, 4 x H200", &equal, &[H200; 4]),
        ("6000 equal, H200 + H100 + 2 x L4", &equal, &unlike),
        ("mixed sizes, 12 x M2070", &mixed, &[M2070; 12]),
        ("mixed sizes, H200 + H100 + 2 x L4", &mixed, &unlike),
    ];
    let title = "efficiency of policies, simulated: the time of a fluid over that of the last device";
    let mut figure = Figure::new("policies", title, "machine", "%");
    for (number, (name, jobs, devices)) in machines.into_iter().enumerate() {
        let machine = Machine::new(devices.to_vec());
        for (policy_name, policy) in POLICIES {
            let efficiency = machine.simulate(jobs, policy.unwrap_or(CHOSEN))?.efficiency();
            figure.add_to_table(policy_name, number as f64 + 1.0, (1000.0 * efficiency).round() / 10.0);
        }
        figure.note(format!("machine {}: {name}", number + 1));
    }
    figure.note("auto: what the engine chooses, lpt where the rates of all devices are known");
    Ok(vec![figure, policies_here(context)?])
}

/// The time of every policy on the largest group of devices, measured and simulated.
fn policies_here(context: &Context<'_>) -> Result<Figure> {
    let groups = groups(context)?;
    let group = groups.iter().max_by_key(|group| group.devices.len()).context("no devices")?;
    let data = context.data(10)?;
    let count = context.amount(CALIBRATED);
    let devices = group.devices.len();
    let title = format!("time of policies on {devices} x {}, {count} matrices", group.name);
    let mut figure = Figure::new("policies-here", title, "1 measured, 2 simulated", "ms");
    let calibration = Calibration::new(context, &group.devices[0], &data)?;
    let machine = calibration.machine(devices);
    let rated: Vec<_> =
        group.devices.iter().map(|device| (device.clone(), calibration.device.rate)).collect();
    let mut compressor = Compressor::with_rates(&rated)?;
    compressor.run(&data, count, Some(PULL))?;
    for (name, policy) in POLICIES {
        let measured = context.median(|| Ok(compressor.run(&data, count, policy)?.seconds))?;
        let simulated = machine.simulate(&jobs(&data, count), policy.unwrap_or(CHOSEN))?;
        figure.add_to_table(name, 1.0, measured * 1e3);
        figure.add_to_table(name, 2.0, simulated.seconds() * 1e3);
    }
    Ok(figure)
}

fn jobs(data: &Data, count: usize) -> Vec<Job> {
    vec![job(data.order); count]
}

/// The rates of a device in a run of the engine.
struct Calibration {
    /// Copies included.
    device: Device,
    chunk_seconds: f64,
    /// The threads that fill slots.
    host: Stage,
}

impl Calibration {
    /// Computes the seconds of a byte and of a chunk from the busy seconds of two runs, one of them with chunks of a
    /// single matrix.
    fn new(context: &Context<'_>, processor: &Processor, data: &Data) -> Result<Self> {
        let count = context.amount(CALIBRATED);
        let mut compressor = Compressor::new(std::slice::from_ref(processor))?;
        let memory_bytes = u64::MAX;
        let counted = Machine::new(vec![Device { memory_bytes, rate: 1.0 }]);
        let mut run = |chunk_bytes| -> Result<(f64, f64)> {
            let policy = Policy::Pull { chunk_bytes };
            let chunks = counted.simulate(&jobs(data, count), policy)?.devices[0].chunks;
            compressor.run(data, count, Some(policy))?;
            let busy =
                context.median(|| Ok(compressor.run(data, count, Some(policy))?.devices[0].busy_seconds))?;
            Ok((busy, chunks as f64))
        };
        let (few, many) = (run(64 * MIB)?, run(job(data.order).bytes)?);
        // Half of a chunk's time at most: noise must leave some for its bytes.
        let chunk_seconds = ((many.0 - few.0) / (many.1 - few.1).max(1.0)).clamp(0.0, 0.5 * few.0 / few.1);
        let rate = data.dense_bytes(count) as f64 / (few.0 - few.1 * chunk_seconds);
        let (each, shared) = (fill_rate(context, data, 1)?, fill_rate(context, data, threads())?);
        let host = Stage { each, shared: shared.max(each) };
        Ok(Self { device: Device { memory_bytes, rate }, chunk_seconds, host })
    }

    /// A machine of such devices.
    fn machine(&self, devices: usize) -> Machine {
        let machine = Machine::new(vec![self.device; devices]);
        Machine { host: self.host, chunk_seconds: self.chunk_seconds, ..machine }
    }
}

/// Bytes per second of `threads` threads that read matrices from the source.
fn fill_rate(context: &Context<'_>, data: &Data, threads: usize) -> Result<f64> {
    let (count, size) = (16, data.order * data.order);
    let source = data.source(count);
    let mut slots = vec![vec![0.0; count * size]; threads];
    let fill = |slot: &mut Vec<f32>| {
        slot.chunks_exact_mut(size).enumerate().try_for_each(|(item, elements)| source.fill(item, elements))
    };
    let seconds = context.timed(|| {
        thread::scope(|scope| {
            let running: Vec<_> = slots.iter_mut().map(|slot| scope.spawn(|| fill(slot))).collect();
            running
                .into_iter()
                .try_for_each(|thread| Ok(thread.join().map_err(|_| anyhow!("a thread panicked"))??))
        })
    })?;
    Ok((threads * data.dense_bytes(count)) as f64 / seconds)
}

/// The simulator beside measurements, and its predictions for more devices.
pub(super) fn simulation(context: &Context<'_>) -> Result<Vec<Figure>> {
    let data = context.data(50)?;
    let what = format!("order {}, ratio 0.5", data.order);
    let mut by_amount =
        Figure::new("simulated-amount", format!("measured and simulated by amount, {what}"), "amount", "ms");
    let count = context.amount(CALIBRATED);
    let title = format!("measured and simulated by devices, {count} matrices of {what}");
    let mut by_devices = Figure::new("simulated-devices", title, "devices", "ms");
    let mut last = None;
    for group in groups(context)? {
        if context.is_late() {
            by_amount.note(format!("left out for want of time: {}", group.name));
            continue;
        }
        let calibration = Calibration::new(context, &group.devices[0], &data)?;
        compare(context, &group, &calibration, &data, [&mut by_amount, &mut by_devices])?;
        by_amount.note(format!(
            "{}: {:.2} GB/s with copies, {:.1} us a chunk; slots are filled at {:.1} GB/s by one thread, {:.1} by all",
            group.name,
            calibration.device.rate / 1e9,
            calibration.chunk_seconds * 1e6,
            calibration.host.each / 1e9,
            calibration.host.shared / 1e9
        ));
        last = Some((group, calibration));
    }
    let mut figures = vec![by_amount, by_devices];
    if let Some((group, calibration)) = last {
        figures.extend(extended(context, &group, &calibration, &data)?);
    }
    Ok(figures)
}

/// Adds measured and simulated times, and the error of these in percent, of one device by amount and of all by number.
fn compare(
    context: &Context<'_>,
    group: &Group,
    calibration: &Calibration,
    data: &Data,
    [by_amount, by_devices]: [&mut Figure; 2],
) -> Result<()> {
    let add = |figure: &mut Figure, x: usize, devices: usize, count: usize| -> Result<()> {
        let measured = seconds(context, &group.devices[..devices], data, count)?;
        let simulated = calibration.machine(devices).simulate(&jobs(data, count), PULL)?.seconds();
        let name = &group.name;
        figure.add(format!("{name}: measured"), x as f64, measured * 1e3);
        figure.add(format!("{name}: simulated"), x as f64, simulated * 1e3);
        let error = 100.0 * (simulated / measured - 1.0);
        figure.add_to_table(format!("{name}: error, %"), x as f64, error);
        Ok(())
    };
    for count in COMPARED.map(|amount| context.amount(amount)) {
        add(by_amount, count, 1, count)?;
    }
    for devices in numbers(group.devices.len()) {
        add(by_devices, devices, devices, context.amount(CALIBRATED))?;
    }
    Ok(())
}

/// The time and the speed-up of many devices like those of a group, simulated for the slides' 1000 and 6000 matrices.
fn extended(
    context: &Context<'_>,
    group: &Group,
    calibration: &Calibration,
    data: &Data,
) -> Result<Vec<Figure>> {
    let rates = MeasuredRates::new(context, group, calibration, data)?;
    let count = context.amount(CALIBRATED);
    let engine_rate = |processor| -> Result<f64> {
        let seconds = seconds(context, std::slice::from_ref(processor), data, count)?;
        Ok(data.dense_bytes(count) as f64 / seconds)
    };
    let (scalar, all) = (engine_rate(&context.processors[0])?, engine_rate(&context.processors[1])?);
    let mut figures = vec![];
    for amount in [1000, 6000] {
        let like = format!("on devices like {}", group.name);
        let what = format!("{amount} matrices of order {}, ratio 0.5, {like}", data.order);
        let name = format!("extended-{amount}");
        let mut times = Figure::new(&name, format!("simulated time, {what}"), "devices", "ms");
        let (name, unit) = (format!("{name}-speedup"), "x one portable thread");
        let mut speedups = Figure::new(&name, format!("simulated speed-up, {what}"), "devices", unit);
        let jobs = jobs(data, amount);
        let bytes = data.dense_bytes(1) as f64 * amount as f64;
        for devices in DEVICES {
            for (variant, machine) in rates.machines(devices) {
                let seconds = machine.simulate(&jobs, PULL)?.seconds();
                times.add(variant, devices as f64, seconds * 1e3);
                speedups.add(variant, devices as f64, bytes / scalar / seconds);
            }
        }
        times.note(rates.to_string());
        times.note("a device is taken to unpack bitmaps as fast as it compresses");
        speedups
            .note(format!("all threads with vector instructions: {:.2} x one portable thread", all / scalar));
        figures.extend([times, speedups]);
    }
    Ok(figures)
}

/// Rates of a machine with a device, in dense bytes per second, of which machines with many devices are made.
struct MeasuredRates<'a> {
    calibration: &'a Calibration,
    /// The rate of a link.
    link: f64,
    /// The rate of a device without its link.
    device: f64,
    /// The rate at which the host compresses to bitmaps.
    bitmap: f64,
}

impl<'a> MeasuredRates<'a> {
    fn new(context: &Context<'_>, group: &Group, calibration: &'a Calibration, data: &Data) -> Result<Self> {
        let link = link_rate(context, &group.devices[0])?;
        // A calibrated rate has the copy in it; of threads of the host it is no part.
        let device = 1.0 / (1.0 / calibration.device.rate - 1.0 / link);
        Ok(Self {
            calibration,
            link: if link.is_finite() { link } else { calibration.host.shared },
            device: if device > 0.0 { device } else { calibration.device.rate },
            bitmap: bitmap_rate(context, data)?,
        })
    }

    /// Machines with this number of devices, by scheme and by links.
    fn machines(&self, devices: usize) -> [(&'static str, Machine); 4] {
        let Self { calibration, link, device, bitmap } = *self;
        let machine = Machine {
            chunk_seconds: calibration.chunk_seconds,
            ..Machine::new(vec![Device { rate: device, ..calibration.device }; devices])
        };
        let density = Density { nonzeros: 0.5, value_bytes: 4.0, index_bytes: 4.0 };
        let wire_ratio = (Scheme::Bitmap.info().wire_ratio)(density);
        let sfc = Machine { host: calibration.host, ..machine.clone() };
        let compressed = Machine { host: Stage::shared(bitmap), wire_ratio, ..machine };
        [
            ("sfc, a link each", Machine { link: Stage::each(link), ..sfc.clone() }),
            ("sfc, one link", Machine { link: Stage::shared(link), ..sfc }),
            ("bitmap, a link each", Machine { link: Stage::each(link), ..compressed.clone() }),
            ("bitmap, one link", Machine { link: Stage::shared(link), ..compressed }),
        ]
    }
}

impl Display for MeasuredRates<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let fill = self.calibration.host.shared;
        let [link, device, fill, bitmap] = [self.link, self.device, fill, self.bitmap].map(|rate| rate / 1e9);
        write!(f, "a link: {link:.1} GB/s; a device: {device:.1} GB/s; ")?;
        write!(f, "the host fills at {fill:.1} GB/s and compresses to bitmaps at {bitmap:.1} GB/s")
    }
}

/// Dense bytes per second of all threads that compress matrices and encode them as bitmaps.
fn bitmap_rate(context: &Context<'_>, data: &Data) -> Result<f64> {
    let (host, n, count) = (Cpu::new()?, data.order, 8);
    let view = |item| DenseView::row_major(data.member(item), n, n);
    let (part, mut message) = (Part::whole((n, n)), vec![]);
    let mut plan = DenseToCompressedPlan::<_, Row, f32, i32, i32>::new(
        &host,
        view(0)?,
        Keep::NonZero,
        &PlanOptions::default(),
    )?;
    let seconds = context.median(|| {
        let start = Instant::now();
        for item in 0..count {
            let block: Csr<f32> = plan.run(view(item)?)?;
            bitmap::encode_into(&part, &block, &mut message)?;
        }
        Ok(start.elapsed().as_secs_f64())
    })?;
    Ok(data.dense_bytes(count) as f64 / seconds)
}
