//! The checks that a backend refuses, which the files in `support` pin.
//!
//! A file lists each refused check by operation, algorithm, case and types. Of the checks that ran, exactly the listed
//! ones must have been refused. Nothing is asked of checks that did not run, because of the tier, an option or a
//! missing corpus: so one file holds for every run.

use anyhow::{Context, Result};
use sparse_conformance::{Record, Status};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The pinned devices: the backend, how the device's name ends, the file and its text.
const PINS: [(&str, &str, &str, &str); 6] = [
    ("cpu", "", "cpu.txt", include_str!("../support/cpu.txt")),
    ("cuda", "", "cuda.txt", include_str!("../support/cuda.txt")),
    ("opencl", POCL, "opencl-pocl.txt", include_str!("../support/opencl-pocl.txt")),
    ("opencl", INTEL, "opencl-intel.txt", include_str!("../support/opencl-intel.txt")),
    ("sycl", POCL, "sycl-pocl.txt", include_str!("../support/sycl-pocl.txt")),
    ("sycl", INTEL, "sycl-intel.txt", include_str!("../support/sycl-intel.txt")),
];
const POCL: &str = "(Portable Computing Language)";
const INTEL: &str = "(Intel(R) OpenCL)";

/// The folder of the files.
const FOLDER: &str = "crates/sparse-conformance-cli/support";

/// The first line of a file.
const ABOUT: &str = "# Refused checks: operation, algorithm, case, types: what is not supported. Written by \
    `cargo xtask conformance --pin-support`.\n";

/// Operation, algorithm, case and types.
type Check = [String; 4];

/// Refused checks, and what is not supported in each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Refusals(BTreeMap<Check, String>);

impl Refusals {
    fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        Self::parse(&text).with_context(|| path.display().to_string())
    }

    fn parse(text: &str) -> Result<Self> {
        let mut refusals = Self::default();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.starts_with('#')) {
            let expected = || format!("line {}: expected `operation algorithm case types: what`", number + 1);
            let (check, what) = line.split_once(": ").with_context(expected)?;
            let words: Vec<_> = check.split(' ').collect();
            let [op, algorithm, case, types @ ..] = &words[..] else {
                return Err(anyhow::Error::msg(expected()));
            };
            for types in if types.is_empty() { &[""] } else { types } {
                refusals.0.insert([op, algorithm, case, types].map(|word| word.to_string()), what.into());
            }
        }
        Ok(refusals)
    }

    /// One line for all types of a case that are refused for the same reason.
    fn text(&self) -> String {
        let mut lines: BTreeMap<_, String> = BTreeMap::new();
        for ([op, algorithm, case, types], what) in &self.0 {
            let line = lines.entry((op, algorithm, case, what)).or_default();
            if !types.is_empty() {
                let _ = write!(line, " {types}");
            }
        }
        let lines = lines
            .iter()
            .map(|((op, algorithm, case, what), types)| format!("{op} {algorithm} {case}{types}: {what}\n"));
        ABOUT.to_string() + &lines.collect::<String>()
    }
}

