//! Conversions from and to the types of other crates, each behind a feature that names the crate and its version.
//!
//! | feature | `TryFrom` between | without a copy |
//! |---|---|---|
//! | `ndarray_0_17` | [`DenseView`], [`Dense`] and `ArrayView2`, `Array2` | views, and `Dense` into `Array2` |
//! | `sprs_0_11` | [`Csr`], [`Csc`], [`Coo`] and `CsMatI`, `CsMatViewI`, `TriMatI` | all but CSR to CSC |
//! | `nalgebra_0_35` | the same and `CsrMatrix`, `CscMatrix`, `CooMatrix`; [`DenseView`] and `DMatrix` | dense views |
//! | `faer_0_24` | [`Csr`], [`Csc`] and `SparseRowMatRef`, `SparseColMatRef`; [`DenseView`] and `MatRef` | to faer |
//! | `serde` | [`Csr`], [`Csc`], [`Coo`] and [`Dense`], each as a map of its arrays; no `TryFrom` | |
//! | `proptest_1` | `strategy`: strategies that generate matrices | |
//!
//! A matrix from another crate passes the checked constructors. An error says which rule of the target it
//! breaks, as `sprs` and `nalgebra-sparse` want sorted indices without duplicates.
//!
//! [`DenseView`]: crate::DenseView
//! [`Dense`]: crate::Dense
//! [`Csr`]: crate::Csr
//! [`Csc`]: crate::Csc
//! [`Coo`]: crate::Coo

#[cfg(feature = "faer_0_24")]
mod faer;
#[cfg(feature = "nalgebra_0_35")]
mod nalgebra;
#[cfg(feature = "ndarray_0_17")]
mod ndarray;
#[cfg(feature = "proptest_1")]
pub mod proptest;
#[cfg(feature = "serde")]
mod serde;
#[cfg(feature = "sprs_0_11")]
mod sprs;
