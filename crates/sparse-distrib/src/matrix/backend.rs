//! The backend of a rank, joined with those of the other ranks.

use crate::collective::{self, combine};
use crate::transport::Transport;
use sparse_core::backend::{Buf, SpaceOf, ViewMutOf, ViewOf};
use sparse_core::op::{CoefficientOf, Op, RealOf, SpmvKernel, VectorKernel};
use sparse_core::{
    Accumulator, Algorithm, Backend, Caps, ContextId, Csr, DenseViewMut, Element, Error, Index, PlanOptions,
    Real, Result, Scalar,
};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, PoisonError};

/// A transport that can be sent to and shared by threads. Solvers need it, since backends are `Send + Sync`; everything
/// else takes any [`Transport`].
pub trait SharedTransport: Transport + Debug + Send + Sync + 'static {}

impl<X: Transport + Debug + Send + Sync + 'static> SharedTransport for X {}

/// The backend `B` of a rank, joined with those of the other ranks by the transport `X`.
///
/// Buffers and views are those of the rank's own backend, [`local`](Self::local). `dot` and `nrm2` are over all ranks:
/// collective calls, whose partial results are added in the order of the ranks, so that all ranks get the same bits on
/// every run. All other vector operations are local.
///
/// ```
/// use sparse_core::{op::vector::dot, reference::Reference};
/// use sparse_distrib::{DistributedBackend, Local};
///
/// let sums = Local::run(3, |rank| {
///     let backend = DistributedBackend::new(rank, Reference);
///     let own = [1.0 + backend.rank() as f64]; // of x = (1, 2, 3)
///     dot::<_, f64>(&backend, &own, &own)
/// });
/// assert!(sums.into_iter().all(|sum| sum.unwrap() == 14.0));
/// ```
///
/// # Errors
/// A local vector operation or copy that fails does not return its error: then only this rank would stop, and the
/// others would wait for it. The next collective call returns the error, on all ranks.
#[derive(Debug)]
pub struct DistributedBackend<X, B> {
    transport: Arc<X>,
    local: B,
    /// The error of a local operation since the last collective call.
    failure: Arc<Mutex<Option<Error>>>,
}

impl<X, B: Clone> Clone for DistributedBackend<X, B> {
    fn clone(&self) -> Self {
        let (transport, failure) = (self.transport.clone(), self.failure.clone());
        Self { transport, local: self.local.clone(), failure }
    }
}

impl<X: Transport, B> DistributedBackend<X, B> {
    /// Joins a rank's backend with those of the others.
    pub fn new(transport: X, local: B) -> Self {
        Self { transport: Arc::new(transport), local, failure: Arc::default() }
    }

    /// The rank's end of the transport.
    pub fn transport(&self) -> &X {
        &self.transport
    }

    /// The rank's own backend.
    pub fn local(&self) -> &B {
        &self.local
    }

    /// The number of this rank.
    pub fn rank(&self) -> usize {
        self.transport.rank()
    }

    /// The number of ranks.
    pub fn ranks(&self) -> usize {
        self.transport.ranks()
    }

    /// The result of this rank where all ranks have one: a collective call.
    ///
    /// ```
    /// use sparse_core::{Error, reference::Reference};
    /// use sparse_distrib::{DistributedBackend, Local};
    ///
    /// let results = Local::run(2, |rank| {
    ///     let backend = DistributedBackend::new(rank, Reference);
    ///     let own = if backend.rank() == 1 { Err(Error::shape("load", "no such file")) } else { Ok(5) };
    ///     backend.agree("load", own)
    /// });
    /// assert_eq!(results[0].as_ref().unwrap_err().to_string(), "load: rank 1: load: no such file");
    /// ```
    ///
    /// # Errors
    /// That of this rank, or of a local operation before; [`Error::Operands`] that names the first rank that failed
    /// where others did; errors of the transport.
    pub fn agree<R>(&self, op: &'static str, own: Result<R>) -> Result<R> {
        collective::agree(self.transport(), 0, op, self.or_failure(own))
    }

    /// `result`, unless a local operation failed before.
    fn or_failure<R>(&self, result: Result<R>) -> Result<R> {
        match self.failure.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(error) => Err(error),
            None => result,
        }
    }

    /// Puts the first error off to the next collective call.
    pub(super) fn defer(&self, result: Result<()>) -> Result<()> {
        if let Err(error) = result {
            self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        }
        Ok(())
    }

    /// The sum of one number of each rank.
    pub(super) fn sum<A: Accumulator>(&self, op: &'static str, own: Result<A>) -> Result<A> {
        self.reduce(op, own, |sum, next| sum + next)
    }

    /// The norm of a vector from the norms of each rank's part.
    pub(super) fn norm<R: Real>(&self, op: &'static str, own: Result<R>) -> Result<R> {
        self.reduce(op, own, |norm, next| norm.hypot(next))
    }

    /// `join` of one number of each rank, in the order of the ranks, on all ranks.
    fn reduce<E: Element>(&self, op: &'static str, own: Result<E>, join: impl Fn(E, E) -> E) -> Result<E> {
        let own = self.or_failure(own);
        let message = |own: &E| bytemuck::bytes_of(own).to_vec();
        let joined = |messages: &[Vec<u8>]| {
            let mut numbers = messages.iter().map(|message| number::<E>(op, message));
            let first = numbers.next().unwrap_or_else(|| Ok(E::default()))?;
            let total = numbers.try_fold(first, |total, next| Ok::<E, Error>(join(total, next?)))?;
            Ok(message(&total))
        };
        let (_, total) = combine(self.transport(), 0, op, own, message, joined)?;
        number(op, &total)
    }
}

