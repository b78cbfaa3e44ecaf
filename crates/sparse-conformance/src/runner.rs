//! Runs a suite through the table.

use crate::case::{Case, Problem};
use crate::digest::Digest;
use crate::examine::{Examination, ExpectedCalls, ExpectedResults, Verdict};
use crate::filter::Filter;
use crate::key::Key;
use crate::report::{Listener, Record, Status};
use crate::setting::Setting;
use crate::snapshot::Snapshots;
use crate::subject::Subject;
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::{Algorithm, DType};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;

/// A suite with the table to run.
#[derive(Clone, Copy)]
pub struct Run<'a> {
    /// The backend.
    pub suite: &'a Suite,
    /// The serial reference.
    pub reference: &'a Suite,
    /// The table.
    pub cases: &'a [Case],
    /// The part of the table to run.
    pub filter: &'a Filter,
}

impl Run<'_> {
    /// The names of everything that will run, in order: `spmv/csr/<case>` and the types.
    pub fn names(&self) -> impl Iterator<Item = (String, &str)> {
        self.cases.iter().filter(|case| self.filter.takes_case(case)).flat_map(|case| {
            self.subjects(case).map(|subject| (name(subject, case), subject.key().types.as_str()))
        })
    }

    fn subjects<'b>(&'b self, case: &'b Case) -> impl Iterator<Item = &'b dyn Subject> {
        let takes = |subject: &&dyn Subject| {
            self.filter.takes_subject(*subject, case)
                && case.applies(subject.key())
                && subject.check().takes(case)
        };
        self.suite.subjects().filter(takes)
    }

    /// Runs everything and reports to the listener.
    pub fn run(&self, snapshots: &mut Snapshots, listener: &mut dyn Listener) {
        self.resume(0, snapshots, listener);
    }

    /// Runs everything except the first `done` [`names`](Self::names).
    pub fn resume(&self, mut done: usize, snapshots: &mut Snapshots, listener: &mut dyn Listener) {
        listener.opened(&self.suite.caps().device, self.filter.tier);
        listener.begun(self.names().count().saturating_sub(done));
        for case in self.cases.iter().filter(|case| self.filter.takes_case(case)) {
            let subjects: Vec<_> = self.subjects(case).collect();
            let (before, rest) = subjects.split_at(done.min(subjects.len()));
            done -= before.len();
            if !rest.is_empty() {
                self.run_case(case, rest, snapshots, listener);
            }
        }
    }

    fn run_case(
        &self,
        case: &Case,
        subjects: &[&dyn Subject],
        snapshots: &mut Snapshots,
        listener: &mut dyn Listener,
    ) {
        let flushes = self.suite.caps().flushes_subnormals;
        let mut problems = case.matrix().map(|matrix| Problems::new(case, matrix, flushes));
        for &subject in subjects {
            let key = subject.key();
            listener.started(&name(subject, case), &key.types);
            match problems.as_mut().map(|problems| problems.of(key)) {
                Ok(Some(prepared)) => self.run_subject(subject, prepared, snapshots, listener),
                Ok(None) => {
                    let reason = format!("a value of the case does not fit {}", key.dtype);
                    listener.finished(self.record(subject, case, "", Status::Skipped, reason));
                }
                Err(error) => {
                    listener.finished(self.record(subject, case, "", Status::Fail, error.to_string()));
                }
            }
        }
    }

    /// Runs every algorithm, and then the plan's own choice if there are several.
    fn run_subject(
        &self,
        subject: &dyn Subject,
        prepared: &PreparedProblem,
        snapshots: &mut Snapshots,
        listener: &mut dyn Listener,
    ) {
        let problem = &prepared.problem;
        let whole = prepared.calls(subject, self.reference, None);
        let calls_for =
            |algorithm: Option<&Algorithm>| match algorithm.and_then(|algorithm| algorithm.factor_bits) {
                None => whole.clone(),
                bits => prepared.calls(subject, self.reference, bits),
            };
        let given = subject.given(&problem.matrix).map_err(Verdict::from);
        let algorithms = algorithms(subject, &whole).into_iter();
        let mut passed = vec![];
        for algorithm in algorithms.filter(|algorithm| self.filter.takes_algorithm(*algorithm)) {
            let mut digest = Digest::default();
            let verdict = caught(|| {
                let given = given.as_deref().map_err(Verdict::clone)?;
                examine_all(subject, &calls_for(algorithm), algorithm, |calls| {
                    Examination { subject, problem, given, calls, algorithm }.run(
                        snapshots,
                        &mut digest,
                        &mut passed,
                    )
                })
            });
            let (status, reason) = status_of(verdict);
            let name = algorithm.map_or("auto", |algorithm| algorithm.name);
            let mut record = self.record(subject, problem.case, name, status, reason);
            if algorithm.is_none_or(|algorithm| algorithm.reproducible) {
                record.digest = Some(digest.value());
            }
            listener.finished(record);
        }
    }

    /// A record; a known failure becomes an expected one, and a failure once it passes.
    fn record(
        &self,
        subject: &dyn Subject,
        case: &Case,
        algorithm: &str,
        status: Status,
        reason: String,
    ) -> Record {
        let key = subject.key();
        let (status, reason) = match (status, self.suite.expected_failure(&name(subject, case), &key.types)) {
            (Status::Fail, Some(known)) => (Status::ExpectedFailure, format!("{known}: {reason}")),
            (Status::Pass, Some(known)) => {
                (Status::Fail, format!("passes, but is expected to fail: {known}"))
            }
            _ => (status, reason),
        };
        Record {
            op: key.name(),
            case: case.name.clone(),
            backend: self.suite.caps().backend.into(),
            algorithm: algorithm.into(),
            types: key.types.clone(),
            status,
            reason,
            digest: None,
        }
    }
}

