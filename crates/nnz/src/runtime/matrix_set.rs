//! Amounts of dense matrices to CSR or CSC on several devices, which keep the results.

use super::fit::factor;
use super::{Format, Matrix};
use crate::Device;
use crate::device::HostBackend;
use sparse_core::op::{DenseToCsrKernel, Keep, RealOf};
use sparse_core::{Axis, Col, DType, Error, Result, Row, Scalar, with_dtype};
use sparse_device::Device as Accelerator;
use sparse_distrib::schedule::Policy;
use sparse_distrib::{DeviceWorker, Engine, Handle, NpySource, Options, Outcome, Progress, Report, Worker};
use std::fmt::{Debug, Formatter};
use std::sync::atomic::AtomicBool;

/// Settings of [`MatrixSet::compress`].
#[derive(Clone, Copy)]
pub struct MatrixSetOptions<'a> {
    /// CSR or CSC.
    pub format: Format,
    /// The type of values; elements are rounded to it as they are read.
    pub dtype: DType,
    /// The largest magnitude that is dropped; without it zeros of either sign are, and NaN never is.
    pub tolerance: Option<f64>,
    /// The policy that gives matrices to devices; without it the engine chooses.
    pub policy: Option<Policy>,
    /// Called as matrices are compressed, by one thread at a time.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Ends the run when it becomes true; what was compressed before is in the set.
    pub cancel: Option<&'a AtomicBool>,
}

impl MatrixSetOptions<'_> {
    /// All elements but zeros.
    pub fn to(format: Format, dtype: DType) -> Self {
        Self { format, dtype, tolerance: None, policy: None, progress: None, cancel: None }
    }
}

impl Debug for MatrixSetOptions<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("MatrixSetOptions");
        debug.field("format", &self.format).field("dtype", &self.dtype);
        debug.field("tolerance", &self.tolerance).field("policy", &self.policy).finish_non_exhaustive()
    }
}

/// Compressed matrices of perhaps unequal shapes, each in the memory of the device that compressed it, with 32-bit
/// indices and offsets. Dropping the set frees them.
///
/// Dense data are read matrix by matrix, and never held whole: the set may be made of more of them than any memory has.
///
/// ```
/// use nnz::{MatrixSet, MatrixSetOptions, distrib::NpySource, prelude::*};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("stack.npy");
/// // Two 2 x 2 matrices in one array.
/// nnz::io::npy::write(&path, &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0], &[2, 2, 2], Order::RowMajor)?;
/// let cpu: Device = "cpu".parse()?;
/// let options = MatrixSetOptions::to(Format::Csr, DType::F64);
/// let (set, report) = MatrixSet::compress(&[cpu.clone()], &NpySource::open(&path)?, &options)?;
/// assert_eq!((set.len(), report.nnz, set.placement(1)), (2, 3, Some("cpu")));
/// assert_eq!((set.shape(1), set.shape(2)), (Some((2, 2)), None));
///
/// let second = set.get(1, &cpu)?;
/// let x = Vector::from_slice(&cpu, &[1.0, 1.0])?;
/// assert_eq!(second.matvec(&x)?.to_vec::<f64>()?, [0.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct MatrixSet(Box<dyn AnyHandle>);

impl MatrixSet {
    /// Compresses all matrices of `.npy` files, on all `devices` at once.
    ///
    /// A device that fails costs time alone: others do its work, and the report names it. Matrices that nobody could
    /// compress are in the report, too, and not in the set.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) without devices, [`Unsupported`](Error::Unsupported) for a format but CSR and CSC,
    /// [`Operands`](Error::Operands) for a device that is named twice or a tolerance that the type of values cannot hold.
    pub fn compress(
        devices: &[Device],
        source: &NpySource,
        options: &MatrixSetOptions<'_>,
    ) -> Result<(Self, Report)> {
        check_devices(devices)?;
        with_dtype!(options.dtype, T => compress::<T>(devices, source, options))
    }

    /// The number of matrices, compressed or not.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// True if there are no matrices.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// (rows, columns) of a matrix; `None` if there is no such matrix.
    pub fn shape(&self, item: usize) -> Option<(usize, usize)> {
        (item < self.len()).then(|| self.0.shape(item))
    }

    /// The number of entries of a matrix; `None` if it was not compressed.
    pub fn nnz(&self, item: usize) -> Option<usize> {
        self.0.nnz(item)
    }

    /// The device that has a matrix, by its name as in `cuda:0`, or `host`; `None` if it was not compressed.
    pub fn placement(&self, item: usize) -> Option<&str> {
        self.0.placement(item)
    }

    /// Bytes of all compressed matrices.
    pub fn bytes(&self) -> u64 {
        self.0.bytes()
    }

    /// A copy of a matrix in the memory of `device`.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if there is no such matrix or it was not compressed; what a device's runtime reports.
    pub fn get(&self, item: usize, device: &Device) -> Result<Matrix> {
        self.0.get(item, device)
    }

