//! Compares two suites: every operation runs on both backends, which must give the same bits.
//!
//! The first answer is checked against the expected result, the second against the first: that is a comparison of
//! memory, where another run of the table would make operands and expected results again.

use crate::call::{Call, Outcome};
use crate::device_matrix::{PlannedMatrix, ValueSet};
use crate::guarded_operand::GuardedOperand;
use crate::key::Key;
use crate::setting::Setting;
use crate::subject::{Check, Given, PlannedOperation, Subject};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::{Algorithm, Determinism, Error, PlanOptions, Result};
use std::mem::discriminant;

impl Suite {
    /// This suite with every operation also run on the backend of `other`, which must give the same bits. For settings
    /// of a backend that must not change a result, as its number of threads.
    ///
    /// # Errors
    /// [`Error::Operands`] if the suites do not have the same subjects in the same order.
    pub fn compared_with(mut self, mut other: Self) -> Result<Self> {
        if !self.subjects().map(Subject::key).eq(other.subjects().map(Subject::key)) {
            return Err(Error::operands("comparison", "the two suites have different subjects"));
        }
        for (first, second) in self.take_subjects().into_iter().zip(other.take_subjects()) {
            self.add(Pair { first, second });
        }
        Ok(self)
    }
}

/// The error of two backends that do not agree.
fn disagreement(reason: String) -> Error {
    Error::operands("R2", reason)
}

/// The results of both backends, or the error of both.
fn both<A, B>(first: Result<A>, second: Result<B>) -> Result<(A, B)> {
    match (first, second) {
        (Ok(first), Ok(second)) => Ok((first, second)),
        (Err(first), Err(second)) if is_same_refusal(&first, &second) => Err(first),
        (Err(first), Err(second)) => {
            Err(disagreement(format!("one backend says `{first}`, the other `{second}`")))
        }
        (Err(error), Ok(_)) | (Ok(_), Err(error)) => {
            Err(disagreement(format!("one backend says `{error}`, the other has a result")))
        }
    }
}

/// True for errors of one kind; `Unsupported` errors must name the same request.
fn is_same_refusal(first: &Error, second: &Error) -> bool {
    match (first, second) {
        (Error::Unsupported { what: first, .. }, Error::Unsupported { what: second, .. }) => first == second,
        _ => discriminant(first) == discriminant(second),
    }
}

/// A subject on two backends.
struct Pair {
    first: Box<dyn Subject>,
    second: Box<dyn Subject>,
}

impl Subject for Pair {
    fn key(&self) -> &Key {
        self.first.key()
    }

    fn check(&self) -> &'static dyn Check {
        self.first.check()
    }

    fn algorithms(&self, setting: &Setting) -> &'static [Algorithm] {
        self.first.algorithms(setting)
    }

    fn given<'a>(&'a self, matrix: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        let (first, second) = both(self.first.given(matrix), self.second.given(matrix))?;
        Ok(Box::new(GivenPair { pair: self, first, second }))
    }
}

/// A pair with the matrix of a case.
struct GivenPair<'a> {
    pair: &'a Pair,
    first: Box<dyn Given + 'a>,
    second: Box<dyn Given + 'a>,
}

impl Given for GivenPair<'_> {
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        if options.determinism == Determinism::Relaxed {
            return Err(Error::unsupported(
                "comparing",
                "an algorithm that is not reproducible promises no bits",
            ));
        }
        if self.pair.first.algorithms(setting) != self.pair.second.algorithms(setting) {
            return Err(disagreement("the backends have different algorithms".into()));
        }
        let (first, second) =
            both(self.first.prepare(setting, options), self.second.prepare(setting, options))?;
        Ok(Box::new(PlannedPair { first, second, setting: *setting }))
    }
}

/// A plan on each backend.
struct PlannedPair<'a> {
    first: Box<dyn PlannedOperation + 'a>,
    second: Box<dyn PlannedOperation + 'a>,
    setting: Setting,
}

impl PlannedOperation for PlannedPair<'_> {
    fn run(&mut self, call: &Call, y: &mut GuardedOperand) -> Result<Outcome> {
        let mut other_y = y.clone();
        let results = both(self.first.run(call, y), self.second.run(call, &mut other_y));
        let differs = |difference| {
            disagreement(format!("{} {}: two backends differ: {difference}", self.setting, call.label))
        };
        if let Some(at) = y.first_difference(&other_y) {
            return Err(differs(format!("the word at {at} of the output's buffer")));
        }
        let (outcome, other) = results?;
        outcome.difference(&other).map_or(Ok(outcome), |difference| Err(differs(difference)))
    }

    fn algorithm(&self) -> Option<&'static str> {
        self.first.algorithm().filter(|name| self.second.algorithm() == Some(name))
    }

    fn matrix(&mut self) -> Option<&mut dyn PlannedMatrix> {
        if self.first.matrix().is_some() { Some(self) } else { None }
    }
}

impl PlannedPair<'_> {
    /// The matrix of each backend.
    fn matrices(&mut self) -> impl Iterator<Item = &mut dyn PlannedMatrix> {
        [&mut self.first, &mut self.second].into_iter().filter_map(|planned| planned.matrix())
    }
}

impl PlannedMatrix for PlannedPair<'_> {
    fn set_values(&mut self, values: ValueSet) -> Result<()> {
        self.matrices().try_for_each(|matrix| matrix.set_values(values))
    }

    fn renew_pattern(&mut self) -> Result<()> {
        self.matrices().try_for_each(|matrix| matrix.renew_pattern())
    }

    fn difference(&mut self) -> Result<Option<String>> {
        let differences = self.matrices().map(|matrix| matrix.difference());
        Ok(differences.collect::<Result<Vec<_>>>()?.into_iter().flatten().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::c64;

    fn unsupported(what: &str) -> Result<()> {
        Err(Error::unsupported(what, "a reason"))
    }

    #[test]
    fn the_same_refusal_is_that_of_both() {
        let refusal = both(unsupported("this"), unsupported("this")).unwrap_err();
        assert!(matches!(refusal, Error::Unsupported { .. }), "{refusal}");
    }

    #[test]
    fn what_one_backend_refuses_is_no_refusal() {
        let error = both(unsupported("this"), unsupported("that")).unwrap_err();
        assert!(matches!(error, Error::Operands { .. }), "{error}");
        let error = both(unsupported("this"), Ok(())).unwrap_err();
        assert_eq!(
            error.to_string(),
            "R2: one backend says `this is not supported: a reason`, the other has a result"
        );
    }

    #[test]
    fn outcomes_differ_by_the_bits_of_their_numbers() {
        let number = |re| Outcome { number: Some(c64::new(re, 0.0)), ..Outcome::default() };
        assert_eq!(number(f64::NAN).difference(&number(f64::NAN)), None);
        assert!(number(0.0).difference(&number(-0.0)).is_some());
    }
}
