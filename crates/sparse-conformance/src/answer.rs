//! The result of a run, compared with the expected one.

use crate::array_dump::{join, text};
use crate::call::{Call, Outcome};
use crate::digest::Digest;
use crate::error_bound::Bounded;
use crate::guarded_operand::{GuardedOperand, same_bits};
use crate::subject::Expected;
use sparse_core::c64;

/// The result of a run.
pub(crate) struct Answer {
    pub(crate) y: GuardedOperand,
    pub(crate) outcome: Outcome,
}

impl Answer {
    pub(crate) fn same_bits(&self, other: &Self) -> bool {
        self.elements().zip(other.elements()).all(|(a, b)| same_bits(a, b))
            && self.outcome.made.difference(&other.outcome.made).is_none()
    }

    /// Adds the bits of everything computed.
    pub(crate) fn add_to(&self, digest: &mut Digest) {
        self.elements().for_each(|value| digest.number(value));
        digest.dump(&self.outcome.made);
    }

    /// The first difference from the expected result, in words.
    pub(crate) fn difference(&self, call: &Call, expected: &Expected) -> Option<String> {
        if let Some(at) = self.y.broken_guard(&call.y) {
            return Some(format!("the guard or padding word at {at} of the output's buffer was written"));
        }
        if self.outcome.input_changed {
            return Some("the input operand was changed".into());
        }
        self.wrong_element(call, expected)
            .or_else(|| expected.equations.as_ref()?.violation(&self.y))
            .or_else(|| self.outcome.made.difference(&expected.made))
            .or_else(|| self.wrong_mark(expected))
    }

    /// The computed numbers: one number, or the elements of the output.
    pub(crate) fn elements(&self) -> impl Iterator<Item = c64> + '_ {
        let number = self.outcome.number;
        let y = number.is_none().then(|| self.y.elements());
        number.into_iter().chain(y.into_iter().flatten())
    }

    fn wrong_element(&self, call: &Call, expected: &Expected) -> Option<String> {
        let rows = self.y.frame.rows.max(1);
        let wrong = |&(_, (found, bounded)): &(usize, (c64, &Bounded))| {
            if expected.moved { !same_bits(found, bounded.value) } else { !bounded.admits(found) }
        };
        let (at, (found, bounded)) = self.elements().zip(&expected.y).enumerate().find(wrong)?;
        let rule = match () {
            () if found.re.is_nan() && call.beta == c64::ZERO => "B1, B3: ",
            () if bounded.bound > 0.0 => "A1: ",
            () => "A2: ",
        };
        let bound = if bounded.bound > 0.0 { format!(" within {:e}", bounded.bound) } else { String::new() };
        let (row, col) = (at % rows, at / rows);
        Some(format!(
            "{rule}element ({row}, {col}) is {}, expected {}{bound}",
            text(found),
            text(bounded.value)
        ))
    }

    fn wrong_mark(&self, expected: &Expected) -> Option<String> {
        let (sorted, unique) = self.outcome.marked_order?;
        let (is_sorted, is_unique) = expected.marked_order;
        let demanded = expected.canonical && !(sorted && unique);
        if demanded {
            return Some("O1: the result is not marked as sorted and unique".into());
        }
        ((sorted && !is_sorted) || (unique && !is_unique))
            .then(|| "O2: the result is marked with an order that it does not have".into())
    }

    pub(crate) fn text(&self, expected: &Expected) -> String {
        if expected.refused {
            return "refused".into();
        }
        let elements = join(self.elements().map(text));
        join([elements, self.outcome.made.text()].into_iter().filter(|text| !text.is_empty()))
    }
}
