//! `C ← ⊕ A·B` with operands of either order, strided, of 0 to 40 columns, and its arguments.

use super::spmm::LAYOUTS;
use super::spmv::product_call;
use crate::build::{Build, FormatOn};
use crate::call::{Call, Outcome};
use crate::case::{Case, Problem};
use crate::error_bound::{Bounded, Sum};
use crate::guarded_operand::{Cell, DeviceOperand, Frame, GuardedOperand};
use crate::key::Key;
use crate::matrix_subject::{MatrixOperation, MatrixPlan, MatrixSubject};
use crate::scalar_properties::Arithmetic;
use crate::setting::{Aggregated, Setting};
use crate::subject::{Check, Expected};
use crate::suite::Suite;
use sparse_core::catalog::Operation;
use sparse_core::op::{Aggregation, SpmmReduceKernel, SpmmReducePlan};
use sparse_core::{Algorithm, DType, Error, Order, PlanOptions, Result, Scalar, c64, with_dtype};

/// The check of aggregations.
#[derive(Debug)]
pub(crate) struct SpmmReduce;

/// More columns than a warp has lanes; run in two layouts.
const MANY: usize = 40;

fn aggregated_of(setting: &Setting) -> Option<Aggregated> {
    if let Setting::Aggregate(aggregated) = *setting { Some(aggregated) } else { None }
}

/// A call with B and C in these orders; the arguments are integers, so that what they were comes back.
fn call(
    aggregated: Aggregated,
    problem: &Problem,
    (b, c): (usize, usize),
    columns: usize,
    (b_order, c_order, padding): (Order, Order, usize),
) -> Call {
    let frame = |rows, order| Frame { rows, cols: columns, padding, order };
    let mut call = product_call(problem, (c64::ONE, c64::ZERO), frame(b, b_order), frame(c, c_order));
    if aggregated.arguments {
        call.y = GuardedOperand::output(frame(c, c_order), |_, _| c64::new(-1.0, 0.0));
    }
    call.label = format!("B={b_order:?} C={c_order:?} padding={padding}");
    call
}

impl Suite {
    /// SpMM with reductions in format `H`.
    pub fn spmm_reduce<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SpmmReduceKernel<FormatOn<B, H>>,
        H: Build<Scalar: Cell>,
    {
        self.add(MatrixSubject::<B, H>::new(backend, Key::of::<H>(Operation::SpmmReduce), &SpmmReduce))
    }
}

/// The products of an element: the position of an entry, its value, and an element of B.
type Products<'a> = &'a [(usize, c64, c64)];

/// The position of the entry that is least or largest, by the products as the type rounds them, and that product.
fn taken<T: Scalar>(by: Aggregation, products: Products<'_>, none: usize) -> (f64, c64) {
    let product = |&(at, a, b): &(usize, c64, c64)| (at, T::from_c64(a).to_acc() * T::from_c64(b).to_acc());
    let real = |product: T::Acc| product.to_c64().re;
    let pick = |found: (usize, T::Acc), next: (usize, T::Acc)| {
        if by.prefers(real(next.1), real(found.1)) { next } else { found }
    };
    match products.iter().map(product).reduce(pick) {
        Some((at, product)) => (at as f64, T::from_acc(product).to_c64()),
        None => (none as f64, c64::ZERO),
    }
}

fn mean(products: Products<'_>, exact: bool, arithmetic: &Arithmetic) -> Bounded {
    let count = products.len().max(1) as f64;
    let pairs = products.iter().rev().map(|&(_, a, b)| (a, b));
    let Bounded { value, bound } = Sum::of(pairs, arithmetic).bounded(exact, &arithmetic.accumulated());
    let (mean, largest) = (value / count, arithmetic.largest / 4.0);
    let error = bound / count + 4.0 * arithmetic.roundoff * mean.norm();
    let rounded = error + arithmetic.storage_roundoff * (mean.norm() + error) + 4.0 * arithmetic.tiny;
    let bound = match () {
        () if !Scalar::is_finite(mean) => 0.0,
        () if mean.norm() > largest => f64::INFINITY,
        () => rounded,
    };
    Bounded { value: mean, bound }
}

impl Check for SpmmReduce {
    /// Products of subnormal numbers are not rounded alike.
    fn takes(&self, case: &Case) -> bool {
        case.name != "v1_special_values"
    }

