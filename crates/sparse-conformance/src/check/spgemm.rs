//! `C ← A·B`, where B has A's entries at other coordinates: Aᵀ, and a B whose rows have entries in no order and some
//! coordinates twice; of all of C, and at the entries of a mask.

use crate::array_dump::ArrayDump;
use crate::build::{Build, FormatOn};
use crate::call::{Call, Outcome};
use crate::case::{Case, Problem};
use crate::device_matrix::{PlannedMatrix, ValueSet};
use crate::error_bound::{Bounded, Sum};
use crate::guarded_operand::{Cell, Frame, GuardedOperand, POISON};
use crate::key::Key;
use crate::setting::{Extent, RightFactor, Setting};
use crate::subject::{Check, Expected, Given, PlannedOperation, Subject};
use crate::suite::Suite;
use crate::triplets::{Triplet, Triplets};
use sparse_core::catalog::Operation;
use sparse_core::op::{SpgemmKernel, SpgemmPlan};
use sparse_core::reference::Entries;
use sparse_core::{Algorithm, Backend, Error, PlanOptions, Result, c64};
use std::collections::BTreeSet;
use std::marker::PhantomData;

/// The check of SpGEMM.
#[derive(Debug)]
pub(crate) struct Spgemm;

/// The most products of a case, each of which the check computes too.
const MAX_PRODUCTS: usize = 1 << 18;

/// Rows of a mask with an entry beside those of C.
const MAX_COORDINATES: usize = 1 << 12;

/// Row and column of an entry.
type Coordinate = (usize, usize);

/// The entries of a product, each with the factors of its products.
struct Products {
    /// The coordinates and factors of each product, ordered by coordinates, and for one entry as they are in A and B.
    sorted: Vec<(Coordinate, (c64, c64))>,
}

impl Products {
    fn new(a: &Triplets, b: &Triplets) -> Self {
        let rows = rows_of(b);
        let of_entry = |&(i, k, x): &Triplet| rows[k].iter().map(move |&(j, y)| ((i, j), (x, y)));
        let mut sorted: Vec<_> = a.entries.iter().flat_map(of_entry).collect();
        sorted.sort_by_key(|&(coordinate, _)| coordinate);
        Self { sorted }
    }

    fn coordinates(&self) -> impl Iterator<Item = Coordinate> {
        self.sorted.chunk_by(|one, next| one.0 == next.0).map(|products| products[0].0)
    }

    /// The sum at a coordinate, which is exactly zero where there is no product.
    fn sum(&self, at: Coordinate, problem: &Problem) -> Bounded {
        let start = self.sorted.partition_point(|product| product.0 < at);
        let len = self.sorted[start..].partition_point(|product| product.0 == at);
        if len == 0 {
            return Bounded::ZERO;
        }
        let factors = self.sorted[start..start + len].iter().rev().map(|product| product.1);
        Sum::of(factors, &problem.arithmetic).bounded(problem.is_exact(), &problem.arithmetic)
    }
}

/// B of a setting: A's entries in their order, so that other values of A are other values of B.
fn right_factor(a: &Triplets, setting: &Setting) -> Triplets {
    let Setting::Right(factor, _) = *setting else { return Triplets::new(a.cols, 0, vec![]) };
    let cols = match factor {
        RightFactor::Transpose => a.rows,
        RightFactor::Scattered => a.rows / 2 + 3,
    };
    let column = |row, col| match factor {
        RightFactor::Transpose => row,
        RightFactor::Scattered => (5 * row + 3 * col) % cols,
    };
    Triplets::new(a.cols, cols, a.entries.iter().map(|&(i, j, value)| (j, column(i, j), value)).collect())
}

/// The entries of each row of B.
fn rows_of(b: &Triplets) -> Vec<Vec<(usize, c64)>> {
    let mut rows = vec![vec![]; b.rows];
    b.entries.iter().for_each(|&(i, j, value)| rows[i].push((j, value)));
    rows
}

/// The coordinates of C in order, those of a mask for a product with one: every second of C's own, and one of each row
/// where there may be no product.
fn stored_coordinates(setting: &Setting, shape: (usize, usize), products: &Products) -> Vec<Coordinate> {
    let Setting::Right(_, Extent::Masked) = *setting else { return products.coordinates().collect() };
    let own = products.coordinates().step_by(2);
    let others =
        (0..shape.0.min(MAX_COORDINATES)).filter(|_| shape.1 > 0).map(|row| (row, 7 * row % shape.1));
    own.chain(others).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The mask of a product, whose values are NaN.
fn mask(a: &Triplets, setting: &Setting) -> Triplets {
    let b = right_factor(a, setting);
    let stored = stored_coordinates(setting, (a.rows, b.cols), &Products::new(a, &b));
    Triplets::new(a.rows, b.cols, stored.into_iter().map(|(i, j)| (i, j, POISON)).collect())
}

/// Shape and coordinates of C, row by row.
fn coordinates(shape: (usize, usize), coordinates: &[(usize, usize)]) -> ArrayDump<'static> {
    let (rows, cols): (Vec<_>, Vec<_>) = coordinates.iter().map(|&(i, j)| (i as i64, j as i64)).unzip();
    let shape = [shape.0 as i64, shape.1 as i64];
    ArrayDump::default()
        .integers("shape", &shape)
        .integers("rows", &rows)
        .integers("columns", &cols)
        .into_owned()
}

