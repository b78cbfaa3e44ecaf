//! Conversions whose arrays are compared with the reference's, then timed.

use super::bench::Bench;
use super::device_timer::DeviceTimer;
use crate::conversion::{Arrays, Conversion};
use crate::measure::Contender;
use crate::report::{Case, Report};
use anyhow::{Result, ensure};

/// Checks every conversion and times them, ours first. `bytes` have to move. Errors of other libraries are printed and
/// not timed.
pub(super) fn compare<D: DeviceTimer>(
    bench: &Bench<'_, D>,
    report: &mut Report,
    (op, workload, bytes): (&str, &str, usize),
    expected: &Arrays,
    mut conversions: Vec<Conversion<'_>>,
) -> Result<()> {
    let mut wrong = vec![];
    for Conversion { name, convert, .. } in &mut conversions {
        convert.run()?;
        if let Some(difference) = convert.arrays()?.difference(expected) {
            ensure!(!name.starts_with("ours"), "{op} {workload}: {name}: {difference}");
            eprintln!("left out: {op} {workload}: {name}: {difference}");
            wrong.push(name.clone());
        }
    }
    conversions.retain(|conversion| !wrong.contains(&conversion.name));
    let contenders = conversions.iter_mut().map(|conversion| contender(bench, conversion)).collect();
    report.compare(Case::streams(op, workload, bytes, expected.values.len()), contenders)
}

/// Times one run at a time, since it may wait for the device, after one that is not timed: so it finds its own state of
/// the caches and of the memory.
fn contender<'b, D: DeviceTimer>(
    bench: &'b Bench<'_, D>,
    conversion: &'b mut Conversion<'_>,
) -> Contender<'b> {
    let Conversion { name, plan_seconds, convert } = conversion;
    let seconds = move || {
        let mut own = None;
        convert.run()?;
        let seconds = D::seconds(&bench.device, &mut || convert.run().map(|seconds| own = seconds))?;
        Ok(own.unwrap_or(seconds))
    };
    Contender::external(name.as_str(), seconds).planned(*plan_seconds)
}
