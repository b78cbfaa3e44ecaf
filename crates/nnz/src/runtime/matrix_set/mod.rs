//! Amounts of dense matrices to CSR or CSC on several devices, which keep the results.

mod open;
mod preparation;

use super::{DenseStack, Format, Matrix};
use crate::Device;
use crate::device::HostBackend;
use preparation::Preparation;
use sparse_core::op::DenseToCsrKernel;
use sparse_core::{Axis, DType, Error, Result, Scalar, with_dtype};
use sparse_device::Device as Accelerator;
use sparse_distrib::schedule::Policy;
use sparse_distrib::{
    DeviceWorker, Handle, NpySource, Parallelism, Partition, Progress, Report, Scheme, SourceChain,
    Transport, Worker, agree,
};
use sparse_io::parts::PartWriter;
use std::fmt::{Debug, Formatter};
use std::ops::Range;
use std::path::Path;
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
    /// The form in which matrices reach the devices; without it the one that is predicted to be the fastest, by rates of
    /// this machine that are measured once and stored. The CPU reads and compresses in place then.
    pub scheme: Option<Scheme>,
    /// The division of the matrices among the threads or work-items of a device.
    pub parallelism: Parallelism,
    /// True if the report is to have the predictions: the rates are measured even where nothing depends on them.
    pub explain: bool,
    /// The parts that every matrix is cut into; without it only those are cut that no device may have memory for.
    pub partition: Option<Partition>,
    /// Bytes of each device's memory that may be used; without it nearly all that it has.
    pub memory: Option<u64>,
    /// Called as matrices are compressed, by one thread at a time.
    pub progress: Option<&'a (dyn Fn(Progress) + Sync)>,
    /// Ends the run when it becomes true; what was compressed before is in the set.
    pub cancel: Option<&'a AtomicBool>,
}

impl MatrixSetOptions<'_> {
    /// All elements but zeros.
    pub fn to(format: Format, dtype: DType) -> Self {
        Self {
            format,
            dtype,
            tolerance: None,
            policy: None,
            scheme: None,
            parallelism: Parallelism::Batch,
            explain: false,
            partition: None,
            memory: None,
            progress: None,
            cancel: None,
        }
    }
}