impl Suite {
    /// SpGEMM in format `H`.
    pub fn spgemm<B, H>(&mut self, backend: &B) -> &mut Self
    where
        B: SpgemmKernel<FormatOn<B, H>>,
        H: Build<Scalar: Cell> + Entries,
    {
        let key = Key::of::<H>(Operation::Spgemm);
        self.add(SpgemmSubject::<B, H> { backend: backend.clone(), key, format: PhantomData })
    }
}

impl Check for Spgemm {
    /// Products of subnormal numbers are no integers.
    fn takes(&self, case: &Case) -> bool {
        case.name != "v1_special_values"
    }

    fn settings(&self, _: &Key, problem: &Problem) -> Vec<Setting> {
        let a = &problem.matrix;
        let mut uses = vec![0_usize; a.cols];
        a.entries.iter().for_each(|&(_, k, _)| uses[k] += 1);
        // Row k of B has as many entries as column k of A.
        let products: usize = uses.into_iter().map(|uses| uses * uses).sum();
        let factors = [RightFactor::Transpose, RightFactor::Scattered];
        let settings = factors
            .map(|factor| [Extent::Whole, Extent::Masked].map(|extent| Setting::Right(factor, extent)));
        if products > MAX_PRODUCTS { vec![] } else { settings.concat() }
    }

    /// An output of NaN for the values of C.
    fn calls(&self, setting: &Setting, problem: &Problem) -> Vec<Call> {
        let (a, b) = (&problem.matrix, right_factor(&problem.matrix, setting));
        let nnz = stored_coordinates(setting, (a.rows, b.cols), &Products::new(a, &b)).len();
        vec![Call::with_output(Frame::vector(nnz))]
    }

    fn is_of_all_formats(&self) -> bool {
        true
    }

    fn expected(&self, setting: &Setting, _: &Call, problem: &Problem) -> Option<Expected> {
        let (a, b) = (&problem.matrix, right_factor(&problem.matrix, setting));
        let products = Products::new(a, &b);
        let stored = stored_coordinates(setting, (a.rows, b.cols), &products);
        Some(Expected {
            y: stored.iter().map(|&at| products.sum(at, problem)).collect(),
            made: coordinates((a.rows, b.cols), &stored),
            marked_order: (true, true),
            canonical: true,
            ..Expected::default()
        })
    }
}

/// SpGEMM of one backend in one format.
struct SpgemmSubject<B, H> {
    backend: B,
    key: Key,
    format: PhantomData<fn() -> H>,
}

impl<B, H> Subject for SpgemmSubject<B, H>
where
    B: SpgemmKernel<FormatOn<B, H>>,
    H: Build<Scalar: Cell> + Entries,
{
    fn key(&self) -> &Key {
        &self.key
    }

    fn check(&self) -> &'static dyn Check {
        &Spgemm
    }

    fn algorithms(&self, _: &Setting) -> &'static [Algorithm] {
        self.backend.spgemm_algorithms()
    }

    fn given<'a>(&'a self, matrix: &'a Triplets) -> Result<Box<dyn Given + 'a>> {
        Ok(Box::new(GivenProduct { subject: self, matrix }))
    }
}

/// A subject with A.
struct GivenProduct<'a, B, H> {
    subject: &'a SpgemmSubject<B, H>,
    matrix: &'a Triplets,
}

impl<B, H> Given for GivenProduct<'_, B, H>
where
    B: SpgemmKernel<FormatOn<B, H>>,
    H: Build<Scalar: Cell> + Entries,
{
    fn prepare(&self, setting: &Setting, options: &PlanOptions) -> Result<Box<dyn PlannedOperation + '_>> {
        let backend = &self.subject.backend;
        let a = Factor::<B, H>::new(backend, self.matrix)?;
        let b = Factor::<B, H>::new(backend, &right_factor(self.matrix, setting))?;
        let plan = match *setting {
            Setting::Right(_, Extent::Masked) => {
                let mask = mask(self.matrix, setting);
                let mask = H::build(&mask)?.to_device(backend)?;
                SpgemmPlan::masked(backend, &a.device, &b.device, &mask, options)?
            }
            _ => SpgemmPlan::new(backend, &a.device, &b.device, options)?,
        };
        Ok(Box::new(Product { factors: Factors { backend, a, b }, plan, c: None }))
    }
}

