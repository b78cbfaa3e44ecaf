//! `nnz tune`: the choice of algorithms, fitted to a device.

use crate::context::Context;
use crate::file;
use crate::text::table;
use anyhow::Result;
use clap::Args;
use nnz::generate::families::{Half, in_turn, members};
use nnz::{Csr, DType, Error, Matrix, Thresholds, TunedChange, Tuner};
use serde::Serialize;
use std::fmt::{Display, Formatter};
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Fits the choice of algorithms to a GPU, and stores the result for later runs
///
/// Times y = A·x and C = A·B by every algorithm, on generated matrices of many kinds and on the given ones. Then moves
/// the thresholds of the choice so that the geometric mean of the times of the chosen algorithms is least. The
/// thresholds are stored, for devices of this name and for every program that uses nnz, if plans also become faster on
/// matrices that they were not fitted to. The error bounds of results do not change.
#[derive(Debug, Args)]
pub(crate) struct Tune {
    /// Additional matrices to fit to
    matrices: Vec<PathBuf>,
    /// Seconds after which no further matrix is timed
    #[arg(long, value_name = "N", default_value_t = 120)]
    seconds: u64,
    /// Divides the size of the generated matrices: 256 for a quick look
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    shrink: u64,
    /// Removes the stored thresholds of the device, and times nothing
    #[arg(long, conflicts_with_all = ["matrices", "seconds", "shrink"])]
    forget: bool,
}

impl Tune {
    pub(crate) fn run(self, context: &Context) -> Result<()> {
        let device = context.device()?;
        let mut tuner = Tuner::new(&device)?;
        if self.forget {
            Thresholds::forget(device.caps())?;
            return Ok(());
        }
        let before = tuner.thresholds();
        let matrices = self.measure(&mut tuner, context)?;
        let spinner = context.spinner("trying thresholds");
        let tuned = tuner.fit()?;
        spinner.finish_and_clear();
        let stored = tuned.is_better() && tuned.thresholds.store(device.caps())?;
        let changed = |name: &'static str| {
            let (before, after) = (before.get(name)?, tuned.thresholds.get(name)?);
            (before != after).then_some(Threshold { name, before, after })
        };
        context.report(&Report {
            device: format!("{} {}", device.caps().backend, device.caps().device),
            matrices,
            products: tuner.products(),
            fitted: tuned.fitted.into(),
            judged: tuned.judged.into(),
            thresholds: Thresholds::names().filter_map(changed).collect(),
            stored,
        })
    }

    /// Times the products with the named matrices and with generated ones, and counts the matrices.
    fn measure(&self, tuner: &mut Tuner, context: &Context) -> Result<usize> {
        let started = Instant::now();
        let spinner = context.spinner("");
        let mut count = 0;
        for path in &self.matrices {
            spinner.set_message(path.display().to_string());
            let a = file::read(&file::open(path)?, DType::F32, &Context::host()?)?;
            count += usize::from(tuner.measure(&a, Half::Fit)?);
        }
        for member in in_turn(members(), |member| member.family.into()) {
            if started.elapsed() > Duration::from_secs(self.seconds) {
                break;
            }
            spinner.set_message(member.name());
            let a = match member.generate(self.shrink as usize) {
                Err(Error::Unsupported { .. }) => continue,
                generated => Matrix::from_typed::<Csr<f32>>(&Context::host()?, generated?)?,
            };
            count += usize::from(tuner.measure(&a, member.half)?);
        }
        spinner.finish_and_clear();
        Ok(count)
    }
}

#[derive(Debug, Serialize)]
struct Report {
    device: String,
    matrices: usize,
    products: usize,
    /// The time of the chosen algorithms over the fastest's, for matrices that thresholds were fitted to.
    fitted: Change,
    /// The change on the judging matrices.
    judged: Change,
    /// The thresholds that have changed.
    thresholds: Vec<Threshold>,
    stored: bool,
}

#[derive(Debug, Serialize)]
struct Change {
    before: f64,
    after: f64,
}

impl From<TunedChange> for Change {
    fn from(change: TunedChange) -> Self {
        Self { before: change.before, after: change.after }
    }
}

#[derive(Debug, Serialize)]
struct Threshold {
    name: &'static str,
    before: usize,
    after: usize,
}

impl Display for Report {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let Self { device, matrices, products, fitted, judged, .. } = self;
        writeln!(f, "device    {device}")?;
        writeln!(f, "timed     {products} products of {matrices} matrices")?;
        writeln!(f, "time of the chosen algorithm over the fastest's")?;
        writeln!(f, "  fitted  {:.3} before, {:.3} after", fitted.before, fitted.after)?;
        writeln!(f, "  judged  {:.3} before, {:.3} after", judged.before, judged.after)?;
        if !self.thresholds.is_empty() {
            let header = ["threshold", "before", "after"].map(String::from).to_vec();
            let rows = self.thresholds.iter().map(|threshold| {
                vec![threshold.name.into(), threshold.before.to_string(), threshold.after.to_string()]
            });
            writeln!(f, "\n{}\n", table(&std::iter::once(header).chain(rows).collect::<Vec<_>>()))?;
        }
        f.write_str(if self.stored {
            "stored for later runs; --forget removes them"
        } else if self.thresholds.is_empty() {
            "the thresholds stay as they are"
        } else {
            "not stored: there is no folder for them"
        })
    }
}
