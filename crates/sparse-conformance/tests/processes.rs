//! A backend that crashes or hangs: the case is named, and the others run.
//!
//! The test starts itself as the child, so it has a main function of its own.

use sparse_conformance::{
    Call, Case, Check, Ending, Expected, Filter, Given, GuardedOperand, Key, Listener, Outcome,
    PlannedOperation, Problem, Record, Reporter, Run, Setting, Snapshots, Status, Subject, Suite, Supervisor,
    Triplets,
};
use sparse_core::reference::Reference;
use sparse_core::{Algorithm, DType, PlanOptions, Result};
use std::io::{Write, stdout};
use std::process::Command;
use std::time::Duration;

/// The behaviour of the planted backend in the case of the same name.
const DEEDS: [(&str, fn()); 7] = [
    ("passes", || {}),
    ("aborts", || std::process::abort()),
    ("panics", || panic!("on purpose")),
    ("exits", || std::process::exit(0)),
    ("prints", || stdout().write_all(b"no event, and no line break").expect("the parent listens")),
    ("hangs", hang),
    ("passes_again", || {}),
];

fn hang() {
    loop {
        std::thread::park();
    }
}

/// An operation without a matrix, each of whose runs does the case's behaviour.
struct Planted(Key);

impl Planted {
    fn new() -> Self {
        Self(Key { op: "planted", format: "deed".into(), types: "f64".into(), dtype: DType::F64 })
    }
}

impl Subject for Planted {
    fn key(&self) -> &Key {
        &self.0
    }

    fn check(&self) -> &'static dyn Check {
        &Deeds
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        const { &[Algorithm::new("direct", "always")] }
    }

    fn given<'a>(&'a self, _: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(self))
    }
}

impl Given for Planted {
    fn prepare(&self, setting: &Setting, _: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        let deed = DEEDS.into_iter().find(|(name, _)| *setting == Setting::Rule(name));
        Ok(Box::new(Deed(deed.expect("the case is a deed").1)))
    }
}

struct Deed(fn());

impl PlannedOperation for Deed {
    fn run(&mut self, _: &Call, _: &mut GuardedOperand) -> Result<Outcome> {
        (self.0)();
        Ok(Outcome::default())
    }
}

struct Deeds;

impl Check for Deeds {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        DEEDS
            .iter()
            .filter(|(name, _)| *name == problem.case.name)
            .map(|(name, _)| Setting::Rule(name))
            .collect()
    }

    fn scope(&self, _: &Key, _: &Setting) -> Option<String> {
        None
    }

    fn expected(&self, _: &Setting, _: &Call, _: &Problem) -> Option<Expected> {
        Some(Expected::default())
    }
}

fn child(done: usize, part: usize, parts: usize) {
    let mut suite = Suite::new(&Reference);
    suite.add(Planted::new());
    let cases = DEEDS.map(|(name, _)| Case::new(name, || Ok(Triplets::new(0, 0, vec![]))));
    let cases: Vec<_> = cases.into_iter().skip(part).step_by(parts).collect();
    let filter = Filter { op: Some("planted".into()), ..Filter::default() };
    let run = Run { suite: &suite, reference: &Suite::new(&Reference), cases: &cases, filter: &filter };
    let mut reporter = Reporter::new(stdout());
    std::panic::set_hook(Box::new(|_| {}));
    run.resume(done, &mut Snapshots::compare("nowhere"), &mut reporter);
    reporter.ended();
}

/// Collects the events.
#[derive(Default)]
struct Heard {
    cases: usize,
    started: Vec<String>,
    records: Vec<Record>,
}

impl Listener for Heard {
    fn begun(&mut self, cases: usize) {
        self.cases += cases;
    }

    fn started(&mut self, name: &str, _: &str) {
        self.started.push(name.into());
    }

    fn finished(&mut self, record: Record) {
        self.records.push(record);
    }
}

/// The events of a supervisor of this test's own program, started with `arguments`, with one part.
fn supervise(arguments: fn(usize) -> Vec<String>) -> (Ending, Heard) {
    supervise_parts(1, &|_, done| arguments(done))
}

/// The events with this number of parts.
fn supervise_parts(
    parts: usize,
    arguments: &(dyn Fn(usize, usize) -> Vec<String> + Sync),
) -> (Ending, Heard) {
    let program = std::env::current_exe().expect("the test's own path");
    let command = |part, done| {
        let mut command = Command::new(&program);
        command.args(arguments(part, done));
        command
    };
    let limit = Duration::from_secs(3);
    let supervisor = Supervisor { backend: "planted", parts, command: &command, limit };
    let mut heard = Heard::default();
    let ending = supervisor.run(&mut heard).expect("children start");
    (ending, heard)
}

