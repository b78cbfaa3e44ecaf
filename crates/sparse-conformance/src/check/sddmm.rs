//! `C ← alpha·P ∘ (U·Vᵀ) + beta·C`, with U and V of either order, strided or aligned, of 0 to 65 columns.

use super::spmv::factors;
use crate::array_dump;
use crate::build::{Build, FormatOn};
use crate::call::{Call, Outcome};
use crate::case::{Case, Problem};
use crate::error_bound::Sum;
use crate::guarded_operand::{Cell, DeviceOperand, Frame, GuardedOperand, POISON};
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::setting::{EntryOrder, SampledProduct, Setting};
use crate::subject::{Check, Expected};
use crate::suite::Suite;
use crate::triplets::{Triplet, Triplets};
use sparse_core::catalog::Operation;
use sparse_core::op::{Sampling, SddmmKernel, SddmmPlan, VectorKernel};
use sparse_core::{
    Algorithm, Backend, DenseView, Error, Order, PlanOptions, Result, Space, SpaceOf, SparseFormat, c64,
};
use std::ops::Range;

/// The check of sampled products.
#[derive(Debug)]
pub(crate) struct Sddmm;

/// The parameters of one plan: sampling, columns of U and V, their orders, and their alignment.
type Parameters = (Sampling, usize, (Order, Order), bool);

const ROWS: (Order, Order) = (Order::RowMajor, Order::RowMajor);
const COLUMNS: (Order, Order) = (Order::ColMajor, Order::ColMajor);
const ROWS_AND_COLUMNS: (Order, Order) = (Order::RowMajor, Order::ColMajor);
const COLUMNS_AND_ROWS: (Order, Order) = (Order::ColMajor, Order::RowMajor);

const SMALL: &[Parameters] = &[
    (Sampling::Values, 0, ROWS, false),
    (Sampling::Values, 1, COLUMNS, false),
    (Sampling::Values, 3, ROWS, true),
    (Sampling::Values, 3, ROWS_AND_COLUMNS, false),
    (Sampling::Pattern, 3, COLUMNS_AND_ROWS, false),
    (Sampling::Values, 32, ROWS, true),
    (Sampling::Pattern, 32, ROWS_AND_COLUMNS, false),
    (Sampling::Values, 65, ROWS, true),
    (Sampling::Values, 65, ROWS, false),
];
const LARGE: &[Parameters] = &[(Sampling::Values, 3, ROWS, true), (Sampling::Pattern, 5, COLUMNS, false)];

/// Columns from which on a plan runs with few factors.
const MANY: usize = 32;

/// Elements before an operand that is aligned: with its guard words they have 16 bytes or a multiple in every type.
const ALIGNED_START: usize = 5;

/// Elements that have 16 bytes or a multiple in every type.
const ALIGNMENT: usize = 8;

/// Elements between lines that are not aligned.
const PADDING: usize = 3;

fn product_of(setting: &Setting) -> Option<SampledProduct> {
    if let Setting::Sampled(product) = *setting { Some(product) } else { None }
}

/// The entries in the order of the format.
fn stored(matrix: &Triplets, order: EntryOrder) -> Vec<Triplet> {
    let mut entries = matrix.entries.clone();
    match order {
        EntryOrder::Rows => entries.sort_by_key(|entry| entry.0),
        EntryOrder::Columns => entries.sort_by_key(|entry| entry.1),
        EntryOrder::Given => {}
    }
    entries
}

/// A call whose input has the rows of U and below them those of V, with NaN where nothing may be read.
fn call(problem: &Problem, (alpha, beta): (c64, c64), v_rows: usize, inner: usize, entries: usize) -> Call {
    let read = |factor: c64, value: c64| if factor == c64::ZERO { POISON } else { value };
    let rows = problem.matrix.rows;
    let x = Frame { rows: rows + v_rows, cols: inner, padding: 0, order: Order::RowMajor };
    let element = |row: usize, t| match row.checked_sub(rows) {
        None => problem.x(row, t),
        Some(row) => problem.x(row, t + inner),
    };
    Call {
        label: format!("alpha={} beta={}", array_dump::text(alpha), array_dump::text(beta)),
        alpha,
        beta,
        x: GuardedOperand::input(x, |row, t| read(alpha, element(row, t))),
        y: GuardedOperand::output(Frame::vector(entries), |k, _| read(beta, problem.y(k, 0))),
    }
}

impl Suite {
    /// Sampled products in format `H`.
    pub fn sddmm<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SddmmKernel<FormatOn<B, H>> + VectorKernel<H::Scalar>,
        H: Build<Scalar: Cell>,
    {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::Sddmm), &Sddmm))
    }
}

impl Check for Sddmm {
    /// Products of subnormal numbers are no integers.
    fn takes(&self, case: &Case) -> bool {
        case.name != "v1_special_values"
    }