    /// Copies of all matrices as one batch in the memory of `device`: of matrices of one shape.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if shapes differ or a matrix was not compressed; what a device's runtime reports.
    pub fn to_batch(&self, device: &Device) -> Result<Matrix> {
        self.0.to_batch(device)
    }

    /// Moves all matrices to the memory of one device.
    ///
    /// # Errors
    /// [`OutOfMemory`](Error::OutOfMemory), or what a device's runtime reports; those that were moved before stay there.
    pub fn move_to(&mut self, device: &Device) -> Result<()> {
        self.0.move_to(device)
    }
}

impl Debug for MatrixSet {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A [`Handle`] whose types are hidden.
trait AnyHandle: Debug + Send + Sync {
    fn len(&self) -> usize;
    fn shape(&self, item: usize) -> (usize, usize);
    fn nnz(&self, item: usize) -> Option<usize>;
    fn placement(&self, item: usize) -> Option<&str>;
    fn bytes(&self) -> u64;
    fn get(&self, item: usize, device: &Device) -> Result<Matrix>;
    fn to_batch(&self, device: &Device) -> Result<Matrix>;
    fn move_to(&mut self, device: &Device) -> Result<()>;
}

impl<A: Axis, T: Scalar> AnyHandle for Handle<A, T>
where
    HostBackend: DenseToCsrKernel<T, i32, i32>,
    Accelerator: DenseToCsrKernel<T, i32, i32>,
{
    fn len(&self) -> usize {
        Handle::len(self)
    }

    fn shape(&self, item: usize) -> (usize, usize) {
        Handle::shape(self, item)
    }

    fn nnz(&self, item: usize) -> Option<usize> {
        Handle::nnz(self, item)
    }

    fn placement(&self, item: usize) -> Option<&str> {
        Handle::placement(self, item)
    }

    fn bytes(&self) -> u64 {
        Handle::bytes(self)
    }

    fn get(&self, item: usize, device: &Device) -> Result<Matrix> {
        Matrix::from_typed(device, self.fetch(item)?)
    }

    fn to_batch(&self, device: &Device) -> Result<Matrix> {
        Matrix::from_typed(device, Handle::to_batch(self)?)
    }

    fn move_to(&mut self, device: &Device) -> Result<()> {
        Handle::move_to(self, worker(device).as_ref())
    }
}

fn check_devices(devices: &[Device]) -> Result<()> {
    for (position, device) in devices.iter().enumerate() {
        let name = name(device);
        if devices[..position].iter().any(|other| self::name(other) == name) {
            return Err(Error::operands("compress", format_args!("the device {name} is named twice")));
        }
    }
    Ok(())
}

/// The name by which a device is opened.
fn name(device: &Device) -> String {
    match device {
        Device::Cpu(_) => "cpu".into(),
        Device::Accelerator(_, id) => id.to_string(),
    }
}

fn worker<T: Scalar>(device: &Device) -> Box<dyn Worker<T, i32, i32>>
where
    HostBackend: DenseToCsrKernel<T, i32, i32>,
    Accelerator: DenseToCsrKernel<T, i32, i32>,
{
    match device {
        Device::Cpu(backend) => Box::new(DeviceWorker::new(backend.clone()).named(name(device))),
        Device::Accelerator(backend, _) => Box::new(DeviceWorker::new(backend.clone()).named(name(device))),
    }
}

fn compress<T: Scalar>(
    devices: &[Device],
    source: &NpySource,
    options: &MatrixSetOptions<'_>,
) -> Result<(MatrixSet, Report)>
where
    HostBackend: DenseToCsrKernel<T, i32, i32>,
    Accelerator: DenseToCsrKernel<T, i32, i32>,
{
    let mut engine = Engine::<T>::new(devices.iter().map(worker).collect())?;
    match options.format {
        Format::Csr => run::<Row, T>(&mut engine, source, options),
        Format::Csc => run::<Col, T>(&mut engine, source, options),
        other => Err(Error::unsupported(format_args!("compression to {other}"), "csr and csc are")),
    }
}

fn run<A: Axis, T: Scalar>(
    engine: &mut Engine<T>,
    source: &NpySource,
    options: &MatrixSetOptions<'_>,
) -> Result<(MatrixSet, Report)>
where
    Handle<A, T>: AnyHandle,
{
    let keep = match options.tolerance {
        None => Keep::NonZero,
        Some(tolerance) => Keep::Above(factor::<RealOf<T>>("compress", "the tolerance", tolerance.into())?),
    };
    let &MatrixSetOptions { policy, progress, cancel, .. } = options;
    let options = Options { policy, keep, progress, cancel, ..Options::default() };
    let Outcome { handle, report } = engine.compress::<A>(source, &options)?;
    Ok((MatrixSet(Box::new(handle)), report))
}
