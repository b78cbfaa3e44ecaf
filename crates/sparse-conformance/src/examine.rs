//! Examines one subject with one problem and one algorithm: the answers, and the rules of all operations.
//!
//! Every run has NaN around its inputs, guard words around its outputs and NaN in outputs that must not be read. After
//! the answers it checks that inputs stayed, other values under the old plan, the old values again with the same bits,
//! operands that do not fit, and a pattern that the plan is not bound to.

use crate::answer::Answer;
use crate::array_dump::join;
use crate::call::{Call, Outcome};
use crate::case::Problem;
use crate::device_matrix::ValueSet;
use crate::digest::Digest;
use crate::error_bound::Bounded;
use crate::setting::Setting;
use crate::snapshot::Snapshots;
use crate::subject::{Expected, Given, PlannedOperation, Subject};
use crate::suite::Suite;
use sparse_core::{Algorithm, Error, PlanOptions};
use std::cell::OnceCell;

/// The reason why an examination did not pass.
#[derive(Debug, Clone)]
pub(crate) enum Verdict {
    Unsupported(String),
    Fail(String),
}

type Examined<T = ()> = Result<T, Verdict>;

fn fail<T>(reason: impl Into<String>) -> Examined<T> {
    Err(Verdict::Fail(reason.into()))
}

impl From<Error> for Verdict {
    fn from(error: Error) -> Self {
        match error {
            Error::Unsupported { .. } => Self::Unsupported(error.to_string()),
            error => Self::Fail(error.to_string()),
        }
    }
}

/// The calls of a plan with their expected results, the same for every algorithm.
pub(crate) struct ExpectedCalls {
    setting: Setting,
    valid: Vec<(Call, Expected)>,
    /// The expected result of the first call with other values in the matrix.
    with_other_values: Option<Expected>,
    /// Calls whose operands do not fit.
    invalid: Vec<Call>,
}

impl ExpectedCalls {
    /// The calls of a setting, from the results for the problem and for other values in its matrix.
    pub(crate) fn new(
        setting: Setting,
        results: &ExpectedResults,
        of_other_values: &ExpectedResults,
    ) -> Examined<Self> {
        let (check, problem) = (results.subject.check(), results.problem);
        let valid = check.calls(&setting, problem).into_iter();
        let valid = valid.map(|call| results.of(&setting, &call).map(|expected| (call, expected)));
        let valid = valid.collect::<Examined<Vec<_>>>()?;
        let with_other_values =
            valid.first().map(|(call, _)| of_other_values.of(&setting, call)).transpose()?;
        let invalid = check.invalid_calls(&setting, problem);
        Ok(Self { setting, valid, with_other_values, invalid })
    }

    /// True if every call must be refused.
    fn is_refused(&self) -> bool {
        !self.valid.is_empty() && self.valid.iter().all(|(_, expected)| expected.refused)
    }
}

/// The expected results of a subject for a problem.
pub(crate) struct ExpectedResults<'a> {
    subject: &'a dyn Subject,
    problem: &'a Problem<'a>,
    reference: &'a Suite,
    /// The subject of the reference with the problem's matrix, made at its first use.
    given: OnceCell<Examined<Box<dyn Given + 'a>>>,
}

impl<'a> ExpectedResults<'a> {
    pub(crate) fn new(subject: &'a dyn Subject, problem: &'a Problem<'a>, reference: &'a Suite) -> Self {
        Self { subject, problem, reference, given: OnceCell::new() }
    }

    /// The result that a call must have.
    fn of(&self, setting: &Setting, call: &Call) -> Examined<Expected> {
        let expected = self.subject.check().expected(setting, call, self.problem);
        expected.map_or_else(|| self.by_reference(setting, call), Ok)
    }

    /// The serial reference's result.
    fn by_reference(&self, setting: &Setting, call: &Call) -> Examined<Expected> {
        let given = self.given.get_or_init(|| self.give()).as_ref().map_err(Verdict::clone)?;
        let mut planned = given.prepare(setting, &PlanOptions::default())?;
        let mut y = call.y.clone();
        let outcome = match planned.run(call, &mut y) {
            Err(Error::Format { .. }) => return Ok(Expected { refused: true, ..Expected::default() }),
            outcome => outcome?,
        };
        let y = y.elements().map(|value| Bounded { value, bound: 0.0 }).collect();
        // The reference knows that entries are distinct only if they are sorted; a backend may know more.
        let is_distinct = || self.problem.matrix.is_distinct();
        let marked_order = outcome.marked_order.map(|(sorted, unique)| (sorted, unique || is_distinct()));
        let (marked_order, canonical) =
            (marked_order.unwrap_or_default(), self.subject.check().is_canonical());
        Ok(Expected { y, moved: true, made: outcome.made, marked_order, canonical, ..Expected::default() })
    }

