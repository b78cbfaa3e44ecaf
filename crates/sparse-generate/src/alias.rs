//! Draws by weight in constant time.

use super::random::Stream;
use std::ops::Range;

/// Walker's alias method (1977), with tables built as Vose (1991) does, one for each segment of the positions.
///
/// Each position owns one bucket of equal size; the part that its own weight does not fill belongs to one other
/// position. A draw takes a bucket, then one of its two owners.
#[derive(Debug)]
pub(super) struct Alias {
    /// The owner's part of each bucket, in units of 2⁻³².
    own: Vec<u32>,
    /// The second owner of each bucket.
    other: Vec<u32>,
}

impl Alias {
    /// Tables for the segments of `length` positions each, the last perhaps shorter. Where all weights of a segment
    /// are 0, its positions are equally likely.
    pub(super) fn new(weights: &[f64], length: usize) -> Self {
        let mut tables =
            Self { own: vec![u32::MAX; weights.len()], other: (0..weights.len() as u32).collect() };
        for start in (0..weights.len()).step_by(length.max(1)) {
            tables.build(weights, start..weights.len().min(start + length));
        }
        tables
    }

    fn build(&mut self, weights: &[f64], segment: Range<usize>) {
        let total: f64 = weights[segment.clone()].iter().sum();
        if total == 0.0 {
            return;
        }
        let slots = segment.len() as f64 / total;
        let mut share: Vec<f64> = weights[segment.clone()].iter().map(|w| w * slots).collect();
        let (mut small, mut large): (Vec<usize>, Vec<usize>) =
            (0..share.len()).partition(|&k| share[k] < 1.0);
        while let (Some(&giver), Some(taker)) = (large.last(), small.pop()) {
            self.own[segment.start + taker] = (share[taker] * 2f64.powi(32)) as u32;
            self.other[segment.start + taker] = (segment.start + giver) as u32;
            share[giver] -= 1.0 - share[taker];
            if share[giver] < 1.0 {
                small.extend(large.pop());
            }
        }
    }

    /// A position of `segment`, which is one of the segments that the tables were built for.
    #[inline]
    pub(super) fn draw(&self, segment: Range<usize>, stream: &mut Stream) -> u32 {
        let bits = stream.bits();
        let slot = segment.start + (((bits >> 32) * segment.len() as u64) >> 32) as usize;
        if (bits as u32) < self.own[slot] { slot as u32 } else { self.other[slot] }
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::Seed;
    use super::*;

    #[test]
    fn draws_follow_the_weights_of_their_segment() {
        let alias = Alias::new(&[1.0, 0.0, 3.0, 0.0, 0.0], 3);
        let mut stream = Seed::new(1).row(0);
        let mut hits = [0; 5];
        (0..4000).for_each(|_| hits[alias.draw(0..3, &mut stream) as usize] += 1);
        (0..2000).for_each(|_| hits[alias.draw(3..5, &mut stream) as usize] += 1);
        let expected = [1000, 0, 3000, 1000, 1000];
        assert!(hits.iter().zip(expected).all(|(hit, expected): (&i32, i32)| hit.abs_diff(expected) < 120));
        assert_eq!(hits[1], 0);
    }
}