fn number<E: Element>(op: &'static str, message: &[u8]) -> Result<E> {
    bytemuck::try_pod_read_unaligned(message).map_err(|_| {
        let reason = format!("{} bytes came where a number has {}", message.len(), size_of::<E>());
        Error::operands(op, reason)
    })
}

// SAFETY: buffers and views are those of `local`, whose methods make them and whose context is returned.
unsafe impl<X: SharedTransport, B: Backend> Backend for DistributedBackend<X, B> {
    type Space = SpaceOf<B>;

    fn caps(&self) -> &Caps {
        self.local.caps()
    }

    fn context(&self) -> ContextId {
        self.local.context()
    }

    fn upload<T: Element>(&self, host: &[T]) -> Result<Buf<Self, T>> {
        self.local.upload(host)
    }

    fn download_into<T: Element>(&self, device: ViewOf<'_, Self, T>, host: &mut [T]) -> Result<()> {
        self.local.download_into(device, host)
    }

    fn zeros<T: Element>(&self, len: usize) -> Result<Buf<Self, T>> {
        self.local.zeros(len)
    }

    fn copy<T: Element>(&self, from: ViewOf<'_, Self, T>, to: ViewMutOf<'_, Self, T>) -> Result<()> {
        self.defer(self.local.copy(from, to))
    }

    fn synchronize(&self) -> Result<()> {
        self.local.synchronize()
    }
}

impl<X: SharedTransport, B: VectorKernel<T>, T: Scalar> VectorKernel<T> for DistributedBackend<X, B> {
    unsafe fn axpby(
        &self,
        alpha: CoefficientOf<'_, Self, T>,
        x: ViewOf<'_, Self, T>,
        beta: CoefficientOf<'_, Self, T>,
        y: ViewMutOf<'_, Self, T>,
    ) -> Result<()> {
        // SAFETY: the caller promises the same; the context is that of `local`.
        self.defer(unsafe { self.local.axpby(alpha, x, beta, y) })
    }

    unsafe fn dot(&self, x: ViewOf<'_, Self, T>, y: ViewOf<'_, Self, T>) -> Result<T::Acc> {
        // SAFETY: as for `axpby`.
        self.sum("dot", unsafe { self.local.dot(x, y) })
    }

    unsafe fn nrm2(&self, x: ViewOf<'_, Self, T>) -> Result<RealOf<T>> {
        // SAFETY: as for `axpby`.
        self.norm("nrm2", unsafe { self.local.nrm2(x) })
    }

    unsafe fn scal(&self, alpha: CoefficientOf<'_, Self, T>, x: ViewMutOf<'_, Self, T>) -> Result<()> {
        // SAFETY: as for `axpby`.
        self.defer(unsafe { self.local.scal(alpha, x) })
    }

    unsafe fn scale_dense(&self, beta: T::Acc, c: DenseViewMut<'_, T, SpaceOf<Self>>) -> Result<()> {
        // SAFETY: as for `axpby`.
        self.defer(unsafe { self.local.scale_dense(beta, c) })
    }

    fn plan_vectors(&self, len: usize) -> Result<Buf<Self, T::Acc>> {
        self.local.plan_vectors(len)
    }
}

/// The product with a matrix of this rank alone: a local operation, such as Jacobi's preconditioner.
impl<X, B, T, I, O> SpmvKernel<Csr<T, SpaceOf<B>, I, O>> for DistributedBackend<X, B>
where
    X: SharedTransport,
    B: SpmvKernel<Csr<T, SpaceOf<B>, I, O>>,
    T: Scalar,
    I: Index,
    O: Index,
{
    type Plan = B::Plan;

    fn spmv_algorithms(&self, op: Op) -> &'static [Algorithm] {
        self.local.spmv_algorithms(op)
    }

    fn plan_spmv(&self, a: &Csr<T, SpaceOf<B>, I, O>, op: Op, options: &PlanOptions) -> Result<Self::Plan> {
        self.local.plan_spmv(a, op, options)
    }

    unsafe fn run_spmv(
        &self,
        plan: &mut Self::Plan,
        alpha: T::Acc,
        a: &Csr<T, SpaceOf<B>, I, O>,
        x: ViewOf<'_, Self, T>,
        beta: T::Acc,
        y: ViewMutOf<'_, Self, T>,
    ) -> Result<()> {
        // SAFETY: the caller promises the same; the context is that of `local`.
        self.defer(unsafe { self.local.run_spmv(plan, alpha, a, x, beta, y) })
    }
}