impl Debug for MatrixSetOptions<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("MatrixSetOptions");
        debug.field("format", &self.format).field("dtype", &self.dtype);
        debug.field("tolerance", &self.tolerance).field("policy", &self.policy).field("scheme", &self.scheme);
        debug.field("parallelism", &self.parallelism).field("explain", &self.explain);
        debug.field("partition", &self.partition);
        debug.field("memory", &self.memory).finish_non_exhaustive()
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
    fn new(handle: impl AnyHandle + 'static) -> Self {
        Self(Box::new(handle))
    }

    /// Compresses all matrices of `.npy` files, on all `devices` at once.
    ///
    /// A device that fails costs time alone: others do its work, and the report names it. Matrices that nobody could
    /// compress are in the report, too, and not in the set.
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) without devices, [`Unsupported`](Error::Unsupported) for a format but CSR and CSC,
    /// [`Operands`](Error::Operands) for a device that is named twice or a tolerance that the type of values cannot hold;
    /// where rates are measured, what a device's runtime reports.
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

    /// Compresses the matrices of all `stacks`, on all `devices` at once: those in the memory of one of the devices there,
    /// where they lie. Others reach the devices as those of files do.
    ///
    /// Of matrices that lie on a device, neither policy nor scheme say anything, and no rates are measured for them. All work
    /// on the stacks is done when the call returns.
    ///
    /// # Errors
    /// As for [`compress`](Self::compress); [`Operands`](Error::Operands) if a stack has another type than the options name.
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
            Preparation::<T>::new(devices, options, moves)?.compress(&chain, (0, 0), options)
        })
    }

    /// Compresses all matrices of `.npy` files on all ranks of `transport`, each with `devices` of its own: a collective
    /// call. Rank 0 gets the set, in the host's memory and with the bytes of [`compress`](Self::compress); the report is
    /// that of this rank's share.
    ///
    /// A rank compresses neighbouring matrices, or parts where the options ask for parts, and reads these alone. Over MPI
    /// (feature `mpi`), `transport` is a `distrib::Mpi` of each process.
    ///
    /// ```
    /// use nnz::distrib::{Local, NpySource};
    /// use nnz::{MatrixSet, MatrixSetOptions, prelude::*};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("stack.npy");
    /// nnz::io::npy::write(&path, &[1.0, 0.0, 0.0, 2.0, 0.0, 0.0, 3.0, 0.0], &[2, 2, 2], Order::RowMajor)?;
    /// let source = NpySource::open(&path)?;
    /// let options = MatrixSetOptions::to(Format::Csr, DType::F64);
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

    /// The parts that a matrix was cut into: one if it is whole. `None` if there is no such matrix.
    pub fn partition(&self, item: usize) -> Option<Partition> {
        (item < self.len()).then(|| self.0.partition(item))
    }

    /// The device that has a matrix, by its name as in `cuda:0`, or `host`; `None` if it was not compressed. Of a matrix in
    /// parts it is that of the first.
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

    /// A copy of part `index` of a matrix's [`partition`](Self::partition) in the memory of `device`, with local indices.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn get_part(&self, item: usize, index: usize, device: &Device) -> Result<Matrix> {
        self.0.get_part(item, index, device)
    }

    /// Writes all matrices to a folder of `.npz` parts and a manifest ([`parts`](sparse_io::parts)), which is made if it is
    /// not there: a batch if they have one shape, else the blocks of a diagonal. Only one part is in memory at a time.
    ///
    /// ```
    /// use nnz::{MatrixSet, MatrixSetOptions, distrib::NpySource, prelude::*};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = |name: &str| folder.path().join(name);
    /// nnz::io::npy::write(&path("wide.npy"), &[1.0, 0.0, 2.0], &[1, 3], Order::RowMajor)?;
    /// nnz::io::npy::write(&path("tall.npy"), &[0.0, 3.0], &[2, 1], Order::RowMajor)?;
    /// let source = NpySource::open_all([path("wide.npy"), path("tall.npy")])?;
    /// let cpu: Device = "cpu".parse()?;
    /// let options = MatrixSetOptions::to(Format::Csr, DType::F64);
    /// let (set, _) = MatrixSet::compress(&[cpu.clone()], &source, &options)?;
    /// set.write_folder(path("set"))?;
    /// let both = Matrix::read_csr(&cpu, &nnz::io::MatrixFile::open(path("set"))?, DType::F64)?;
    /// assert_eq!((both.shape(), both.nnz()), ((3, 4), 3));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`Shape`](Error::Shape) if a matrix was not compressed; [`Io`](Error::Io) if a file cannot be written;
    /// [`Unsupported`](Error::Unsupported) for values that no file has.
    pub fn write_folder(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.0.write_folder(folder.as_ref())
    }

    /// Writes one matrix, in the parts of its [`partition`](Self::partition), to a folder as
    /// [`write_folder`](Self::write_folder) makes it.
    ///
    /// # Errors
    /// As for [`write_folder`](Self::write_folder).
    pub fn write_blocks(&self, item: usize, folder: impl AsRef<Path>) -> Result<()> {
        if item >= self.len() {
            let reason = format!("matrix {item} of a set of {}", self.len());
            return Err(Error::shape("write_blocks", reason));
        }
        self.0.write_blocks(item..item + 1, folder.as_ref())
    }

    /// Writes all matrices, in the parts of the [`partition`](Self::partition) that all have, to one folder. A set of one
    /// matrix is written as [`write_blocks`](Self::write_blocks) does; of several, other commands read the blocks of a
    /// diagonal.
    ///
    /// ```
    /// use nnz::{MatrixSet, MatrixSetOptions, distrib::NpySource, prelude::*};
    ///
    /// # let folder = tempfile::tempdir()?;
    /// # let path = |name: &str| folder.path().join(name);
    /// nnz::io::npy::write(&path("stack.npy"), &[1.0, 0.0, 0.0, 2.0], &[2, 2, 1], Order::RowMajor)?;
    /// let cpu: Device = "cpu".parse()?;
    /// let partition = Some("row:2".parse()?);
    /// let options = MatrixSetOptions { partition, ..MatrixSetOptions::to(Format::Csr, DType::F64) };
    /// let source = NpySource::open(path("stack.npy"))?;
    /// let (set, _) = MatrixSet::compress(&[cpu.clone()], &source, &options)?;
    /// set.write_all_blocks(path("set"))?; // four blocks of 1 x 1
    /// let all = Matrix::read_csr(&cpu, &nnz::io::MatrixFile::open(path("set"))?, DType::F64)?;
    /// assert_eq!((all.shape(), all.nnz()), ((4, 2), 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As for [`write_folder`](Self::write_folder), and [`Shape`](Error::Shape) if a matrix has another partition than the
    /// first.
    pub fn write_all_blocks(&self, folder: impl AsRef<Path>) -> Result<()> {
        self.0.write_blocks(0..self.len(), folder.as_ref())
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
    fn partition(&self, item: usize) -> Partition;
    fn placement(&self, item: usize) -> Option<&str>;
    fn bytes(&self) -> u64;
    fn get(&self, item: usize, device: &Device) -> Result<Matrix>;
    fn get_part(&self, item: usize, index: usize, device: &Device) -> Result<Matrix>;
    fn to_batch(&self, device: &Device) -> Result<Matrix>;
    fn write_folder(&self, folder: &Path) -> Result<()>;
    fn write_blocks(&self, items: Range<usize>, folder: &Path) -> Result<()>;
    fn move_to(&mut self, device: &Device) -> Result<()>;
}

