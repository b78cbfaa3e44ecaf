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

/// The field as a semiring. Entries of matrices are numbers, so an entry holds the position of its coefficient in this
/// table, which is short: constraints have few distinct coefficients.
pub(crate) struct Field<'a> {
    pub(crate) coefficients: &'a [u64],
}

impl Semiring<f32> for Field<'_> {
    type Element = u64;

    fn zero(&self) -> u64 {
        0
    }

    fn add(&self, a: u64, b: u64) -> u64 {
        add(a, b)
    }

    fn multiply(&self, position: f32, element: u64) -> u64 {
        multiply(self.coefficients[position as usize], element)
    }
}

/// The first constraint that `(A·z) ∘ (B·z) = C·z` breaks over the field, if any.
pub(crate) fn first_broken(field: &Field<'_>, [a, b, c]: &[Csr<f32>; 3], z: &[u64]) -> Result<Option<usize>> {
    let cpu = Cpu::new()?;
    let product = |matrix: &Csr<f32>| {
        let mut y = vec![0; matrix.nrows()];
        cpu.semiring_spmv(field, matrix, z, &mut y)?;
        Ok::<_, Error>(y)
    };
    let (a, b, c) = (product(a)?, product(b)?, product(c)?);
    Ok((0..a.len()).find(|&i| multiply(a[i], b[i]) != c[i]))
}

/// The constraints of y = x³ − x + 5 over z = (1, x, y, x², x³), and the table of their coefficients 1, −1 and 5.
pub(crate) fn cubic() -> Result<([Csr<f32>; 3], [u64; 3])> {
    const ONE: f32 = 0.0;
    const MINUS_ONE: f32 = 1.0;
    const FIVE: f32 = 2.0;
    // x · x = x², x² · x = x³, (x³ − x + 5) · 1 = y
    let a = [(0, 1, ONE), (1, 3, ONE), (2, 4, ONE), (2, 1, MINUS_ONE), (2, 0, FIVE)];
    let b = [(0, 1, ONE), (1, 1, ONE), (2, 0, ONE)];
    let c = [(0, 3, ONE), (1, 4, ONE), (2, 2, ONE)];
    let matrix = |entries: &[(usize, usize, f32)]| Csr::from_triplets(3, 5, entries.iter().copied());
    Ok(([matrix(&a)?, matrix(&b)?, matrix(&c)?], [1, P - 1, 5]))
}

/// The z of an x below the prime.
pub(crate) fn witness(x: u64) -> [u64; 5] {
    let square = multiply(x, x);
    let cube = multiply(square, x);
    [1, x, add(add(cube, P - x), 5), square, cube]
}

fn main() -> Result<()> {
    let (constraints, coefficients) = cubic()?;
    let field = Field { coefficients: &coefficients };
    let z = witness(123_456_789_012_345);
    println!("a witness: {:?}", first_broken(&field, &constraints, &z)?);
    let [one, x, y, square, cube] = z;
    let wrong = first_broken(&field, &constraints, &[one, x, add(y, 1), square, cube])?;
    println!("another y breaks constraint {wrong:?}");
    Ok(())
}
