//! Dense to CSR, CSC and COO, one matrix or a batch: indices are sorted and unique, zeros of either sign are dropped
//! and NaN stays.

use crate::build::types;
use crate::call::{Call, Outcome};
use crate::case::Problem;
use crate::guarded_operand::{Cell, DeviceOperand, Frame, GuardedOperand};
use crate::key::Key;
use crate::setting::Setting;
use crate::subject::{Check, Given, PlannedOperation, Subject};
use crate::suite::Suite;
use crate::triplets::Triplets;
use sparse_core::catalog::Operation;
use sparse_core::op::{ConvertKernel, DenseToCompressedPlan, DenseToCsrKernel};
use sparse_core::{
    Algorithm, Axis, BatchCompressed, Col, Compressed, Coo, Csr, DenseBatchView, Host, Index, Order,
    PlanOptions, Result, Row, Scalar, SpaceOf,
};

/// The check of compression.
#[derive(Debug)]
pub(crate) struct DenseToCsr;

/// The most elements of a dense matrix.
pub(super) const LARGEST: usize = 1 << 16;

/// The frame of the members of a batch, one below the other (row-major) or side by side (column-major).
fn frame(matrix: &Triplets, setting: &Setting) -> Frame {
    let Setting::Dense { order, padding, .. } = *setting else { return Frame::vector(0) };
    let (rows, cols) = (matrix.rows / matrix.members, matrix.cols / matrix.members);
    match order {
        Order::RowMajor => Frame { rows: matrix.rows, cols, padding, order },
        Order::ColMajor => Frame { rows, cols: matrix.cols, padding, order },
    }
}

/// The elements of all members.
fn operand(matrix: &Triplets, setting: &Setting) -> GuardedOperand {
    let members: Vec<_> = (0..matrix.members).map(|member| matrix.member(member)).collect();
    let elements: Vec<_> = members.iter().map(Triplets::dense).collect();
    let (rows, cols) = (matrix.rows / matrix.members, matrix.cols / matrix.members);
    GuardedOperand::input(frame(matrix, setting), |row, col| {
        let member = (row / rows).max(col / cols);
        elements[member][(row % rows) * cols + col % cols]
    })
}

impl Suite {
    /// Dense to CSR, CSC and COO, and batches of the first two.
    pub fn dense_to_csr<B, T, I, O>(&mut self, backend: &B) -> &mut Self
    where
        B: DenseToCsrKernel<T, I, O> + ConvertKernel<Csr<T, SpaceOf<B>, I, O>, Coo<T, SpaceOf<B>, I>>,
        T: Scalar + Cell,
        I: Index,
        O: Index,
    {
        self.add(DenseSubject::<B, Row, T, I, O>::single(backend.clone()))
            .add(DenseSubject::<B, Col, T, I, O>::single(backend.clone()))
            .add(DenseSubject::<B, Row, T, I, O>::batch(backend.clone()))
            .add(DenseSubject::<B, Col, T, I, O>::batch(backend.clone()))
            .add(DenseSubject::<B, Row, T, I, O>::coo(backend.clone()))
    }
}

impl Check for DenseToCsr {
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        if problem.matrix.elements() > LARGEST * problem.matrix.members {
            return vec![];
        }
        [
            (Order::RowMajor, 0, None),
            (Order::RowMajor, 3, Some(4.0)),
            (Order::ColMajor, 0, None),
            (Order::ColMajor, 2, Some(4.0)),
        ]
        .map(|(order, padding, tolerance)| Setting::Dense { order, padding, tolerance })
        .into()
    }

    /// The matrix, and other values in the same shape.
    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let call = |label: &str, matrix: &Triplets| {
            let x = operand(matrix, setting);
            Call { label: label.into(), x, ..Call::plain(GuardedOperand::none()) }
        };
        vec![call("first", &problem.matrix), call("other", &problem.matrix.with_other_values())]
    }

    fn invalid_calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let frame = frame(&problem.matrix, setting);
        let wider = Frame { rows: frame.rows + problem.matrix.members, ..frame };
        vec![Call {
            x: GuardedOperand::input(wider, |_, _| Default::default()),
            ..Call::plain(GuardedOperand::none())
        }]
    }

    fn is_canonical(&self) -> bool {
        true
    }
}

