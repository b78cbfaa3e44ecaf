//! Iterations of conjugate gradients that the host enqueues without waiting for a single number.

use crate::each_device;
use sparse_core::op::{GradientAdvance, GradientTurn, Op, SpmvPlan, VectorPlan};
use sparse_core::{Backend, Csr, PlanOptions, Result, Space, SparseFormat};
use sparse_device::{Buffer, Device, Library};

/// `A·x = b` for a small Laplacian and a `b` of ones, as far as it has been solved.
#[derive(Debug)]
pub struct Gradients {
    a: Csr<f32, Device>,
    product: SpmvPlan<Device, Csr<f32, Device>>,
    vectors: VectorPlan<Device, f32>,
    x: Buffer<f32>,
    r: Buffer<f32>,
    p: Buffer<f32>,
    q: Buffer<f32>,
    numbers: Buffer<f32>,
    next: Buffer<f32>,
}

impl Gradients {
    /// The start of a solve, with `x = 0`.
    ///
    /// # Errors
    /// The device's, as for all methods.
    pub fn new(backend: &Device) -> Result<Self> {
        let a = sparse_generate::stencil_5(20, 30)?.to_device(backend)?;
        let (n, ones) = (a.nrows(), vec![1.0; a.nrows()]);
        Ok(Self {
            product: SpmvPlan::new(backend, &a, Op::None, &PlanOptions::default())?,
            vectors: VectorPlan::new(backend, n)?,
            a,
            x: backend.zeros(n)?,
            r: backend.upload(&ones)?,
            p: backend.upload(&ones)?,
            q: backend.zeros(n)?,
            numbers: backend.upload(&[n as f32; 2])?,
            next: backend.zeros(2)?,
        })
    }

    /// Enqueues an iteration.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn enqueue(&mut self, backend: &Device) -> Result<()> {
        let Self { a, product, vectors, x, r, p, q, numbers, next } = self;
        let (view, view_mut) = (Device::view::<f32>, Device::view_mut::<f32>);
        product.run(1.0, a, view(p), 0.0, view_mut(q))?;
        vectors.gradient_advance(GradientAdvance {
            q: view(q),
            p: view(p),
            x: view_mut(x),
            r: view_mut(r),
            numbers: view(numbers),
        })?;
        vectors.gradient_turn(GradientTurn {
            r: view(r),
            z: None,
            p: view_mut(p),
            numbers: view(numbers),
            next: view_mut(next),
        })?;
        backend.copy(view(next), view_mut(numbers))
    }

    /// The largest part of `b − A·x`; NaN if one of them is.
    ///
    /// # Errors
    /// As for [`new`](Self::new).
    pub fn residual(&mut self, backend: &Device) -> Result<f32> {
        let mut left = backend.upload(&vec![1.0_f32; self.a.nrows()])?;
        let (x, left_mut) = (Device::view(&self.x), Device::view_mut(&mut left));
        self.product.run(-1.0, &self.a, x, 1.0, left_mut)?;
        let parts = backend.download(&left)?.into_iter().map(f32::abs);
        Ok(parts.fold(0.0, |most, part| if part > most || part.is_nan() { part } else { most }))
    }
}

/// As many iterations as there are unknowns solve the system, and as many more leave it solved.
pub fn conjugate_gradients_wait_for_no_number(library: &Library) {
    each_device(library, |backend| {
        let mut gradients = Gradients::new(backend).unwrap();
        assert!(gradients.residual(backend).unwrap() == 1.0);
        for _ in 0..2 {
            (0..600).try_for_each(|_| gradients.enqueue(backend)).unwrap();
            let residual = gradients.residual(backend).unwrap();
            assert!(residual < 1e-3, "{residual}");
        }
    });
}
