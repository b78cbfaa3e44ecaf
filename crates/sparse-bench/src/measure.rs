//! Interleaved timing: every round runs each contender once, so that a noisy moment meets all of them.

use anyhow::Result;
use std::time::Instant;

/// One implementation of the operation under test.
pub(crate) struct Contender<'a> {
    /// The library, and the algorithm where it has several: `ours:merge_path`.
    pub(crate) name: String,
    run: Box<dyn FnMut() -> Result<f64> + 'a>,
}

impl<'a> Contender<'a> {
    /// A contender that is timed here.
    pub(crate) fn new(name: impl Into<String>, mut work: impl FnMut() -> Result<()> + 'a) -> Self {
        let run = move || {
            let start = Instant::now();
            work()?;
            Ok(start.elapsed().as_secs_f64())
        };
        Self { name: name.into(), run: Box::new(run) }
    }

    /// A contender that tells its own time in seconds.
    pub(crate) fn external(name: impl Into<String>, run: impl FnMut() -> Result<f64> + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }
}

/// What the timed runs of one contender took, in seconds.
#[derive(Debug, Clone, Copy, serde::Serialize)]
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

/// Two warm-up rounds, then `rounds` timed ones; a contender that takes long runs less often, five times at least.
pub(crate) fn interleave(contenders: &mut [Contender<'_>], rounds: usize) -> Result<Vec<Times>> {
    const LONG: f64 = 0.5;
    let mut seconds = vec![Vec::with_capacity(rounds); contenders.len()];
    let mut wanted = vec![rounds; contenders.len()];
    for (contender, wanted) in contenders.iter_mut().zip(&mut wanted) {
        (contender.run)()?;
        if (contender.run)()? > LONG {
            *wanted = rounds.min(5);
        }
    }
    for round in 0..rounds {
        for ((contender, wanted), seconds) in contenders.iter_mut().zip(&wanted).zip(&mut seconds) {
            if round < *wanted {
                seconds.push((contender.run)()?);
            }
        }
    }
    Ok(seconds.into_iter().map(Times::of).collect())
}
