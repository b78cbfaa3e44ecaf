//! The total time of the engine by the number of devices, and its speed-up over one thread and over all.

use super::data::Data;
use super::figure::Figure;
use super::processor::{Compressor, Processor};
use super::sweeps::{AMOUNTS, Point, WARM_UP, add_bytes, add_series};
use super::{Context, ORDER};
use anyhow::Result;
use backend_cpu::Simd;

/// The amount of the slides.
const AMOUNT: usize = 1000;
/// The reciprocal of the part of the host's memory that results may take.
const MEMORY_PART: u64 = 6;

/// Equal devices.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) devices: Vec<Processor>,
}

/// Threads of the host as devices, and the devices of each library.
pub(super) fn groups(context: &Context<'_>) -> Result<Vec<Group>> {
    let threads = context.arguments.threads.unwrap_or_else(crate::workload::threads);
    let one_thread = || Processor::cpu(1, Simd::detect());
    let devices = (0..threads).map(|_| one_thread()).collect::<Result<Vec<_>>>()?;
    let mut groups = vec![Group { name: devices[0].name.clone(), devices }];
    for device in context.processors.iter().filter(|processor| processor.is_device()) {
        let library = device.name.split(':').next().unwrap_or_default();
        match groups.iter_mut().find(|group| group.name == library) {
            Some(group) => group.devices.push(device.clone()),
            None => groups.push(Group { name: library.into(), devices: vec![device.clone()] }),
        }
    }
    Ok(groups)
}

/// The numbers of devices up to `most`: powers of two, and `most`.
pub(super) fn numbers(most: usize) -> Vec<usize> {
    let mut numbers: Vec<_> = (0..).map(|k| 1 << k).take_while(|&number| number < most).collect();
    numbers.push(most);
    numbers
}

/// 1000 matrices of 1024², half of their elements not zero, by the number of devices.
pub(super) fn by_devices(context: &Context<'_>) -> Result<Vec<Figure>> {
    let data = context.data(50)?;
    let count = fitting(&data, context.amount(AMOUNT));
    let what = format!("{count} matrices of order {}, ratio 0.5", data.order);
    let mut times = Figure::new("devices", format!("total time of {what}"), "devices", "ms");
    let mut speedups = Figure::new("speedup", format!("speed-up, {what}"), "devices", "x");
    let mut baselines = vec![];
    for processor in &context.processors[..2] {
        let seconds = seconds(context, std::slice::from_ref(processor), &data, count)?;
        times.add(format!("one engine of {}", processor.name), 1.0, seconds * 1e3);
        baselines.push((&processor.name, seconds));
    }
    for group in groups(context)? {
        for number in numbers(group.devices.len()) {
            if context.is_late() {
                times.note(format!("left out for want of time: {number} x {}", group.name));
                continue;
            }
            let seconds = seconds(context, &group.devices[..number], &data, count)?;
            times.add(&group.name, number as f64, seconds * 1e3);
            for (name, baseline) in &baselines {
                speedups.add(format!("{}: over {name}", group.name), number as f64, baseline / seconds);
            }
        }
    }
    Ok(vec![times, speedups])
}

/// 50 to 6000 matrices of 1024², half of their elements not zero, on all threads and on all devices of each library.
pub(super) fn large(context: &Context<'_>) -> Result<Vec<Figure>> {
    let data = context.data(50)?;
    let title = format!("total time of matrices of order {}, ratio 0.5", context.order(ORDER));
    let mut figure = Figure::new("large", title, "amount", "ms");
    let mut amounts = AMOUNTS.map(|amount| fitting(&data, context.amount(amount))).to_vec();
    amounts.dedup();
    let largest = context.amount(AMOUNTS[AMOUNTS.len() - 1]);
    if amounts.last() != Some(&largest) {
        figure.note(format!(
            "up to {largest} matrices were asked for: their results do not fit a sixth of the memory"
        ));
    }
    let groups = groups(context)?;
    let points: Vec<_> =
        amounts.into_iter().map(|count| Point { x: count as f64, data: &data, count }).collect();
    add_bytes(&mut figure, &points);
    let all_threads = std::slice::from_ref(&context.processors[1]);
    let devices = groups[1..].iter().map(|group| (&group.name, &group.devices[..]));
    for (name, devices) in std::iter::once((&all_threads[0].name, all_threads)).chain(devices) {
        add_series(context, &mut figure, &format!("{} x {name}", devices.len()), devices, &points)?;
    }
    Ok(vec![figure])
}

/// The seconds of some devices together.
pub(super) fn seconds(
    context: &Context<'_>,
    devices: &[Processor],
    data: &Data,
    count: usize,
) -> Result<f64> {
    let mut compressor = Compressor::new(devices)?;
    compressor.run(data, (WARM_UP * devices.len()).min(count), None)?;
    context.median(|| Ok(compressor.run(data, count, None)?.seconds))
}

/// The number of matrices, up to `count`, whose results leave most of the host's memory free; `count` where the system
/// does not tell the free memory.
fn fitting(data: &Data, count: usize) -> usize {
    let each = (data.csr_bytes(count) / count).max(1) as u64;
    match available_memory() {
        Some(bytes) => count.min((bytes / MEMORY_PART / each) as usize).max(2),
        None => count,
    }
}

/// Bytes of the host's memory that are not in use, as Linux counts them.
fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kib| kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_devices_end_with_all_of_them() {
        assert_eq!([1, 2, 3, 8].map(numbers), [vec![1], vec![1, 2], vec![1, 2, 3], vec![1, 2, 4, 8]]);
    }
}
