//! Operations that run once, as methods of a backend.

use super::*;
use crate::backend::{Backend, SpaceOf, ViewMutOf, ViewOf};
use crate::error::Result;
use crate::format::{Csr, DenseView, DenseViewMut, EntryValues, IntoSelection, SparseFormat};
use crate::index::Index;
use crate::plan::PlanOptions;
use crate::scalar::Scalar;
use crate::space::Space;
use num_traits::One;

/// Operations that run once, each with its own plan; make a plan yourself where a pattern is used again.
pub trait Operations: Backend {
    /// `y ← alpha·op(A)·x + beta·y`; see [`SpmvPlan`].
    ///
    /// ```
    /// use sparse_core::op::{Op, Operations};
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let mut y = [f64::NAN; 2];
    /// Reference.spmv(Op::None, 1.0, &a, &[1.0, 1.0, 1.0], 0.0, &mut y)?; // beta = 0 never reads y
    /// assert_eq!(y, [3.0, 3.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SpmvPlan::new`] and [`SpmvPlan::run`].
    fn spmv<M>(
        &self,
        op: Op,
        alpha: AccOf<M>,
        a: &M,
        x: ViewOf<'_, Self, M::Scalar>,
        beta: AccOf<M>,
        y: ViewMutOf<'_, Self, M::Scalar>,
    ) -> Result<()>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: SpmvKernel<M> + VectorKernel<M::Scalar>,
    {
        SpmvPlan::new(self, a, op, &PlanOptions::once())?.run(alpha, a, x, beta, y)
    }

    /// `C ← alpha·op(A)·B + beta·C`; see [`SpmmPlan`].
    ///
    /// ```
    /// use sparse_core::op::{Op, Operations};
    /// use sparse_core::{Csr, DenseView, DenseViewMut, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let b = DenseView::row_major(&[1.0, 10.0, 2.0, 20.0, 3.0, 30.0], 3, 2)?;
    /// let mut c = [f64::NAN; 4];
    /// Reference.spmm(Op::None, 1.0, &a, b, 0.0, DenseViewMut::row_major(&mut c, 2, 2)?)?;
    /// assert_eq!(c, [7.0, 70.0, 6.0, 60.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SpmmPlan::new`] and [`SpmmPlan::run`].
    fn spmm<M>(
        &self,
        op: Op,
        alpha: AccOf<M>,
        a: &M,
        b: DenseView<'_, M::Scalar, SpaceOf<Self>>,
        beta: AccOf<M>,
        c: DenseViewMut<'_, M::Scalar, SpaceOf<Self>>,
    ) -> Result<()>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: SpmmKernel<M> + VectorKernel<M::Scalar>,
    {
        SpmmPlan::new(self, a, op, b.ncols(), &PlanOptions::once())?.run(alpha, a, b, beta, c)
    }

    /// `P ∘ (U·Vᵀ)`: the elements of `U·Vᵀ` at the entries of P, each times the value there, on the pattern of P; see
    /// [`SddmmPlan`].
    ///
    /// ```
    /// use sparse_core::op::Operations;
    /// use sparse_core::{Csr, DenseView, reference::Reference};
    ///
    /// let p = Csr::<f64>::new(2, 2, vec![0, 1, 2], vec![1, 0], vec![1.0, 10.0])?;
    /// let u = DenseView::row_major(&[1.0, 2.0, 3.0, 4.0], 2, 2)?;
    /// let v = DenseView::row_major(&[1.0, 0.0, 0.0, 1.0], 2, 2)?;
    /// let c = Reference.sddmm(&p, u, v)?;
    /// assert!(c.triplets().eq([(0, 1, 2.0), (1, 0, 30.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SddmmPlan::new`] and [`SddmmPlan::run`].
    fn sddmm<M>(
        &self,
        p: &M,
        u: DenseView<'_, M::Scalar, SpaceOf<Self>>,
        v: DenseView<'_, M::Scalar, SpaceOf<Self>>,
    ) -> Result<M>
    where
        M: EntryValues<Space = SpaceOf<Self>>,
        Self: SddmmKernel<M> + VectorKernel<M::Scalar>,
    {
        let mut plan = SddmmPlan::new(self, p, Sampling::Values, u.ncols(), &PlanOptions::once())?;
        let mut c = self.zeros(p.nnz())?;
        plan.run(AccOf::<M>::one(), p, u, v, AccOf::<M>::ZERO, SpaceOf::<Self>::view_mut(&mut c))?;
        p.with_entry_values(c)
    }

