//! Faults planted in kernels, each of which the conformance table must find.
//!
//! A [`Fault`] is one place of one kernel's text that is changed before it is compiled, or a read of the device's
//! memory that goes wrong; [`faults`] lists them. The table runs on a device with the fault, with values `f64`
//! and indices `i32`, SpMM also with `f16`, and must report a failure for every operation that the fault is for.
//!
//! Changes keep kernels inside their memory: a fault may spoil what a kernel computes, not the process that tests it.

mod driver;
#[cfg(test)]
mod idle_driver;
mod list;
#[cfg(test)]
mod tests;

pub use list::faults;

use driver::PlantedDriver;
use kernels_core::File;
use sparse_conformance::{Case, Filter, Record, Run, Snapshots, Status, Suite, Tier, table};
use sparse_core::op::AllTypes;
use sparse_core::reference::Reference;
use sparse_core::{Csr, f16};
use sparse_device::{Device, Library};
use std::fmt::{self, Display};

/// A kind of mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// An entry is not taken, or not written.
    DroppedEntry,
    /// An index is one too low or too high.
    OffByOne,
    /// Memory that was not written, or was written before, is taken for a result.
    Stale,
    /// Steps from row to row, column to column or slot to slot are wrong.
    WrongStride,
    /// Entries come in another order than they must.
    WrongOrder,
    /// Places without an entry change a result.
    Padding,
    /// A barrier is missing: work-items read values that others have not written yet.
    Race,
}

impl Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::DroppedEntry => "entry dropped",
            Self::OffByOne => "off by one",
            Self::Stale => "stale memory",
            Self::WrongStride => "wrong stride",
            Self::WrongOrder => "wrong order",
            Self::Padding => "padding",
            Self::Race => "race",
        })
    }
}

/// An operation, as the table names it, and the algorithm by which it finds a fault; by any where there is none.
pub type Finder = (&'static str, Option<&'static str>);

/// A text that occurs once in a file or its headers, and its replacement.
pub type Change = (&'static str, &'static str);

/// The site of a fault: what is changed, and where.
#[derive(Debug, Clone, Copy)]
pub enum Site {
    /// A change of a file of kernels, in each language that has one.
    Kernel {
        /// The file's name without its extension.
        file: &'static str,
        /// The change in OpenCL C.
        cl: Option<Change>,
        /// The change in CUDA C++.
        cu: Option<Change>,
    },
    /// A wrong read of 16 bytes and more: the fourth word of 4 bytes comes out as the third.
    Read,
}

/// A fault of a device, and who must find it.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The kind of mistake.
    pub kind: Kind,
    /// A description of the fault.
    pub what: &'static str,
    /// The site of the fault.
    pub place: Site,
    /// The operations that must find it.
    pub found_by: &'static [Finder],
    /// The case of the table that finds it.
    pub case: &'static str,
}

impl Fault {
    /// The name in lists of tests: `csr_spmv/the last entry of a row is left out`.
    pub fn name(&self) -> String {
        let file = match self.place {
            Site::Kernel { file, .. } => file,
            Site::Read => "read",
        };
        format!("{file}/{}", self.what)
    }

    /// True if it can be planted in the kernels of a library.
    pub fn is_for(&self, library: &Library) -> bool {
        let language = if library.name == "cuda" { "cu" } else { "cl" };
        matches!(self.place, Site::Read) || self.change(language).is_some()
    }

    /// The change in a language, named by the extension of its files.
    fn change(&self, language: &str) -> Option<Change> {
        match (self.place, language) {
            (Site::Kernel { cl, .. }, "cl") => cl,
            (Site::Kernel { cu, .. }, "cu") => cu,
            _ => None,
        }
    }