fn every_case_has_its_turn_and_deaths_are_named() {
    let (ending, heard) = supervise(|done| vec!["child".into(), done.to_string(), "0".into(), "1".into()]);
    assert_eq!(ending, Ending::Done);
    assert_eq!(heard.cases, DEEDS.len());
    assert_eq!(heard.started, DEEDS.map(|(name, _)| format!("planted/deed/{name}")));
    let ends: Vec<_> = heard.records.iter().map(|record| (record.name(), record.status)).collect();
    let end = |name: &str, status| (format!("planted/deed/{name}"), status);
    let expected = [
        end("passes", Status::Pass),
        end("aborts", Status::Fail),
        end("panics", Status::Fail),
        end("exits", Status::Fail),
        end("prints", Status::Pass),
        end("hangs", Status::Fail),
        end("passes_again", Status::Pass),
    ];
    assert_eq!(ends, expected, "{:#?}", heard.records);
    let says = |at: usize, words: &str| {
        let record = &heard.records[at];
        assert!(record.reason.contains(words) && record.types == "f64", "{record:?}");
    };
    says(1, "died here: signal: 6");
    says(2, "X2: panicked: on purpose");
    says(3, "died here: exit status: 0");
    says(5, "no answer within 3 s");
}

fn the_parts_of_a_table_are_run_at_once_and_each_has_its_deaths() {
    let arguments =
        |part: usize, done: usize| ["child".into(), done.to_string(), part.to_string(), "3".into()];
    let (ending, mut heard) = supervise_parts(3, &|part, done| arguments(part, done).to_vec());
    assert_eq!(ending, Ending::Done);
    assert_eq!(heard.cases, DEEDS.len());
    heard.started.sort_unstable();
    let mut all = DEEDS.map(|(name, _)| format!("planted/deed/{name}"));
    all.sort_unstable();
    assert_eq!(heard.started, all);
    let failures = heard.records.iter().filter(|record| record.status == Status::Fail);
    assert_eq!((failures.count(), heard.records.len()), (4, DEEDS.len()));
}

fn a_death_before_the_first_case_ends_the_run() {
    let (ending, heard) = supervise(|_| vec!["abort".into()]);
    assert_eq!(ending, Ending::Done);
    assert_eq!(heard.records.len(), 1);
    assert_eq!(
        (heard.records[0].name().as_str(), heard.records[0].status),
        ("probe/p1_backend_is_there", Status::Fail)
    );
}

fn a_death_behind_the_last_case_is_a_failure() {
    let (_, heard) = supervise(|_| vec!["abort at the end".into()]);
    assert_eq!(heard.records.len(), 1);
    assert_eq!(
        (heard.records[0].name().as_str(), heard.records[0].status),
        ("probe/p1_backend_ends", Status::Fail)
    );
}

fn a_missing_backend_is_not_a_failure() {
    let (ending, heard) = supervise(|_| vec!["missing".into()]);
    assert_eq!(ending, Ending::Missing("no such device".into()));
    assert!(heard.records.is_empty());
}

fn hangs_are_given_up() {
    let (_, heard) = supervise(|done| vec!["hang".into(), done.to_string()]);
    let last = heard.records.last().expect("failures");
    assert_eq!(heard.started, ["0", "1", "2"]);
    assert!(last.reason.contains("given up"), "{last:?}");
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let deed = arguments.next().unwrap_or_default();
    let done: usize = arguments.next().and_then(|done| done.parse().ok()).unwrap_or_default();
    let mut reporter = Reporter::new(stdout());
    match deed.as_str() {
        "child" => {
            let mut part = arguments.map(|number| number.parse().expect("a number"));
            child(done, part.next().expect("a part"), part.next().expect("a number of parts"));
        }
        "abort" => std::process::abort(),
        "abort at the end" => {
            reporter.ended();
            std::process::abort();
        }
        "missing" => reporter.missing("no such device"),
        "hang" => {
            reporter.started(&done.to_string(), "");
            hang();
        }
        _ => {
            every_case_has_its_turn_and_deaths_are_named();
            the_parts_of_a_table_are_run_at_once_and_each_has_its_deaths();
            a_death_before_the_first_case_ends_the_run();
            a_death_behind_the_last_case_is_a_failure();
            a_missing_backend_is_not_a_failure();
            hangs_are_given_up();
        }
    }
}
