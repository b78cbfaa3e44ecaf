//! One matrix whose rows are divided among CUDA devices: its products, beside one device that has all of it, and
//! iterations of conjugate gradients at orders where the exchange decides.

use super::figure::Figure;
use super::processor::AnyBackend;
use super::scaling::numbers;
use super::{Context, SMOKE_DIVISOR};
use crate::check::{Answer, Expected};
use crate::peer::cusparse::Cusparse;
use crate::peer::interface::{Peer as _, Products};
use crate::product::available;
use crate::workload::Pattern;
use anyhow::{Result, ensure};
use backend_cuda::{CUDA, Peer, PeerPath, connect};
use sparse_core::op::Op;
use sparse_core::{Backend, Csr, PlanOptions, Space, SparseFormat, cast_slice};
use sparse_device::Device;
use sparse_distrib::{
    DistributedBackend, DistributedCg, DistributedMatrix, DistributedSpmvPlan, DistributedVector, Local,
    Ownership, Transport,
};
use sparse_generate::{stencil_5, uniform};
use sparse_solvers::{Identity, SolverOptions};
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Instant;

/// Products that are enqueued before the time is taken, and how many times that is done; the median counts.
const PRODUCTS: usize = 20;
const ROUNDS: usize = 7;
/// Iterations of a solver.
const ITERATIONS: usize = 100;
/// The sides of grids that are solved on.
const SIDES: [usize; 4] = [64, 256, 1024, 3000];

type Rank = DistributedBackend<Local, Device>;
type Rows = DistributedMatrix<f64, Device>;
type Build = fn(divisor: usize) -> sparse_core::Result<Csr<f32>>;

/// Matrices of 10⁸ entries: rows need few elements of others, or nearly all.
const MATRICES: [(&str, Build); 2] = [
    ("stencil_5", |divisor| stencil_5(4472 / divisor, 4472 / divisor)),
    ("uniform_10", |divisor| uniform(10_000_000 / divisor.pow(3), 10_000_000 / divisor.pow(3), 10, 1)),
];

/// The connections of some devices.
struct Connections {
    peers: Vec<Arc<Peer>>,
    name: String,
}

impl Connections {
    /// The connections by each path that the devices have; a single device exchanges nothing.
    fn all(devices: &[Device]) -> Vec<Self> {
        if devices.len() == 1 {
            return vec![Self { peers: vec![], name: "ours".into() }];
        }
        let through_host = Self { peers: vec![], name: "ours, the host's memory".into() };
        let direct = [PeerPath::Copies, PeerPath::Nccl].into_iter().filter_map(|path| {
            let peers = available(&path.to_string(), connect(devices, path))?;
            let name = peers.first().map_or_else(String::new, |peer| format!("ours, {}", peer.name()));
            Some(Self { peers: peers.into_iter().map(Arc::new).collect(), name })
        });
        std::iter::once(through_host).chain(direct).collect()
    }
}

/// The name of each path between `devices`, and what `work` returns on the first of them, each with its rows of `a`.
fn on_devices<R: Send>(
    devices: &[Device],
    a: &Csr<f64>,
    work: impl Fn(&Rank, &Rows) -> sparse_core::Result<R> + Sync,
) -> Result<Vec<(String, R)>> {
    let connections = Connections::all(devices);
    let division = Ownership::by_nnz(a.row_ptr(), devices.len())?;
    let results = Local::run(devices.len(), |end| {
        let device = devices[end.rank()].clone();
        let rank = DistributedBackend::new(end, device);
        let own = rows(a, division.range(rank.rank()))?;
        let mut own = DistributedMatrix::from_rows(&rank, &own, None)?;
        let mut results = vec![];
        for Connections { peers, .. } in &connections {
            if let Some(peer) = peers.get(rank.rank()) {
                own = own.with_peers(peer.clone());
            }
            results.push(work(&rank, &own)?);
        }
        Ok(results)
    });
    let mut results = results.into_iter().collect::<sparse_core::Result<Vec<_>>>()?;
    Ok(connections.into_iter().map(|path| path.name).zip(results.swap_remove(0)).collect())
}

/// A copy of some rows.
fn rows(a: &Csr<f64>, rows: Range<usize>) -> sparse_core::Result<Csr<f64>> {
    let ends = &a.row_ptr()[rows.start..=rows.end];
    let entries = ends[0] as usize..ends[rows.len()] as usize;
    let offsets = ends.iter().map(|end| end - ends[0]).collect();
    let (columns, values) = (a.col_idx()[entries.clone()].to_vec(), a.values()[entries].to_vec());
    Csr::new_unsorted(rows.len(), a.ncols(), offsets, columns, values)
}

/// The seconds of a product with vectors that stay on the devices, and the product.
fn product(rank: &Rank, a: &Rows, x: &[f64]) -> sparse_core::Result<(f64, Vec<f64>)> {
    let x = DistributedVector::scatter(rank, 0, a.col_ownership(), Some(x))?;
    let mut y = DistributedVector::zeros(rank, a.row_ownership())?;
    let options = PlanOptions::often();
    let mut plan = DistributedSpmvPlan::new(rank, a, Op::None, &options)?;
    let mut times = vec![];
    for _ in 0..=ROUNDS {
        rank.transport().barrier()?;
        let start = Instant::now();
        (0..PRODUCTS).try_for_each(|_| plan.run(1.0, a, &x, 0.0, &mut y))?;
        rank.local().synchronize()?;
        rank.transport().barrier()?;
        times.push(start.elapsed().as_secs_f64() / PRODUCTS as f64);
    }
    Ok((median(&mut times[1..]), y.gather(rank, 0)?.unwrap_or_default()))
}