/// A factor with both sets of its values on the host, and with one in a backend's memory.
struct Factor<B: Backend, H: Build> {
    hosts: [H; 2],
    values: ValueSet,
    device: FormatOn<B, H>,
}

impl<B: Backend, H: Build> Factor<B, H> {
    fn new(backend: &B, matrix: &Triplets) -> Result<Self> {
        let hosts = [H::build(matrix)?, H::build(&matrix.with_other_values())?];
        let device = hosts[0].to_device(backend)?;
        Ok(Self { hosts, values: ValueSet::First, device })
    }

    fn host(&self) -> &H {
        &self.hosts[self.values as usize]
    }
}

/// A and B in a backend's memory.
struct Factors<'a, B: Backend, H: Build> {
    backend: &'a B,
    a: Factor<B, H>,
    b: Factor<B, H>,
}

impl<B: Backend, H: Build> PlannedMatrix for Factors<'_, B, H> {
    fn set_values(&mut self, values: ValueSet) -> Result<()> {
        for factor in [&mut self.a, &mut self.b] {
            factor.values = values;
            factor.device = factor.host().revalue(&factor.device, self.backend)?;
        }
        Ok(())
    }

    fn renew_pattern(&mut self) -> Result<()> {
        self.b.device = self.b.host().to_device(self.backend)?;
        Ok(())
    }

    fn difference(&mut self) -> Result<Option<String>> {
        let of = |factor: &Factor<B, H>| {
            let device = H::fetch(&factor.device, self.backend)?;
            Ok(device.dump().difference(&factor.host().dump()))
        };
        Ok(of(&self.a)?.or(of(&self.b)?))
    }
}

/// A plan with its factors, and the C of its last run, which the next one overwrites.
struct Product<'a, B: SpgemmKernel<FormatOn<B, H>>, H: Build> {
    factors: Factors<'a, B, H>,
    plan: SpgemmPlan<B, FormatOn<B, H>>,
    c: Option<FormatOn<B, H>>,
}

impl<B, H> PlannedOperation for Product<'_, B, H>
where
    B: SpgemmKernel<FormatOn<B, H>>,
    H: Build<Scalar: Cell> + Entries,
{
    fn run(&mut self, _: &Call, y: &mut GuardedOperand) -> Result<Outcome> {
        let Factors { backend, a, b } = &self.factors;
        let c = match self.c.take() {
            None => self.plan.run(&a.device, &b.device)?,
            Some(mut c) => {
                self.plan.run_into(&a.device, &b.device, &mut c)?;
                c
            }
        };
        let outcome = outcome(&H::fetch(&c, *backend)?, y)?;
        self.c = Some(c);
        Ok(outcome)
    }

    fn algorithm(&self) -> Option<&'static str> {
        Some(self.plan.choice().algorithm)
    }

    fn matrix(&mut self) -> Option<&mut dyn PlannedMatrix> {
        Some(&mut self.factors)
    }
}

/// Writes the values of C to `y`, row by row, and dumps its coordinates.
fn outcome<H: Build<Scalar: Cell> + Entries>(c: &H, y: &mut GuardedOperand) -> Result<Outcome> {
    let mut entries = vec![];
    c.entries().for_each(|entry| entries.push(entry));
    let by_columns = H::FORMAT == "csc";
    let order = |i: usize, j: usize| if by_columns { (j, i) } else { (i, j) };
    if !entries.is_sorted_by(|a, b| order(a.0, a.1) < order(b.0, b.1)) {
        return Err(Error::format(H::FORMAT, "the entries of C are expected in order and each once"));
    }
    if entries.len() != y.frame.rows {
        let (found, expected) = (entries.len(), y.frame.rows);
        return Err(Error::format(H::FORMAT, format_args!("C has {found} entries, expected {expected}")));
    }
    entries.sort_by_key(|&(i, j, _)| (i, j));
    for (k, &(_, _, value)) in entries.iter().enumerate() {
        let at = y.frame.position(k, 0);
        y.cells[at] = Cell::to_c64(value);
    }
    let stored: Vec<_> = entries.iter().map(|&(i, j, _)| (i, j)).collect();
    let made = coordinates((c.nrows(), c.ncols()), &stored);
    Ok(Outcome { made, marked_order: Some(c.marked_order()), ..Outcome::default() })
}
