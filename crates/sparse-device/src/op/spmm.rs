//! `C ← alpha·op(A)·B + beta·C`: the compressed direction of CSR and CSC by rows, everything else by grouped entries.

use super::chunks;
use super::column_blocks::{self, ColumnBlocks, MANY_CALLS};
use super::grouped::{GROUPED_ROWS, RowGroups};
use super::numbered::Numbered;
use super::row_split::{RowSplit, is_far};
use super::spmm_column_blocks;
use super::spmv::along;
use crate::launch::LANES;
use crate::program::Defines;
use crate::{Device, Kernel};
use sparse_core::op::{AccOf, Op, SpmmKernel};
use sparse_core::{
    Algorithm, Axis, Choice, Compressed, Coo, DenseView, DenseViewMut, Ell, Hyb, Index, KernelPlan, Matrix,
    PlanOptions, Result, Scalar, Sell,
};

const STORED: &[Algorithm] = &[
    Algorithm::new(
        column_blocks::NAME,
        "CUDA, for plans of 32 calls and more, where rows have 64 entries and more in each of at most 18 blocks of columns \
         whose rows of B shared memory holds, 256 bytes each, and B has as many",
    )
    .preprocessing("the first entry of each row in each block of columns, and room for a row of C for each"),
    Algorithm::new("row_per_thread", "the device is a CPU"),
    Algorithm::new(
        "crc",
        "the plan runs a few times, and B has at most 32 columns: 32 entries at a time in local memory, a column a lane",
    ),
    Algorithm::new("cwm", "the same with more columns of B: four columns a lane"),
    Algorithm::new(
        "row_split",
        "plans of 32 calls and more, and those of several where rows are long or unlike: chunks, the longest first",
    )
    .preprocessing(
        "rows in chunks of up to 512 entries, sorted by length, and room for a row of C for each chunk",
    ),
    Algorithm::new(
        "row_split_packed",
        "the same where B has 1 GiB and its rows are used 32 times: slices of its columns are copied in turn",
    )
    .preprocessing("the same, and room for a slice of B"),
];
const GROUPED: &[Algorithm] = &[GROUPED_ROWS];

/// Columns that a work-group of `cwm` takes.
const CWM_COLUMNS: usize = 4 * LANES;

/// A product with the entries grouped by the rows of op(A).
#[derive(Debug)]
pub struct GroupedPlan<I> {
    choice: Choice,
    kernel: Kernel,
    groups: RowGroups<I>,
}

impl<I: Index> GroupedPlan<I> {
    fn new<M: Numbered<Index = I>>(backend: &Device, a: &M, op: Op, options: &PlanOptions) -> Result<Self> {
        let choice = options.choose("spmm", GROUPED, GROUPED_ROWS.name, "there is no other")?;
        let groups = a.row_groups(backend, op)?;
        let kernel = backend.grouped_kernel::<M::Scalar, I>("grouped_spmm", &groups.positions, op)?;
        Ok(Self { choice, kernel, groups })
    }

    fn run<M: Numbered<Index = I>>(
        &self,
        backend: &Device,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar, Device>,
        beta: AccOf<M>,
        c: DenseViewMut<'_, M::Scalar, Device>,
    ) -> Result<()> {
        let (rows, cols) = (c.rows(), c.cols());
        let launch = backend.launch(&self.kernel).size(rows).size(cols).groups_of(&self.groups, a.values());
        launch.value(alpha).dense(b).value(beta).dense_mut(c).items(rows * cols)
    }
}

impl<I: Index> KernelPlan for GroupedPlan<I> {
    fn choice(&self) -> &Choice {
        &self.choice
    }

    fn workspace_bytes(&self) -> usize {
        self.groups.bytes()
    }
}

/// The plan of a product of compressed rows or columns.
#[derive(Debug)]
pub enum CompressedPlan<T: Scalar, I, O> {
    /// Along what is stored, by a kernel that needs nothing more.
    Stored(Choice, Kernel),
    /// The same by chunks of rows.
    Split(Choice, Box<RowSplit<T>>),
    /// The same by blocks of columns.
    ColumnBlocks(Choice, ColumnBlocks<T, O>),
    /// Across it.
    Grouped(GroupedPlan<I>),
}

impl<T: Scalar, I: Index, O: Index> KernelPlan for CompressedPlan<T, I, O> {
    fn choice(&self) -> &Choice {
        match self {
            Self::Stored(choice, _) | Self::Split(choice, _) | Self::ColumnBlocks(choice, _) => choice,
            Self::Grouped(plan) => plan.choice(),
        }
    }

    fn workspace_bytes(&self) -> usize {
        match self {
            Self::Stored(..) => 0,
            Self::Split(_, plan) => plan.bytes(),
            Self::ColumnBlocks(_, plan) => plan.bytes(),
            Self::Grouped(plan) => plan.workspace_bytes(),
        }
    }
}