    fn give(&self) -> Examined<Box<dyn Given + 'a>> {
        let key = self.subject.key();
        let lacking = || Error::unsupported(key.name(), "the reference lacks it");
        Ok(self.reference.subject(key).ok_or_else(lacking)?.given(&self.problem.matrix)?)
    }
}

/// An algorithm that passed with a setting.
#[derive(Debug, PartialEq)]
pub(crate) struct Passed {
    setting: Setting,
    algorithm: &'static str,
    /// A hash of the bits of its first answer.
    first: u64,
}

/// One cell of the table.
pub(crate) struct Examination<'a> {
    pub(crate) subject: &'a dyn Subject,
    pub(crate) problem: &'a Problem<'a>,
    /// The subject with the problem's matrix.
    pub(crate) given: &'a dyn Given,
    pub(crate) calls: &'a ExpectedCalls,
    /// `None` leaves the choice to the plan.
    pub(crate) algorithm: Option<&'a Algorithm>,
}

impl Examination<'_> {
    /// Runs all checks; adds the bits of all answers to `digest`.
    ///
    /// A plan's own choice runs only once if its first answer has the bits of the chosen algorithm, which has passed
    /// all checks by its name.
    pub(crate) fn run(
        &self,
        snapshots: &mut Snapshots,
        digest: &mut Digest,
        passed: &mut Vec<Passed>,
    ) -> Examined {
        let options = self.options()?;
        let mut planned = match self.given.prepare(&self.calls.setting, &options) {
            Err(Error::Format { .. }) if self.calls.is_refused() => return self.refused(snapshots),
            planned => planned?,
        };
        let mut first = None;
        for (call, expected) in &self.calls.valid {
            let answer = self.answer(planned.as_mut(), call, expected)?;
            self.compare_snapshot(snapshots, call, expected, &answer)?;
            answer.add_to(digest);
            if first.is_none() && self.has_passed(planned.as_ref(), &answer, passed)? {
                return Ok(());
            }
            first.get_or_insert(answer);
        }
        let Some(first) = first else { return Ok(()) };
        self.matrix_is_unchanged(planned.as_mut())?;
        self.values_may_change(planned.as_mut(), &first)?;
        self.invalid_calls_are_refused(planned.as_mut())?;
        self.other_patterns_are_refused(planned.as_mut())?;
        passed.extend(self.algorithm.map(|algorithm| self.passed(algorithm.name, &first)));
        Ok(())
    }

    /// True if the plan chose an algorithm that passed by its name with this first answer. Checks that the chosen one
    /// is in the table.
    fn has_passed(
        &self,
        planned: &dyn PlannedOperation,
        first: &Answer,
        passed: &[Passed],
    ) -> Examined<bool> {
        let (None, Some(chosen)) = (self.algorithm, planned.algorithm()) else { return Ok(false) };
        let setting = &self.calls.setting;
        if self.subject.algorithms(setting).iter().all(|offered| offered.name != chosen) {
            return fail(format!("{setting}: the plan chose `{chosen}`, which the backend's table lacks"));
        }
        Ok(passed.contains(&self.passed(chosen, first)))
    }

    fn passed(&self, algorithm: &'static str, first: &Answer) -> Passed {
        let mut digest = Digest::default();
        first.add_to(&mut digest);
        Passed { setting: self.calls.setting, algorithm, first: digest.value() }
    }

    /// Checks that a run is refused; the plan may refuse it already.
    fn refused(&self, snapshots: &mut Snapshots) -> Examined {
        self.calls.valid.iter().try_for_each(|(call, expected)| {
            let answer = Answer { y: call.y.clone(), outcome: Outcome::default() };
            self.compare_snapshot(snapshots, call, expected, &answer)
        })
    }

    /// The options that force the algorithm. Checks that one that is not reproducible is refused unless that is
    /// allowed.
    fn options(&self) -> Examined<PlanOptions> {
        let Some(algorithm) = self.algorithm else { return Ok(PlanOptions::default()) };
        let forced = PlanOptions::forced(algorithm.name);
        if algorithm.reproducible {
            return Ok(forced);
        }
        match self.given.prepare(&self.calls.setting, &forced) {
            Err(Error::Unsupported { .. }) => Ok(forced.relaxed()),
            _ => fail("R1: a relaxed algorithm runs though Determinism::Reproducible is asked for"),
        }
    }

    fn reproducible(&self) -> bool {
        self.algorithm.is_none_or(|algorithm| algorithm.reproducible)
    }

    /// Runs `call` and compares its result with the expected one.
    fn answer(
        &self,
        planned: &mut dyn PlannedOperation,
        call: &Call,
        expected: &Expected,
    ) -> Examined<Answer> {
        let mut y = call.y.clone();
        let outcome = match (planned.run(call, &mut y), expected.refused) {
            (Ok(_), true) => return self.fail_at(call, "is accepted where it must be refused"),
            (Err(Error::Format { .. }), true) => Outcome::default(),
            (outcome, _) => outcome?,
        };
        let answer = Answer { y, outcome };
        match answer.difference(call, expected) {
            Some(difference) => self.fail_at(call, &difference),
            None => Ok(answer),
        }
    }

    fn fail_at<T>(&self, call: &Call, reason: &str) -> Examined<T> {
        let place = format!("{} {}", self.calls.setting, call.label);
        fail(format!("{}{}{reason}", place.trim(), if place.trim().is_empty() { "" } else { ": " }))
    }

    fn compare_snapshot(
        &self,
        snapshots: &mut Snapshots,
        call: &Call,
        expected: &Expected,
        answer: &Answer,
    ) -> Examined {
        let (key, setting) = (self.subject.key(), &self.calls.setting);
        let exact = expected.y.iter().all(|bounded| bounded.bound == 0.0);
        let Some(scope) = self.subject.check().scope(key, setting).filter(|_| exact) else { return Ok(()) };
        if !Snapshots::keeps(self.problem) {
            return Ok(());
        }
        let parts = [scope, setting.to_string(), call.label.clone()];
        let label = join(parts.into_iter().filter(|part| !part.is_empty()));
        let label = if label.is_empty() { "answer".into() } else { label };
        snapshots.check(key.op, &self.problem.case.name, label, answer.text(expected)).map_err(Verdict::Fail)
    }

    fn matrix_is_unchanged(&self, planned: &mut dyn PlannedOperation) -> Examined {
        let Some(matrix) = planned.matrix() else { return Ok(()) };
        match matrix.difference()? {
            Some(difference) => fail(format!("{}: the matrix was changed: {difference}", self.calls.setting)),
            None => Ok(()),
        }
    }

    /// Checks other values under the old plan, then that the first ones give the same bits again.
    fn values_may_change(&self, planned: &mut dyn PlannedOperation, first: &Answer) -> Examined {
        let Some((call, expected)) = self.calls.valid.first() else { return Ok(()) };
        if let (Some(matrix), Some(other)) = (planned.matrix(), &self.calls.with_other_values) {
            matrix.set_values(ValueSet::Second)?;
            self.answer(planned, call, other)?;
        }
        if let Some(matrix) = planned.matrix() {
            matrix.set_values(ValueSet::First)?;
        }
        let again = self.answer(planned, call, expected)?;
        if self.reproducible() && !again.same_bits(first) {
            return self.fail_at(call, "R1: a second run gives other bits");
        }
        Ok(())
    }

    /// Checks that operands of wrong shapes are an error that leaves inputs and outputs as they were.
    fn invalid_calls_are_refused(&self, planned: &mut dyn PlannedOperation) -> Examined {
        for call in &self.calls.invalid {
            let mut y = call.y.clone();
            match planned.run(call, &mut y) {
                Err(Error::Shape { .. } | Error::PlanMismatch { .. }) if y.same_bits(&call.y) => {}
                Err(Error::Shape { .. } | Error::PlanMismatch { .. }) => {
                    return fail("X4: operands of the wrong shape are refused, but y is written");
                }
                _ => {
                    return fail(format!(
                        "E2: operands of the wrong shape are not refused as such: {}",
                        self.calls.setting
                    ));
                }
            }
        }
        Ok(())
    }

    fn other_patterns_are_refused(&self, planned: &mut dyn PlannedOperation) -> Examined {
        let (Some((call, _)), Some(matrix)) = (self.calls.valid.first(), planned.matrix()) else {
            return Ok(());
        };
        matrix.renew_pattern()?;
        let mut y = call.y.clone();
        match planned.run(call, &mut y) {
            Err(Error::PlanMismatch { .. }) if y.same_bits(&call.y) => Ok(()),
            Err(Error::PlanMismatch { .. }) => {
                fail("X4: a pattern that the plan does not know is refused, but y is written")
            }
            _ => fail("a pattern that the plan does not know is not refused as a PlanMismatch"),
        }
    }
}
