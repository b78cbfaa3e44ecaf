//! The methods that solve systems, by name.

#[cfg(doc)]
use crate::solvers::{BiCgStab, Cg, EnqueuedCg, Gmres, LeastSquaresMethod, Minres};
use sparse_core::Error;
use std::fmt::{Display, Formatter};
use std::str::FromStr;

/// Declares [`Method`] and its names from one list.
macro_rules! methods {
    ($($(#[$attribute:meta])* $variant:ident $name:literal)*) => {
        /// A method of [`Matrix::solve`](crate::Matrix::solve).
        ///
        /// ```
        /// use nnz::Method;
        ///
        /// assert_eq!("bicgstab".parse::<Method>()?, Method::BiCgStab);
        /// # Ok::<(), nnz::Error>(())
        /// ```
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
        #[non_exhaustive]
        pub enum Method {
            $($(#[$attribute])* $variant,)*
        }

        impl Method {
            /// All methods.
            pub const ALL: &'static [Self] = &[$(Self::$variant),*];

            /// The name of the method, as the command has it.
            ///
            /// ```
            /// # use nnz::Method;
            /// assert_eq!(Method::BiCgStab.name(), "bicgstab");
            /// ```
            pub fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }
    };
}

methods! {
    /// [`Cg`], for Hermitian positive definite matrices.
    Cg "cg"
    /// [`BiCgStab`], for any square matrix.
    #[default]
    BiCgStab "bicgstab"
    /// [`EnqueuedCg`], for Hermitian positive definite matrices, which seldom waits for a device.
    EnqueuedCg "enqueued-cg"
    /// [`Gmres`], for any square matrix; restarts after [`restart`](crate::solvers::SolverOptions::restart) iterations.
    Gmres "gmres"
    /// [`Minres`], for Hermitian matrices, indefinite ones too.
    Minres "minres"
    /// [`LeastSquaresMethod::Lsqr`], for matrices of any shape, without a preconditioner.
    Lsqr "lsqr"
    /// [`LeastSquaresMethod::Lsmr`], for the same.
    Lsmr "lsmr"
    /// A factorization on the CPU, with the feature `direct`: Cholesky, LU or, for more rows than columns, QR; without
    /// a preconditioner.
    Direct "direct"
}

impl Method {
    /// True if the matrix may have another number of columns than rows.
    ///
    /// ```
    /// # use nnz::Method;
    /// assert!(Method::Lsqr.is_for_least_squares() && !Method::Gmres.is_for_least_squares());
    /// ```
    pub fn is_for_least_squares(self) -> bool {
        matches!(self, Self::Lsqr | Self::Lsmr)
    }

    /// True if the method can be preconditioned.
    ///
    /// ```
    /// # use nnz::Method;
    /// assert!(Method::Gmres.takes_preconditioner() && !Method::Lsqr.takes_preconditioner());
    /// ```
    pub fn takes_preconditioner(self) -> bool {
        matches!(self, Self::Cg | Self::BiCgStab | Self::EnqueuedCg | Self::Gmres | Self::Minres)
    }
}

impl Display for Method {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}

/// Parses a [`Method::name`], in any case.
impl FromStr for Method {
    type Err = Error;

    fn from_str(name: &str) -> Result<Self, Error> {
        Self::ALL.iter().copied().find(|method| method.name().eq_ignore_ascii_case(name)).ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|method| method.name()).collect();
            Error::unsupported(
                format_args!("method `{name}`"),
                format_args!("the methods are {}", names.join(", ")),
            )
        })
    }
}