type Plan<B, A, T, I, O> = DenseToCompressedPlan<B, A, T, I, O>;
type Dense<'a, B, T> = DenseBatchView<'a, T, SpaceOf<B>>;
type Compress<B, A, T, I, O> = fn(&mut Plan<B, A, T, I, O>, Dense<'_, B, T>, &B) -> Result<Outcome>;

/// Compression of one backend to one format.
pub(crate) struct DenseSubject<B: DenseToCsrKernel<T, I, O>, A: Axis, T: Scalar, I: Index, O: Index> {
    backend: B,
    key: Key,
    compress: Compress<B, A, T, I, O>,
}

impl<B, A, T, I, O> DenseSubject<B, A, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar,
    I: Index,
    O: Index,
{
    fn key(format: &str) -> Key {
        Key::new::<T>(Operation::DenseToCsr, format, types::<T, I, O>())
    }

    pub(crate) fn single(backend: B) -> Self {
        let compress = |plan: &mut Plan<B, A, T, I, O>, dense: Dense<'_, B, T>, backend: &B| {
            Outcome::of::<B, Compressed<A, T, Host, I, O>>(&plan.run(dense.member(0))?, backend)
        };
        Self { backend, key: Self::key(A::FORMAT), compress }
    }

    pub(crate) fn batch(backend: B) -> Self {
        let compress = |plan: &mut Plan<B, A, T, I, O>, dense: Dense<'_, B, T>, backend: &B| {
            Outcome::of::<B, BatchCompressed<A, T, Host, I, O>>(&plan.run_batch(dense)?, backend)
        };
        Self { backend, key: Self::key(A::BATCH_FORMAT), compress }
    }
}

impl<B, T, I, O> DenseSubject<B, Row, T, I, O>
where
    B: DenseToCsrKernel<T, I, O> + ConvertKernel<Csr<T, SpaceOf<B>, I, O>, Coo<T, SpaceOf<B>, I>>,
    T: Scalar,
    I: Index,
    O: Index,
{
    pub(crate) fn coo(backend: B) -> Self {
        let compress = |plan: &mut Plan<B, Row, T, I, O>, dense: Dense<'_, B, T>, backend: &B| {
            Outcome::of::<B, Coo<T, Host, I>>(&plan.run_coo(dense.member(0))?, backend)
        };
        Self { backend, key: Self::key("coo"), compress }
    }
}

struct PlannedOnDense<'a, B: DenseToCsrKernel<T, I, O>, A: Axis, T: Scalar, I: Index, O: Index> {
    subject: &'a DenseSubject<B, A, T, I, O>,
    plan: Plan<B, A, T, I, O>,
    members: usize,
}

impl<B, A, T, I, O> Subject for DenseSubject<B, A, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar + Cell,
    I: Index,
    O: Index,
{
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &DenseToCsr
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        self.backend.dense_to_csr_algorithms()
    }

    fn given<'a>(&'a self, matrix: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(GivenDense { subject: self, matrix }))
    }
}

struct GivenDense<'a, B: DenseToCsrKernel<T, I, O>, A: Axis, T: Scalar, I: Index, O: Index> {
    subject: &'a DenseSubject<B, A, T, I, O>,
    matrix: &'a Triplets,
}

impl<B, A, T, I, O> Given for GivenDense<'_, B, A, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar + Cell,
    I: Index,
    O: Index,
{
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        let (subject, members) = (self.subject, self.matrix.members);
        let dense = DeviceOperand::<B, T>::new(&subject.backend, &operand(self.matrix, setting))?;
        let plan = Plan::new(&subject.backend, dense.batch(members)?, setting.keep(), options)?;
        Ok(Box::new(PlannedOnDense { subject, plan, members }))
    }
}

impl<B, A, T, I, O> PlannedOperation for PlannedOnDense<'_, B, A, T, I, O>
where
    B: DenseToCsrKernel<T, I, O>,
    A: Axis,
    T: Scalar + Cell,
    I: Index,
    O: Index,
{
    fn run(&mut self, call: &Call, _: &mut GuardedOperand) -> Result<Outcome> {
        let backend = &self.subject.backend;
        let dense = DeviceOperand::<B, T>::new(backend, &call.x)?;
        let outcome = (self.subject.compress)(&mut self.plan, dense.batch(self.members)?, backend)?;
        Ok(Outcome { input_changed: dense.is_changed(backend)?, ..outcome })
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.plan.choice().algorithm)
    }
}