    /// The file with the fault, under another name, so that no precompiled image is used; `None` for other files.
    ///
    /// # Panics
    /// If the text that is to be changed does not occur exactly once in the file or, if it is not there, in the
    /// headers.
    fn plant(&self, file: &File) -> Option<File> {
        let (from, to) = self.change(file.language()).filter(|_| self.is_in(file))?;
        let headers: &[_] = if file.text.contains(from) { &[] } else { file.headers };
        let texts = headers.iter().map(|(_, text)| *text).chain([file.text]);
        let count = texts.map(|text| text.matches(from).count()).sum::<usize>();
        assert_eq!(count, 1, "{}: `{from}` stands {count} times in {}", self.name(), file.name);
        // Leaked, since a file's texts are `'static`; a test process is short.
        let plant = |text: &str| -> &'static str { text.replace(from, to).leak() };
        let planted = headers.iter().map(|(name, text)| (*name, plant(text))).collect::<Vec<_>>();
        let name = format!("{}.planted.{}", file.stem(), file.language()).leak();
        let headers: &'static [_] = if planted.is_empty() { file.headers } else { planted.leak() };
        Some(File { name, text: plant(file.text), headers, ..*file })
    }

    fn is_in(&self, file: &File) -> bool {
        matches!(self.place, Site::Kernel { file: stem, .. } if stem == file.stem())
    }
}

/// Asserts that the table finds the fault on every device of the library.
///
/// # Panics
/// If an operation does not find it.
pub fn is_found(library: &Library, fault: &'static Fault) {
    for index in 0..library.probe().devices.len() {
        let driver = (library.driver)(index).expect("a device that was found opens");
        let device = Device::from_driver(Box::new(PlantedDriver::new(driver, fault))).expect("as above");
        for find in fault.found_by {
            let records = DeviceTable::new(&device).records(fault.case, find);
            assert!(
                records.iter().any(is_wrong_answer),
                "{}: {find:?} does not find it: {records:#?}",
                fault.name()
            );
        }
        let planted = device.driver_as::<PlantedDriver>().expect("the driver of this device");
        planted.assert_was_run();
    }
}

/// True if the table reports a wrong answer, and not an error or a panic.
fn is_wrong_answer(record: &Record) -> bool {
    let says = |part| record.reason.contains(part);
    record.status == Status::Fail && (says("expected") || says("comes back from the backend as another"))
}

/// Asserts that everything passes that is to find a fault, on every device of the library without one.
///
/// # Panics
/// If anything else comes out.
pub fn nothing_is_found_without_a_fault(library: &Library) {
    crate::each_device(library, |device| {
        let table = DeviceTable::new(device);
        for fault in faults().filter(|fault| fault.is_for(library)) {
            for find in fault.found_by {
                let records = table.records(fault.case, find);
                let passes = |record: &Record| record.status == Status::Pass;
                assert!(!records.is_empty() && records.iter().all(passes), "{find:?}: {records:#?}");
            }
        }
    });
}

/// The operations of a device, and those of the serial reference.
struct DeviceTable {
    suite: Suite,
    reference: Suite,
}

impl DeviceTable {
    fn new(device: &Device) -> Self {
        Self { suite: suite(device), reference: suite(&Reference) }
    }

    /// The records of an operation on one case, by one algorithm or by all.
    fn records(&self, case: &str, &(operation, algorithm): &Finder) -> Vec<Record> {
        let cases: Vec<Case> = table().into_iter().filter(|known| known.name == case).collect();
        let filter = Filter {
            tier: Tier::Quick,
            op: Some(operation.into()),
            algorithm: algorithm.map(Into::into),
            ..Filter::default()
        };
        let mut records = vec![];
        let run = Run { suite: &self.suite, reference: &self.reference, cases: &cases, filter: &filter };
        run.run(&mut Snapshots::compare(Snapshots::default_folder()), &mut records);
        records
    }
}

/// Every operation in one type of values and indices, and the product that has algorithms for other types alone.
fn suite<B: AllTypes>(backend: &B) -> Suite {
    let mut suite = Suite::new(backend);
    suite.all_operations::<B, f64, i32, i32>(backend).scan::<B, i32>(backend);
    suite.spmm::<B, Csr<f16>>(backend).spmm::<B, Csr<f32>>(backend);
    suite
}