/// The refusals that a run is compared with.
#[derive(Debug)]
enum Pin {
    /// The pin of the device that runs, where it has one.
    OfDevice(Option<(&'static str, Refusals)>),
    /// A file's.
    File(PathBuf, Refusals),
    /// None: this file is brought up to date.
    Rewrite(PathBuf, Refusals),
}

/// Compares refusals with a pin, or pins them.
#[derive(Debug)]
pub(crate) struct Support {
    pin: Pin,
    /// Cases that the pins of devices say nothing of.
    unpinned: BTreeSet<String>,
}

impl Support {
    /// Compares with the file `compare`, or rewrites the file `rewrite`, or compares with the file of each device that
    /// runs, for all cases except `unpinned`.
    pub(crate) fn new(
        compare: Option<&PathBuf>,
        rewrite: Option<&PathBuf>,
        unpinned: BTreeSet<String>,
    ) -> Result<Self> {
        let pin = match (compare, rewrite) {
            (Some(path), _) => Pin::File(path.clone(), Refusals::read(path)?),
            (None, Some(path)) if path.exists() => Pin::Rewrite(path.clone(), Refusals::read(path)?),
            (None, Some(path)) => Pin::Rewrite(path.clone(), Refusals::default()),
            (None, None) => Pin::OfDevice(None),
        };
        Ok(Self { pin, unpinned })
    }

    /// Takes the pin of the device that runs next.
    pub(crate) fn opened(&mut self, backend: &str, device: &str) {
        let Pin::OfDevice(current) = &mut self.pin else { return };
        let is_pinned = |(name, end, ..): &&(&str, &str, _, _)| *name == backend && device.ends_with(end);
        let pin = PINS.iter().find(is_pinned);
        *current = pin.and_then(|(_, _, file, text)| Some((*file, Refusals::parse(text).ok()?)));
    }

    /// Compares a record with the listed refusals: returns it, as a failure if it was refused and is not listed, or
    /// passed although it is listed.
    pub(crate) fn compare(&mut self, record: Record) -> Record {
        let Record { op, algorithm, case, types, status, reason, .. } = &record;
        let refused = match status {
            Status::Unsupported => Some(reason.split(" is not supported").next().unwrap_or(reason)),
            Status::Pass | Status::ExpectedFailure => None,
            Status::Fail | Status::Skipped => return record,
        };
        let check = [op, algorithm, case, types].map(String::clone);
        let (file, refusals) = match &mut self.pin {
            Pin::OfDevice(Some((file, refusals))) if !self.unpinned.contains(case) => {
                (format!("{FOLDER}/{file}"), refusals)
            }
            Pin::OfDevice(_) => return record,
            Pin::File(path, refusals) => (path.display().to_string(), refusals),
            Pin::Rewrite(_, refusals) => {
                match refused {
                    Some(what) => refusals.0.insert(check, what.into()),
                    None => refusals.0.remove(&check),
                };
                return record;
            }
        };
        let reason = match (refused, refusals.0.get(&check)) {
            (Some(what), None) => format!("{what} was refused, which {file} does not list"),
            (None, Some(what)) => format!("{what} was not refused, which {file} lists"),
            (Some(what), Some(pinned)) if what != pinned => {
                format!("{what} was refused, where {file} lists {pinned}")
            }
            _ => return record,
        };
        Record { status: Status::Fail, reason, ..record }
    }

    /// Writes the file that is to be rewritten.
    pub(crate) fn save(&self) -> Result<()> {
        match &self.pin {
            Pin::Rewrite(path, refusals) => {
                std::fs::write(path, refusals.text()).with_context(|| path.display().to_string())
            }
            Pin::OfDevice(_) | Pin::File(..) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A check of `spmv/coo segmented` in f64 that was refused, or passed.
    fn record(case: &str, status: Status) -> Record {
        let reason = if status == Status::Unsupported { "this order is not supported: sort it" } else { "" };
        let probe = Record::probe("opencl", case, status, reason);
        Record { op: "spmv/coo".into(), algorithm: "segmented".into(), types: "f64,i32".into(), ..probe }
    }

    /// Compares with a file that lists the case `listed`.
    fn compared(folder: &tempfile::TempDir) -> Support {
        let file = folder.path().join("pin.txt");
        std::fs::write(&file, "# about\nspmv/coo segmented listed f32,i32 f64,i32: this order\n").unwrap();
        Support::new(Some(&file), None, BTreeSet::new()).unwrap()
    }

    #[test]
    fn what_is_refused_is_what_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let mut support = compared(&folder);
        let mut compared_record = |case, status| support.compare(record(case, status));
        assert_eq!(compared_record("listed", Status::Unsupported).status, Status::Unsupported);
        assert_eq!(compared_record("another", Status::Pass).status, Status::Pass);
        let more = compared_record("another", Status::Unsupported);
        assert_eq!(more.status, Status::Fail);
        assert!(more.reason.starts_with("this order was refused, which "), "{}", more.reason);
        let fewer = compared_record("listed", Status::Pass);
        assert_eq!(fewer.status, Status::Fail);
        assert!(fewer.reason.starts_with("this order was not refused, which "), "{}", fewer.reason);
        let other =
            Record { reason: "that order is not supported".into(), ..record("listed", Status::Unsupported) };
        assert!(support.compare(other).reason.starts_with("that order was refused, where "));
    }

    #[test]
    fn a_pin_changes_where_checks_ran() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("pin.txt");
        std::fs::write(&file, "a b c f32 f64: x\nspmv/coo segmented listed f64,i32: y\n").unwrap();
        let mut support = Support::new(None, Some(&file), BTreeSet::new()).unwrap();
        support.compare(record("listed", Status::Pass));
        support.compare(record("new", Status::Unsupported));
        support.save().unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        assert_eq!(text, format!("{ABOUT}a b c f32 f64: x\nspmv/coo segmented new f64,i32: this order\n"));
    }

    #[test]
    fn a_device_is_held_to_its_own_pin_but_for_unpinned_cases() {
        let mut support = Support::new(None, None, BTreeSet::from(["of_a_corpus".into()])).unwrap();
        let status = |support: &mut Support, case| support.compare(record(case, Status::Unsupported)).status;
        support.opened("opencl", "NVIDIA H100 (NVIDIA CUDA)");
        assert_eq!(status(&mut support, "nowhere"), Status::Unsupported);
        support.opened("opencl", "a CPU (Portable Computing Language)");
        assert_eq!(status(&mut support, "nowhere"), Status::Fail);
        assert_eq!(status(&mut support, "of_a_corpus"), Status::Unsupported);
    }

    #[test]
    fn files_are_as_they_would_be_written() {
        for (_, _, file, text) in PINS {
            let refusals = Refusals::parse(text).unwrap_or_else(|error| panic!("{file}: {error:#}"));
            assert_eq!(refusals.text(), text, "{file}");
        }
    }

    #[test]
    fn a_line_without_a_reason_is_an_error() {
        let error = Refusals::parse("a b c f64: x\na b c f64\n").unwrap_err();
        assert!(format!("{error:#}").starts_with("line 2: expected "), "{error:#}");
    }
}
