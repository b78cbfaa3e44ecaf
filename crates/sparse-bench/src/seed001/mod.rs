//! `--suite seed-001`: the figures of a compressor of large amounts of dense matrices on several GPUs, on the devices
//! that are here, and a simulation of more.
//!
//! The figures are those of Hsu, Efficient strategies for compressing sparse matrices on graphics processing units,
//! master's thesis, Chang Gung University 2013. Matrices are generated, and streamed by the engine of
//! [`sparse_distrib`]. Every result is compared with the reference's.

mod carveout;
mod data;
mod figure;
mod model;
mod pinned;
mod processor;
mod products;
mod scaling;
mod scans;
mod stages;
mod sweeps;
mod tasks;

use crate::arguments::{Arguments, FigureName};
use anyhow::{Context as _, Result, ensure};
use data::Data;
use figure::Figure;
use processor::Processor;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::time::Instant;

/// The ratios of nonzeros, in percent.
const PERCENTS: [u32; 3] = [1, 10, 50];
/// The orders of matrices.
const ORDERS: [usize; 4] = [128, 256, 512, 1024];
/// The order of most figures.
const ORDER: usize = 1024;
/// The amount of most figures.
const AMOUNT: usize = 200;
/// The divisor of orders in a smoke run.
const SMOKE_DIVISOR: usize = 16;
/// The part of the amounts of a smoke run.
const SMOKE_SCALE: f64 = 0.02;
/// Seconds after which no point begins, unless the caller names others.
const SECONDS: u64 = 200;
/// Seconds that the points of one series may take.
const SERIES_SECONDS: f64 = 12.0;
/// Seconds of repeated runs of a point, and their largest number.
const REPEATED: (f64, usize) = (0.3, 5);

/// The common data of all figures.
struct Context<'a> {
    arguments: &'a Arguments,
    processors: Vec<Processor>,
    start: Instant,
}

/// A figure, or several that come from the same measurements.
type Measure = fn(&Context<'_>) -> Result<Vec<Figure>>;

const FIGURES: [(FigureName, Measure); 17] = [
    (FigureName::Ratio, sweeps::by_ratio),
    (FigureName::Size, sweeps::by_size),
    (FigureName::Amount, sweeps::by_amount),
    (FigureName::Pinned, pinned::by_scheme),
    (FigureName::Shares, stages::shares),
    (FigureName::Schemes, stages::schemes),
    (FigureName::Prefix, tasks::with_and_without_prefix_sums),
    (FigureName::Dispatch, tasks::dispatches),
    (FigureName::Tasks, tasks::inter_and_intra),
    (FigureName::Scan, scans::scans),
    (FigureName::Carveout, carveout::by_setting),
    (FigureName::Devices, scaling::by_devices),
    (FigureName::Large, scaling::large),
    (FigureName::Products, products::by_devices),
    (FigureName::Iterations, products::iterations),
    (FigureName::Policies, model::policies),
    (FigureName::Simulation, model::simulation),
];

/// Measures, prints, writes and draws the requested figures.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    ensure!(arguments.runs_generated::<f32>(), "suite seed-001 has no type but f32");
    let create = |path: &Path| File::create(path).with_context(|| format!("cannot write {}", path.display()));
    let mut json = arguments.json.as_deref().map(create).transpose()?.map(BufWriter::new);
    let context = Context { arguments, processors: Processor::all(arguments)?, start: Instant::now() };
    for (name, measure) in FIGURES {
        if !arguments.wants_figure(name) {
            continue;
        }
        for figure in measure(&context)? {
            show(&figure, arguments)?;
            if let Some(json) = &mut json {
                figure.write(json)?;
            }
        }
    }
    println!("\n{:.0} s", context.start.elapsed().as_secs_f64());
    Ok(())
}

/// Prints and draws the figures of earlier runs. False if a file has none.
pub(crate) fn show_recorded(arguments: &Arguments) -> Result<bool> {
    for path in &arguments.from {
        let Some(figures) = Figure::read(path)? else { return Ok(false) };
        figures.iter().try_for_each(|figure| show(figure, arguments))?;
    }
    Ok(true)
}

fn show(figure: &Figure, arguments: &Arguments) -> Result<()> {
    figure.print();
    arguments.plot.as_deref().map_or(Ok(()), |folder| figure.draw(folder))
}

impl Context<'_> {
    /// The number of matrices to measure for `amount` matrices on the slides: scaled, and at least 2.
    fn amount(&self, amount: usize) -> usize {
        let smoke = if self.arguments.smoke { SMOKE_SCALE } else { 1.0 };
        2.max((amount as f64 * self.arguments.scale * smoke).round() as usize)
    }

    /// The order of matrices that have this one on the slides.
    fn order(&self, order: usize) -> usize {
        if self.arguments.smoke { order / SMOKE_DIVISOR } else { order }
    }

    /// The matrices of most figures.
    fn data(&self, percent: u32) -> Result<Data> {
        Data::new(self.order(ORDER), percent)
    }

    /// True if no point is to begin.
    fn is_late(&self) -> bool {
        self.start.elapsed().as_secs() >= self.arguments.seconds.unwrap_or(SECONDS)
    }

    /// The median of the seconds of some runs; a long one is not repeated.
    fn median(&self, mut run: impl FnMut() -> Result<f64>) -> Result<f64> {
        let (budget, most) = if self.arguments.smoke { (0.0, 1) } else { REPEATED };
        let mut seconds = vec![run()?];
        while seconds.len() < most && seconds.iter().sum::<f64>() < budget {
            seconds.push(run()?);
        }
        seconds.sort_by(f64::total_cmp);
        Ok(seconds[seconds.len() / 2])
    }

    /// As [`median`](Self::median), of the wall time of `work`.
    fn timed(&self, mut work: impl FnMut() -> Result<()>) -> Result<f64> {
        self.median(|| {
            let start = Instant::now();
            work()?;
            Ok(start.elapsed().as_secs_f64())
        })
    }

    /// The time that is left to a series.
    fn allowance(&self) -> Allowance<'_> {
        Allowance { context: self, spent: 0.0, seconds_per_byte: 0.0 }
    }
}

/// The time that is left to a series of points.
struct Allowance<'a> {
    context: &'a Context<'a>,
    spent: f64,
    /// The seconds per byte of the last point.
    seconds_per_byte: f64,
}

impl Allowance<'_> {
    /// The result of `measure` and the seconds that it took with its repetitions, unless a point of `bytes` bytes would
    /// take too long, which the figure then notes.
    fn measure<R>(
        &mut self,
        figure: &mut Figure,
        point: &str,
        bytes: usize,
        measure: impl FnOnce() -> Result<R>,
    ) -> Result<Option<R>> {
        if self.context.is_late() || self.spent + self.seconds_per_byte * bytes as f64 > SERIES_SECONDS {
            figure.note(format!("left out for want of time: {point}"));
            return Ok(None);
        }
        let start = Instant::now();
        let result = measure()?;
        let seconds = start.elapsed().as_secs_f64();
        self.spent += seconds;
        self.seconds_per_byte = seconds / bytes as f64;
        Ok(Some(result))
    }
}
