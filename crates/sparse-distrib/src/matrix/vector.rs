//! Vectors that are distributed over ranks.

use super::local_rows::check_ownership;
use super::{DistributedBackend, Ownership};
use crate::transport::Transport;
use sparse_core::op::{RealOf, VectorKernel, vector};
use sparse_core::{Backend, Error, Host, Result, Scalar, Space};

const OP: &str = "distributed vector";

/// One rank's elements of a distributed vector, in the memory `S` of its backend.
///
/// ```
/// use sparse_core::reference::Reference;
/// use sparse_distrib::{DistributedBackend, DistributedVector, Local, Ownership};
///
/// let norms = Local::run(2, |rank| {
///     let backend = DistributedBackend::new(rank, Reference);
///     let division = Ownership::even(3, 2)?;
///     let x = (backend.rank() == 0).then_some(&[2.0_f64, 3.0, 6.0][..]);
///     let x = DistributedVector::scatter(&backend, 0, &division, x)?;
///     let mut y = DistributedVector::zeros(&backend, &division)?;
///     y.axpby(&backend, 2.0, &x, 0.0)?; // y = 2·x
///     assert_eq!(y.dot(&backend, &x)?, 98.0);
///     x.nrm2(&backend)
/// });
/// for norm in norms {
///     assert!((norm? - 7.0).abs() < 1e-14);
/// }
/// # Ok::<(), sparse_core::Error>(())
/// ```
#[derive(Debug)]
pub struct DistributedVector<T: Scalar, S: Space = Host> {
    ownership: Ownership,
    local: S::Buffer<T>,
}

impl<T: Scalar, S: Space> DistributedVector<T, S> {
    /// A vector of zeros: a collective call.
    ///
    /// # Errors
    /// [`Error::Shape`] if `ownership` is not for this number of ranks; [`Error::OutOfMemory`] and errors of the
    /// device's runtime, of any rank.
    pub fn zeros<X, B>(backend: &DistributedBackend<X, B>, ownership: &Ownership) -> Result<Self>
    where
        X: Transport,
        B: Backend<Space = S>,
    {
        let len = ownership.range(backend.rank()).len();
        Self::agree(backend, ownership, backend.local().zeros(len))
    }

    /// The vector whose elements of this rank are `elements`: a collective call.
    ///
    /// # Errors
    /// [`Error::Shape`] if their number is not the rank's; the errors of [`zeros`](Self::zeros).
    pub fn from_local<X, B>(
        backend: &DistributedBackend<X, B>,
        ownership: &Ownership,
        elements: &[T],
    ) -> Result<Self>
    where
        X: Transport,
        B: Backend<Space = S>,
    {
        let len = ownership.range(backend.rank()).len();
        let local = match elements.len() == len {
            true => backend.local().upload(elements),
            false => Err(lengths(elements.len(), len)),
        };
        Self::agree(backend, ownership, local)
    }

    /// The vector whose elements are those of `root`: a collective call.
    ///
    /// # Errors
    /// [`Error::Operands`] if the root has none, [`Error::Shape`] if their number is wrong; the errors of
    /// [`zeros`](Self::zeros) and of the transport.
    pub fn scatter<X, B>(
        backend: &DistributedBackend<X, B>,
        root: usize,
        ownership: &Ownership,
        elements: Option<&[T]>,
    ) -> Result<Self>
    where
        X: Transport,
        B: Backend<Space = S>,
    {
        let (transport, rank) = (backend.transport(), backend.rank());
        let whole = match elements.filter(|_| rank == root) {
            Some(elements) if elements.len() == ownership.len() => Ok(elements),
            Some(elements) => Err(lengths(elements.len(), ownership.len())),
            None if rank == root => Err(Error::operands(OP, "the root has no elements")),
            None => Ok(&[][..]),
        };
        let whole = backend.agree(OP, whole)?;
        let part = |rank| whole.get(ownership.range(rank)).unwrap_or_default();
        let others = (0..backend.ranks()).filter(|&other| rank == root && other != root);
        let messages = others.map(|other| (other, bytemuck::cast_slice(part(other)).to_vec())).collect();
        let bytes = ownership.range(rank).len() * size_of::<T>();
        let senders = if rank == root { vec![] } else { vec![(root, bytes)] };
        let received = transport.exchange(messages, &senders, &mut || ())?;
        match received.first() {
            Some(message) => Self::from_local(backend, ownership, &bytemuck::pod_collect_to_vec(message)),
            None => Self::from_local(backend, ownership, part(rank)),
        }
    }

