//! Products of two or more sparse matrices, computed from the last two on: `A·B`, and `R·A·P` as `R·(A·P)`.

use crate::traffic;
use crate::value::Value;
use anyhow::{Result, bail};
use sparse_core::op::{Operations, SpgemmKernel, SpgemmPlan};
use sparse_core::{Backend, Csr, Host};

/// The product of the factors, two at a time by `multiply`.
///
/// # Errors
/// Those of `multiply`; if there are fewer than two factors.
pub(crate) fn chained<M>(factors: &[&M], mut multiply: impl FnMut(&M, &M) -> Result<M>) -> Result<M> {
    let [others @ .., left, right] = factors else {
        bail!("a product has two factors or more, not {}", factors.len());
    };
    let last = multiply(left, right)?;
    others.iter().rev().try_fold(last, |right, left| multiply(left, &right))
}

/// The product of the factors, and the bytes that have to move: the entries of the left factors, those that they meet
/// on their right, and those of the results.
pub(crate) fn expected<B, T: Value>(backend: &B, factors: &[&Csr<T>]) -> Result<(Csr<T>, usize)>
where
    B: SpgemmKernel<Csr<T>> + Backend<Space = Host>,
{
    let mut bytes = 0;
    let product = chained(factors, |a, b| {
        let products = SpgemmPlan::bound(backend, a, b)?.products as usize;
        let c = Operations::spgemm(backend, a, b)?;
        bytes += traffic::entries::<T>(a.nnz() + products + c.nnz());
        Ok(c)
    })?;
    Ok((product, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sparse_core::reference::Reference;

    #[test]
    fn three_factors_are_two_products() {
        let row = Csr::<f32>::from_triplets(1, 2, [(0, 0, 1.0), (0, 1, 2.0)]).unwrap();
        let a = Csr::from_triplets(2, 2, [(0, 0, 3.0), (1, 1, 5.0)]).unwrap();
        let column = Csr::from_triplets(2, 1, [(0, 0, 1.0), (1, 0, 1.0)]).unwrap();
        let (c, bytes) = expected(&Reference, &[&row, &a, &column]).unwrap();
        assert!(c.triplets().eq([(0, 0, 13.0)]));
        assert_eq!(bytes, 8 * (2 + 2 + 2) + 8 * (2 + 2 + 1));
        assert!(expected(&Reference, &[&a]).is_err());
    }
}
