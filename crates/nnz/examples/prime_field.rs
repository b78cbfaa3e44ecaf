//! Products over a prime field, exact to the last bit: checks a witness of a rank-1 constraint system (R1CS).
//!
//! `cargo run --release -p nnz --example prime_field`
#![allow(clippy::print_stdout, reason = "an example prints")]

use nnz::op::{Semiring, SemiringProducts};
use nnz::prelude::*;

/// The prime of the Goldilocks field, 2⁶⁴ − 2³² + 1; elements are below it.
const P: u64 = 0xffff_ffff_0000_0001;

fn add(a: u64, b: u64) -> u64 {
    ((u128::from(a) + u128::from(b)) % u128::from(P)) as u64
}

fn multiply(a: u64, b: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(P)) as u64
}

/// The field as a semiring.
struct Field;

impl Semiring<u64> for Field {
    type Element = u64;

    fn zero(&self) -> u64 {
        0
    }

    fn add(&self, a: u64, b: u64) -> u64 {
        add(a, b)
    }

    fn multiply(&self, a: u64, b: u64) -> u64 {
        multiply(a, b)
    }
}

/// A matrix over the field: a pattern, and an element of the field for each of its entries.
pub(crate) struct FieldMatrix {
    pattern: Csr<f64>,
    values: Vec<u64>,
}

impl FieldMatrix {
    /// A matrix of 3 rows and 5 columns from its entries, in any order, no two of them in one place.
    fn new(entries: &[(usize, usize, u64)]) -> Result<Self> {
        // The value of an entry is its position in `entries`: that finds its element once the entries are sorted.
        let positions = entries.iter().enumerate().map(|(position, &(i, j, _))| (i, j, position as f64));
        let pattern = Csr::<f64>::from_triplets(3, 5, positions)?;
        let values = pattern.values().iter().map(|&position| entries[position as usize].2).collect();
        Ok(Self { pattern, values })
    }

    fn product(&self, z: &[u64]) -> Result<Vec<u64>> {
        let mut y = vec![0; self.pattern.nrows()];
        Cpu::new()?.semiring_spmm_with(&Field, (self.pattern.pattern(), &self.values), z, 1, &mut y)?;
        Ok(y)
    }
}

/// The first constraint that `(A·z) ∘ (B·z) = C·z` breaks over the field, if any.
pub(crate) fn first_broken([a, b, c]: &[FieldMatrix; 3], z: &[u64]) -> Result<Option<usize>> {
    let (a, b, c) = (a.product(z)?, b.product(z)?, c.product(z)?);
    Ok((0..a.len()).find(|&i| multiply(a[i], b[i]) != c[i]))
}

/// The constraints of y = x³ − x + 5 over z = (1, x, y, x², x³).
pub(crate) fn cubic() -> Result<[FieldMatrix; 3]> {
    // x · x = x², x² · x = x³, (x³ − x + 5) · 1 = y
    let a = FieldMatrix::new(&[(0, 1, 1), (1, 3, 1), (2, 4, 1), (2, 1, P - 1), (2, 0, 5)])?;
    let b = FieldMatrix::new(&[(0, 1, 1), (1, 1, 1), (2, 0, 1)])?;
    let c = FieldMatrix::new(&[(0, 3, 1), (1, 4, 1), (2, 2, 1)])?;
    Ok([a, b, c])
}

/// The z of an x below the prime.
pub(crate) fn witness(x: u64) -> [u64; 5] {
    let square = multiply(x, x);
    let cube = multiply(square, x);
    [1, x, add(add(cube, P - x), 5), square, cube]
}

fn main() -> Result<()> {
    let constraints = cubic()?;
    let z = witness(123_456_789_012_345);
    println!("a witness: {:?}", first_broken(&constraints, &z)?);
    let [one, x, y, square, cube] = z;
    let wrong = first_broken(&constraints, &[one, x, add(y, 1), square, cube])?;
    println!("another y breaks constraint {wrong:?}");
    Ok(())
}
