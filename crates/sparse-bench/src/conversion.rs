//! Conversions to CSR by ours and by other libraries, and their arrays on the host.

use sparse_core::{BatchCsr, Csr, Host, Result as CoreResult, SparseFormat};
use sparse_device::Device;

/// The arrays of a CSR matrix, or of a batch, on the host.
pub(crate) struct Arrays {
    pub(crate) offsets: Vec<i32>,
    pub(crate) indices: Vec<i32>,
    pub(crate) values: Vec<f32>,
}

impl Arrays {
    /// The first difference between the arrays and the expected ones.
    pub(crate) fn difference(&self, expected: &Self) -> Option<String> {
        first_difference("offsets", &self.offsets, &expected.offsets)
            .or_else(|| first_difference("indices", &self.indices, &expected.indices))
            .or_else(|| first_difference("values", &self.values, &expected.values))
    }
}

fn first_difference<T: PartialEq + std::fmt::Debug>(
    name: &str,
    found: &[T],
    expected: &[T],
) -> Option<String> {
    if found.len() != expected.len() {
        return Some(format!("{} {name} where there are {}", found.len(), expected.len()));
    }
    let k = (0..found.len()).find(|&k| found[k] != expected[k])?;
    Some(format!("{name}[{k}] is {:?} where {:?} is right", found[k], expected[k]))
}

impl From<Csr<f32>> for Arrays {
    fn from(a: Csr<f32>) -> Self {
        let (offsets, indices, values) = a.into_parts();
        Self { offsets, indices, values }
    }
}

impl From<BatchCsr<f32>> for Arrays {
    fn from(a: BatchCsr<f32>) -> Self {
        Self { offsets: a.offsets().clone(), indices: a.indices().clone(), values: a.values().clone() }
    }
}

/// A conversion to CSR.
pub(crate) trait Convert {
    /// Enqueues it; the last result is dropped. Returns the seconds that it took, if it has a clock of its own.
    fn run(&mut self) -> CoreResult<Option<f64>>;

    /// The result of the last run.
    fn arrays(&mut self) -> CoreResult<Arrays>;
}

/// A named conversion.
pub(crate) struct Conversion<'a> {
    pub(crate) name: String,
    pub(crate) plan_seconds: Option<f64>,
    pub(crate) convert: Box<dyn Convert + 'a>,
}

impl<'a> Conversion<'a> {
    /// One of ours, which `make`s a new matrix in every run.
    pub(crate) fn ours<M>(
        name: &str,
        plan_seconds: Option<f64>,
        device: &'a Device,
        make: impl FnMut() -> CoreResult<M> + 'a,
    ) -> Self
    where
        M: SparseFormat<Space = Device, In<Host>: Into<Arrays>>,
    {
        let convert = Box::new(Latest { device, make, made: None });
        Self { name: name.into(), plan_seconds, convert }
    }
}

/// The matrix of the last run.
struct Latest<'a, F, M> {
    device: &'a Device,
    make: F,
    made: Option<M>,
}

impl<F, M> Convert for Latest<'_, F, M>
where
    F: FnMut() -> CoreResult<M>,
    M: SparseFormat<Space = Device, In<Host>: Into<Arrays>>,
{
    fn run(&mut self) -> CoreResult<Option<f64>> {
        self.made = None;
        self.made = Some((self.make)()?);
        Ok(None)
    }

    fn arrays(&mut self) -> CoreResult<Arrays> {
        match &self.made {
            Some(made) => Ok(made.to_host(self.device)?.into()),
            None => Ok(Arrays { offsets: vec![], indices: vec![], values: vec![] }),
        }
    }
}
