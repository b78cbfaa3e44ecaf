//! Conversions whose arrays are compared with the reference's, then timed.

use super::bench::Bench;
use super::device_timer::DeviceTimer;
use crate::conversion::{Arrays, Conversion, Started};
use crate::measure::{Contender, PeakMemory};
use crate::report::{Case, Report};
use crate::value::Value;
use anyhow::{Result, bail, ensure};

/// A conversion whose result was checked.
struct Checked<'a, T> {
    name: String,
    started: Started<'a, T>,
    peak_memory: Option<PeakMemory>,
}

/// Checks every conversion and times them, ours first. `bytes` have to move. Errors of other libraries are printed and
/// not timed.
pub(super) fn compare<D: DeviceTimer, T: Value>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    (op, workload, bytes): (&str, &str, usize),
    expected: &Arrays<T>,
    conversions: Vec<Conversion<'_, T>>,
) -> Result<()> {
    let mut checked = vec![];
    for conversion in conversions {
        let name = conversion.name.clone();
        match Checked::new(bench, conversion, expected) {
            Ok(conversion) => checked.push(conversion),
            Err(error) => {
                let wrong = format!("{op} {workload}: {name}: {error:#}");
                ensure!(!name.starts_with("ours"), wrong);
                eprintln!("left out: {wrong}");
            }
        }
    }
    let contenders = checked.iter_mut().map(|conversion| conversion.contender(bench)).collect();
    report.compare(Case::streams(op, workload, bytes, expected.values.len()), contenders)
}

impl<'a, T: Value> Checked<'a, T> {
    /// Starts a conversion, and measures the memory of its plan and first run; an error unless its arrays are the
    /// expected ones.
    fn new<D: DeviceTimer>(
        bench: &Bench<'_, D>,
        conversion: Conversion<'a, T>,
        expected: &Arrays<T>,
    ) -> Result<Self> {
        let device = &bench.device;
        let before = D::bytes_in_use(device)?;
        let mut started = (conversion.start)()?;
        let peak = D::peak_bytes(device, &mut || started.convert.run().map(drop))?;
        if let Some(difference) = started.convert.arrays()?.difference(expected) {
            bail!(difference);
        }
        let taken = before.zip(peak).map(|(before, peak)| peak.saturating_sub(before));
        let peak_memory = taken.and_then(|bytes| peak_memory(bytes, expected.bytes()));
        Ok(Self { name: conversion.name, started, peak_memory })
    }

    /// Times one run at a time, since it may wait for the device, after one that is not timed: so it finds its own
    /// state of the caches and of the memory.
    fn contender<'b, D: DeviceTimer>(&'b mut self, bench: &'b Bench<'_, D>) -> Contender<'b> {
        let Started { convert, plan_seconds } = &mut self.started;
        let seconds = move || {
            let mut own = None;
            convert.run()?;
            let seconds = D::seconds(&bench.device, &mut || convert.run().map(|seconds| own = seconds))?;
            Ok(own.unwrap_or(seconds))
        };
        Contender::external(&self.name, seconds).planned(*plan_seconds).taking(self.peak_memory)
    }
}

/// `bytes` of which `result` are the arrays of the result; `None` if these are elsewhere, as those of another process.
fn peak_memory(bytes: u64, result: u64) -> Option<PeakMemory> {
    Some(PeakMemory { bytes, workspace_bytes: bytes.checked_sub(result)? })
}