impl Device {
    /// What the device can run of [`STORED`].
    fn along_algorithms(&self) -> &'static [Algorithm] {
        if self.can_share(spmm_column_blocks::FILE) { STORED } else { &STORED[1..] }
    }

    /// The algorithm that fits the rows and the columns of B, and why.
    fn fitting<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        op: Op,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<(&'static str, String)> {
        if let Some(reason) = self.gains_by_shared_rows(a, columns, options) {
            return Ok((column_blocks::NAME, reason));
        }
        Ok(match columns {
            _ if self.properties().is_cpu => ("row_per_thread", "the device is a CPU".into()),
            _ if self.is_worth_splitting(a, options)? => {
                let packed = is_far::<T>(a.nnz(), (op.shape(a).1, columns));
                let name = if packed { "row_split_packed" } else { "row_split" };
                (name, format!("the plan runs {} times", options.expected_calls))
            }
            0..=LANES => ("crc", format!("B has {columns} columns")),
            _ => ("cwm", format!("B has {columns} columns")),
        })
    }

    /// Whether chunks of rows pay: the plan runs [`MANY_CALLS`] times, or rows have [`LANES`] entries in the mean, or one has
    /// several chunks. Measured on an H100 over 260 matrices: chunks take the least time of all on 97 of 100, from rows
    /// of one entry on, and `crc` 1.4 × and `cwm` 1.2 × as much in the mean; a plan takes 0.1 to 0.5 ms.
    fn is_worth_splitting<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        options: &PlanOptions,
    ) -> Result<bool> {
        if options.expected_calls <= 1 || options.algorithm.is_some() {
            return Ok(false);
        }
        let rows = a.pattern().major();
        Ok(options.expected_calls >= MANY_CALLS
            || a.nnz() >= rows * LANES
            || self.longest_row(a.offsets())? > chunks::LARGEST)
    }

    /// A plan by chunks of rows.
    fn split<A: Axis, T: Scalar, I: Index, O: Index>(
        &self,
        choice: Choice,
        a: &Compressed<A, T, Self, I, O>,
        op: Op,
        columns: usize,
        is_packed: bool,
    ) -> Result<CompressedPlan<T, I, O>> {
        Ok(CompressedPlan::Split(choice, Box::new(RowSplit::new(self, a, op, columns, is_packed)?)))
    }
}

impl<A: Axis, T: Scalar, I: Index, O: Index> SpmmKernel<Compressed<A, T, Device, I, O>> for Device {
    type Plan = CompressedPlan<T, I, O>;

    fn spmm_algorithms(&self, op: Op) -> &'static [Algorithm] {
        if along::<A>(op) { self.along_algorithms() } else { GROUPED }
    }

    fn plan_spmm(
        &self,
        a: &Compressed<A, T, Device, I, O>,
        op: Op,
        columns: usize,
        options: &PlanOptions,
    ) -> Result<CompressedPlan<T, I, O>> {
        if !along::<A>(op) {
            return GroupedPlan::new(self, a, op, options).map(CompressedPlan::Grouped);
        }
        let (automatic, reason) = self.fitting(a, op, columns, options)?;
        let choice = options.choose("spmm", self.along_algorithms(), automatic, reason)?;
        let entry = match choice.algorithm {
            column_blocks::NAME => {
                let plan = ColumnBlocks::for_spmm(self, a, op, columns)?;
                return Ok(CompressedPlan::ColumnBlocks(choice, plan));
            }
            "row_split" => return self.split(choice, a, op, columns, false),
            "row_split_packed" => return self.split(choice, a, op, columns, true),
            "crc" => "csr_spmm_crc",
            "cwm" => "csr_spmm_cwm",
            _ => "csr_spmm_row_per_thread",
        };
        let defines = Defines::default().index::<I>().offset::<O>().conj::<T>(op);
        let kernel = self.kernel_of::<T>("csr_spmm", entry, defines)?;
        Ok(CompressedPlan::Stored(choice, kernel))
    }

    unsafe fn spmm(
        &self,
        plan: &mut CompressedPlan<T, I, O>,
        alpha: T::Acc,
        a: &Compressed<A, T, Device, I, O>,
        b: DenseView<'_, T, Self>,
        beta: T::Acc,
        c: DenseViewMut<'_, T, Self>,
    ) -> Result<()> {
        let (choice, kernel) = match plan {
            CompressedPlan::Grouped(plan) => return plan.run(self, alpha, a, b, beta, c),
            CompressedPlan::Split(_, plan) => return plan.run(self, (alpha, beta), a, b, c),
            CompressedPlan::ColumnBlocks(_, plan) => return plan.spmm(self, (alpha, beta), a, b, c),
            CompressedPlan::Stored(choice, kernel) => (choice, kernel),
        };
        let (rows, cols) = (c.rows(), c.cols());
        let launch = self.launch(kernel).size(rows).size(cols);
        let launch = launch.buffer(a.offsets()).buffer(a.indices()).buffer(a.values());
        let launch = launch.value(alpha).dense(b).value(beta).dense_mut(c);
        match choice.algorithm {
            "crc" => launch.warps(rows * cols.div_ceil(LANES)),
            "cwm" => launch.warps(rows * cols.div_ceil(CWM_COLUMNS)),
            _ => launch.items(rows),
        }
    }
}

macro_rules! grouped_spmm {
    ([$($generics:tt)*], $matrix:ty) => {
        impl<T: Scalar, $($generics)*> SpmmKernel<$matrix> for Device {
            type Plan = GroupedPlan<I>;

            fn spmm_algorithms(&self, _: Op) -> &'static [Algorithm] {
                GROUPED
            }

            fn plan_spmm(&self, a: &$matrix, op: Op, _: usize, options: &PlanOptions) -> Result<GroupedPlan<I>> {
                GroupedPlan::new(self, a, op, options)
            }

            unsafe fn spmm(
                &self,
                plan: &mut GroupedPlan<I>,
                alpha: T::Acc,
                a: &$matrix,
                b: DenseView<'_, T, Self>,
                beta: T::Acc,
                c: DenseViewMut<'_, T, Self>,
            ) -> Result<()> {
                plan.run(self, alpha, a, b, beta, c)
            }
        }
    };
}

grouped_spmm!([I: Index], Coo<T, Device, I>);
grouped_spmm!([I: Index], Ell<T, Device, I>);
grouped_spmm!([I: Index], Hyb<T, Device, I>);
grouped_spmm!([I: Index, O: Index], Sell<T, Device, I, O>);
