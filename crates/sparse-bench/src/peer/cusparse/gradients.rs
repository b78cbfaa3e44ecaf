//! Conjugate gradients by cuSPARSE's product and cuBLAS, whose scalars stay on the device: no iteration waits for the
//! host, and all of them can be recorded.

use super::library::Cusparse;
use super::product::{CSR_SPMV, Spmv, SpmvVariant};
use super::stored::Stored;
use crate::peer::cublas::Cublas;
use crate::product::{Product, available, planned};
use crate::value::Value;
use backend_cuda::{Device, address};
use kernels_core::File;
use sparse_core::{Accumulator, Backend, Csr, Result, Space};
use sparse_device::{Arg, Buffer, Defines, Grid, Kernel, View, ViewMut};
use std::rc::Rc;

const QUOTIENT: File = File {
    name: "quotient.cu",
    entries: &["quotient"],
    defines: &[],
    needs: &[],
    text: include_str!("quotient.cu"),
    headers: &[],
};

/// `iterations` from x = 0, with each algorithm of the product.
pub(super) fn cg<'a, T: Value>(
    library: &'a Cusparse,
    blas: &'a Cublas,
    a: &'a Csr<T, Device>,
    b: View<'a, T>,
    iterations: usize,
) -> Result<Vec<Product<'a, T>>> {
    let driver = library.device.driver();
    let defines = Defines::default()
        .set("REAL", if size_of::<<T as Accumulator>::Real>() == 4 { "float" } else { "double" });
    let quotient = driver.kernel(&driver.build(&QUOTIENT, &defines)?, "quotient")?;
    let stored = Rc::new(Stored::in_csr(a));
    let solver = |name: &str, variant| -> Result<_> {
        let make = || Gradients::new(library, blas, quotient.clone(), (&stored, b), variant);
        let (mut gradients, seconds) = planned(&library.device, make)?;
        Ok(Product::new(name, seconds, move |x| gradients.solve(iterations, x)))
    };
    let named = CSR_SPMV.map(|variant| (variant.name.replace("cusparse", "cusparse+cublas"), variant));
    let solvers = named.iter().filter_map(|(name, variant)| available(name, solver(name, *variant)));
    Ok(solvers.collect())
}

/// `p·q`, `α`, `−α` and `β` of an iteration, `ρ = r·r` of this one and the one before, and 1.
struct Scalars<T: Value> {
    curvature: Buffer<T>,
    alpha: Buffer<T>,
    minus_alpha: Buffer<T>,
    beta: Buffer<T>,
    minus_beta: Buffer<T>,
    rho: [Buffer<T>; 2],
    one: Buffer<T>,
}

impl<T: Value> Scalars<T> {
    fn new(device: &Device) -> Result<Self> {
        Ok(Self {
            curvature: device.zeros(1)?,
            alpha: device.zeros(1)?,
            minus_alpha: device.zeros(1)?,
            beta: device.zeros(1)?,
            minus_beta: device.zeros(1)?,
            rho: [device.zeros(1)?, device.zeros(1)?],
            one: device.upload(&[T::ONE])?,
        })
    }
}

/// A system with its workspace.
struct Gradients<'a, T: Value> {
    device: &'a Device,
    blas: &'a Cublas,
    product: Spmv<'a, T>,
    quotient: Kernel,
    b: View<'a, T>,
    zero: Buffer<T>,
    r: Buffer<T>,
    p: Buffer<T>,
    q: Buffer<T>,
    scalars: Scalars<T>,
}

impl<'a, T: Value> Gradients<'a, T> {
    fn new(
        library: &'a Cusparse,
        blas: &'a Cublas,
        quotient: Kernel,
        (a, b): (&Rc<Stored<'a, T>>, View<'a, T>),
        variant: SpmvVariant,
    ) -> Result<Self> {
        let (device, n) = (&library.device, a.csr().nrows());
        Ok(Self {
            device,
            blas,
            product: Spmv::new(library, a, variant)?,
            quotient,
            b,
            zero: device.zeros(n)?,
            r: device.zeros(n)?,
            p: device.zeros(n)?,
            q: device.zeros(n)?,
            scalars: Scalars::new(device)?,
        })
    }

    /// Enqueues all of it, for any old `x`.
    fn solve(&mut self, iterations: usize, mut x: ViewMut<'_, T>) -> Result<()> {
        let Self { blas, b, zero, r, p, scalars, .. } = self;
        blas.copy(Device::view(zero), Device::reborrow(&mut x))?;
        blas.copy(*b, Device::view_mut(r))?;
        blas.copy(*b, Device::view_mut(p))?;
        blas.dot(Device::view(r), Device::view(r), Device::view_mut(&mut scalars.rho[0]))?;
        (0..iterations).try_for_each(|_| self.step(Device::reborrow(&mut x)))
    }

    /// `q = A·p`, `α = ρ / (p·q)`, `x ← x + α·p`, `r ← r − α·q`, `β = r·r / ρ`, `p ← r + β·p`.
    fn step(&mut self, x: ViewMut<'_, T>) -> Result<()> {
        let Self { device, blas, product, quotient, r, p, q, scalars, .. } = self;
        let Scalars { curvature, alpha, minus_alpha, beta, minus_beta, rho: [rho, next_rho], one } = scalars;
        product.run(Device::view(p), Device::view_mut(q))?;
        blas.dot(Device::view(p), Device::view(q), Device::view_mut(curvature))?;
        divide(device, quotient, [rho, curvature, alpha, minus_alpha])?;
        blas.axpy(Device::view(alpha), Device::view(p), x)?;
        blas.axpy(Device::view(minus_alpha), Device::view(q), Device::view_mut(r))?;
        blas.dot(Device::view(r), Device::view(r), Device::view_mut(next_rho))?;
        divide(device, quotient, [next_rho, rho, beta, minus_beta])?;
        blas.scal(Device::view(beta), Device::view_mut(p))?;
        blas.axpy(Device::view(one), Device::view(r), Device::view_mut(p))?;
        scalars.rho.swap(0, 1);
        Ok(())
    }
}

/// Enqueues a division: numerator, denominator, quotient and its negative.
fn divide<T: Value>(device: &Device, quotient: &Kernel, scalars: [&Buffer<T>; 4]) -> Result<()> {
    let args =
        scalars.map(|scalar| Arg::Value(sparse_device::Value::from(address(&Device::view(scalar)) as i64)));
    let grid = Grid { groups: 1, local: 1, shared: 0, early: false };
    // SAFETY: the kernel takes four addresses of single numbers.
    unsafe { device.driver().launch(quotient, grid, &args) }
}