/// The status of an examination, with the reason.
fn status_of(verdict: Result<(), Verdict>) -> (Status, String) {
    match verdict {
        Ok(()) => (Status::Pass, String::new()),
        Err(Verdict::Unsupported(reason)) => (Status::Unsupported, reason),
        Err(Verdict::Fail(reason)) => (Status::Fail, reason),
    }
}

/// Turns a panic into a failure: nothing panics on data.
fn caught(examine: impl FnOnce() -> Result<(), Verdict>) -> Result<(), Verdict> {
    catch_unwind(AssertUnwindSafe(examine))
        .unwrap_or_else(|panic| Err(Verdict::Fail(format!("X2: panicked: {}", message(panic.as_ref())))))
}

/// Examines the calls of the algorithm, up to the first failure.
fn examine_all(
    subject: &dyn Subject,
    all_calls: &CallsBySetting,
    algorithm: Option<&Algorithm>,
    mut examine: impl FnMut(&ExpectedCalls) -> Result<(), Verdict>,
) -> Result<(), Verdict> {
    let is_for = |setting: &Setting| {
        algorithm.is_none_or(|algorithm| subject.algorithms(setting).iter().any(|a| a.name == algorithm.name))
    };
    let mut verdict = Ok(());
    for (_, calls) in all_calls.iter().filter(|(setting, _)| is_for(setting)) {
        match calls.as_ref().map_err(Verdict::clone).and_then(&mut examine) {
            Err(Verdict::Fail(reason)) => return Err(Verdict::Fail(reason)),
            Err(unsupported) => verdict = Err(unsupported),
            Ok(()) => {}
        }
    }
    verdict
}

/// Settings with their calls, or the reason why there are none.
type CallsBySetting = Vec<(Setting, Result<ExpectedCalls, Verdict>)>;

/// The problems of one case for a sequence of subjects; consecutive subjects of one type use the same problem.
struct Problems<'a> {
    case: &'a Case,
    matrix: Triplets,
    flushes: bool,
    dtype: Option<DType>,
    /// The problem of one matrix and that of a batch.
    prepared: [OnceCell<Option<PreparedProblem<'a>>>; 2],
}