    /// Large matrices run in one type.
    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        let columns: &[usize] = match problem.case.large {
            true if problem.dtype == DType::F64 => &[3],
            true => &[],
            false => &[0, 1, 3, MANY],
        };
        let entries = problem.matrix.entries.len();
        let has = |by: &Aggregation| by.check(problem.dtype).is_ok();
        let settings = Aggregation::ALL.into_iter().filter(has).flat_map(|by| {
            let arguments = if by.has_argument() { &[false, true][..] } else { &[false] };
            columns.iter().flat_map(move |&columns| {
                arguments.iter().map(move |&arguments| Aggregated { by, columns, arguments, entries })
            })
        });
        settings.map(Setting::Aggregate).collect()
    }

    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let Some(aggregated) = aggregated_of(setting) else { return vec![] };
        let layouts = if aggregated.columns == MANY { &LAYOUTS[..2] } else { &LAYOUTS[..] };
        let shapes = (problem.matrix.cols, problem.matrix.rows);
        layouts.iter().map(|&layout| call(aggregated, problem, shapes, aggregated.columns, layout)).collect()
    }

    fn invalid_calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let Some(aggregated) = aggregated_of(setting) else { return vec![] };
        let (cols, rows, columns) = (problem.matrix.cols, problem.matrix.rows, aggregated.columns);
        [(cols + 1, rows, columns), (cols, rows + 1, columns), (cols, rows, columns + 1)]
            .map(|(b, c, columns)| call(aggregated, problem, (b, c), columns, LAYOUTS[0]))
            .into()
    }

    /// Which of two products is larger may depend on how a type rounds them, so that snapshots have none.
    fn scope(&self, _: &Key, _: &Setting) -> Option<String> {
        None
    }

    fn expected(&self, setting: &Setting, call: &Call, problem: &Problem) -> Option<Expected> {
        let Aggregated { by, columns, arguments, entries } = aggregated_of(setting)?;
        let (arithmetic, exact) = (&problem.arithmetic, problem.is_exact());
        let mut stored = problem.matrix.entries.clone();
        stored.sort_by_key(|entry| entry.0);
        let mut rows = vec![vec![]; problem.matrix.rows];
        stored.into_iter().enumerate().for_each(|(k, (i, j, value))| rows[i].push((k, j, value)));
        let element = |row: &Vec<(usize, usize, c64)>, t: usize| {
            let products: Vec<_> = row.iter().map(|&(k, j, value)| (k, value, call.x.at(j, t))).collect();
            match by {
                Aggregation::Sum => {
                    let pairs = products.iter().rev().map(|&(_, a, b)| (a, b));
                    Sum::of(pairs, arithmetic).bounded(exact, arithmetic)
                }
                Aggregation::Mean => mean(&products, exact, arithmetic),
                Aggregation::Min | Aggregation::Max => {
                    let (at, value) = with_dtype!(problem.dtype, T => taken::<T>(by, &products, entries));
                    Bounded { value: if arguments { c64::new(at, 0.0) } else { value }, bound: 0.0 }
                }
            }
        };
        let y = (0..columns)
            .flat_map(|t| rows.iter().map(move |row| (row, t)))
            .map(|(row, t)| element(row, t))
            .collect();
        Some(Expected { y, ..Expected::default() })
    }
}

impl<B, H> MatrixOperation<B, H> for SpmmReduce
where
    B: SpmmReduceKernel<FormatOn<B, H>>,
    H: Build<Scalar: Cell>,
{
    fn algorithms(&self, backend: &B, _: &Setting) -> &'static [Algorithm] {
        backend.spmm_reduce_algorithms()
    }

    fn plan(
        &self,
        backend: &B,
        a: &FormatOn<B, H>,
        setting: &Setting,
        options: &PlanOptions,
    ) -> Result<MatrixPlan<B, H>> {
        let Some(Aggregated { by, columns, arguments, .. }) = aggregated_of(setting) else {
            return Err(Error::unsupported("spmm_reduce", "the setting is of another operation"));
        };
        let mut plan = SpmmReducePlan::new(backend, by, a, columns, options)?;
        Ok(MatrixPlan {
            algorithm: plan.choice().algorithm,
            run: Box::new(move |a, call, y| {
                if !arguments {
                    return call.on::<B, H::Scalar>(a.backend, y, &mut |b, c| {
                        plan.run(&a.device, b.dense()?, c.dense_mut()?, None).map(|()| None)
                    });
                }
                let b = DeviceOperand::<B, H::Scalar>::new(a.backend, &call.x)?;
                let mut c = DeviceOperand::<B, H::Scalar>::new(a.backend, y)?;
                let mut arg = DeviceOperand::<B, i64>::new(a.backend, y)?;
                let done = plan.run(&a.device, b.dense()?, c.dense_mut()?, Some(arg.dense_mut()?));
                *y = arg.read(a.backend)?;
                done?;
                Ok(Outcome { input_changed: b.is_changed(a.backend)?, ..Outcome::default() })
            }),
        })
    }
}
