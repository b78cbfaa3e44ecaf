//! Every format to dense: zeros, then the sum of the entries of each coordinate that occurs.

use crate::buffer::{DensePlace, RawBuffer};
use crate::driver::Value;
use crate::primitive::positions::Permutation;
use crate::primitive::stored_values::{StoredValues, Values, position};
use crate::program::{Defines, IndexType};
use crate::{Device, Kernel};
use sparse_core::op::ToDenseKernel;
use sparse_core::reference::{Entries, Entry};
use sparse_core::{Algorithm, Choice, DType, DenseViewMut, KernelPlan, PlanOptions, Result, Scalar};

const COORDINATE_SUMS: &[Algorithm] = &[Algorithm::new("coordinate_sums", "always").preprocessing(
    "the coordinates of the entries, sorted on the device where they are not known to be unique",
)];

/// The coordinates of entries, sorted, and the positions of their values.
#[derive(Debug)]
pub struct Places {
    pub(crate) rows: RawBuffer,
    pub(crate) cols: RawBuffer,
    pub(crate) permutation: Permutation,
}

impl Places {
    /// The entries of a numbered matrix, sorted on the host; coordinates become of type `index`.
    pub(crate) fn numbered(
        backend: &Device,
        a: &impl Entries<Scalar = f64>,
        index: IndexType,
    ) -> Result<Self> {
        Self::of_entries(backend, a.entries().collect(), index)
    }

    fn of_entries(backend: &Device, mut entries: Vec<Entry<f64>>, index: IndexType) -> Result<Self> {
        entries.sort_by_key(|&(i, j, _)| (i, j));
        let rows: Vec<_> = entries.iter().map(|&(i, _, _)| i).collect();
        let cols: Vec<_> = entries.iter().map(|&(_, j, _)| j).collect();
        let permutation: Vec<_> = entries.iter().map(|&(_, _, number)| position(number)).collect();
        Ok(Self {
            rows: backend.upload_indices("a row", &rows, index)?,
            cols: backend.upload_indices("a column", &cols, index)?,
            permutation: Permutation::upload(backend, &permutation)?,
        })
    }
}

/// The plan of an expansion.
#[derive(Debug)]
pub struct ExpansionPlan {
    choice: Choice,
    places: Places,
    dtype: DType,
    kernel: Kernel,
}

impl ExpansionPlan {
    fn new(
        backend: &Device,
        dtype: DType,
        options: &PlanOptions,
        places: &dyn Fn() -> Result<Places>,
    ) -> Result<Self> {
        let choice = options.choose("to_dense", COORDINATE_SUMS, "coordinate_sums", "there is no other")?;
        let places = places()?;
        let index = places.rows.index_type();
        let defines = Defines::default().index(index).set("POS", places.permutation.type_name());
        let kernel = backend.kernel_of(dtype, "to_dense", "to_dense_sum", defines)?;
        Ok(Self { choice, places, dtype, kernel })
    }

    /// Writes `zero` everywhere, then the sums of entries.
    fn run(&self, backend: &Device, values: Values<'_>, zero: Value, dense: DensePlace<'_>) -> Result<()> {
        backend.scale(self.dtype, zero, dense)?;
        let (places, n) = (&self.places, self.places.permutation.len());
        let launch = backend.launch(&self.kernel).size(n).buffer(&places.rows).buffer(&places.cols);
        launch.permutation(&places.permutation).values(values).dense(dense).items(n)
    }
}

impl KernelPlan for ExpansionPlan {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.places.rows.bytes() + self.places.cols.bytes() + self.places.permutation.bytes()
    }
}

impl<M: StoredValues> ToDenseKernel<M> for Device {
    type Plan = ExpansionPlan;

    fn to_dense_algorithms(&self) -> &'static [Algorithm] {
        COORDINATE_SUMS
    }

    fn plan_to_dense(&self, a: &M, options: &PlanOptions) -> Result<Self::Plan> {
        ExpansionPlan::new(self, M::Scalar::DTYPE, options, &|| a.places(self))
    }

    unsafe fn to_dense(
        &self,
        plan: &mut Self::Plan,
        a: &M,
        dense: DenseViewMut<'_, M::Scalar, Self>,
    ) -> Result<()> {
        let zero = Value::new(&<M::Scalar as Scalar>::Acc::ZERO);
        plan.run(self, a.values(), zero, dense.into())
    }
}
