//! What the table sees of a matrix or of a number that an operation made: named arrays, without types.

use crate::memory::same_bits;
use sparse_core::c64;
use std::fmt::Write;

/// Named arrays of integers and of values.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Portrait {
    /// Shapes, offsets, indices: compared exactly (rule A3).
    pub integers: Vec<(&'static str, Vec<i64>)>,
    /// Values: compared by their bits, or by a bound where they were computed.
    pub values: Vec<(&'static str, Vec<c64>)>,
}

impl Portrait {
    /// Adds an array of integers.
    #[must_use]
    pub fn integers(mut self, name: &'static str, integers: impl IntoIterator<Item = i64>) -> Self {
        self.integers.push((name, integers.into_iter().collect()));
        self
    }

    /// Adds an array of values.
    #[must_use]
    pub fn values(mut self, name: &'static str, values: impl IntoIterator<Item = c64>) -> Self {
        self.values.push((name, values.into_iter().collect()));
        self
    }

    /// The first place where `self` is not what was `expected`, in words.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        difference(&self.integers, &expected.integers, |a, b| a == b, |k| k.to_string())
            .or_else(|| difference(&self.values, &expected.values, |&a, &b| same_bits(a, b), |v| text(*v)))
    }

    /// The arrays as text, for snapshots.
    pub(crate) fn text(&self) -> String {
        let mut text = String::new();
        let integers =
            self.integers.iter().map(|(name, array)| (name, join(array.iter().map(i64::to_string))));
        let values =
            self.values.iter().map(|(name, array)| (name, join(array.iter().map(|&v| self::text(v)))));
        for (name, array) in integers.chain(values) {
            let _ = write!(text, "{name}[{array}] ");
        }
        text.trim_end().to_string()
    }
}

fn difference<T>(
    found: &[(&'static str, Vec<T>)],
    expected: &[(&'static str, Vec<T>)],
    same: impl Fn(&T, &T) -> bool,
    text: impl Fn(&T) -> String,
) -> Option<String> {
    found.iter().zip(expected).find_map(|((name, found), (_, expected))| {
        if found.len() != expected.len() {
            return Some(format!("{name} has {} elements, expected {}", found.len(), expected.len()));
        }
        let at = (0..found.len()).find(|&k| !same(&found[k], &expected[k]))?;
        Some(format!("{name}[{at}] = {}, expected {}", text(&found[at]), text(&expected[at])))
    })
}

/// Joined by blanks.
pub(crate) fn join(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(" ")
}

/// A value as text: integers without a point, complex values with both parts, and one zero.
pub(crate) fn text(value: c64) -> String {
    let part = |x: f64| if x == 0.0 { "0".to_string() } else { x.to_string() };
    if value.im == 0.0 {
        part(value.re)
    } else {
        format!("{}{}{}i", part(value.re), if value.im < 0.0 { "" } else { "+" }, part(value.im))
    }
}