impl<'a> Problems<'a> {
    fn new(case: &'a Case, matrix: Triplets, flushes: bool) -> Self {
        Self { case, matrix, flushes, dtype: None, prepared: Default::default() }
    }

    /// The problem for a subject; `None` if a value does not fit its type.
    fn of(&mut self, key: &Key) -> Option<&PreparedProblem<'a>> {
        if self.dtype != Some(key.dtype) {
            (self.dtype, self.prepared) = (Some(key.dtype), Default::default());
        }
        let prepare = || {
            let batch = key.is_batch().then(|| self.matrix.batch());
            let matrix = batch.as_ref().unwrap_or(&self.matrix);
            Problem::new(self.case, matrix, key.dtype, self.flushes).map(PreparedProblem::new)
        };
        self.prepared[usize::from(key.is_batch())].get_or_init(prepare).as_ref()
    }
}

/// Calls by the name of the operation and the bits of rounded factors.
type SharedCalls = BTreeMap<(&'static str, Option<u32>), Rc<CallsBySetting>>;

/// A problem, and the calls that all formats have in common.
struct PreparedProblem<'a> {
    problem: Problem<'a>,
    /// The problem with other values in its matrix.
    other: OnceCell<Problem<'a>>,
    shared: RefCell<SharedCalls>,
}

impl<'a> PreparedProblem<'a> {
    fn new(problem: Problem<'a>) -> Self {
        Self { problem, other: OnceCell::new(), shared: RefCell::default() }
    }

    /// The calls of an algorithm that rounds factors to these bits, if it rounds them.
    fn calls(
        &self,
        subject: &dyn Subject,
        reference: &Suite,
        factor_bits: Option<u32>,
    ) -> Rc<CallsBySetting> {
        let prepare = || {
            let problems = [&self.problem, self.other.get_or_init(|| self.problem.with_other_values())];
            Rc::new(match factor_bits {
                None => calls_by_setting(subject, reference, problems),
                Some(bits) => {
                    let rounded = problems.map(|problem| problem.rounding_factors_to(bits));
                    calls_by_setting(subject, reference, rounded.each_ref())
                }
            })
        };
        if !subject.check().is_of_all_formats() {
            return prepare();
        }
        self.shared.borrow_mut().entry((subject.key().op, factor_bits)).or_insert_with(prepare).clone()
    }
}

/// The calls of a subject for a problem and for the same one with other values in its matrix.
fn calls_by_setting(
    subject: &dyn Subject,
    reference: &Suite,
    [problem, with_other_values]: [&Problem<'_>; 2],
) -> CallsBySetting {
    let [results, of_other_values] =
        [problem, with_other_values].map(|problem| ExpectedResults::new(subject, problem, reference));
    let settings = subject.check().settings(subject.key(), problem).into_iter();
    let calls = |setting| ExpectedCalls::new(setting, &results, &of_other_values);
    settings.map(|setting| (setting, calls(setting))).collect()
}

/// The algorithms for any of the settings; then `None`, the plan's own choice, if there are several.
fn algorithms(subject: &dyn Subject, all_calls: &CallsBySetting) -> Vec<Option<&'static Algorithm>> {
    let mut algorithms: Vec<&Algorithm> = vec![];
    for algorithm in all_calls.iter().flat_map(|(setting, _)| subject.algorithms(setting)) {
        if algorithms.iter().all(|known| known.name != algorithm.name) {
            algorithms.push(algorithm);
        }
    }
    let choice = (algorithms.len() > 1).then_some(None);
    algorithms.into_iter().map(Some).chain(choice).collect()
}

fn name(subject: &dyn Subject, case: &Case) -> String {
    format!("{}/{}", subject.key().name(), case.name)
}

fn message(panic: &(dyn std::any::Any + Send)) -> &str {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a message")
}