    /// All elements at `root`, `None` elsewhere: a collective call.
    ///
    /// # Errors
    /// Errors of a device's runtime, of any rank, and of the transport.
    pub fn gather<X, B>(&self, backend: &DistributedBackend<X, B>, root: usize) -> Result<Option<Vec<T>>>
    where
        X: Transport,
        B: Backend<Space = S>,
    {
        let own = backend.agree(OP, backend.local().download(&self.local))?;
        let parts = backend.transport().gather(root, bytemuck::cast_slice(&own).to_vec())?;
        Ok(parts
            .map(|parts| parts.iter().flat_map(|part| bytemuck::pod_collect_to_vec::<u8, T>(part)).collect()))
    }

    fn agree<X, B>(
        backend: &DistributedBackend<X, B>,
        ownership: &Ownership,
        local: Result<S::Buffer<T>>,
    ) -> Result<Self>
    where
        X: Transport,
        B: Backend<Space = S>,
    {
        let (ranks, divided) = (backend.ranks(), ownership.ranks());
        let local = local.and_then(|local| match ranks == divided {
            true => Ok(local),
            false => Err(Error::shape(OP, format_args!("{divided} ranges where {ranks} ranks need as many"))),
        });
        Ok(Self { ownership: ownership.clone(), local: backend.agree(OP, local)? })
    }

    /// The division of the elements among the ranks.
    pub fn ownership(&self) -> &Ownership {
        &self.ownership
    }

    /// The number of elements of all ranks.
    pub fn len(&self) -> usize {
        self.ownership.len()
    }

    /// True if no rank has elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of this rank.
    pub fn local(&self) -> S::View<'_, T> {
        S::view(&self.local)
    }

    /// The elements of this rank, to be changed.
    pub fn local_mut(&mut self) -> S::ViewMut<'_, T> {
        S::view_mut(&mut self.local)
    }

    /// `Σ conj(x_i)·y_i`, x being this vector: a collective call with the same result on all ranks.
    ///
    /// # Errors
    /// [`Error::Shape`] if `y` is divided otherwise; errors of a device's runtime, of any rank, and of the transport.
    pub fn dot<X, B>(&self, backend: &DistributedBackend<X, B>, y: &Self) -> Result<T::Acc>
    where
        X: Transport,
        B: VectorKernel<T, Space = S>,
    {
        check_ownership("dot", "y", &self.ownership, &y.ownership)?;
        backend.sum("dot", vector::dot::<_, T>(backend.local(), self.local(), y.local()))
    }

    /// `sqrt(Σ |x_i|²)`, without overflow or underflow on the way: a collective call with the same result on all ranks.
    ///
    /// # Errors
    /// Errors of a device's runtime, of any rank, and of the transport.
    pub fn nrm2<X, B>(&self, backend: &DistributedBackend<X, B>) -> Result<RealOf<T>>
    where
        X: Transport,
        B: VectorKernel<T, Space = S>,
    {
        backend.norm("nrm2", vector::nrm2::<_, T>(backend.local(), self.local()))
    }

    /// `y ← alpha·x + beta·y`, y being this vector: a local operation, whose failure the next collective call returns.
    ///
    /// # Errors
    /// [`Error::Shape`] if `x` is divided otherwise.
    pub fn axpby<X, B>(
        &mut self,
        backend: &DistributedBackend<X, B>,
        alpha: T::Acc,
        x: &Self,
        beta: T::Acc,
    ) -> Result<()>
    where
        X: Transport,
        B: VectorKernel<T, Space = S>,
    {
        check_ownership("axpby", "x", &self.ownership, &x.ownership)?;
        backend.defer(vector::axpby::<_, T>(backend.local(), alpha, x.local(), beta, self.local_mut()))
    }
}

fn lengths(found: usize, needed: usize) -> Error {
    Error::shape(OP, format_args!("{found} elements where {needed} are needed"))
}
