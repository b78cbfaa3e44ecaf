//! Interleaved timing: every round runs each contender once, so that a noisy moment meets all of them.

use anyhow::Result;
use sparse_core::Choice;
use std::time::{Duration, Instant};

/// One implementation of the operation under test.
pub(crate) struct Contender<'a> {
    /// The library, and the algorithm if it has several: `ours:merge_path`.
    pub(crate) name: String,
    /// The seconds of its plan, if there is one that is made outside the timed runs.
    pub(crate) plan_seconds: Option<f64>,
    /// The choice of an automatic plan, with the reason.
    pub(crate) choice: Option<Choice>,
    /// The device memory that a run takes, if measured.
    pub(crate) peak_memory: Option<PeakMemory>,
    run: Box<dyn FnMut() -> Result<f64> + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender that is timed here.
    pub(crate) fn new(name: impl Into<String>, mut work: impl FnMut() -> Result<()> + 'a) -> Self {
        Self::external(name, move || {
            let start = Instant::now();
            work()?;
            Ok(start.elapsed().as_secs_f64())
        })
    }

    /// A contender that measures its own time in seconds.
    pub(crate) fn external(name: impl Into<String>, run: impl FnMut() -> Result<f64> + 'a) -> Self {
        Self { name: name.into(), plan_seconds: None, choice: None, peak_memory: None, run: Box::new(run) }
    }

    /// Sets the choice of its plan.
    pub(crate) fn chosen(self, choice: impl Into<Option<Choice>>) -> Self {
        Self { choice: choice.into(), ..self }
    }

    /// Sets the seconds of its plan.
    pub(crate) fn planned(self, seconds: impl Into<Option<f64>>) -> Self {
        Self { plan_seconds: seconds.into(), ..self }
    }

    /// Sets the device memory that it takes.
    pub(crate) fn taking(self, peak_memory: Option<PeakMemory>) -> Self {
        Self { peak_memory, ..self }
    }
}

/// Device memory in use during a run, without the operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct PeakMemory {
    /// The most bytes at a time: the plan, the result and everything else.
    pub(crate) bytes: u64,
    /// Bytes without the arrays of the result.
    pub(crate) workspace_bytes: u64,
}

/// The seconds of the timed runs of one contender.
#[derive(Debug, Clone, Copy, serde::Serialize, serde::Deserialize)]
pub(crate) struct Times {
    pub(crate) median: f64,
    pub(crate) p10: f64,
    pub(crate) p90: f64,
}

impl Times {
    fn of(mut seconds: Vec<f64>) -> Self {
        seconds.sort_by(f64::total_cmp);
        let quantile = |q: f64| seconds[((seconds.len() - 1) as f64 * q).round() as usize];
        Self { median: quantile(0.5), p10: quantile(0.1), p90: quantile(0.9) }
    }
}

/// The number of runs of contenders.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rounds {
    /// The most timed runs of each.
    pub(crate) most: usize,
    /// Seconds of timed runs after which there are fewer of them.
    pub(crate) budget: f64,
    /// Seconds of untimed runs before each timed one, [`MAX_UNTIMED`] runs at most: so a contender finds its own state
    /// of the caches.
    pub(crate) warm_up: f64,
    /// The pause after each contender, in which its threads go to sleep and leave the cores to the next.
    pub(crate) pause: Duration,
}

/// The most runs before a timed one.
const MAX_UNTIMED: usize = 10;

impl Rounds {
    /// Up to `most` consecutive runs, in up to `budget` seconds.
    pub(crate) fn new(most: usize, budget: f64) -> Self {
        Self { most, budget, warm_up: 0.0, pause: Duration::ZERO }
    }

    /// The runs before a timed one of a contender that takes `seconds`.
    fn untimed(self, seconds: f64) -> usize {
        MAX_UNTIMED.min((self.warm_up / seconds) as usize)
    }

    /// The timed runs of a contender that takes `seconds`: five, or as many as fit.
    fn of(self, seconds: f64) -> usize {
        self.most.min(5.max((self.budget / seconds) as usize))
    }
}

impl Contender<'_> {
    /// The seconds of a run after `untimed` others.
    fn seconds(&mut self, untimed: usize, pause: Duration) -> Result<f64> {
        for _ in 0..untimed {
            (self.run)()?;
        }
        let seconds = (self.run)()?;
        std::thread::sleep(pause);
        Ok(seconds)
    }
}

/// Runs each once to warm up and once to estimate its time, then in timed rounds; every round begins with another
/// contender, so that not always the same one follows the pause.
pub(crate) fn interleave(contenders: &mut [Contender<'_>], rounds: Rounds) -> Result<Vec<Times>> {
    let mut first = vec![];
    for contender in contenders.iter_mut() {
        first.push(contender.seconds(1, rounds.pause)?);
    }
    let mut seconds = vec![vec![]; contenders.len()];
    for round in 0..rounds.most {
        for turn in 0..contenders.len() {
            let k = (round + turn) % contenders.len();
            if round < rounds.of(first[k]) {
                seconds[k].push(contenders[k].seconds(rounds.untimed(first[k]), rounds.pause)?);
            }
        }
    }
    Ok(seconds.into_iter().map(Times::of).collect())
}
