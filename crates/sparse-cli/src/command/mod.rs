//! The subcommands: one file each.

pub(crate) mod add;
pub(crate) mod advise;
pub(crate) mod completions;
pub(crate) mod compress;
pub(crate) mod convert;
pub(crate) mod devices;
pub(crate) mod distribute;
pub(crate) mod generate;
pub(crate) mod info;
pub(crate) mod multiply;
pub(crate) mod norm;
pub(crate) mod reduce;
pub(crate) mod sddmm;
#[cfg(feature = "server")]
pub(crate) mod serve;
pub(crate) mod slice;
pub(crate) mod solve;
pub(crate) mod spgemm;
pub(crate) mod spmm;
pub(crate) mod spmv;
pub(crate) mod spy;
#[cfg(feature = "server")]
pub(crate) mod token;
pub(crate) mod transpose;
pub(crate) mod trisolve;
