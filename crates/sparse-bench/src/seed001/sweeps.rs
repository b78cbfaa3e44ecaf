//! The total time of the engine by ratio, size and amount, from matrices in the host's memory to CSR in the device's.

use super::data::Data;
use super::figure::Figure;
use super::processor::{AnyBackend, Compressor, Processor};
use super::{AMOUNT, Context, ORDERS, PERCENTS};
use crate::limit::Machine;
use anyhow::Result;
use backend_cpu::Cpu;
use sparse_core::Backend;
use std::hint::black_box;

/// The amounts of the slides.
pub(super) const AMOUNTS: [usize; 14] =
    [50, 100, 150, 200, 400, 600, 800, 1000, 1200, 2000, 3000, 4000, 5000, 6000];

/// Matrices of one point of a sweep.
pub(super) struct Point<'a> {
    pub(super) x: f64,
    pub(super) data: &'a Data,
    pub(super) count: usize,
}

/// 200 matrices of 1024² by their ratio of nonzeros.
pub(super) fn by_ratio(context: &Context<'_>) -> Result<Vec<Figure>> {
    let count = context.amount(AMOUNT);
    let data = PERCENTS.map(|percent| context.data(percent)).into_iter().collect::<Result<Vec<_>>>()?;
    let points = PERCENTS.iter().zip(&data).map(|(&percent, data)| Point { x: ratio(percent), data, count });
    let title = format!("total time of {count} matrices of order {}", context.order(super::ORDER));
    sweep(context, Figure::new("ratio", title, "ratio", "ms"), &points.collect::<Vec<_>>())
}

/// 200 matrices, half of their elements not zero, by their order.
pub(super) fn by_size(context: &Context<'_>) -> Result<Vec<Figure>> {
    let count = context.amount(AMOUNT);
    let data =
        ORDERS.map(|order| Data::new(context.order(order), 50)).into_iter().collect::<Result<Vec<_>>>()?;
    let points = data.iter().map(|data| Point { x: data.order as f64, data, count });
    let title = format!("total time of {count} matrices, ratio 0.5");
    sweep(context, Figure::new("size", title, "order", "ms"), &points.collect::<Vec<_>>())
}

/// 50 to 6000 matrices of 1024² with 1 % nonzeros.
pub(super) fn by_amount(context: &Context<'_>) -> Result<Vec<Figure>> {
    let data = context.data(1)?;
    let mut amounts = AMOUNTS.map(|amount| context.amount(amount)).to_vec();
    amounts.dedup();
    let points = amounts.into_iter().map(|count| Point { x: count as f64, data: &data, count });
    let title = format!("total time of matrices of order {}, ratio 0.01", data.order);
    sweep(context, Figure::new("amount", title, "amount", "ms"), &points.collect::<Vec<_>>())
}

pub(super) fn ratio(percent: u32) -> f64 {
    f64::from(percent) / 100.0
}

/// The times of all processors, with the bytes that must move, and the times that these take at least.
fn sweep(context: &Context<'_>, mut figure: Figure, points: &[Point<'_>]) -> Result<Vec<Figure>> {
    add_bytes(&mut figure, points);
    for processor in &context.processors {
        add_series(context, &mut figure, &processor.name, std::slice::from_ref(processor), points)?;
    }
    for Floor { name, rate, is_link } in floors(context)? {
        for &Point { x, data, count } in points {
            let written = if is_link { 0 } else { data.csr_bytes(count) };
            figure.add(&name, x, (data.dense_bytes(count) + written) as f64 / rate * 1e3);
        }
        figure.note(format!("{name}: {:.1} GB/s", rate / 1e9));
    }
    Ok(vec![figure])
}

/// Adds the bytes that must move at each point: those of the dense matrices and of the results, each once.
pub(super) fn add_bytes(figure: &mut Figure, points: &[Point<'_>]) {
    for &Point { x, data, count } in points {
        let bytes = data.dense_bytes(count) + data.csr_bytes(count);
        figure.add_to_table("MB read and written", x, bytes as f64 / 1e6);
    }
}

/// Adds the times of some devices together.
pub(super) fn add_series(
    context: &Context<'_>,
    figure: &mut Figure,
    name: &str,
    devices: &[Processor],
    points: &[Point<'_>],
) -> Result<()> {
    let mut compressor = Compressor::new(devices)?;
    let mut allowance = context.allowance();
    for &Point { x, data, count } in points {
        let seconds =
            allowance.measure(figure, &format!("{name} at {x}"), data.dense_bytes(count), || {
                compressor.run(data, count.min(WARM_UP * devices.len()), None)?;
                context.median(|| Ok(compressor.run(data, count, None)?.seconds))
            })?;
        if let Some(seconds) = seconds {
            figure.add(name, x, seconds * 1e3);
        }
    }
    Ok(())
}

/// Matrices of each device in the run before the first: kernels are compiled, memory is touched.
pub(super) const WARM_UP: usize = 8;

/// A rate that no processor of a kind exceeds.
struct Floor {
    name: String,
    /// Bytes per second.
    rate: f64,
    /// True if only the dense bytes pass; of memory, the results do too.
    is_link: bool,
}

/// The floors of all threads and of each device, measured now.
fn floors(context: &Context<'_>) -> Result<Vec<Floor>> {
    let rate = Machine::new(Cpu::new()?.threads())?.reading(context.arguments.smoke).bandwidth()?;
    let mut floors = vec![Floor { name: "floor: reading memory".into(), rate, is_link: false }];
    for processor in context.processors.iter().filter(|processor| processor.is_device()) {
        let (name, rate) = (format!("floor: copies to {}", processor.name), link_rate(context, processor)?);
        floors.push(Floor { name, rate, is_link: true });
    }
    Ok(floors)
}

/// Elements of a copy whose rate is measured: 64 MiB, the engine's chunk.
const CHUNK: usize = 16 << 20;

/// Bytes per second from the host to a processor's memory; unlimited for threads of the host.
pub(super) fn link_rate(context: &Context<'_>, processor: &Processor) -> Result<f64> {
    let AnyBackend::Device(device) = &processor.backend else { return Ok(f64::INFINITY) };
    let elements = vec![1.0_f32; if context.arguments.smoke { CHUNK / 256 } else { CHUNK }];
    let upload = || -> Result<()> {
        let buffer = device.upload(&elements)?;
        device.synchronize()?;
        drop(black_box(buffer));
        Ok(())
    };
    upload()?;
    Ok(size_of_val(&elements[..]) as f64 / context.timed(upload)?)
}