/// The seconds of an iteration of conjugate gradients, and the last iterate.
fn iteration(rank: &Rank, a: &Rows) -> sparse_core::Result<(f64, Vec<f64>)> {
    let ones = vec![1.0; a.row_ownership().range(rank.rank()).len()];
    let b = DistributedVector::from_local(rank, a.row_ownership(), &ones)?;
    let options =
        SolverOptions { tolerance: 0.0, max_iterations: Some(ITERATIONS), ..SolverOptions::default() };
    let mut solver = DistributedCg::new(rank, a, Identity, &options)?;
    let mut x = DistributedVector::zeros(rank, a.col_ownership())?;
    let mut times = vec![];
    for _ in 0..=ROUNDS {
        x = DistributedVector::zeros(rank, a.col_ownership())?;
        rank.transport().barrier()?;
        let start = Instant::now();
        let solution = solver.solve(a, &b, &mut x, |_| ControlFlow::Continue(()))?;
        rank.local().synchronize()?;
        times.push(start.elapsed().as_secs_f64() / solution.iterations.max(1) as f64);
    }
    Ok((median(&mut times[1..]), x.gather(rank, 0)?.unwrap_or_default()))
}

fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}

/// The CUDA devices of the suite.
fn devices(context: &Context<'_>) -> Vec<Device> {
    let of_cuda = context.processors.iter().filter(|processor| processor.name.starts_with(CUDA.name));
    let device = |backend: &AnyBackend| match backend {
        AnyBackend::Device(device) => Some(device.clone()),
        AnyBackend::Cpu(_) => None,
    };
    of_cuda.filter_map(|processor| device(&processor.backend)).collect()
}

/// The divisor of the sides of grids in a smoke run.
fn divisor(context: &Context<'_>) -> usize {
    if context.arguments.smoke { SMOKE_DIVISOR } else { 1 }
}

/// Products of matrices of 10⁸ entries in f64, by the number of devices and the path between them, and the speed-up
/// over the faster of one device of ours and cuSPARSE.
pub(super) fn by_devices(context: &Context<'_>) -> Result<Vec<Figure>> {
    let devices = devices(context);
    let mut times = Figure::new("products", "y = A·x in f64, A of 10⁸ entries", "devices", "ms");
    let mut speedups =
        Figure::new("product-speedup", "speed-up of y = A·x, A of 10⁸ entries", "devices", "x");
    let wanted = MATRICES.iter().filter(|(matrix, _)| context.arguments.wants(matrix));
    for (matrix, build) in wanted.filter(|_| !devices.is_empty()) {
        if context.is_late() {
            times.note(format!("left out for want of time: {matrix}"));
            continue;
        }
        let host = build(divisor(context))?;
        let pattern = Pattern::<f32>::new(1);
        let expected = Expected::new(&host, &pattern, 1);
        let x = cast_slice::<f32, f64>(&pattern.filled(host.ncols()))?;
        let a = host.with_values(cast_slice::<f32, f64>(host.values())?)?;
        drop(host);
        let peer = cusparse(&devices[0], &a, &x, &expected)?;
        if let Some(seconds) = peer {
            times.add(format!("{matrix}: cuSPARSE"), 1.0, seconds * 1e3);
        }
        let mut baseline = peer.unwrap_or(f64::INFINITY);
        for number in numbers(devices.len()) {
            for (path, (seconds, y)) in on_devices(&devices[..number], &a, |rank, a| product(rank, a, &x))? {
                expected.check(&y)?;
                if number == 1 {
                    baseline = baseline.min(seconds);
                }
                let series = format!("{matrix}: {path}");
                times.add(&series, number as f64, seconds * 1e3);
                speedups.add(&series, number as f64, baseline / seconds);
            }
        }
    }
    Ok(vec![times, speedups])
}

/// The seconds of the fastest product of cuSPARSE on one device, where the library is.
fn cusparse(device: &Device, a: &Csr<f64>, x: &[f64], expected: &Expected) -> Result<Option<f64>> {
    let Some(library) = available("cuSPARSE", Cusparse::connect(device)) else { return Ok(None) };
    let (a, x) = (a.to_device(device)?, device.upload(x)?);
    let mut y = device.zeros::<f64>(a.nrows())?;
    let mut fastest = None;
    for mut product in library.spmv(&a, Device::view(&x))? {
        let mut times = vec![];
        for _ in 0..=ROUNDS {
            let start = Instant::now();
            (0..PRODUCTS).try_for_each(|_| (product.run)(Device::view_mut(&mut y)))?;
            device.synchronize()?;
            times.push(start.elapsed().as_secs_f64() / PRODUCTS as f64);
        }
        if available(&product.name, expected.check(&device.download(&y)?)).is_some() {
            let seconds = median(&mut times[1..]);
            fastest = Some(fastest.map_or(seconds, |fastest: f64| fastest.min(seconds)));
        }
    }
    Ok(fastest)
}

/// An iteration of conjugate gradients on the 5-point Laplacian of square grids, by their side, the number of devices
/// and the path between them.
pub(super) fn iterations(context: &Context<'_>) -> Result<Vec<Figure>> {
    let devices = devices(context);
    let mut figure = Figure::new("iterations", "an iteration of conjugate gradients in f64", "side", "µs");
    for side in SIDES.into_iter().filter(|_| !devices.is_empty()) {
        let side = (side / divisor(context)).max(2);
        let a = stencil_5::<f64>(side, side)?;
        for number in numbers(devices.len()) {
            let mut solutions: Vec<Vec<f64>> = vec![];
            for (path, (seconds, x)) in on_devices(&devices[..number], &a, iteration)? {
                figure.add(format!("{number} x {path}"), side as f64, seconds * 1e6);
                ensure!(solutions.iter().all(|other| *other == x), "{path} has other bits");
                solutions.push(x);
            }
        }
    }
    Ok(vec![figure])
}
