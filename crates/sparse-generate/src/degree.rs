//! Row lengths with an exact sum.

use super::random::Stream;
use sparse_core::error::{Error, Result};
use std::fmt::{Display, Formatter};

/// A distribution of row lengths, truncated to a range.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Law {
    /// `exp(mu + sigma·z)` with a standard normal `z`.
    LogNormal {
        /// The mean of the logarithm.
        mu: f64,
        /// The standard deviation of the logarithm.
        sigma: f64,
    },
    /// Density proportional to `x^−exponent`; the exponent is not 1, and the range starts above 0.
    PowerLaw {
        /// The exponent of the density.
        exponent: f64,
    },
}

impl Display for Law {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::LogNormal { mu, sigma } => write!(f, "a log-normal law of mu {mu} and sigma {sigma}"),
            Self::PowerLaw { exponent } => write!(f, "a power law of exponent {exponent}"),
        }
    }
}

impl Law {
    /// Draws outside the range after which the nearest end of the range is taken.
    const TRIES: usize = 64;

    /// A number from `least` to below `most + 1`.
    fn draw(self, (least, most): (usize, usize), stream: &mut Stream) -> f64 {
        if least == most {
            return least as f64;
        }
        let (low, high) = (least as f64, (most + 1) as f64);
        match self {
            Self::LogNormal { mu, sigma } => {
                let mut draws = (0..Self::TRIES).map(|_| libm::exp(mu + sigma * stream.normal()));
                draws
                    .find(|x| (low..high).contains(x))
                    .unwrap_or(libm::exp(mu).clamp(low.max(1.0), most as f64))
            }
            Self::PowerLaw { exponent } => {
                let power = 1.0 - exponent;
                let (at_low, at_high) = (libm::pow(low, power), libm::pow(high, power));
                libm::pow(at_low + stream.unit() * (at_high - at_low), 1.0 / power)
            }
        }
    }
}

/// Rows of given lengths: `rows` of them, from `least` to `most` entries by a power law of exponent 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tail {
    /// Number of rows.
    pub rows: usize,
    /// The fewest entries.
    pub least: usize,
    /// The most entries.
    pub most: usize,
}

impl Tail {
    fn draw(&self, longest: usize, stream: &mut Stream) -> usize {
        let (least, most) = (self.least.min(longest), self.most.min(longest));
        (Law::PowerLaw { exponent: 2.0 }.draw((least, most), stream) as usize).clamp(least, most)
    }
}

/// A distribution of the row lengths of a graph.
///
/// One row has `longest` entries, [`Tail`]s pin some others, and the rest, the body, is drawn from `law` within
/// `least` and `most` and multiplied by the factor that brings the sum to exactly `nnz`; the multiples are rounded down
/// and stay within `least` and `most`. At last all lengths are put into a random order.
///
/// A divisor `d` makes a smaller graph of the same kind: `n/d` rows, `nnz/d` entries, `1/d` of each tail's rows, the
/// same law. No row is longer than 3/5 of the columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RowLengths<'a> {
    /// Rows and columns.
    pub n: usize,
    /// The sum of all lengths.
    pub nnz: usize,
    /// The length of the longest row.
    pub longest: usize,
    /// Rows besides the body.
    pub tails: &'a [Tail],
    /// The distribution of the body.
    pub law: Law,
    /// The shortest row of the body.
    pub least: usize,
    /// The longest row of the body.
    pub most: usize,
}

impl RowLengths<'_> {
    /// Rows and entries of the graph that is `divisor` times smaller; a divisor of 0 counts as 1.
    ///
    /// ```
    /// use sparse_generate::stand_in;
    ///
    /// let lengths = stand_in::find("yelp")?.recipe.lengths;
    /// assert_eq!(lengths.size(1), (716_847, 13_954_819));
    /// assert_eq!(lengths.size(0), lengths.size(1));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn size(&self, divisor: usize) -> (usize, usize) {
        let divisor = divisor.max(1);
        (self.n / divisor, self.nnz / divisor)
    }

    /// The longest row of the graph that is `divisor` times smaller; a divisor of 0 counts as 1.
    ///
    /// ```
    /// use sparse_generate::stand_in;
    ///
    /// let lengths = stand_in::find("yelp")?.recipe.lengths;
    /// assert_eq!((lengths.longest(1), lengths.longest(1000)), (4886, 429)); // 3/5 of 716 columns
    /// assert_eq!(lengths.longest(0), lengths.longest(1));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    pub fn longest(&self, divisor: usize) -> usize {
        self.longest.min(self.size(divisor).0.saturating_mul(3) / 5)
    }

    /// One length for each row.
    pub(super) fn draw(&self, divisor: usize, stream: &mut Stream) -> Result<Vec<u32>> {
        let (n, nnz) = self.size(divisor);
        let longest = self.longest(divisor);
        let mut lengths = vec![longest as u32];
        for tail in self.tails {
            let rows = tail.rows.div_ceil(divisor);
            lengths.extend((0..rows).map(|_| tail.draw(longest, stream) as u32));
        }
        let pinned: usize = lengths.iter().map(|&length| length as usize).sum();
        let range = (self.least.min(longest), self.most.min(longest));
        let body = n.checked_sub(lengths.len()).zip(nnz.checked_sub(pinned));
        let body = body.and_then(|(rows, total)| {
            let samples: Vec<f64> = (0..rows).map(|_| self.law.draw(range, stream)).collect();
            fit(&samples, range, total)
        });
        let Some(body) = body else {
            let rows = lengths.len();
            return Err(Error::unsupported(
                format_args!("a graph of {n} rows and {nnz} entries by {}", self.law),
                format_args!(
                    "{rows} rows are pinned to {pinned} entries, and the others, of {} to {} each, cannot hold the rest",
                    range.0, range.1
                ),
            ));
        };
        lengths.extend(body);
        stream.shuffle(&mut lengths);
        Ok(lengths)
    }
}

/// The multiples of `samples` by one factor, rounded down and clamped to the range, whose sum is `total`; `None` if no
/// factor gives it.
///
/// The factor is found by bisection. Where several rows step at the same factor, the first of them do.
fn fit(samples: &[f64], (least, most): (usize, usize), total: usize) -> Option<Vec<u32>> {
    let scaled = |factor: f64| samples.iter().map(move |x| ((factor * x) as usize).clamp(least, most));
    let sum = |factor: f64| scaled(factor).sum::<usize>();
    if least > most || sum(0.0) > total || samples.len() * most < total {
        return None;
    }
    let (mut low, mut high): (f64, f64) = (0.0, 1.0);
    while sum(high) < total {
        (low, high) = (high, 2.0 * high);
        high.is_finite().then_some(())?;
    }
    for _ in 0..f64::MANTISSA_DIGITS {
        let middle = 0.5 * (low + high);
        if sum(middle) <= total { low = middle } else { high = middle }
    }
    let missing = total - sum(low);
    let mut lengths: Vec<u32> = scaled(low).map(|length| length as u32).collect();
    lengths
        .iter_mut()
        .filter(|length| (**length as usize) < most)
        .take(missing)
        .for_each(|length| *length += 1);
    Some(lengths)
}
