//! Macros for methods of [`RuntimeFormat`](super::RuntimeFormat) that several formats have in common.
//!
//! A macro needs the types that it names in scope where it is used.

/// The methods of [`RuntimeFormat`] for products with a dense matrix.
macro_rules! spmm_members {
    ($backend:ty) => {
        fn spmm_algorithms(backend: &$backend, op: Op) -> &'static [Algorithm] {
            SpmmKernel::<Self>::spmm_algorithms(backend, op)
        }

        fn plan_spmm(
            &self,
            backend: &$backend,
            op: Op,
            columns: usize,
            options: &PlanOptions,
        ) -> Result<Box<dyn AnySpmmPlan>> {
            Ok(Box::new(SpmmPlan::new(backend, self, op, columns, options)?))
        }
    };
}

pub(super) use spmm_members;

/// The methods of [`RuntimeFormat`] that all formats of a single matrix have.
macro_rules! one_matrix_members {
    ($backend:ty) => {
        spmm_members!($backend);

        type Index = I;

        fn write_dense(
            &self,
            backend: &$backend,
            dense: DenseViewMut<'_, T, SpaceOf<$backend>>,
        ) -> Result<()> {
            Operations::to_dense(backend, self, dense)
        }
    };
}

pub(super) use one_matrix_members;

/// The methods of [`RuntimeFormat`] for sampled products.
macro_rules! sampled_members {
    ($backend:ty) => {
        fn sddmm_algorithms(backend: &$backend) -> &'static [Algorithm] {
            SddmmKernel::<Self>::sddmm_algorithms(backend)
        }

        fn plan_sddmm(
            &self,
            backend: &$backend,
            sampling: Sampling,
            inner: usize,
            options: &PlanOptions,
        ) -> Result<Box<dyn AnySddmmPlan>> {
            Ok(Box::new(SddmmPlan::new(backend, self, sampling, inner, options)?))
        }
    };
}

pub(super) use sampled_members;
