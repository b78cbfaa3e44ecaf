//! Sets from dense matrices.

use super::preparation::{Preparation, member_shape};
use super::{MatrixSet, MatrixSetOptions};
use crate::Device;
#[cfg(doc)]
use crate::Error;
use crate::runtime::DenseStack;
use sparse_core::{Result, with_dtype};
use sparse_distrib::{NpySource, Report, SourceChain, Transport, agree};

impl MatrixSet {
    /// Compresses all matrices of `.npy` files, on all `devices` at the same time.
    ///
    /// If a device fails, others do its work, and the report names it. Matrices that no device could compress are in
    /// the report, not in the set.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) without devices, [`Unsupported`](Error::Unsupported) for formats other than CSR and CSC,
    /// [`Operands`](Error::Operands) for a device that is named twice or a tolerance that does not fit the type of
    /// values; where rates are measured, what a device's runtime reports.
    pub fn compress(
        devices: &[Device],
        source: &NpySource,
        options: &MatrixSetOptions<'_>,
    ) -> Result<(Self, Report)> {
        with_dtype!(options.dtype, T => {
            let preparation = Preparation::<T>::new(devices, options, true)?;
            preparation.compress(source, member_shape(source), options)
        })
    }

    /// Compresses the matrices of all `stacks`, on all `devices` at the same time. A stack in the memory of one of the
    /// devices is compressed there, in place; others reach the devices as matrices of files do.
    ///
    /// Policy and scheme do not apply to matrices in a device's memory, and no rates are measured for them. All work on
    /// the stacks is done when the call returns.
    ///
    /// # Errors
    /// As for [`compress`](Self::compress); [`Operands`](Error::Operands) if the type of a stack differs from that of
    /// the options.
    pub fn compress_stacks(
        devices: &[Device],
        stacks: &[DenseStack],
        options: &MatrixSetOptions<'_>,
    ) -> Result<(Self, Report)> {
        let is_in_place =
            |stack: &DenseStack| devices.iter().any(|device| device.context() == stack.device().context());
        let moves = !stacks.iter().all(is_in_place);
        with_dtype!(options.dtype, T => {
            let sources = stacks.iter().map(DenseStack::source::<T>).collect::<Result<Vec<_>>>()?;
            let chain = SourceChain::new(sources.iter().map(AsRef::as_ref).collect());
            let member_shape = stacks.first().map_or((0, 0), |stack| stack.layout().shape());
            Preparation::<T>::new(devices, options, moves)?.compress(&chain, member_shape, options)
        })
    }

    /// Compresses all matrices of `.npy` files on all ranks of `transport`, each with `devices` of its own: a
    /// collective call. Rank 0 gets the set, in the host's memory and with the bytes of [`compress`](Self::compress);
    /// the report is that of this rank's share.
    ///
    /// A rank compresses consecutive matrices (or parts, if the options have a partition), and reads no others. Over
    /// MPI (feature `mpi`), `transport` is a `distrib::Mpi` of each process.
    ///
    /// ```
    /// use nnz::distrib::{Local, NpySource};
    /// use nnz::{MatrixSet, MatrixSetOptions, prelude::*};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("stack.npy");
    /// nnz::io::npy::write(&path, &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0], &[2, 2, 2], Order::RowMajor)?;
    /// let source = NpySource::open(&path)?;
    /// let options = MatrixSetOptions::new(Format::Csr, DType::F64);
    /// let results = Local::run(2, |rank| {
    ///     MatrixSet::compress_on_ranks(&rank, &["cpu".parse()?], &source, &options)
    /// });
    /// let results = results.into_iter().collect::<Result<Vec<_>>>()?;
    /// assert!(results.iter().map(|(_, report)| report.nnz).eq([2, 1]));
    /// let set = results[0].0.as_ref().expect("rank 0 has the set");
    /// assert_eq!((set.len(), set.nnz(1), set.placement(1)), (2, Some(1), Some("host")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// On all ranks, with the first rank that failed: those of [`compress`](Self::compress);
    /// [`Operands`](Error::Operands) if a matrix could not be compressed, or ranks have other matrices or settings than
    /// rank 0.
    pub fn compress_on_ranks(
        transport: &dyn Transport,
        devices: &[Device],
        source: &NpySource,
        options: &MatrixSetOptions<'_>,
    ) -> Result<(Option<Self>, Report)> {
        with_dtype!(options.dtype, T => {
            let preparation = Preparation::<T>::new(devices, options, true);
            agree(transport, 0, "compress", preparation)?.compress_on_ranks(transport, source, options)
        })
    }
}
