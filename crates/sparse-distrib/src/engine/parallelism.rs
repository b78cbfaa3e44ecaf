//! The division of many matrices among the threads or work-items of a device.

use sparse_core::{Error, Result};
use std::fmt::Display;
use std::str::FromStr;

/// The division of the compression of many matrices among the threads or work-items of a device: a task is a matrix.
///
/// | name | the host | a device with memory of its own |
/// |---|---|---|
/// | `batch` | a thread compresses whole matrices; one above 4 MiB all threads | all of a chunk in one launch |
/// | `inter_task` | a thread compresses whole matrices, however large | all of a chunk in one launch, in which a warp has whole matrices (`matrix_per_warp`), or a work-item on processors driven by OpenCL (`matrix_per_thread`) |
/// | `intra_task` | all threads compress one matrix after the other | a launch for each matrix |
///
/// The results have the same bytes. Where the host compresses matrices to messages, each of its threads compresses
/// whole matrices with every parallelism; only the devices, which unpack them, differ.
///
/// Inter- and intra-task are the two of Hsu, Efficient strategies for compressing sparse matrices on graphics
/// processing units, master's thesis, Chang Gung University 2013. Tasks that have whole matrices suit many small ones,
/// up to about 64 × 64: a large one keeps its task busy while others have nothing to do.
///
/// ```
/// use sparse_distrib::Parallelism;
///
/// assert_eq!("intra_task".parse::<Parallelism>()?, Parallelism::IntraTask);
/// assert_eq!(Parallelism::default().name(), "batch");
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Parallelism {
    /// Several matrices at a time, and large ones also in parallel themselves.
    #[default]
    Batch,
    /// Several matrices at a time, each by one task.
    InterTask,
    /// One matrix after the other, with all threads or work-items.
    IntraTask,
}

impl Parallelism {
    /// All kinds of parallelism, the default first.
    pub const ALL: [Self; 3] = [Self::Batch, Self::InterTask, Self::IntraTask];

    /// The name in options and reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Batch => "batch",
            Self::InterTask => "inter_task",
            Self::IntraTask => "intra_task",
        }
    }
}

impl Display for Parallelism {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Parallelism {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self> {
        Self::ALL.into_iter().find(|parallelism| parallelism.name() == name).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            Error::unsupported(format_args!("the parallelism `{name}`"), format_args!("use one of {names}"))
        })
    }
}