    fn settings(&self, key: &Key, problem: &Problem) -> Vec<Setting> {
        let entry_order = match key.format.as_str() {
            "csr" | "batch_csr" => EntryOrder::Rows,
            "csc" | "batch_csc" => EntryOrder::Columns,
            _ => EntryOrder::Given,
        };
        let entries = problem.matrix.entries.len();
        let (large, parameters) = (problem.case.large, if problem.case.large { LARGE } else { SMALL });
        let takes = |(_, inner, ..): &&Parameters| large || problem.has_few_elements(*inner);
        let setting = |&(sampling, inner, orders, aligned): &Parameters| {
            Setting::Sampled(SampledProduct { sampling, inner, orders, aligned, entries, entry_order })
        };
        parameters.iter().filter(takes).map(setting).collect()
    }

    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let Some(SampledProduct { inner, entries, .. }) = product_of(setting) else { return vec![] };
        let mut factors = factors(problem);
        if inner >= MANY {
            factors.truncate(2);
        }
        factors
            .into_iter()
            .map(|factors| call(problem, factors, problem.matrix.cols, inner, entries))
            .collect()
    }

    fn invalid_calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let Some(SampledProduct { inner, entries, .. }) = product_of(setting) else { return vec![] };
        let cols = problem.matrix.cols;
        [(cols + 1, inner, entries), (cols, inner + 1, entries), (cols, inner, entries + 1)]
            .map(|(rows, inner, entries)| call(problem, (c64::ONE, c64::ONE), rows, inner, entries))
            .into()
    }

    /// Snapshots have the answers of CSR with three columns, which those of other formats and columns would repeat.
    fn scope(&self, key: &Key, setting: &Setting) -> Option<String> {
        let is_kept = key.format == "csr" && product_of(setting)?.inner == 3;
        is_kept.then(String::new)
    }

    fn expected(&self, setting: &Setting, call: &Call, problem: &Problem) -> Option<Expected> {
        let SampledProduct { sampling, inner, entry_order, .. } = product_of(setting)?;
        let (matrix, arithmetic) = (&problem.matrix, &problem.arithmetic);
        let element = |(k, (i, j, value)): (usize, Triplet)| {
            let products = (0..inner).rev().map(|t| (call.x.at(i, t), call.x.at(matrix.rows + j, t)));
            let sum = Sum::of(products, arithmetic);
            let sum = match sampling {
                Sampling::Values => sum.times(value, arithmetic),
                Sampling::Pattern => sum,
            };
            let sum = sum.scaled(call.alpha, call.beta, call.y.at(k, 0), arithmetic);
            sum.bounded(problem.is_exact(), arithmetic)
        };
        let y = stored(matrix, entry_order).into_iter().enumerate().map(element).collect();
        Some(Expected { y, ..Expected::default() })
    }
}

impl<B, H> MatrixOperation<B, H> for Sddmm
where
    B: SddmmKernel<FormatOn<B, H>> + VectorKernel<H::Scalar>,
    H: Build<Scalar: Cell>,
{
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.sddmm_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        p: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let Some(product) = product_of(setting) else {
            return Err(Error::unsupported("sddmm", "the setting is of another operation"));
        };
        if p.nnz() != product.entries {
            let (found, expected) = (p.nnz(), product.entries);
            return Err(Error::format(H::FORMAT, format_args!("P has {found} entries, expected {expected}")));
        }
        let mut plan = SddmmPlan::new(backend, p, product.sampling, product.inner, options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |p, call, y| {
                let (alpha, beta) = call.factors();
                let (rows, backend) = (p.device.nrows(), p.backend);
                let u = Factor::<B, H::Scalar>::new(backend, product, product.orders.0, &call.x, 0..rows)?;
                let v_rows = rows..call.x.frame.rows;
                let v = Factor::<B, H::Scalar>::new(backend, product, product.orders.1, &call.x, v_rows)?;
                let mut c = DeviceOperand::new(backend, y)?;
                let done = plan.run(alpha, &p.device, u.view()?, v.view()?, beta, c.vector_mut());
                *y = c.read(backend)?;
                done?;
                u.check(backend, "U")?;
                v.check(backend, "V")?;
                Ok(Outcome::default())
            }),
        })
    }
}

/// U or V, surrounded by NaN, in a backend's memory.
struct Factor<B: Backend, E: Cell> {
    host: GuardedOperand,
    device: DeviceOperand<B, E>,
    start: usize,
    shape: (usize, usize),
    leading_dimension: usize,
    order: Order,
}

impl<B: Backend, E: Cell> Factor<B, E> {
    /// Some rows of `x`.
    fn new(
        backend: &B,
        product: SampledProduct,
        order: Order,
        x: &GuardedOperand,
        rows: Range<usize>,
    ) -> Result<Self> {
        let shape = (rows.len(), x.frame.cols);
        let (lines, line) = if order == Order::RowMajor { shape } else { (shape.1, shape.0) };
        let (start, leading_dimension) = match product.aligned {
            true => (ALIGNED_START, line.next_multiple_of(ALIGNMENT)),
            false => (0, line + PADDING),
        };
        let element = |at: usize, _| {
            let Some(at) = at.checked_sub(start) else { return POISON };
            let (major, minor) = (at / leading_dimension, at % leading_dimension);
            match order {
                _ if minor >= line => POISON,
                Order::RowMajor => x.at(rows.start + major, minor),
                Order::ColMajor => x.at(rows.start + minor, major),
            }
        };
        let host = GuardedOperand::input(Frame::vector(start + lines * leading_dimension), element);
        let device = DeviceOperand::new(backend, &host)?;
        Ok(Self { host, device, start, shape, leading_dimension, order })
    }

    fn view(&self) -> Result<DenseView<'_, E, SpaceOf<B>>> {
        let elements = self.start..self.host.frame.rows;
        let elements = SpaceOf::<B>::slice(self.device.vector(), elements);
        DenseView::new(elements, self.shape.0, self.shape.1, self.leading_dimension, self.order)
    }

    /// An error if the operand was changed.
    fn check(&self, backend: &B, name: &str) -> Result<()> {
        if self.device.read(backend)?.same_bits(&self.host) {
            return Ok(());
        }
        Err(Error::format("dense", format_args!("{name} was changed")))
    }
}