    /// `A·B`, sorted; see [`SpgemmPlan`].
    ///
    /// ```
    /// use sparse_core::op::Operations;
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![1.0, 2.0, 3.0])?;
    /// assert!(Reference.spgemm(&a, &a)?.triplets().eq([(0, 0, 1.0), (0, 1, 8.0), (1, 1, 9.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SpgemmPlan::new`] and [`SpgemmPlan::run`].
    fn spgemm<M>(&self, a: &M, b: &M) -> Result<M>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: SpgemmKernel<M>,
    {
        spgemm::multiply_once(self, a, b)
    }

    /// Solves `op(A)·x = b` with a triangle of A; see [`TrisolvePlan`].
    ///
    /// ```
    /// use sparse_core::op::{Operations, Triangular};
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 4], vec![0, 1, 0, 1], vec![2.0, 7.0, 1.0, 4.0])?;
    /// let mut x = [f64::NAN; 2];
    /// Reference.trisolve(Triangular::lower(), &a, &[2.0, 9.0], &mut x)?; // 7 stands in the upper triangle
    /// assert_eq!(x, [1.0, 2.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`TrisolvePlan::new`] and [`TrisolvePlan::run`].
    fn trisolve<M>(
        &self,
        system: Triangular,
        a: &M,
        b: ViewOf<'_, Self, M::Scalar>,
        x: ViewMutOf<'_, Self, M::Scalar>,
    ) -> Result<()>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: TrisolveKernel<M>,
    {
        TrisolvePlan::new(self, a, system, &PlanOptions::once())?.run(a, b, x)
    }

    /// `from` in another format; see [`ConvertPlan`].
    ///
    /// ```
    /// use sparse_core::op::{Duplicates, Operations};
    /// use sparse_core::{Coo, Csr, reference::Reference};
    ///
    /// let coo = Coo::<f64>::from_triplets(2, 2, [(1, 0, 3.0), (0, 1, 1.0), (1, 0, 4.0)])?;
    /// let csr: Csr<f64> = Reference.convert(&coo, &Duplicates::Sum)?;
    /// assert_eq!(csr.values(), &[1.0, 7.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`ConvertPlan::new`] and [`ConvertPlan::run`].
    fn convert<From, To>(&self, from: &From, layout: &From::Layout) -> Result<To>
    where
        From: Conversion<To> + SparseFormat<Space = SpaceOf<Self>>,
        To: SparseFormat<Space = SpaceOf<Self>>,
        Self: ConvertKernel<From, To>,
    {
        ConvertPlan::new(self, from, layout, &PlanOptions::once())?.run(from)
    }

    /// A dense matrix as CSR; see [`DenseToCompressedPlan`] for CSC, COO and batches.
    ///
    /// ```
    /// use sparse_core::op::{Keep, Operations};
    /// use sparse_core::{Csr, DenseView, reference::Reference};
    ///
    /// let dense = DenseView::row_major(&[1.0, 0.0, 0.0, 2.0], 2, 2)?;
    /// let a: Csr<f64> = Reference.dense_to_csr(dense, Keep::NonZero)?;
    /// assert_eq!(a.col_idx(), &[0, 1]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`DenseToCompressedPlan::new`] and [`DenseToCompressedPlan::run`].
    fn dense_to_csr<T: Scalar, I: Index, O: Index>(
        &self,
        a: DenseView<'_, T, SpaceOf<Self>>,
        keep: Keep<T>,
    ) -> Result<Csr<T, SpaceOf<Self>, I, O>>
    where
        Self: DenseToCsrKernel<T, I, O>,
    {
        DenseToCompressedPlan::new(self, a, keep, &PlanOptions::once())?.run(a)
    }

    /// Writes a sparse matrix to a dense one; see [`ToDensePlan`].
    ///
    /// ```
    /// use sparse_core::op::Operations;
    /// use sparse_core::{Csr, DenseViewMut, reference::Reference};
    ///
    /// let a = Csr::<f64>::identity(2)?;
    /// let mut dense = [f64::NAN; 4];
    /// Reference.to_dense(&a, DenseViewMut::row_major(&mut dense, 2, 2)?)?;
    /// assert_eq!(dense, [1.0, 0.0, 0.0, 1.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`ToDensePlan::new`] and [`ToDensePlan::run`].
    fn to_dense<M>(&self, a: &M, dense: DenseViewMut<'_, M::Scalar, SpaceOf<Self>>) -> Result<()>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: ToDenseKernel<M>,
    {
        ToDensePlan::new(self, a, &PlanOptions::once())?.run(a, dense)
    }

    /// A sorted copy; see [`SortPlan`].
    ///
    /// ```
    /// use sparse_core::op::Operations;
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::new_unsorted(1, 3, vec![0, 2], vec![2, 0], vec![1.0, 5.0])?;
    /// let sorted = Reference.sort(&a)?;
    /// assert_eq!((sorted.col_idx(), sorted.values()), (&vec![0, 2], &vec![5.0, 1.0]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SortPlan::new`] and [`SortPlan::run`].
    fn sort<M>(&self, a: &M) -> Result<M>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: SortKernel<M>,
    {
        SortPlan::new(self, a, &PlanOptions::once())?.run(a)
    }

    /// A copy without zeros or small entries; see [`PrunePlan`].
    ///
    /// ```
    /// use sparse_core::op::{Keep, Operations};
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(1, 3, vec![0, 3], vec![0, 1, 2], vec![1.0, 0.0, 1e-9])?;
    /// assert_eq!(Reference.prune(&a, Keep::NonZero)?.col_idx(), &[0, 2]);
    /// assert_eq!(Reference.prune(&a, Keep::Above(1e-6))?.col_idx(), &[0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`PrunePlan::new`] and [`PrunePlan::run`].
    fn prune<M>(&self, a: &M, keep: Keep<M::Scalar>) -> Result<M>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: PruneKernel<M>,
    {
        PrunePlan::new(self, a, &PlanOptions::once())?.run(a, keep)
    }

    /// The elements in `rows` and `cols`, ranges or lists, in their order; see [`SelectPlan`].
    ///
    /// ```
    /// use sparse_core::op::Operations;
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::from_triplets(2, 3, [(0, 0, 1.0), (0, 2, 2.0), (1, 1, 3.0)])?;
    /// assert!(Reference.select(&a, &[0], &[2, 0])?.triplets().eq([(0, 1, 1.0), (0, 0, 2.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SelectPlan::new`] and [`SelectPlan::run`].
    fn select<'s, M>(&self, a: &M, rows: impl IntoSelection<'s>, cols: impl IntoSelection<'s>) -> Result<M>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: SelectKernel<M>,
    {
        SelectPlan::new(self, a, rows, cols, &PlanOptions::once())?.run(a)
    }

    /// `alpha·A + beta·B`, on the union of the patterns; see [`ElementwisePlan`].
    ///
    /// ```
    /// use sparse_core::op::Operations;
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::from_triplets(1, 3, [(0, 0, 1.0), (0, 1, 2.0)])?;
    /// let b = Csr::<f64>::from_triplets(1, 3, [(0, 1, 3.0), (0, 2, 4.0)])?;
    /// let c = Reference.add(2.0, &a, -1.0, &b)?;
    /// assert!(c.triplets().eq([(0, 0, 2.0), (0, 1, 1.0), (0, 2, -4.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`ElementwisePlan::new`] and [`ElementwisePlan::run`].
    fn add<M>(&self, alpha: AccOf<M>, a: &M, beta: AccOf<M>, b: &M) -> Result<M>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: ElementwiseKernel<M>,
    {
        ElementwisePlan::new(self, Elementwise::Add, a, b, &PlanOptions::once())?.run(alpha, a, beta, b)
    }

    /// The element-wise product `A ∘ B`, on the intersection of the patterns; see [`ElementwisePlan`].
    ///
    /// ```
    /// use sparse_core::op::Operations;
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::from_triplets(1, 3, [(0, 0, 1.0), (0, 1, 2.0)])?;
    /// let b = Csr::<f64>::from_triplets(1, 3, [(0, 1, 3.0), (0, 2, 4.0)])?;
    /// assert!(Reference.multiply(&a, &b)?.triplets().eq([(0, 1, 6.0)]));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`ElementwisePlan::new`] and [`ElementwisePlan::run`].
    #[doc(alias = "hadamard")]
    fn multiply<M>(&self, a: &M, b: &M) -> Result<M>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: ElementwiseKernel<M>,
    {
        let one = AccOf::<M>::one();
        ElementwisePlan::new(self, Elementwise::Multiply, a, b, &PlanOptions::once())?.run(one, a, one, b)
    }

    /// Writes a number for each row of CSR, or each column of CSC, to `y`; see [`ReducePlan`].
    ///
    /// ```
    /// use sparse_core::op::{Operations, Reduction};
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let mut y = [f64::NAN; 2];
    /// Reference.reduce(Reduction::Mean, &a, &mut y)?;
    /// assert_eq!(y, [1.0, 1.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`ReducePlan::new`] and [`ReducePlan::run`].
    fn reduce<M>(&self, by: Reduction, a: &M, y: ViewMutOf<'_, Self, M::Scalar>) -> Result<()>
    where
        M: StoredLines<Space = SpaceOf<Self>>,
        Self: ReduceKernel<M>,
    {
        ReducePlan::new(self, by, a, &PlanOptions::once())?.run(a, y)
    }

    /// The softmax of each row of CSR or column of CSC over its entries, in a matrix of the same pattern; see
    /// [`SoftmaxPlan`].
    ///
    /// ```
    /// use sparse_core::op::Operations;
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 2, vec![0, 2, 3], vec![0, 1, 1], vec![5.0, 5.0, -1.0])?;
    /// assert_eq!(Reference.softmax(&a)?.values(), &[0.5, 0.5, 1.0]);
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`SoftmaxPlan::new`] and [`SoftmaxPlan::run`].
    fn softmax<M>(&self, a: &M) -> Result<M>
    where
        M: StoredLines<Space = SpaceOf<Self>> + EntryValues,
        Self: SoftmaxKernel<M>,
    {
        let mut y = self.zeros(a.nnz())?;
        SoftmaxPlan::new(self, a, &PlanOptions::once())?.run(a, SpaceOf::<Self>::view_mut(&mut y))?;
        a.with_entry_values(y)
    }

    /// Statistics of the row lengths; see [`RowStatisticsPlan`].
    ///
    /// ```
    /// use sparse_core::op::Operations;
    /// use sparse_core::{Csr, reference::Reference};
    ///
    /// let a = Csr::<f64>::new(2, 3, vec![0, 2, 3], vec![0, 2, 1], vec![1.0, 2.0, 3.0])?;
    /// let rows = Reference.row_statistics(&a)?;
    /// assert_eq!((rows.shortest, rows.longest), (1, 2));
    /// # Ok::<(), sparse_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`RowStatisticsPlan::new`] and [`RowStatisticsPlan::run`].
    fn row_statistics<M>(&self, a: &M) -> Result<RowStatistics>
    where
        M: SparseFormat<Space = SpaceOf<Self>>,
        Self: RowStatisticsKernel<M>,
    {
        RowStatisticsPlan::new(self, a, &PlanOptions::once())?.run(a)
    }
}

impl<B: Backend> Operations for B {}
