//! Distributed products and solvers on CUDA devices that exchange elements by each path.

use backend_cuda::{Device, Peer, PeerPath, connect};
use device_tests::Library;
use sparse_core::op::{Op, Operations};
use sparse_core::reference::Reference;
use sparse_core::{Backend, Csr, DenseView, DenseViewMut, Order, PlanOptions, Result, Space};
use sparse_distrib::{
    DistributedBackend, DistributedCg, DistributedMatrix, DistributedSpmmPlan, DistributedSpmvPlan,
    DistributedVector, Local, Ownership, Transport,
};
use sparse_solvers::{Identity, SolverOptions};
use std::ops::ControlFlow;
use std::sync::Arc;

/// Columns of B and C in SpMM.
const WIDTH: usize = 3;

type Rank = DistributedBackend<Local, Device>;
type Matrix = DistributedMatrix<f64, Device>;

/// Two queues of the first device, and where there are two devices these.
fn pairs(library: &Library) -> Vec<[usize; 2]> {
    match library.probe().devices.len() {
        0 | 1 => {
            eprintln!("left out: an exchange among distinct devices, of which there is one");
            vec![[0, 0]]
        }
        _ => vec![[0, 0], [0, 1]],
    }
}

/// The paths between two devices that are to be had; NCCL takes distinct devices.
fn paths(indices: [usize; 2], devices: &[Device]) -> Vec<PeerPath> {
    let mut paths = vec![PeerPath::Copies];
    if indices[0] != indices[1] {
        match connect(devices, PeerPath::Nccl) {
            Ok(peers) => {
                eprintln!("{}", peers[0].name());
                paths.push(PeerPath::Nccl);
            }
            Err(error) => eprintln!("left out: {error}"),
        }
    }
    paths
}

/// Runs `work` on a rank for each device, with its rows of `a`, and returns what rank 0 has.
fn on_ranks<R: Send>(
    devices: &[Device],
    path: Option<PeerPath>,
    a: &Csr<f64>,
    work: impl Fn(&Rank, Matrix) -> Result<R> + Sync,
) -> R {
    let peers: Vec<Arc<Peer>> = match path {
        Some(path) => connect(devices, path).unwrap().into_iter().map(Arc::new).collect(),
        None => vec![],
    };
    let results = Local::run(devices.len(), |end| {
        let device = devices[end.rank()].clone();
        let rank = DistributedBackend::new(end, device);
        let own = (rank.rank() == 0).then_some(a);
        let matrix = DistributedMatrix::from_root(&rank, 0, own, None)?;
        let matrix = match peers.get(rank.rank()) {
            Some(peer) => matrix.with_peers(peer.clone()),
            None => matrix,
        };
        work(&rank, matrix)
    });
    results.into_iter().map(Result::unwrap).next().unwrap()
}

/// Every product, three times in a row without a wait between them, gathered at rank 0.
fn products(rank: &Rank, a: &Matrix) -> Result<Vec<Vec<f64>>> {
    let mut all = vec![];
    for op in Op::ALL {
        let (rows, cols) = match op.transposes() {
            false => (a.row_ownership(), a.col_ownership()),
            true => (a.col_ownership(), a.row_ownership()),
        };
        let x = DistributedVector::scatter(rank, 0, cols, Some(&pattern(cols.len())))?;
        let mut y = DistributedVector::scatter(rank, 0, rows, Some(&pattern(rows.len())))?;
        let mut plan = DistributedSpmvPlan::new(rank, a, op, &PlanOptions::default())?;
        for _ in 0..3 {
            plan.run(0.25, a, &x, -0.5, &mut y)?;
        }
        all.extend(y.gather(rank, 0)?);

        let (own_rows, own_cols) = (rows.range(rank.rank()), cols.range(rank.rank()));
        let b = rank.local().upload(&pattern(WIDTH * own_cols.len()))?;
        let mut c = rank.local().upload(&pattern(WIDTH * own_rows.len()))?;
        let mut plan = DistributedSpmmPlan::new(rank, a, op, WIDTH, &PlanOptions::default())?;
        for _ in 0..3 {
            let b = DenseView::new(Device::view(&b), own_cols.len(), WIDTH, WIDTH, Order::RowMajor)?;
            let c =
                DenseViewMut::new(Device::view_mut(&mut c), own_rows.len(), WIDTH, WIDTH, Order::RowMajor)?;
            plan.run(0.25, a, b, -0.5, c)?;
        }
        let division = Ownership::from_lengths((0..rank.ranks()).map(|r| WIDTH * rows.range(r).len()))?;
        let c = rank.local().download(&c)?;
        all.extend(DistributedVector::from_local(rank, &division, &c)?.gather(rank, 0)?);
    }
    Ok(all)
}

fn pattern(len: usize) -> Vec<f64> {
    (0..len).map(|k| 0.1 * ((7 * k) % 23) as f64 - 1.0).collect()
}

pub(crate) fn products_have_the_same_bits_by_every_path(library: &Library) {
    let matrices = [
        sparse_generate::stencil_5::<f64>(60, 500).unwrap(),
        sparse_generate::uniform::<f64>(900, 900, 60, 1).unwrap(), // an all-gather
        sparse_generate::uniform::<f64>(700, 5000, 3, 2).unwrap(),
        sparse_generate::uniform::<f64>(5000, 700, 3, 3).unwrap(),
    ];
    for indices in pairs(library) {
        let devices = indices.map(|index| library.open(index).unwrap());
        let paths = paths(indices, &devices);
        for a in &matrices {
            let by = |path| on_ranks(&devices, path, a, |rank, a| products(rank, &a));
            let expected = by(None);
            let mut y = pattern(a.nrows());
            for _ in 0..3 {
                Reference.spmv(Op::None, 0.25, a, &pattern(a.ncols()), -0.5, &mut y).unwrap();
            }
            let close = |(found, exact): (&f64, &f64)| (found - exact).abs() <= 1e-11 * exact.abs().max(1.0);
            assert!(expected[0].iter().zip(&y).all(close));
            for &path in &paths {
                let found = by(Some(path));
                assert!(found == expected, "{path} of {indices:?}, {} x {}", a.nrows(), a.ncols());
            }
        }
    }
}

pub(crate) fn conjugate_gradients_take_the_same_steps_by_every_path(library: &Library) {
    let a = sparse_generate::stencil_5::<f64>(150, 150).unwrap();
    for indices in pairs(library) {
        let devices = indices.map(|index| library.open(index).unwrap());
        let by = |path| {
            on_ranks(&devices, path, &a, |rank, a| {
                let ones = vec![1.0; a.row_ownership().range(rank.rank()).len()];
                let b = DistributedVector::from_local(rank, a.row_ownership(), &ones)?;
                let mut x = DistributedVector::zeros(rank, a.col_ownership())?;
                let mut cg = DistributedCg::new(rank, &a, Identity, &SolverOptions::default())?;
                let solution = cg.solve(&a, &b, &mut x, |_| ControlFlow::Continue(()))?;
                assert!(solution.converged());
                Ok((solution.iterations, x.gather(rank, 0)?))
            })
        };
        let expected = by(None);
        for path in paths(indices, &devices) {
            assert!(by(Some(path)) == expected, "{path} of {indices:?}");
        }
    }
}