/// Entries and offsets of a file of a folder, unless it is one matrix.
const FILE_ENTRIES: usize = 8 << 20;

/// Files that are written at once, by a thread each.
const FILES_AT_ONCE: usize = 16;

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

    fn partition(&self, item: usize) -> Partition {
        Handle::partition(self, item)
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

    fn get_part(&self, item: usize, index: usize, device: &Device) -> Result<Matrix> {
        Matrix::from_typed(device, self.fetch_part(item, index)?)
    }

    fn to_batch(&self, device: &Device) -> Result<Matrix> {
        Matrix::from_typed(device, Handle::to_batch(self)?)
    }

    fn write_folder(&self, folder: &Path) -> Result<()> {
        let shapes: Vec<_> = (0..self.len()).map(|item| Handle::shape(self, item)).collect();
        let mut writer = match self.common_shape() {
            Ok(shape) => PartWriter::<A, T>::batch(folder, shape)?,
            Err(_) => PartWriter::matrices(folder)?,
        };
        let sizes = shapes
            .iter()
            .enumerate()
            .map(|(item, &(rows, cols))| Handle::nnz(self, item).unwrap_or_default() + A::swap(rows, cols).0);
        let sizes: Vec<_> = sizes.collect();
        let files: Vec<_> = files(&shapes, &sizes).collect();
        for at_once in files.chunks(FILES_AT_ONCE) {
            let batches: Result<Vec<_>> =
                at_once.iter().map(|items| self.to_batch_of(items.clone())).collect();
            writer.write_batches(&batches?)?;
        }
        writer.finish()
    }

    fn write_blocks(&self, items: Range<usize>, folder: &Path) -> Result<()> {
        let partition = |item| Handle::partition(self, item);
        if let Some(item) = items.clone().find(|&item| partition(item) != partition(items.start)) {
            let (first, other) = (partition(items.start), partition(item));
            let reason = format!("matrix {item} is cut by {other}, matrix {} by {first}", items.start);
            return Err(Error::shape("write_blocks", reason));
        }
        let grid = items.clone().next().map_or((1, 1), |item| partition(item).grid());
        let mut writer = match items.len() {
            1 => PartWriter::<A, T>::matrix(folder, Handle::shape(self, items.start), grid)?,
            _ => PartWriter::matrices_in_blocks(folder, grid)?,
        };
        for item in items {
            for (index, part) in partition(item).iter(Handle::shape(self, item)).enumerate() {
                writer.write_block(part.rows, part.cols, &self.fetch_part(item, index)?)?;
            }
        }
        writer.finish()
    }

    fn move_to(&mut self, device: &Device) -> Result<()> {
        Handle::move_to(self, worker(device, None).as_ref())
    }
}

/// (rows, columns) of the matrices of a source, which may be none, if all files have the same.
fn member_shape(source: &NpySource) -> (usize, usize) {
    let mut shapes = source.stacks().map(|(_, shape)| shape);
    let first = shapes.next().unwrap_or_default();
    if shapes.all(|shape| shape == first) { first } else { (0, 0) }
}

/// The matrices of each file: of one shape, and of sizes that sum up to a file's.
fn files(shapes: &[(usize, usize)], sizes: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let (first, mut entries) = (start, *sizes.get(start)?);
        start += 1;
        while start < shapes.len() && shapes[start] == shapes[first] && entries + sizes[start] <= FILE_ENTRIES
        {
            entries += sizes[start];
            start += 1;
        }
        Some(first..start)
    })
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

/// The worker of a device, with at most `memory` bytes of it.
fn worker<T: Scalar>(device: &Device, memory: Option<u64>) -> Box<dyn Worker<T, i32, i32>>
where
    HostBackend: DenseToCsrKernel<T, i32, i32>,
    Accelerator: DenseToCsrKernel<T, i32, i32>,
{
    fn boxed<B, T>(
        worker: DeviceWorker<B, T, i32, i32>,
        name: String,
        memory: Option<u64>,
    ) -> Box<dyn Worker<T, i32, i32>>
    where
        B: DenseToCsrKernel<T, i32, i32>,
        T: Scalar,
    {
        let worker = worker.named(name);
        Box::new(match memory {
            Some(bytes) => worker.with_budget(bytes),
            None => worker,
        })
    }
    match device {
        Device::Cpu(backend) => boxed(DeviceWorker::new(HostBackend::clone(backend)), name(device), memory),
        Device::Accelerator(backend, _) => {
            boxed(DeviceWorker::new(backend.clone()).unpacking(), name(device), memory)
        }
    }
}
